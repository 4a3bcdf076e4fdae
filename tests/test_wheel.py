"""The wheel carries all that the bot needs, and brings a database up from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def files_of(folder: str) -> set[str]:
    found = (CHECKOUT / folder).rglob("*")
    kept = (path for path in found if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(CHECKOUT).as_posix() for path in kept}


def test_it_carries_every_file_of_the_package(names: set[str]) -> None:
    assert files_of("kimibot") <= names


def test_it_carries_the_migrations(names: set[str]) -> None:
    assert {f"kimibot/{name}" for name in files_of("migrations")} <= names
    assert any(name.startswith("kimibot/migrations/versions/") for name in names)


def test_it_carries_nothing_else(names: set[str]) -> None:
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"kimibot"}


def test_what_is_installed_from_it_makes_a_database_in_any_folder(
    wheel: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "kimibot", "db", "upgrade"],
        cwd=elsewhere,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (elsewhere / "kimibot.db").stat().st_size > 0
