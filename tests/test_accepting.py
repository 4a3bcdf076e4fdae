"""What is stored, what is queued, who is woken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from kimibot.accepting import Accepting
from kimibot.addressing import Policy, Wanted
from kimibot.conversation import Accepted, Message, Speaker, Thread, ThreadFacts, Us
from kimibot.errors import DatabaseUnavailable
from kimibot.ordering import MISSED_SECONDS, Ordering
from kimibot.turns import Kind
from tests.fakes import THREAD

US = Us(team="T0TEAM", user_id="U0KIMI", bot_id="B0KIMI")
ROOT = Message(THREAD, THREAD.root_ts, Speaker.PERSON, "U0ANA", "why does the build fail?")
MENTION = replace(ROOT, mentions=frozenset({"U0KIMI"}))
FOLLOW_UP = replace(ROOT, ts="1700000009.000100")
AUTO = Policy()
AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


@dataclass
class Inbox:
    facts: ThreadFacts | None = None
    is_up: bool = True
    is_new: bool = True
    looks: int = 0
    seconds: float = 0.0
    slow: bool = False
    must_wait: bool = False
    stored: list[tuple[Message, bool]] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)
    words: list[Message] = field(default_factory=list)

    async def stop(self, word: Message) -> None:
        self.words.append(word)

    async def thread_facts(self, thread: Thread, before_ts: str) -> ThreadFacts | None:
        self.looks += 1
        return self.facts

    async def accept(
        self,
        message: Message,
        *,
        is_ask: bool,
        kind: Kind = Kind.ASK,
        is_follow_up: bool = False,
        now: datetime,
    ) -> Accepted | None:
        if not self.is_up:
            raise DatabaseUnavailable
        if self.slow and is_ask:
            await asyncio.sleep(0.01)
            self.facts = ThreadFacts(7, speakers=frozenset({message.author}))
        self.stored.append((message, is_ask))
        self.wanted.append(Wanted(kind, is_follow_up))
        return Accepted(7, "turn-1" if is_ask and self.is_new else None, self.must_wait)


def accepting(inbox: Inbox, woken: list[int], policy: Policy = AUTO) -> Accepting:
    return Accepting(
        inbox,
        US,
        policy,
        woken.append,
        lambda: AT,
        Ordering(lambda: inbox.seconds),
        stop=inbox.stop,
        has_to_wait=inbox.waiting.append,
    )


async def test_an_ask_is_stored_and_the_worker_is_woken() -> None:
    inbox, woken = Inbox(), list[int]()

    await accepting(inbox, woken).accept(MENTION)

    assert inbox.stored == [(MENTION, True)]
    assert woken == [7]


async def test_a_mention_costs_no_look_at_the_thread() -> None:
    inbox = Inbox()

    await accepting(inbox, []).accept(MENTION)

    assert inbox.looks == 0


async def test_channel_talk_costs_no_look_at_the_database() -> None:
    inbox, woken = Inbox(), list[int]()

    assert await accepting(inbox, woken).accept(ROOT) is None
    assert (inbox.looks, inbox.stored, woken) == (0, [], [])


async def test_what_is_said_in_a_thread_of_others_is_forgotten() -> None:
    inbox, woken = Inbox(facts=None), list[int]()

    assert await accepting(inbox, woken).accept(FOLLOW_UP) is None
    assert (inbox.stored, woken) == ([], [])


async def test_what_is_said_in_a_thread_of_ours_is_kept_even_when_it_is_no_ask() -> None:
    inbox = Inbox(facts=ThreadFacts(7, speakers=frozenset({"U0BO", "U0ANA"})))

    await accepting(inbox, []).accept(FOLLOW_UP)

    assert inbox.stored == [(FOLLOW_UP, False)]


async def test_a_follow_up_in_a_thread_of_ours_is_an_ask() -> None:
    inbox, woken = Inbox(facts=ThreadFacts(7, speakers=frozenset({"U0ANA"}))), list[int]()

    await accepting(inbox, woken).accept(FOLLOW_UP)

    assert inbox.stored == [(FOLLOW_UP, True)]
    assert woken == [7]


async def test_what_is_wanted_is_stored_with_the_ask() -> None:
    inbox = Inbox(facts=ThreadFacts(7, speakers=frozenset({"U0ANA"})))
    taking = accepting(inbox, [])

    await taking.accept(replace(MENTION, text="<@U0KIMI> mute"))
    await taking.accept(replace(FOLLOW_UP, text="summarise"))

    assert inbox.wanted == [Wanted(Kind.MUTE), Wanted(Kind.SUMMARISE, is_follow_up=True)]


async def test_an_aside_is_kept_and_no_ask_although_it_mentions_us() -> None:
    inbox, woken = Inbox(facts=ThreadFacts(7)), list[int]()
    aside = replace(FOLLOW_UP, text="(aside) <@U0KIMI> is slow", mentions=frozenset({"U0KIMI"}))

    await accepting(inbox, woken).accept(aside)

    assert (inbox.stored, woken) == ([(aside, False)], [])


async def test_nothing_but_asks_is_kept_of_a_channel_where_we_are_not_to_be() -> None:
    inbox = Inbox(facts=ThreadFacts(7, speakers=frozenset({"U0ANA"})))
    taking = accepting(inbox, [], Policy(channels=frozenset({"C0OTHER"})))

    await taking.accept(MENTION)
    await taking.accept(FOLLOW_UP)

    assert inbox.stored == [(MENTION, True)]


async def test_a_second_delivery_wakes_nobody() -> None:
    inbox, woken = Inbox(is_new=False), list[int]()

    await accepting(inbox, woken).accept(MENTION)

    assert woken == []


async def test_without_a_commit_there_is_no_acknowledgement() -> None:
    with pytest.raises(DatabaseUnavailable):
        await accepting(Inbox(is_up=False), []).accept(MENTION)


async def test_a_follow_up_does_not_overtake_the_ask_that_opens_its_thread() -> None:
    inbox, woken = Inbox(slow=True), list[int]()
    taking = accepting(inbox, woken)

    await asyncio.gather(taking.accept(MENTION), taking.accept(FOLLOW_UP))

    assert inbox.stored == [(MENTION, True), (FOLLOW_UP, True)]


async def test_while_an_ask_waits_to_be_delivered_again_its_follow_ups_wait_too() -> None:
    inbox = Inbox(is_up=False)
    taking = accepting(inbox, [])
    with pytest.raises(DatabaseUnavailable):
        await taking.accept(MENTION)

    inbox.is_up = True
    with pytest.raises(DatabaseUnavailable):
        await taking.accept(FOLLOW_UP)
    await taking.accept(MENTION)
    await taking.accept(FOLLOW_UP)

    assert inbox.stored == [(MENTION, True)]


async def test_an_ask_that_never_comes_again_does_not_hold_its_thread_for_ever() -> None:
    inbox = Inbox(is_up=False)
    taking = accepting(inbox, [])
    with pytest.raises(DatabaseUnavailable):
        await taking.accept(MENTION)

    inbox.is_up, inbox.seconds = True, MISSED_SECONDS + 1

    assert await taking.accept(FOLLOW_UP) is None


async def test_the_word_that_stops_us_is_neither_stored_nor_an_ask() -> None:
    inbox, woken = Inbox(), list[int]()
    word = replace(MENTION, text="<@U0KIMI> stop!")

    assert await accepting(inbox, woken).accept(word) is None
    assert inbox.words == [word]
    assert (inbox.looks, inbox.stored, woken) == (0, [], [])


async def test_the_word_that_stops_us_waits_for_nothing_that_is_being_stored() -> None:
    inbox = Inbox(slow=True)
    taking = accepting(inbox, [])
    asking = asyncio.create_task(taking.accept(MENTION))
    await asyncio.sleep(0)

    await taking.accept(replace(FOLLOW_UP, text="stop"))

    assert (len(inbox.words), inbox.stored) == (1, [])
    await asking


async def test_an_ask_that_meets_an_open_turn_is_told_of() -> None:
    inbox = Inbox(must_wait=True)

    await accepting(inbox, []).accept(MENTION)

    assert inbox.waiting == [MENTION]


async def test_of_a_second_delivery_nobody_is_told_that_it_waits() -> None:
    inbox = Inbox(must_wait=True, is_new=False)

    await accepting(inbox, []).accept(MENTION)

    assert inbox.waiting == []
