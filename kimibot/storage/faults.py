"""Translates what the database drivers raise into our own errors, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from kimibot.errors import DatabaseUnavailable, StorageError

_SQLITE_UNAVAILABLE = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
)

_POSTGRESQL_UNAVAILABLE = (
    "08",  # connection
    "23503",  # the thread was removed a moment ago: there will be a new one
    "25006",  # read-only: a standby that is about to take over
    "25P",  # a transaction that idled too long
    "28",  # who we say we are is not accepted
    "3D",  # no such database
    "40",  # deadlock and the like: rolled back, may be tried again
    "53",  # disk, memory, connections
    "55P03",  # a lock was not to be had in time
    "57",  # cancelled, shutting down, starting up
)
"""Beginnings of SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html."""


@contextmanager
def translated() -> Iterator[None]:
    """Raises DatabaseUnavailable or StorageError for whatever the drivers raise inside."""
    try:
        yield
    except exc.DBAPIError as error:
        raise _fault(error) from error
    except exc.TimeoutError as error:
        raise DatabaseUnavailable("no free connection in time") from error
    except TimeoutError as error:
        raise DatabaseUnavailable("the database did not answer in time") from error
    except OSError as error:
        raise DatabaseUnavailable(f"no connection: {error.strerror or error}") from error
    except exc.SQLAlchemyError as error:
        raise StorageError(type(error).__name__) from error


def is_busy(error: exc.DBAPIError) -> bool:
    """Whether another connection holds SQLite's lock."""
    return _sqlite_name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _fault(error: exc.DBAPIError) -> StorageError:
    if error.connection_invalidated or _is_unavailable(error):
        return DatabaseUnavailable(str(error.orig).partition("\n")[0])
    # Only the kind: the driver's own words may quote what people wrote.
    return StorageError(" ".join(filter(None, (type(error.orig).__name__, _sqlstate(error)))))


def _is_unavailable(error: exc.DBAPIError) -> bool:
    return (
        isinstance(error, exc.InterfaceError)
        or _sqlite_name(error).startswith(_SQLITE_UNAVAILABLE)
        or _sqlstate(error).startswith(_POSTGRESQL_UNAVAILABLE)
    )


def _sqlite_name(error: exc.DBAPIError) -> str:
    return getattr(error.orig, "sqlite_errorname", None) or ""


def _sqlstate(error: exc.DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""
