"""Stops and deletions as the rest of the bot sees them."""

from __future__ import annotations

from kimibot.conversation import Deletion, Message, Reaction, Thread
from kimibot.storage import asks, deletions, stops
from kimibot.storage.engine import Database
from kimibot.storage.store import ACCEPT_SECONDS
from kimibot.turns import Stop, StopCause, TurnToStop


class StopStore:
    """All raise DatabaseUnavailable when the database can't be had within two seconds.

    What may overtake its ask is two transactions, so that one of the two finds the other; after a
    crash in between, a repeated delivery does the second.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember_word(self, word: Message) -> bool:
        """Keeps a stop for asks before it that are still on their way; False if it is known."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await stops.remember_word(connection, word)

    async def mark_for_word(self, word: Message) -> list[TurnToStop]:
        """The open turns before the word that its author may stop, marked now.

        In a thread: all, for who has asked one of them or has said something there before. A
        root counts for what its author has asked in the whole channel.
        """
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await stops.mark_for_word(connection, word)

    async def goes_on(self, word: Message) -> bool:
        """Whether something that was asked before the word in its thread goes on nevertheless."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await stops.goes_on(connection, word)

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        """The turn's thread and asker; None if there is no such turn."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.turn_owner(connection, turn_id)

    async def takes_part(self, turn_id: str, person: str) -> bool:
        """Whether the person has said something in the turn's thread."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await stops.takes_part(connection, turn_id, person)

    async def mark_turn(self, turn_id: str, person: str) -> list[TurnToStop]:
        """The turn, if it is open and was not marked before."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await stops.mark_turn(connection, turn_id, Stop(StopCause.PERSON, person))

    async def mark_reply(self, reaction: Reaction) -> list[TurnToStop]:
        """The open turn to whose reply its asker has reacted."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await stops.mark_reply(
                connection, reaction.team, reaction.channel, reaction.ts, reaction.user
            )

    async def forget(self, deletion: Deletion, *, is_ask: bool) -> list[TurnToStop]:
        """Empties what was deleted; the open turn, if it was an ask or a part of our reply.

        With one part of a reply, the whole answer is forgotten. `is_ask` says that the message
        asks us wherever it stands, so that it counts although its thread is not ours yet.
        """
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            thread_id = await deletions.thread_of(connection, deletion)
        if deletion.is_ours:
            return [] if thread_id is None else await self._forget_reply(thread_id, deletion)
        if thread_id is None and not is_ask:
            return []
        await self._forget_message(thread_id, deletion)
        thread = deletion.thread
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await stops.mark_ask(connection, thread.team, thread.channel, deletion.ts)

    async def _forget_message(self, thread_id: int | None, deletion: Deletion) -> None:
        where = (deletion.thread.team, deletion.thread.channel, deletion.ts)
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            was_there = await deletions.empty_message(connection, *where)
            if thread_id is not None and not was_there:
                await deletions.leave_empty(connection, thread_id, deletion)
            await stops.remember_deletion(connection, *where)

    async def _forget_reply(self, thread_id: int, deletion: Deletion) -> list[TurnToStop]:
        """The mark first: an answer that is being kept just now is then there, or is not kept."""
        pattern = stops.part_pattern(deletion.ts)
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            turn_id = await deletions.turn_of_part(connection, thread_id, pattern)
            if turn_id is None:
                return []
            marked = await stops.mark_turn(connection, turn_id, Stop(StopCause.REPLY_DELETED))
            await deletions.empty_answer(connection, turn_id)
            return marked
