"""The local Slack delivers over sockets as Slack does: to one, acked in 3 s, or again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import aiohttp
import pytest

from kimibot.sandbox.slack import APP_TOKEN, BOT, LocalSlack
from tests.sandbox.slack_app import DEV, slack_and_app, socket_app


async def test_a_mention_comes_twice_with_different_event_ids() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        ts = await slack.say("ana", "#dev", "@kimibot hello")
        await slack.until(lambda: as_many(taken, 2))

        mention, message = (request.payload for request in taken)
        assert [p["event"]["type"] for p in (mention, message)] == ["app_mention", "message"]
        assert mention["event_id"] != message["event_id"]
        assert mention["event"]["ts"] == message["event"]["ts"] == ts
        assert mention["event"]["client_msg_id"] == message["event"]["client_msg_id"]
        assert message["authorizations"][0]["user_id"] == BOT.user_id
        assert message["api_app_id"] == BOT.app_id


async def test_the_order_of_the_two_can_be_turned_round() -> None:
    async with slack_and_app(mention_first=False) as (slack, web), socket_app(slack, web) as taken:
        await slack.say("ana", "#dev", "@kimibot hello")
        await slack.until(lambda: as_many(taken, 2))

        assert [r.payload["event"]["type"] for r in taken] == ["message", "app_mention"]


async def test_only_subscribed_events_are_raised() -> None:
    async with slack_and_app(events=["app_mention"]) as (slack, _):
        await slack.say("ana", "#dev", "no mention")
        await slack.say("ana", "#dev", "@kimibot a mention")

        assert [e["event"]["type"] for e in await slack.events()] == ["app_mention"]


async def test_events_come_only_from_channels_of_the_bot() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say("ana", "#without-bot", "@kimibot hello")
        assert await slack.events() == []

        await slack.change_channel("#without-bot", has_bot=True)
        await slack.say("ana", "#without-bot", "@kimibot hello")
        kinds = [event["event"]["type"] for event in await slack.events()]
        assert kinds == ["member_joined_channel", "app_mention", "message"]


async def test_a_direct_message_comes_once() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say("ana", "@kimibot", "@kimibot hello")

        (event,) = await slack.events()
        assert event["event"]["channel_type"] == "im"


async def test_own_posts_edits_and_deletions_come_back_as_events() -> None:
    async with slack_and_app() as (slack, web):
        ts = (await web.chat_postMessage(channel=DEV, text="one"))["ts"]
        await web.chat_update(channel=DEV, ts=ts, text="two")
        await slack.delete("ana", "#dev", ts)

        posted, changed, deleted = [event["event"] for event in await slack.events("message")]
        assert posted["bot_id"] == BOT.bot_id
        assert changed["subtype"] == "message_changed"
        assert changed["previous_message"]["text"] == "one"
        assert changed["message"]["text"] == "two"
        assert deleted["subtype"] == "message_deleted"
        assert deleted["deleted_ts"] == ts


async def test_a_deleted_root_with_replies_is_told_as_a_change_into_a_tombstone() -> None:
    async with slack_and_app() as (slack, _):
        root = await slack.say("ana", "#dev", "hello")
        await slack.say("bo", "#dev", "hello too", thread_ts=root)
        await slack.delete("ana", "#dev", root)

        changed = (await slack.events("message"))[-1]["event"]
        assert changed["subtype"] == "message_changed"
        assert changed["hidden"] is True
        assert changed["message"]["subtype"] == "tombstone"
        assert changed["message"]["ts"] == changed["previous_message"]["ts"] == root
        assert changed["previous_message"]["text"] == "hello"


async def test_an_edit_that_brings_the_mention_raises_it_once() -> None:
    async with slack_and_app() as (slack, _):
        ts = await slack.say("ana", "#dev", "hello")
        await slack.edit("ana", "#dev", ts, "@kimibot hello")
        await slack.edit("ana", "#dev", ts, "@kimibot hello there")

        (mention,) = await slack.events("app_mention")
        assert mention["event"]["ts"] == ts
        assert mention["event"]["edited"]["user"] == "U0ANA0001"


async def test_an_unacked_event_is_delivered_again_with_number_and_reason() -> None:
    options = {"ack_timeout_seconds": 0.05, "redelivery_seconds": (0.0, 0.02, 0.03)}
    async with slack_and_app(**options) as (slack, web), socket_app(slack, web, acks=False) as got:
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: given_up(slack))

        assert [request.retry_attempt for request in got] == [0, 1, 2, 3]
        assert [request.retry_reason for request in got] == ["", *["timeout"] * 3]
        assert len({request.payload["event_id"] for request in got}) == 1
        assert len({request.envelope_id for request in got}) == 4
        assert (await slack.counters()).unacked == 4


async def test_what_was_raised_while_no_socket_was_open_comes_later() -> None:
    async with slack_and_app(redelivery_seconds=(0.0, 0.3)) as (slack, web):
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: attempts(slack, 2))
        async with socket_app(slack, web) as taken:
            await slack.until(lambda: as_many(taken, 1))

            assert taken[0].retry_attempt == 2


async def test_ack_times_are_recorded() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: as_many(taken, 1))
        await slack.until(lambda: acked(slack))

        (record,) = await slack.deliveries()
        assert record.ack_seconds is not None
        assert 0 <= record.ack_seconds < 3
        assert record.kind == "message"


async def test_each_event_goes_to_one_connection_in_turn() -> None:
    async with (
        slack_and_app() as (slack, web),
        socket_app(slack, web) as first,
        socket_app(slack, web) as second,
    ):
        for number in range(4):
            await slack.say("ana", "@kimibot", f"{number}")
        await slack.until(lambda: as_many([*first, *second], 4))

        assert len(first) == len(second) == 2


async def test_an_event_can_be_sent_to_a_chosen_connection_as_a_repeated_one() -> None:
    async with (
        slack_and_app() as (slack, web),
        socket_app(slack, web) as first,
        socket_app(slack, web) as second,
    ):
        event_id = await slack.send_event({"type": "app_home_opened"}, connection=1)
        await slack.repeat_event(event_id, retry_num=2, connection=0)
        await slack.until(lambda: as_many([*first, *second], 2))

        assert first[0].retry_attempt == 2
        assert first[0].payload == second[0].payload


async def test_paused_deliveries_come_after_resuming() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        await slack.pause_delivery()
        await slack.say("ana", "@kimibot", "hello")
        await slack.at_rest(quiet_seconds=0.05)
        assert taken == []

        await slack.resume_delivery()
        await slack.until(lambda: as_many(taken, 1))


@pytest.mark.parametrize("how", ["clean", "hard"])
async def test_the_sdk_reconnects_after_its_socket_was_closed(how: str) -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web, ping_interval=0.1) as taken:
        await slack.close_sockets(how)
        await slack.until(lambda: opened(slack, 2))
        await slack.until(lambda: only_one_open(slack))
        await slack.say("ana", "@kimibot", "hello")

        await slack.until(lambda: as_many(taken, 1))


async def test_the_sdk_reconnects_on_a_disconnect_frame() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web, ping_interval=0.1):
        await slack.send_disconnect("refresh_requested")

        await slack.until(lambda: opened(slack, 2))


async def test_nothing_passes_on_a_half_open_socket() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        url = await socket_url(slack, http)
        async with http.ws_connect(url, autoping=False) as socket:
            assert (await socket.receive_json())["type"] == "hello"
            await socket.ping(b"one")
            assert (await socket.receive()).type is aiohttp.WSMsgType.PONG

            await slack.half_open_sockets()
            await socket.ping(b"two")
            await slack.send_event({"type": "app_home_opened"})
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(socket.receive(), 0.1)
            assert await slack.open_sockets() == 1
            await slack.close_sockets("hard")


async def test_the_hello_counts_connections_and_an_address_serves_once() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        url = await socket_url(slack, http)
        async with http.ws_connect(url) as socket:
            hello = await socket.receive_json()
            assert hello["num_connections"] == 1
            assert hello["connection_info"] == {"app_id": BOT.app_id}

            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(url)


async def test_the_eleventh_connection_is_sent_away() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        ten = [await http.ws_connect(await socket_url(slack, http)) for _ in range(10)]
        await slack.until(lambda: opened(slack, 10))

        async with http.ws_connect(await socket_url(slack, http)) as eleventh:
            frame = await eleventh.receive_json()
            assert frame["reason"] == "too_many_websockets"
        assert await slack.open_sockets() == len(ten)


async def test_strange_acks_are_complained_about() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        url = await socket_url(slack, http)
        async with http.ws_connect(url) as socket:
            await socket.receive_json()
            await slack.send_event({"type": "app_home_opened"})
            envelope_id = (await socket.receive_json())["envelope_id"]
            for ack in (envelope_id, envelope_id, "E0OTHER"):
                await socket.send_json({"envelope_id": ack})
            await socket.send_str("no json")

            complaints = await slack.until(lambda: complained(slack, 3))
            assert [c.split(":")[0] for c in complaints] == [
                "a second ack for an envelope",
                "an ack for an unknown envelope",
                "a frame that is not JSON",
            ]


async def test_a_handshake_can_be_stalled() -> None:
    async with slack_and_app(stall_handshakes=True) as (slack, _), aiohttp.ClientSession() as http:
        connecting = asyncio.ensure_future(http.ws_connect(await socket_url(slack, http)))
        done, _ = await asyncio.wait([connecting], timeout=0.1)
        assert not done

        await slack.configure(stall_handshakes=False)
        socket = await connecting
        await socket.close()


async def socket_url(slack: LocalSlack, http: aiohttp.ClientSession) -> str:
    headers = {"Authorization": f"Bearer {APP_TOKEN}"}
    async with http.post(slack.api_url + "apps.connections.open", headers=headers) as response:
        return str((await response.json())["url"])


async def as_many(taken: Sequence[object], count: int) -> bool:
    return len(taken) >= count


async def attempts(slack: LocalSlack, count: int) -> bool:
    return len(await slack.deliveries()) >= count


async def opened(slack: LocalSlack, count: int) -> bool:
    return (await slack.counters()).sockets_opened >= count


async def only_one_open(slack: LocalSlack) -> bool:
    return await slack.open_sockets() == 1


async def given_up(slack: LocalSlack) -> bool:
    return (await slack.counters()).given_up > 0


async def acked(slack: LocalSlack) -> bool:
    return any(record.ack_seconds is not None for record in await slack.deliveries())


async def complained(slack: LocalSlack, count: int) -> list[str]:
    complaints = await slack.complaints()
    return complaints if len(complaints) >= count else []
