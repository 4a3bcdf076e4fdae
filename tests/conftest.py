"""The databases that the tests share: each test gets a fresh one, made by the migrations."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kimibot.storage import Database, Store, open_database
from tests.postgres import Postgres, migrate, run_apart, some_postgres


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for a PostgreSQL starts processes."""
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.processes)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server of this run, started when the first test needs it."""
    with some_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the tables and nothing in them."""
    path = tmp_path_factory.mktemp("migrated") / "empty.db"
    run_apart(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """A fresh SQLite database with its tables."""
    return f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'kimibot.db')}"


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A fresh PostgreSQL database with its tables."""
    url = postgres.new_database()
    yield url
    postgres.drop(url)


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.processes)],
)
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database with its tables, of each kind in turn."""
    kind = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(kind)
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open database of each kind in turn."""
    opened = open_database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database) -> Store:
    """A store on a database of each kind in turn."""
    return Store(database)
