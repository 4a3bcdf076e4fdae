"""A review reads as one: verdict, coverage, findings in their order, and nothing that pings."""

from __future__ import annotations

import re
from dataclasses import replace

from kimibot.review.changes import Anchor, FileDiff, Side, Status
from kimibot.review.diffs import whole
from kimibot.review.findings import Chosen, Finding, choose
from kimibot.review.report import Review, covered, finished, growing, headline, reading, title_alone
from kimibot.review.said import Severity
from kimibot.review.selecting import Coverage, Limits, Look, select
from kimibot.slack.markdown import render

BUG = Finding(
    Anchor("src/a.py", Side.NEW, 4),
    Severity.CRITICAL,
    "`=+` is not `+=`.",
    "The sum is only ever the last value.",
    "        total =+ value",
    "        total += value",
)
DOUBT = Finding(
    Anchor("src/a.py", Side.OLD, 9), Severity.MINOR, "The lock is gone", "", "with lock:",
    is_certain=False,
)  # fmt: skip
WHOLE = Coverage(whole("src/a.py", b"x\n"), Look.WHOLE, 1, 1)


def link(anchor: Anchor) -> str:
    return f"https://example.com/{anchor.path}#L{anchor.line}"


def test_a_finished_review_says_first_what_matters_most() -> None:
    review = Review(choose([DOUBT, BUG]), [WHOLE], "Mend the sum before merging.")

    assert finished(review, link) == (
        "**Mend the sum before merging.**\n\n"
        "Read 1 of 1 file.\n\n"
        "**1. Critical: `=+` is not `+=`** · [`src/a.py:4`](https://example.com/src/a.py#L4)\n"
        "```python\n        total =+ value\n```\n"
        "The sum is only ever the last value.\n"
        "Suggested:\n```python\n        total += value\n```\n\n"
        "**2. Minor: The lock is gone** · [`src/a.py:9`](https://example.com/src/a.py#L9) (removed)"
        "\n```python\nwith lock:\n```\n_I can't verify this from what I was shown._"
    )


def test_without_a_verdict_the_findings_are_one() -> None:
    assert finished(Review(choose([DOUBT, BUG]), [WHOLE])).startswith(
        "**2 problems found: 1 critical, 1 minor.**"
    )
    assert finished(Review(choose([BUG]), [WHOLE])).startswith("**1 problem found: 1 critical.**")


def test_no_problems_found_is_a_review() -> None:
    assert finished(Review(Chosen(()), [WHOLE])) == "**No problems found.**\n\nRead 1 of 1 file."


def test_a_review_in_other_words_is_not_called_one_without_problems() -> None:
    told = finished(Review(Chosen(()), [WHOLE], prose="The lock is missing."))

    assert told.startswith("**A review in Kimi's own words.**\n\n")
    assert told.endswith("The lock is missing.")


def test_where_nothing_was_read_nobody_says_that_it_is_good() -> None:
    skipped = Coverage(whole("uv.lock", b"x\n"), Look.SKIPPED, 1, 0, "lock file")

    assert finished(Review(Chosen(()), [skipped])) == (
        "**There was nothing in it to review.**\n\nRead 0 of 1 file. "
        "Not read: `uv.lock` (lock file)."
    )


def test_the_coverage_says_what_was_not_looked_at_and_why() -> None:
    files = [whole(f"web/{n}/yarn.lock", b"x\n") for n in range(8)]
    files += [FileDiff("a.png", "a.png", Status.MODIFIED, is_binary=True), whole("a.py", b"x\n")]
    part = Coverage(FileDiff("b.py", "b.py", Status.MODIFIED), Look.PARTLY, 9, 4, "too much")

    coverage = [*select(files, Limits(1_000, 1)).coverage, part]

    assert covered(coverage) == (
        "Read 2 of 11 files (5 of 18 hunks). In part: `b.py` (4 of 9 hunks, the others: too much). "
        "Not read: `web/0/yarn.lock`, `web/1/yarn.lock`, `web/2/yarn.lock`, `web/3/yarn.lock`, "
        "`web/4/yarn.lock` and 3 more (lock file); `a.png` (binary)."
    )


def test_what_was_found_and_is_not_shown_is_counted_for_the_reader() -> None:
    nits = [
        replace(DOUBT, severity=Severity.NIT, anchor=BUG.anchor._replace(line=n)) for n in (1, 2)
    ]

    two = finished(Review(choose([BUG, *nits]), [WHOLE], no_problems=2))
    one = finished(Review(choose(nits[:1]), [WHOLE], no_problems=1))

    assert "\n\nRead 1 of 1 file. 2 smaller remarks left out.\n\n" in two
    assert two.endswith("\n\n2 findings left out: not a problem here, as somebody has said.")
    assert one == (
        "**No problems left: what was found before is fixed or no problem here.**\n\n"
        "Read 1 of 1 file. 1 smaller remark left out.\n\n"
        "1 finding left out: not a problem here, as somebody has said."
    )


