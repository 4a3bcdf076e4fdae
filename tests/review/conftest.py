"""Released packages for the tests of diffs; where they can't be fetched, the summary says so."""

from __future__ import annotations

import pytest

from tests.review.releases import Unreachable, fetch
from tests.review.repositories import Tree

_MISSED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def released(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> dict[str, tuple[Tree, Tree]]:
    """The files of two versions of each package, fetched once for the whole run."""
    try:
        return fetch(tmp_path_factory.mktemp("released"))
    except Unreachable:
        pytestconfig.stash[_MISSED] = True
        pytest.skip("the package index can't be reached")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Nobody should take diffs that were made up for those of real releases."""
    if config.stash.get(_MISSED, False):
        terminalreporter.write_line(
            "Reading diffs was not tried on released packages: the index can't be reached. "
            "What git makes in the tests was read.",
            yellow=True,
        )
