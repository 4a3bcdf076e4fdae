"""The SQLite file belongs to one process at a time, and is nobody else's to read."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kimibot.errors import StorageError


class FileLock:
    """Held from creation to `release()` or the death of the process, whichever comes first.

    The lock is on a file beside the database, since SQLite has locks of its own on that one and
    closing any descriptor of it would drop them (https://www.sqlite.org/howtocorrupt.html).
    Raises StorageError when somebody else has it or the folder can't be written.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(f"{path} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise StorageError(_refusal(database, error)) from error

    def release(self) -> None:
        """Lets the next one in; a second call does nothing.

        The file stays: removing it would let two owners in, one on the old file, one on a new.
        """
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def make_private(database: Path) -> None:
    """Make the file, if it is not there, so that only its owner may read it: it holds what people
    say. SQLite gives the same rights to the files that it makes beside it
    (https://www.sqlite.org/src/file/src/os_unix.c, findCreateFileMode).

    Raises StorageError when it can't be made. A file that is there keeps its rights.
    """
    try:
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StorageError(f"{database} can't be made: {error.strerror}") from error


def _refusal(database: Path, error: OSError) -> str:
    if isinstance(error, BlockingIOError):
        return (
            f"{database} is in use by another kimibot; SQLite is for one process, "
            "PostgreSQL for several"
        )
    return f"{database} can't be locked: {error.strerror}"