def test_where_all_that_was_found_is_left_out_our_words_say_so() -> None:
    left = Review(Chosen(()), [WHOLE], no_problems=1)

    assert headline(left) == (
        "No problems left: what was found before is fixed or no problem here."
    )
    assert headline(replace(left, prose="One more thing.")) == "A review in Kimi's own words."


def test_a_title_in_a_sentence_of_ours_keeps_what_joins_its_letters() -> None:
    title = "\u0645\u06cc\u200c\u0634\u06a9\u0646\u062f"

    assert title_alone(replace(BUG, title=title)) == f"`{title}`"
    assert title_alone(replace(BUG, title="a\u202eb")) == "`ab`"


def test_a_title_in_a_sentence_of_ours_neither_pings_nor_draws() -> None:
    hostile = replace(BUG, title="`x` <!channel> **[y](https://example.com)**\n# :tada:")

    said = title_alone(hostile)

    assert said == "`x <!channel> **[y](https://example.com)** # :tada:`"
    assert "<!channel>" not in render(f"About {said}")


def test_a_file_whose_name_hides_something_is_shown_as_what_it_is() -> None:
    hidden = "src/\u202egpj.\u2066a\u200b.py"
    skipped = Coverage(whole(hidden, b""), Look.SKIPPED, 0, 0, "binary")
    at_it = replace(BUG, anchor=Anchor(hidden, Side.NEW, 4))

    told = finished(Review(choose([at_it]), [skipped], fixed=[at_it]))

    assert told.count(r"`src/\u202egpj.\u2066a\u200b.py") == 3
    assert not set("\u202e\u2066\u200b") & set(told)


def test_of_a_long_path_the_end_is_shown_with_the_number_of_the_line() -> None:
    long = replace(BUG, anchor=Anchor(f"{'deep/' * 60}\n.py", Side.NEW, 1234))

    shown = re.findall(r"`(…[^`]*)`", finished(Review(choose([long]), [WHOLE])))

    assert [(len(one), one[-15:]) for one in shown] == [(200, r"deep/\n.py:1234")]


def test_files_that_could_not_be_had_are_counted() -> None:
    assert covered([WHOLE], 12) == "Read 1 of 13 files. Not to be had: 12 files."


def test_a_growing_review_only_adds_to_what_is_shown() -> None:
    texts = [growing([DOUBT, BUG][:count]) for count in range(3)]

    assert texts[0] == ""
    assert texts[2].startswith(texts[1])
    assert "Critical" in texts[2]
    assert reading([whole("src/a.py", b"x\n")], 1, 1) == "Reading `src/a.py`…"
    assert reading([whole("a", b"")], 2, 3) == "Reading part 2 of 3: `a`…"


def test_prose_is_shown_as_it_came_with_a_word_about_it() -> None:
    prose = "I think it is fine.\n```python\nx = 1\n```"

    alone = finished(Review(Chosen(()), [WHOLE], prose=prose))
    beside = finished(Review(choose([BUG]), [WHOLE], "Mend it.", prose=f"\n{prose}\n"))

    assert alone.endswith(f"so it is shown as it came:\n\n{prose}")
    assert beside.endswith(f"Kimi also wrote:\n\n{prose}")


def test_how_many_more_there_were_is_said() -> None:
    assert finished(Review(Chosen((BUG,), beyond_most=3), [WHOLE])).endswith(
        "3 less important left out."
    )


def test_code_with_fences_and_backticks_stays_code() -> None:
    nasty = Finding(Anchor("a`b.md", Side.NEW, 1), Severity.MAJOR, "t", "w", "```", "````\nx\n````")

    text = finished(Review(choose([nasty]), [WHOLE]))

    assert "````markdown\n```\n````" in text
    assert "`````markdown\n````\nx\n````\n`````" in text
    assert "`` a`b.md:1 ``" in text


def test_nothing_in_a_review_can_ping_anybody() -> None:
    ping = "<!channel> <@U123> <!subteam^S1>"
    evil = Finding(Anchor(f"{ping}.py", Side.NEW, 1), Severity.MAJOR, ping, ping, "x = 1", "")
    skipped = Coverage(whole(ping, b""), Look.SKIPPED, 0, 0, "binary")

    shown = render(finished(Review(choose([evil]), [skipped], ping, ping)))

    assert not re.search("<[!@]", shown)


def test_a_fence_that_the_model_left_open_ends_with_its_finding() -> None:
    open_ended = Finding(BUG.anchor, BUG.severity, "t", "Like so:\n```python\nx = 1", "q")

    text = finished(Review(choose([open_ended, DOUBT]), [WHOLE]))

    assert "x = 1\n```\n\n**2." in text


def test_a_mark_within_open_code_does_not_end_it() -> None:
    open_ended = Finding(BUG.anchor, BUG.severity, "t", "Like so:\n```\n~~~\nx = 1", "q")

    text = finished(Review(choose([open_ended, DOUBT]), [WHOLE]))

    assert "x = 1\n```\n\n**2." in text
