"""Checks the blocks of a message against Slack's limits, and against slack_sdk's own models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.options import Options
from kimibot.sandbox.slack.refusals import Refused

BlockFields = dict[str, Any]

UNKNOWN_TO_THE_SDK = frozenset({"data_table", "data_visualization"})
"""Block types that Slack documents and slack_sdk 3.48 has no model of."""

HEADING_OR_RULE = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|(?:[-*_][ \t]*){3,}$)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def check_blocks(blocks: Any, options: Options) -> list[str]:
    """Raise Refused for what Slack does not take; return what slack_sdk complained about.

    A complaint is refused as `invalid_blocks` too, but only once nothing else is wrong.
    """
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise Refused("invalid_blocks_format")
    if options.markdown_limits:
        _check_lengths(blocks)
    if options.block_count_limit and _expanded_count(blocks) > limits.BLOCKS_PER_MESSAGE:
        raise Refused("invalid_blocks", ["no more than 50 items allowed [json-pointer:/blocks]"])
    if options.block_element_limits:
        faults = [fault for index, block in enumerate(blocks) for fault in _faults(index, block)]
        if faults:
            raise Refused("invalid_blocks", faults)
    return [complaint for block in blocks for complaint in _sdk_complaints(block)]


def check_markdown_text(text: str, options: Options) -> None:
    """`markdown_text` has the limit of one payload's markdown blocks."""
    if options.markdown_limits and len(text) > limits.MARKDOWN_CHARS:
        raise Refused("msg_too_long")


def _check_lengths(blocks: list[BlockFields]) -> None:
    markdown = [_text_of(block) for block in blocks if block.get("type") == "markdown"]
    if any(len(text) > limits.MARKDOWN_CHARS for text in markdown):
        raise Refused("msg_too_long")
    if sum(map(len, _all_texts(blocks))) >= limits.ALL_BLOCK_TEXT_CHARS:
        raise Refused("msg_blocks_too_long")
    if sum(map(len, markdown)) > limits.MARKDOWN_CHARS:
        raise Refused("msg_too_long")


def _all_texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _all_texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "text" and isinstance(item, str):
                yield item
            else:
                yield from _all_texts(item)


def _text_of(block: BlockFields) -> str:
    text = block.get("text", "")
    return text if isinstance(text, str) else ""


def _expanded_count(blocks: list[BlockFields]) -> int:
    """Each heading and each rule of a markdown block becomes a block of its own."""
    return sum(
        1 + _headings_and_rules(_text_of(block)) if block.get("type") == "markdown" else 1
        for block in blocks
    )


def _headings_and_rules(markdown: str) -> int:
    count, fence = 0, ""
    for line in markdown.split("\n"):
        if match := FENCE.match(line):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and HEADING_OR_RULE.match(line):
            count += 1
    return count


def _faults(index: int, block: BlockFields) -> Iterator[str]:
    where = f"/blocks/{index}"
    if len(str(block.get("block_id", ""))) > limits.BLOCK_ID_CHARS:
        yield _fault("must be less than 256 characters", f"{where}/block_id")
    check = {
        "section": _section_faults,
        "header": _header_faults,
        "markdown": _markdown_faults,
        "actions": _actions_faults,
        "context": _context_faults,
        "context_actions": _context_faults,
        "table": _table_faults,
    }.get(str(block.get("type")))
    if check is not None:
        yield from check(block, where)


def _fault(what: str, where: str) -> str:
    return f"{what} [json-pointer:{where}]"


def _section_faults(block: BlockFields, where: str) -> Iterator[str]:
    fields = block.get("fields") or []
    if "text" not in block and not fields:
        yield _fault("missing required field: text", where)
    if "text" in block:
        yield from _text_faults(block["text"], limits.SECTION_TEXT_CHARS, f"{where}/text")
    if len(fields) > limits.SECTION_FIELDS:
        yield _fault("no more than 10 items allowed", f"{where}/fields")
    for number, text in enumerate(fields):
        yield from _text_faults(text, limits.SECTION_FIELD_CHARS, f"{where}/fields/{number}")
    if block.get("accessory"):
        yield from _element_faults(block["accessory"], f"{where}/accessory")


def _header_faults(block: BlockFields, where: str) -> Iterator[str]:
    yield from _plain_text_faults(block.get("text"), limits.HEADER_CHARS, f"{where}/text")


def _markdown_faults(block: BlockFields, where: str) -> Iterator[str]:
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        yield _fault("must be more than 0 characters", f"{where}/text")


def _actions_faults(block: BlockFields, where: str) -> Iterator[str]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= limits.ACTIONS_ELEMENTS:
        yield _fault("must have 1 to 25 items", f"{where}/elements")
    for number, element in enumerate(elements):
        yield from _element_faults(element, f"{where}/elements/{number}")
    ids = [element.get("action_id") for element in elements if element.get("action_id")]
    if len(ids) != len(set(ids)):
        yield _fault("action_id already exists", f"{where}/elements")


