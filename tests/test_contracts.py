"""The import contracts name every room there is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SEEN_BY_THE_SANDBOX = {"settings", "logs", "sandbox"}


def contract(name: str) -> dict[str, Any]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = document["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["name"] == name)


def test_the_sandbox_is_kept_from_every_room_of_the_bot() -> None:
    rooms = {path.stem for path in (ROOT / "kimibot").iterdir() if not path.stem.startswith("__")}
    rooms -= {"py", "system_prompt"}
    named = contract("The sandbox knows nothing of the bot it judges")["forbidden_modules"]

    assert {name.removeprefix("kimibot.") for name in named} == rooms - SEEN_BY_THE_SANDBOX
