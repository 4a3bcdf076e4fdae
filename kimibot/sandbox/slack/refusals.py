"""How a Web API method says no."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The method answers `ok: false` with Slack's own code; `faults` say what is wrong where."""

    def __init__(self, code: str, faults: list[str] | None = None, **fields: Any) -> None:
        super().__init__(code)
        self.code = code
        self.faults = faults or []
        self.fields = fields
