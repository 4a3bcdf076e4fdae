"""What is kept of files: with their message, and not longer than it."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import delete

from kimibot.attachments import Attachment, Contents, SharedFile, Unread
from kimibot.conversation import Deletion, Placed
from kimibot.storage import Database, Store
from kimibot.storage.stop_store import StopStore
from kimibot.storage.tables import messages, threads
from kimibot.turns import Kind
from tests.storage.said import NOW, answered, ask, claimed, keep, says, ts

CODE = SharedFile("F1", "a.py", "text/x-python", "python", 12, "snippet", "https://x/a", "visible")
SHOT = SharedFile("F2", "b.png", "image/png")


async def ask_with_files(store: Store, number: int = 5) -> int:
    message = replace(says(number, ""), files=(CODE, SHOT))
    accepted = await store.accept(message, is_ask=True, now=NOW)
    assert accepted is not None
    return accepted.thread_id


async def read(store: Store, thread_id: int) -> tuple[Attachment, ...]:
    """Their files, read as a text and a picture."""
    code, shot = await store.attachments(thread_id)
    contents = (
        Contents("a\r\n\tÄ🙂", is_cut=True),
        Contents(image=b"\x89PNG\0", image_type="image/png"),
    )
    found = tuple(replace(one, contents=c) for one, c in zip((code, shot), contents, strict=True))
    await store.keep_contents(thread_id, found)
    return found


async def test_files_come_with_their_message_also_where_it_has_no_words(store: Store) -> None:
    thread_id = await ask_with_files(store)
    await ask_with_files(store)
    await ask(store, 7)

    first, second = await store.recall(thread_id)
    assert [one.file for one in first.attachments] == [CODE, SHOT]
    assert [one.contents for one in first.attachments] == [None, None]
    assert second.attachments == ()


async def test_what_was_in_a_file_is_kept_to_the_byte(store: Store) -> None:
    thread_id = await ask_with_files(store)
    found = await read(store, thread_id)

    assert await store.attachments(thread_id) == list(found)
    assert (await store.recall(thread_id))[0].attachments == found


async def test_why_a_file_was_not_read_and_what_it_is_called_are_kept(store: Store) -> None:
    thread_id = await ask_with_files(store)
    code, _ = await store.attachments(thread_id)
    unread = replace(
        code, file=replace(CODE, name="b.py"), contents=Contents(unread=Unread.TOO_SLOW)
    )
    await store.keep_contents(thread_id, [unread])

    assert (await store.attachments(thread_id))[0] == unread


async def test_a_text_that_was_sent_is_not_carried_along_but_a_picture_is(store: Store) -> None:
    thread_id = await ask_with_files(store)
    await read(store, thread_id)
    [message] = await store.recall(thread_id)
    claim = await claimed(store, thread_id)
    placed = (Placed(message.id, 1, "sent"),)
    await keep(store, claim, replace(answered(8, place=2), placed=placed))

    code, shot = (await store.recall(thread_id))[0].attachments
    assert code.contents == Contents(text=None, is_cut=True)
    assert shot.contents is not None
    assert shot.contents.image == b"\x89PNG\0"


async def test_files_read_from_slack_are_added_and_those_of_deleted_messages_are_not(
    store: Store, database: Database
) -> None:
    thread_id = (await ask(store, 5)).thread_id
    gone = replace(says(3), files=(CODE,))
    await StopStore(database).forget(Deletion(gone.thread, gone.ts, gone), is_ask=False)
    await store.add_messages(thread_id, [gone, replace(says(4), files=(SHOT,))])

    assert [one.file for one in await store.attachments(thread_id)] == [SHOT]


async def test_nothing_is_left_of_the_files_of_a_deleted_message(
    store: Store, database: Database
) -> None:
    thread_id = await ask_with_files(store)
    found = await read(store, thread_id)
    message = says(5)
    await StopStore(database).forget(Deletion(message.thread, message.ts, message), is_ask=True)
    await store.keep_contents(thread_id, found)

    assert await store.attachments(thread_id) == []


async def test_files_go_with_their_message_and_their_thread(
    store: Store, database: Database
) -> None:
    for removal in (delete(messages), delete(threads)):
        thread_id = await ask_with_files(store)
        async with database.writing() as connection:
            await connection.execute(removal)

        assert await store.attachments(thread_id) == []


async def test_the_files_of_what_is_forgotten_are_gone_too(store: Store) -> None:
    thread_id = await ask_with_files(store)
    await keep(store, await claimed(store, thread_id), answered(6))
    await store.accept(says(7, "forget"), is_ask=True, kind=Kind.FORGET, now=NOW)
    claim = await claimed(store, thread_id)

    await store.forget_thread(claim, ts(7))

    assert await store.attachments(thread_id) == []
    assert await store.recall(thread_id) == []
