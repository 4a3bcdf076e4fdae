"""Two released versions of well-known packages, fetched as wheels whose hashes are known."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.review.repositories import Tree

_LISTS = Path(__file__).parent / "released"
NAMES = sorted(re.findall(r"^([\w-]+)==", (_LISTS / "new.txt").read_text(), re.MULTILINE))
VERSIONS = ("old", "new")
_SECONDS = 120


class Unreachable(Exception):
    """The package index did not hand out the wheels."""


def fetch(folder: Path) -> dict[str, tuple[Tree, Tree]]:
    """The files of each package's two versions. Raises Unreachable."""
    started = [_start(folder / version, _LISTS / f"{version}.txt") for version in VERSIONS]
    told = "".join(process.communicate(timeout=_SECONDS)[1] for process in started)
    assert "DO NOT MATCH THE HASHES" not in told, told
    if any(process.returncode for process in started):
        raise Unreachable(told)
    return {name: (_tree(folder / "old", name), _tree(folder / "new", name)) for name in NAMES}


def _start(folder: Path, requirements: Path) -> subprocess.Popen[str]:
    options = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--retries", "1")
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options]
    return subprocess.Popen(
        [*command, "--requirement", str(requirements), "--dest", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _tree(folder: Path, name: str) -> Tree:
    """The wheel's files; its own folder of metadata is named as if it had no version."""
    (wheel,) = folder.glob(f"{name.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {re.sub(r"-[\d.]+(?=\.dist-info/)", "", name): archive.read(name) for name in names}