def _context_faults(block: BlockFields, where: str) -> Iterator[str]:
    elements = block.get("elements") or []
    is_context = block.get("type") == "context"
    most = limits.CONTEXT_ELEMENTS if is_context else limits.CONTEXT_ACTIONS_ELEMENTS
    if not 1 <= len(elements) <= most:
        yield _fault(f"must have 1 to {most} items", f"{where}/elements")
    for number, element in enumerate(elements):
        if element.get("type") in ("mrkdwn", "plain_text"):
            place = f"{where}/elements/{number}"
            yield from _text_faults(element, limits.SECTION_TEXT_CHARS, place)


def _element_faults(element: BlockFields, where: str) -> Iterator[str]:
    if element.get("type") == "button":
        yield from _button_faults(element, where)
    elif element.get("type") == "static_select":
        yield from _select_faults(element, where)


def _select_faults(select: BlockFields, where: str) -> Iterator[str]:
    options = select.get("options") or []
    if not 1 <= len(options) <= limits.SELECT_OPTIONS:
        yield _fault("must have 1 to 100 items", f"{where}/options")
    most = limits.SELECT_PLACEHOLDER_CHARS
    yield from _plain_text_faults(select.get("placeholder"), most, f"{where}/placeholder")
    yield from _length_faults(select, "action_id", limits.ACTION_ID_CHARS, where)
    for number, option in enumerate(options):
        place = f"{where}/options/{number}"
        yield from _plain_text_faults(option.get("text"), limits.OPTION_TEXT_CHARS, f"{place}/text")
        yield from _length_faults(option, "value", limits.OPTION_VALUE_CHARS, place)
        if not option.get("value"):
            yield _fault("missing required field: value", place)


def _plain_text_faults(text: Any, most: int, where: str) -> Iterator[str]:
    yield from _text_faults(text, most, where)
    if isinstance(text, dict) and text.get("type") != "plain_text":
        yield _fault("must be plain_text", f"{where}/type")


def _length_faults(element: BlockFields, name: str, most: int, where: str) -> Iterator[str]:
    if len(str(element.get(name, ""))) > most:
        yield _fault(f"must be less than {most + 1} characters", f"{where}/{name}")


def _button_faults(button: BlockFields, where: str) -> Iterator[str]:
    yield from _text_faults(button.get("text"), limits.BUTTON_TEXT_CHARS, f"{where}/text")
    for name, most in (
        ("value", limits.BUTTON_VALUE_CHARS),
        ("url", limits.BUTTON_URL_CHARS),
        ("action_id", limits.ACTION_ID_CHARS),
    ):
        yield from _length_faults(button, name, most, where)
    if "confirm" in button:
        yield from _confirm_faults(button["confirm"], f"{where}/confirm")


def _confirm_faults(confirm: Any, where: str) -> Iterator[str]:
    """All four texts are required, and plain."""
    if not isinstance(confirm, dict):
        yield _fault("must provide an object", where)
        return
    for name, most in (
        ("title", limits.CONFIRM_TITLE_CHARS),
        ("text", limits.CONFIRM_TEXT_CHARS),
        ("confirm", limits.CONFIRM_ANSWER_CHARS),
        ("deny", limits.CONFIRM_ANSWER_CHARS),
    ):
        yield from _plain_text_faults(confirm.get(name), most, f"{where}/{name}")


def _table_faults(block: BlockFields, where: str) -> Iterator[str]:
    rows = block.get("rows") or []
    if not 1 <= len(rows) <= limits.TABLE_ROWS:
        yield _fault("must have 1 to 100 items", f"{where}/rows")
    for number, row in enumerate(rows):
        if len(row) > limits.TABLE_COLUMNS:
            yield _fault("no more than 20 items allowed", f"{where}/rows/{number}")
        if any(cell.get("type") == "raw_text" and not cell.get("text") for cell in row):
            yield _fault("must be more than 0 characters", f"{where}/rows/{number}")


def _text_faults(text: Any, most: int, where: str) -> Iterator[str]:
    if not isinstance(text, dict) or not isinstance(text.get("text"), str):
        yield _fault("must provide a text object", where)
    elif not 1 <= len(text["text"]) <= most:
        yield _fault(f"must be 1 to {most} characters", f"{where}/text")


def _sdk_complaints(block: BlockFields) -> Iterator[str]:
    kind = block.get("type")
    try:
        parsed = Block.parse(deepcopy(block))
        if parsed is not None:
            parsed.to_dict()
        elif kind not in UNKNOWN_TO_THE_SDK:
            yield f"unknown block type: {kind}"
    except (SlackObjectFormationError, TypeError, ValueError, AttributeError, KeyError) as error:
        yield f"slack_sdk refuses a {kind} block: {error}"
