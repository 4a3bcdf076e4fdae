"""Which message a link from Slack names."""

from __future__ import annotations

import pytest

from kimibot.slack.permalink import read_permalink


@pytest.mark.parametrize(
    "url",
    [
        "https://acme.slack.com/archives/C0123ABCD/p1700000000123456",
        "https://acme.slack.com/archives/C0123ABCD/p1700000000123456/",
        "https://acme.slack.com/archives/C0123ABCD/p1700000000123456?thread_ts=1699999999.000100",
        "https://acme.enterprise.slack.com/archives/C0123ABCD/p1700000000123456?cid=C0123ABCD#x",
        "http://127.0.0.1:4000/archives/C0123ABCD/p1700000000123456",
    ],
)
def test_a_link_names_channel_and_time_of_its_message(url: str) -> None:
    assert read_permalink(url) == ("C0123ABCD", "1700000000.123456")


def test_messages_of_direct_and_private_channels_have_links_too() -> None:
    for channel in ("D0123ABCD", "G0123ABCD"):
        link = f"https://acme.slack.com/archives/{channel}/p1700000000123456"
        assert read_permalink(link) == (channel, "1700000000.123456")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "trace-77",
        "/archives/C0123ABCD/p1700000000123456",
        "https://acme.slack.com/archives/C0123ABCD",
        "https://acme.slack.com/archives/C0123ABCD/1700000000123456",
        "https://acme.slack.com/archives/C0123ABCD/p1700000000",
        "https://acme.slack.com/archives/C0123ABCD/p17000000001234567",
        "https://acme.slack.com/archives/c%/p1700000000123456",
        "https://acme.slack.com/archives/C0123ABCD/p١٧٠٠٠٠٠٠٠٠١٢٣٤٥٦",
        "ftp://acme.slack.com/archives/C0123ABCD/p1700000000123456",
        "https://[acme/archives/C0123ABCD/p1700000000123456",
    ],
)
def test_anything_else_is_no_link_to_a_message(text: str) -> None:
    assert read_permalink(text) is None
