"""All benchmarks, one after the other: tables as they come, and at the end the same as JSON.

    python -m tests.benchmarks [FILE.json]

Takes about six minutes. Do nothing else on the machine meanwhile.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import crowd, history, latency, pacing, throughput
from tests.benchmarks.figures import REPORTED


def main() -> None:
    latency.main()
    crowd.main([])
    throughput.main()
    history.main()
    pacing.main()
    document = {
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "figures": REPORTED,
    }
    text = json.dumps(document, indent=2)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        print(text)  # noqa: T201  # a benchmark prints


if __name__ == "__main__":
    main()
