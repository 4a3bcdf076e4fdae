"""The commands: parse, call one function, print."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from kimibot import __version__
from kimibot.errors import BadSettings, StorageError
from kimibot.settings import Settings, load_database_url

DOTENV = Path(".env")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0 is good, 1 a failure, 2 wrong settings or arguments, 130 Ctrl-C."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BadSettings as error:
        return _complain(error.lines, code=2)
    except StorageError as error:
        return _complain([f"database: {error}"], code=1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `kimibot manifest | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kimibot",
        description="A Slack bot that answers with the Kimi K3 model, while the model writes.",
        epilog="Settings come from the environment and from .env; .env.example lists them all.",
    )
    parser.add_argument("--version", action="version", version=f"kimibot {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_manifest(commands)
    _add_doctor(commands)
    _add_database(commands)
    return parser


def _add_manifest(commands: Any) -> None:
    text = "Print the manifest from which Slack makes the app."
    command = commands.add_parser("manifest", help=text, description=text)
    command.add_argument("--json", action="store_true", help="as JSON instead of YAML")
    command.add_argument(
        "--http",
        metavar="URL",
        type=_request_url,
        help="for HTTP instead of Socket Mode: the public https address of the bot",
    )
    command.set_defaults(command=_manifest)


def _add_doctor(commands: Any) -> None:
    text = "Check settings, tokens, scopes, database and model: one line each, with the fix."
    command = commands.add_parser("doctor", help=text, description=text)
    command.set_defaults(command=_doctor)


def _add_database(commands: Any) -> None:
    text = "Work on the database."
    database = commands.add_parser("db", help=text, description=text)
    inner = database.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "Bring the database to the newest migration."
    command = inner.add_parser("upgrade", help=text, description=text)
    command.set_defaults(command=_upgrade_database)


def _manifest(options: argparse.Namespace) -> int:
    from kimibot.slack.manifest import as_json, as_yaml, manifest

    document = manifest(request_url=options.http)
    print((as_json if options.json else as_yaml)(document), end="", flush=True)
    return 0


def _doctor(_options: argparse.Namespace) -> int:
    from kimibot.doctor import Finding, State, examine

    try:
        settings = Settings.load(os.environ, DOTENV)
    except BadSettings as error:
        for line in error.lines:
            print(Finding(State.FAILED, "settings", line))
        return 1
    return _run(examine(settings, lambda finding: print(finding, flush=True)))


def _upgrade_database(_options: argparse.Namespace) -> int:
    _run(_upgrade(load_database_url(os.environ, DOTENV)))
    print("The database is at the newest migration.")
    return 0


async def _upgrade(url: SecretStr) -> int:
    from kimibot.storage import open_database, upgrade

    try:
        database = open_database(url.get_secret_value())
    except ValueError as error:
        raise BadSettings([f"DATABASE_URL: {error}"]) from error
    try:
        await upgrade(database)
    finally:
        await database.close()
    return 0


def _run(command: Coroutine[Any, Any, int]) -> int:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(command)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed: a chunk of a stream then costs 40 % less CPU."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


def _request_url(url: str) -> str:
    """The address that Slack sends events to; a bare host gets the path that the bot serves."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError("should be an address such as https://bot.example.com")
    return url if parts.path.strip("/") else url.rstrip("/") + "/slack/events"


def _complain(lines: Sequence[str], *, code: int) -> int:
    for line in lines:
        print(f"kimibot: {line}", file=sys.stderr)
    return code
