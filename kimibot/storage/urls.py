"""Pure: a database URL as people write it to one that names its async driver."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

_DRIVERS = {"sqlite": "aiosqlite", "postgresql": "asyncpg", "postgres": "asyncpg"}
_POSTGRESQL_OPTIONS = frozenset({"ssl", "host", "port", "prepared_statement_cache_size"})
_EXPECTED = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"


def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def driver_url(url: str, *, is_installed: Callable[[str], bool] = _is_installed) -> str:
    """The same database with an explicit async driver.

    Raises ValueError, without the URL in its text since that holds a password: when it is not a
    URL of SQLite or PostgreSQL, names another driver, has an option that the driver does not
    know, or needs a driver that is not installed.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError(f"not a database URL; {_EXPECTED}") from None
    backend, _, named = parsed.drivername.partition("+")
    driver = _DRIVERS.get(backend)
    if driver is None:
        raise ValueError(f"{parsed.drivername!r} is not supported; {_EXPECTED}")
    if named not in ("", driver):
        raise ValueError(f"the driver {named!r} is not supported, {driver!r} is; {_EXPECTED}")
    if not is_installed(driver):
        raise ValueError(f"PostgreSQL needs {driver}: pip install 'kimibot[postgres]'")
    checked = _check_sqlite(parsed) if backend == "sqlite" else _translate_postgresql(parsed)
    return checked.render_as_string(hide_password=False)


def shown(url: str) -> str:
    """Which database it is, for people: without user and password. Raises as `driver_url` does."""
    parsed = make_url(driver_url(url))
    if is_in_memory(url):
        return "SQLite in memory"
    if parsed.get_backend_name() == "sqlite":
        return f"SQLite file {Path(parsed.database or '').resolve()}"
    host = parsed.host or parsed.query.get("host", "localhost")
    port = parsed.port or parsed.query.get("port", 5432)
    return f"PostgreSQL database {parsed.database or parsed.username} at {host}:{port}"


def is_in_memory(url: str) -> bool:
    """Whether this is an SQLite database without a file."""
    parsed = make_url(url)
    return parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:")


def _check_sqlite(url: URL) -> URL:
    if url.host or url.username:
        raise ValueError(f"a file needs three slashes, sqlite:///FILE; {_EXPECTED}")
    if url.query or (url.database or "").startswith("file:"):
        raise ValueError(f"options and file: names of SQLite are not supported; {_EXPECTED}")
    return url.set(drivername="sqlite+aiosqlite")


def _translate_postgresql(url: URL) -> URL:
    """libpq's `sslmode` is `ssl` in asyncpg, with the same values.

    https://magicstack.github.io/asyncpg/current/api/index.html#connection
    """
    query = {"ssl" if name == "sslmode" else name: value for name, value in url.query.items()}
    unknown = sorted(query.keys() - _POSTGRESQL_OPTIONS)
    if unknown:
        raise ValueError(f"options that asyncpg does not know, leave them out: {unknown}")
    return url.set(drivername="postgresql+asyncpg", query=query)
