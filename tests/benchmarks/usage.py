"""What a process has used of the machine, as Linux counts it (proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU since the process began; memory now and at its most, in MB of 10^6 bytes."""

    cpu_seconds: float
    resident_mb: float
    peak_mb: float


def usage_of(pid: int) -> Usage:
    """Raises FileNotFoundError when there is no such process."""
    folder = Path("/proc") / str(pid)
    # The name of the program comes first, in brackets, and may hold anything.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = (folder / "status").read_text()
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), _mb(status, "VmRSS"), _mb(status, "VmHWM"))


def busy_cores() -> float:
    """How many cores were wanted in the last minute, by everything on this machine."""
    return os.getloadavg()[0]


def _mb(status: str, name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0
