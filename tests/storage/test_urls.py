"""A database URL as people write it."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from kimibot.storage import driver_url, shown


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("sqlite:///kimibot.db", "sqlite+aiosqlite:///kimibot.db"),
        ("sqlite:////data/kimibot.db", "sqlite+aiosqlite:////data/kimibot.db"),
        ("sqlite://", "sqlite+aiosqlite://"),
        ("sqlite:///:memory:", "sqlite+aiosqlite:///:memory:"),
        ("sqlite+aiosqlite:///k.db", "sqlite+aiosqlite:///k.db"),
        ("postgresql://u:p%40ss@h:5433/k", "postgresql+asyncpg://u:p%40ss@h:5433/k"),
        ("postgres://u:p@h/k", "postgresql+asyncpg://u:p@h/k"),
        ("postgresql+asyncpg://u:p@h/k", "postgresql+asyncpg://u:p@h/k"),
        ("postgres://h/k?sslmode=require", "postgresql+asyncpg://h/k?ssl=require"),
        ("postgresql:///k?host=/run/pg", "postgresql+asyncpg:///k?host=/run/pg"),
    ],
)
def test_a_url_as_people_write_it_is_given_its_async_driver(written: str, expected: str) -> None:
    assert make_url(driver_url(written)) == make_url(expected)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("", "not a database URL"),
        ("kimibot.db", "not a database URL"),
        ("postgresql://u:hush@h:port/k", "not a database URL"),
        ("mysql://u:hush@h/k", "mysql"),
        ("postgresql+psycopg://u:hush@h/k", "psycopg"),
        ("postgresql://u:hush@h/k?channel_binding=require", "channel_binding"),
        ("sqlite://kimibot.db", "three slashes"),
        ("sqlite:///kimibot.db?mode=ro", "options"),
        ("sqlite:///file:kimibot.db", "file:"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(
    written: str, named: str
) -> None:
    with pytest.raises(ValueError, match=named) as refusal:
        driver_url(written)

    assert "hush" not in str(refusal.value)


def test_a_missing_driver_is_named_with_the_extra_that_brings_it() -> None:
    with pytest.raises(ValueError, match=r"kimibot\[postgres\]"):
        driver_url("postgresql://h/k", is_installed=lambda module: module != "asyncpg")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:////var/lib/kimibot.db", "SQLite file /var/lib/kimibot.db"),
        ("sqlite://", "SQLite in memory"),
        (
            "postgresql://me:hunter2@db.example.com/kimibot",
            "PostgreSQL database kimibot at db.example.com:5432",
        ),
        (
            "postgresql://me:hunter2@/kimibot?host=/run/postgresql&port=5433",
            "PostgreSQL database kimibot at /run/postgresql:5433",
        ),
    ],
)
def test_a_database_is_named_without_its_password(url: str, name: str) -> None:
    assert shown(url) == name
