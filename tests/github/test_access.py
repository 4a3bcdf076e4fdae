"""Which repositories are read, and with the token or without it, is decided beforehand."""

from __future__ import annotations

import pytest

from kimibot.errors import RepositoryRefused
from kimibot.github.access import Access, read_patterns

ACME = Access(read_patterns("acme/*, Octo/hello"), has_token=True)


def test_without_patterns_only_what_is_public_is_read() -> None:
    assert Access(has_token=True).with_token("acme/secret", is_guest=False) is False


@pytest.mark.parametrize("name", ["acme/a", "ACME/b.c", "octo/hello", "Octo/Hello"])
def test_what_a_pattern_allows_is_read_with_the_token(name: str) -> None:
    assert ACME.with_token(name, is_guest=False) is True


@pytest.mark.parametrize("name", ["octo/hello2", "acmes/a", "evil/acme", "xacme/a"])
def test_what_no_pattern_allows_is_not_read_at_all(name: str) -> None:
    with pytest.raises(RepositoryRefused):
        ACME.with_token(name, is_guest=False)


def test_a_guest_gets_what_everybody_gets() -> None:
    assert ACME.with_token("acme/a", is_guest=True) is False


def test_without_a_token_none_is_sent() -> None:
    assert Access(read_patterns("acme/*")).with_token("acme/a", is_guest=False) is False


@pytest.mark.parametrize("text", ["acme", "acme/a/b", "https://github.com/acme/a", "acme/[ab]"])
def test_a_pattern_that_could_not_match_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="should be patterns such as"):
        read_patterns(text)


def test_patterns_stand_between_blanks_or_commas() -> None:
    assert read_patterns(" a/b,c/d\n e/* ,f/g ") == ("a/b", "c/d", "e/*", "f/g")
    assert read_patterns(" ") == ()
