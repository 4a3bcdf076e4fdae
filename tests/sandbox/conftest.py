"""Leaves out the test in a browser where there is none, and says so."""

from __future__ import annotations

import importlib.util

import pytest

from tests.sandbox.browsers import chromium_path

_CAN_BROWSE = importlib.util.find_spec("playwright") is not None and chromium_path() is not None

collect_ignore = [] if _CAN_BROWSE else ["test_page_in_browser.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nobody should take a page that was not opened for one that works."""
    if not _CAN_BROWSE:
        terminalreporter.write_line(
            "The demo page was not tried in a browser: that needs playwright and chromium.",
            yellow=True,
        )
