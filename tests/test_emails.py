"""No e-mail address reaches the model, and what only looks like one stays."""

from __future__ import annotations

import time

import pytest

from kimibot.emails import INSTEAD, has_address, without_addresses


@pytest.mark.parametrize(
    "text",
    [
        "{} is mine",
        "write to {}.",
        "write to <{}>, please",
        "[Ana](mailto:{})",
        "mailto:{}?subject=hi",
        "Author: Ana <{}>",
        '```\nauthors = ["{}"]\n```',
        "a,{};b",
        "({})",
        "naïve:{}",
        "_{}_",
        "**{}**",
        "{}:22 and {}/x and {}-y",
        "x/{}",
        "\u200b{}\u00a0",
    ],
)
@pytest.mark.parametrize(
    "address",
    [
        "ana@people.invalid",
        "ana.lima+x@mail.people.invalid",
        "a_b-c%d@x-y.co.uk",
        "ana%40people.invalid",
        "josé@exämple.de",
    ],
)
def test_an_address_is_taken_out_wherever_it_stands(text: str, address: str) -> None:
    said = text.replace("{}", address)

    assert without_addresses(said) == text.replace("{}", INSTEAD)
    assert has_address(said)


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@github.com:owner/repo.git",
        "ssh://git@host.example/owner/repo",
        "https://user@host.example/x",
        "@app.route and @ana",
        "npm i left-pad@1.3 @angular/core@17.0.1",
        "user@localhost",
        "a @ b.c",
        "x@",
        "100%40",
    ],
)
def test_what_only_looks_like_an_address_stays(text: str) -> None:
    assert without_addresses(text) == text


@pytest.mark.parametrize("flood", ["a", "a@", "a.", "@", "%40", "a@b.", "a@b.c", ".@"])
def test_a_flood_is_read_in_time(flood: str) -> None:
    hostile = (flood * 100_000)[:100_000]

    started = time.process_time()
    without_addresses(hostile)

    assert time.process_time() - started < 0.5
