"""Reads what stands around the changes of a few files, so that they are read with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from kimibot.errors import GitHubError, NotThere, TooLarge
from kimibot.github.client import GitHub
from kimibot.github.facts import Change
from kimibot.review.changes import FileDiff
from kimibot.review.surroundings import widened, worth_widening

MOST_FILES = 20
"""Each costs a request, one after the other, while somebody waits."""

MOST_FILES_WITHOUT_TOKEN = 5
"""Of 60 requests an hour, of which a review takes some seven anyway."""

MOST_BYTES = 4 * 1024 * 1024
"""Of all files together: what is larger than that is seldom written by hand."""

log = logging.getLogger(__name__)


async def with_surroundings(
    github: GitHub, change: Change, files: Sequence[FileDiff], attributes: str
) -> tuple[FileDiff, ...]:
    """The files, some of them with the beginnings of what their changes stand in. Never fails:
    what can't be had is left as it is, and after a failure nothing more is asked."""
    most = MOST_FILES if change.with_token else MOST_FILES_WITHOUT_TOKEN
    found, left_bytes = list(files), MOST_BYTES
    for at in worth_widening(files, attributes)[:most]:
        try:
            content = await github.content(change, files[at].new_path)
        except (NotThere, TooLarge):
            continue
        except GitHubError as error:
            log.info("surroundings not read: %s", error.name)
            break
        left_bytes -= len(content or b"")
        if left_bytes < 0:
            break
        found[at] = await asyncio.to_thread(widened, files[at], content or b"")
    return tuple(found)
