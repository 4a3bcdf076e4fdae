"""The commands: parse, call one function, print."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from kimibot import __version__, logs
from kimibot.errors import BadSettings, StorageError
from kimibot.settings import (
    Settings,
    has_kimi_key,
    load_database_url,
    load_of_kimi,
    unused_key,
)

if TYPE_CHECKING:
    from kimibot.storage import Database

log = logging.getLogger(__name__)

DOTENV = Path(".env")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0 is good, 1 a failure, 2 wrong settings or arguments, 130 Ctrl-C."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BadSettings as error:
        return _complain([*error.warnings, *error.lines], code=2)
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
    _add_run(commands)
    _add_demo(commands)
    _add_manifest(commands)
    _add_doctor(commands)
    _add_database(commands)
    _add_trace(commands)
    _add_usage(commands)
    return parser


def _add_run(commands: Any) -> None:
    text = "Run the bot: over a socket with SLACK_APP_TOKEN, else over HTTP on HOST:PORT."
    command = commands.add_parser("run", help=text, description=text)
    command.set_defaults(command=_run_bot)


def _add_demo(commands: Any) -> None:
    text = "Try the bot with a local Slack in the browser: no account and no key needed."
    more = "With KIMI_API_KEY set the real Kimi answers, otherwise a local one."
    command = commands.add_parser("demo", help=text, description=f"{text} {more}")
    command.add_argument(
        "--script",
        action="store_true",
        help="play a fixed conversation in the terminal, with the local Kimi, and end",
    )
    command.add_argument(
        "--port", type=_port, default=0, help="where the page is served (default: a free port)"
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the page")
    command.add_argument("--verbose", action="store_true", help="show the bot's log as well")
    command.set_defaults(command=_demo)


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


def _add_trace(commands: Any) -> None:
    text = "Tell the life of one turn: when each step was, how it ended, and all its ids."
    command = commands.add_parser("trace", help=text, description=f"{text} No text is shown.")
    command.add_argument(
        "sought",
        metavar="ID",
        type=_sought,
        help="a trace id, completion id, event id or turn id, or the link to a message in Slack",
    )
    command.set_defaults(command=_trace)


def _add_usage(commands: Any) -> None:
    text = "Print how many tokens were used, by day (UTC), person and channel."
    command = commands.add_parser("usage", help=text, description=text)
    command.add_argument(
        "--days", type=_days, default=7, help="so many days, today included (default: 7)"
    )
    command.add_argument("--json", action="store_true", help="as JSON instead of a table")
    command.set_defaults(command=_usage)


def _run_bot(_options: argparse.Namespace) -> int:
    settings = Settings.load(os.environ, DOTENV)
    from kimibot.service import run  # takes its time, which a wrong setting need not wait for

    logs.configure(settings.log_level, settings.log_format, settings.secrets)
    for warning in settings.warnings:
        log.warning("%s", warning)
    return _run(run(settings))


def _demo(options: argparse.Namespace) -> int:
    from kimibot.sandbox.demo import play_script, run_demo

    say = partial(print, flush=True)
    if options.script:
        return _run(play_script(say=say))
    of_kimi = load_of_kimi(os.environ, DOTENV)
    demo = run_demo(
        port=options.port,
        opens_browser=not options.no_browser,
        real_kimi=_real_kimi(of_kimi),
        hint=unused_key(of_kimi),
        of_kimi=of_kimi,
        is_verbose=options.verbose,
        say=say,
    )
    return _run(demo)


def _real_kimi(of_kimi: Mapping[str, str]) -> str:
    """Which model a demo would ask, or "" without a key. Raises BadSettings where it can't."""
    from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN

    if not has_kimi_key(of_kimi):
        return ""
    of_slack = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
    settings = Settings.load({**of_kimi, **of_slack})
    return f"{settings.kimi_model} at {settings.kimi_provider}"


def _manifest(options: argparse.Namespace) -> int:
    from kimibot.slack.manifest import as_json, as_yaml, manifest

    document = manifest(request_url=options.http)
    print((as_json if options.json else as_yaml)(document), end="", flush=True)
    return 0


def _doctor(_options: argparse.Namespace) -> int:
    from kimibot.doctor import Finding, State, examine, of_dotenv

    print(of_dotenv(DOTENV), flush=True)
    try:
        settings = Settings.load(os.environ, DOTENV)
    except BadSettings as error:
        for warning in error.warnings:
            print(Finding(State.WARNING, "settings", warning))
        for line in error.lines:
            print(Finding(State.FAILED, "settings", line))
        return 1
    return _run(examine(settings, lambda finding: print(finding, flush=True)))


def _upgrade_database(_options: argparse.Namespace) -> int:
    return _run(_upgrade(load_database_url(os.environ, DOTENV)))


async def _upgrade(url: SecretStr) -> int:
    from kimibot.storage import shown, upgrade

    async with _opened(url, alone=True) as database:
        done = await upgrade(database)
    print(f"{shown(url.get_secret_value())}: {done}")
    return 0


def _trace(options: argparse.Namespace) -> int:
    is_found = _run(_traced(load_database_url(os.environ, DOTENV), options.sought))
    return 0 if is_found else _complain([f"no turn is known by {options.sought}"], code=1)


async def _traced(url: SecretStr, sought: str) -> bool:
    from kimibot.tracing import trace

    async with _opened(url, alone=False) as database:
        return await trace(database, sought, partial(print, flush=True))


def _usage(options: argparse.Namespace) -> int:
    url = load_database_url(os.environ, DOTENV)
    return _run(_reported(url, options.days, as_json=options.json))


async def _reported(url: SecretStr, days: int, *, as_json: bool) -> int:
    from kimibot.reporting import report

    today, say = datetime.now(UTC).date(), partial(print, flush=True)
    async with _opened(url, alone=False) as database:
        await report(database, days=days, today=today, as_json=as_json, say=say)
    return 0


@asynccontextmanager
async def _opened(url: SecretStr, *, alone: bool) -> AsyncIterator[Database]:
    """The database while the block runs. Raises BadSettings for a URL that can't be used."""
    from kimibot.storage import open_database

    try:
        database = open_database(url.get_secret_value(), alone=alone)
    except ValueError as error:
        raise BadSettings([f"DATABASE_URL: {error}"]) from error
    try:
        yield database
    finally:
        await database.close()


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


def _sought(text: str) -> str:
    """An id, or a link to a message: another link names nothing that could be found."""
    sought = text.strip()
    if "://" in sought:
        from kimibot.slack.permalink import read_permalink

        if read_permalink(sought) is None:
            example = "https://acme.slack.com/archives/C0123ABCD/p1700000000123456"
            raise argparse.ArgumentTypeError(f"should be the link to a message, such as {example}")
    if not sought:
        raise argparse.ArgumentTypeError("should be an id or the link to a message")
    return sought


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("should be a whole number from 0 to 65535")
    return int(text)


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3_660:
        raise argparse.ArgumentTypeError("should be a whole number from 1 to 3660")
    return int(text)


def _complain(lines: Sequence[str], *, code: int) -> int:
    for line in lines:
        print(f"kimibot: {line}", file=sys.stderr)
    return code
