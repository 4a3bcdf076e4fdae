"""Signed requests: what is not Slack's is refused, and what is never raises."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.signature import SignatureVerifier

from kimibot.sandbox.slack import SIGNING_SECRET
from tests.whole_way.scene import Scene, open_scene

EVENT = {
    "type": "event_callback",
    "team_id": "T0LOCAL",
    "event_id": "Ev1",
    "event": {"type": "message", "channel": "C1", "ts": "1.0", "user": "U1", "text": "hé"},
}


async def post(
    s: Scene,
    payload: Any,
    *,
    secret: str = SIGNING_SECRET,
    age_seconds: float = 0,
    signed: bytes | None = None,
) -> int:
    """What the bot answers to a request that was signed like this."""
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    timestamp = str(int(time.time() - age_seconds))
    text = raw if signed is None else signed
    signature = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=text)
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature or "",
    }
    url = f"http://127.0.0.1:{s.bot.port}/slack/events"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=raw, headers=headers) as answer,
    ):
        return answer.status


async def test_a_request_that_slack_has_signed_is_taken(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        assert await post(s, EVENT) == 200


async def test_another_secret_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        assert await post(s, EVENT, secret="not-the-secret") == 401


@pytest.mark.parametrize("age_seconds", [600, -600])
async def test_a_request_from_another_time_is_refused(tmp_path: Path, age_seconds: float) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        assert await post(s, EVENT, age_seconds=age_seconds) == 401


async def test_a_body_that_was_encoded_anew_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        encoded_anew = json.dumps(EVENT, ensure_ascii=False).encode()
        assert await post(s, encoded_anew, signed=json.dumps(EVENT).encode()) == 401


async def test_a_request_without_a_signature_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        url = f"http://127.0.0.1:{s.bot.port}/slack/events"
        async with aiohttp.ClientSession() as session, session.post(url, json=EVENT) as answer:
            assert answer.status == 401


@pytest.mark.parametrize("timestamp", ["", "yesterday", "١٢٣", "1e9", "-5"])
async def test_a_time_that_is_no_number_is_refused(tmp_path: Path, timestamp: str) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        url = f"http://127.0.0.1:{s.bot.port}/slack/events"
        headers = {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": "v0=00"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json=EVENT, headers=headers) as answer,
        ):
            assert answer.status == 401


async def test_an_unknown_charset_and_deep_nesting_are_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        url = f"http://127.0.0.1:{s.bot.port}/slack/events"
        odd = {"Content-Type": "application/json; charset=klingon"}
        signed = {"X-Slack-Request-Timestamp": "1", "X-Slack-Signature": "v0=00"}
        deep = b"[" * 100_000
        async with aiohttp.ClientSession() as session:
            async with session.post(url, data=b"{}", headers=signed | odd) as answer:
                assert answer.status == 400
            async with session.post(url, data=deep, headers=signed) as answer:
                assert answer.status in (400, 401)


async def test_in_socket_mode_nobody_can_post_events(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        assert await post(s, EVENT) in (404, 405)


async def test_slacks_check_of_the_address_is_answered_with_its_challenge(tmp_path: Path) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        await s.slack.verify_request_url()


ODD: list[Any] = [
    {"type": "event_callback", "event": {"type": "message"}},
    {"type": "event_callback", "event": {"type": "message", "subtype": "message_changed"}},
    {"type": "event_callback", "event": {"type": "message", "subtype": "message_deleted"}},
    {"type": "event_callback", "event": {"type": "channel_rename", "channel": {"id": "C1"}}},
    {"type": "event_callback", "event": {"type": "message", "blocks": "x", "text": 5}},
    {"type": "event_callback", "event": {"type": "tokens_revoked", "tokens": {"bot": ["U1"]}}},
    {"type": "app_rate_limited", "minute_rate_limited": 1518467820, "team_id": "T1"},
]


@pytest.mark.parametrize("payload", ODD, ids=lambda payload: json.dumps(payload)[:60])
async def test_an_event_that_is_nothing_for_us_is_acknowledged(
    tmp_path: Path, payload: Any
) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        assert await post(s, payload) == 200


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"payload=%7B",
        b'{"type": 5}',
        b'{"type": "event_callback"}',
        b'{"type": "event_callback", "event": null}',
        b'{"type": "event_callback", "event": []}',
        b'{"type": "event_callback", "event": {"type": 7}}',
        b'{"type": "event_callback", "event": {"type": "app_mention", "channel": 2}}',
    ],
)
async def test_a_signed_body_that_is_no_event_breaks_nothing(
    tmp_path: Path, payload: bytes
) -> None:
    async with open_scene(tmp_path, over_http=True) as s:
        refused = await post(s, payload)

        assert refused < 500
        assert await post(s, EVENT) == 200


@pytest.mark.parametrize(
    "payload", [{"type": "event_callback", "event": None}, {"type": ["x"]}, {"event": 5}]
)
async def test_a_socket_payload_of_no_known_shape_is_acknowledged_and_forgotten(
    tmp_path: Path, payload: dict[str, Any]
) -> None:
    async with open_scene(tmp_path) as s:
        event_id = await s.slack.send_event(payload | {"event_id": "Ev9"}, is_wrapped=True)

        async def acknowledged() -> bool:
            return any(r.ack_seconds is not None for r in await s.slack.deliveries(event_id))

        assert await s.slack.until(acknowledged, 5.0)
