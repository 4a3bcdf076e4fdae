"""The local Slack delivers over HTTP as Slack does: signed, within 3 s, or again."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web as http_server
from slack_sdk.signature import SignatureVerifier

from kimibot.sandbox.slack import SIGNING_SECRET, LocalSlack
from tests.sandbox.slack_app import http_app, slack_and_app


async def test_http_deliveries_carry_a_signature_that_the_sdk_accepts() -> None:
    accepted = []

    async def answer(request: http_server.Request) -> http_server.Response:
        verifier = SignatureVerifier(SIGNING_SECRET)
        headers = dict(request.headers)
        accepted.append(verifier.is_valid_request(await request.read(), headers))
        return http_server.Response()

    async with slack_and_app() as (slack, _), http_app(slack, answer):
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: acked(slack))

        assert accepted == [True]


async def test_a_failed_http_delivery_is_made_again_with_retry_headers() -> None:
    seen = []

    async def answer(request: http_server.Request) -> http_server.Response:
        headers = request.headers
        seen.append((headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")))
        return http_server.Response(status=500 if len(seen) == 1 else 200)

    async with (
        slack_and_app(redelivery_seconds=(0.0,)) as (slack, _),
        http_app(slack, answer),
    ):
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: acked(slack))

        assert seen == [(None, None), ("1", "http_error")]


async def test_a_slow_http_delivery_has_timed_out() -> None:
    async def answer(_: http_server.Request) -> http_server.Response:
        await asyncio.sleep(3600)
        return http_server.Response()

    async with (
        slack_and_app(ack_timeout_seconds=0.05) as (slack, _),
        http_app(slack, answer),
    ):
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: given_up(slack))

        assert [record.failure for record in await slack.deliveries()] == ["http_timeout"]


async def test_an_unreachable_request_url_has_no_connection() -> None:
    async def answer(_: http_server.Request) -> http_server.Response:
        return http_server.Response()

    async with slack_and_app() as (slack, _):
        async with http_app(slack, answer):
            pass
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: given_up(slack))

        assert [record.failure for record in await slack.deliveries()] == ["connection_failed"]


async def test_an_app_can_forbid_to_deliver_again() -> None:
    async def answer(_: http_server.Request) -> http_server.Response:
        return http_server.Response(status=500, headers={"X-Slack-No-Retry": "1"})

    async with slack_and_app(redelivery_seconds=(0.0,)) as (slack, _), http_app(slack, answer):
        await slack.say("ana", "@kimibot", "hello")
        await slack.until(lambda: given_up(slack))

        assert len(await slack.deliveries()) == 1


async def test_a_request_url_is_verified_by_a_challenge() -> None:
    async def answer(request: http_server.Request) -> http_server.Response:
        return http_server.Response(text=json.loads(await request.read())["challenge"])

    async with slack_and_app() as (slack, _), http_app(slack, answer):
        assert await slack.verify_request_url()


async def given_up(slack: LocalSlack) -> bool:
    return (await slack.counters()).given_up > 0


async def acked(slack: LocalSlack) -> bool:
    return any(record.ack_seconds is not None for record in await slack.deliveries())
