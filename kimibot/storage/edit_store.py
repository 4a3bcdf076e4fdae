"""Edits as the rest of the bot sees them."""

from __future__ import annotations

from collections.abc import Collection

from kimibot.conversation import Message, Thread
from kimibot.storage import again, asks, edits
from kimibot.storage.engine import Database
from kimibot.storage.store import ACCEPT_SECONDS
from kimibot.turns import Again, Corrected, Renewal


class EditStore:
    """All raise DatabaseUnavailable when the database can't be had within two seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def correct(
        self, message: Message, *, files_gone: Collection[str] = (), restarts: bool
    ) -> Corrected:
        """Makes what is stored say what the message says now, without the files that are gone, in
        one transaction with the mark of its running turn, if that is to begin anew. A message that
        was deleted stays empty."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            has_changed = await edits.correct(connection, message)
            if files_gone and await edits.take_files_out(connection, message, files_gone):
                has_changed = True
            is_known = has_changed or await edits.is_known(connection, message)
            is_to_restart = restarts and has_changed
            to_restart = await edits.restart(connection, message) if is_to_restart else None
            has_turn, renewal = await again.of_ask(connection, message)
        return Corrected(is_known, has_changed, has_turn, to_restart, renewal)

    async def add_if_ours(self, message: Message) -> None:
        """Stores a message whose edit came before it, where its thread is ours."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            await edits.add_if_ours(connection, message)

    async def answer_again(self, renewal: Renewal) -> tuple[Again, int]:
        """Queues an answered turn once more, and says in which thread; or why not."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await again.queue(connection, renewal)

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        """The turn's thread and asker; None if there is no such turn."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.turn_owner(connection, turn_id)

    async def has_asked(self, turn_id: str, person: str) -> bool:
        """Whether the turn answers an ask of that person, alone or with others."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.has_asked(connection, turn_id, person)
