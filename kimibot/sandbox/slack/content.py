"""What a call wants a message to hold: its text, blocks and metadata, checked as Slack does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.blocks import check_blocks, check_markdown_text
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Content:
    """The parts that were given; None where an argument was left out, `{}` to remove metadata."""

    text: str
    blocks: list[dict[str, Any]] | None = None
    attachments: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.blocks or self.attachments)

    def fields(self) -> dict[str, Any]:
        """As fields of a message; empty ones are left out."""
        given = {
            "blocks": self.blocks,
            "attachments": self.attachments,
            "metadata": self.metadata,
        }
        return {"text": self.text} | {name: value for name, value in given.items() if value}


def content_of(workspace: Workspace, arguments: Arguments) -> Content:
    """Read and check what a message is to hold. Raises Refused."""
    text, warnings = _truncated(workspace, arguments.text("text"))
    content = Content(
        text=text,
        blocks=_blocks(workspace, arguments),
        attachments=_attachments(arguments),
        metadata=_metadata(arguments),
        warnings=warnings,
    )
    if "markdown_text" in arguments:
        return _from_markdown_text(workspace, arguments, content)
    return content


def require_content(workspace: Workspace, content: Content) -> None:
    """Refuse a message that would show nothing."""
    if workspace.options.require_text and content.is_empty:
        raise Refused("no_text")


def _truncated(workspace: Workspace, text: str) -> tuple[str, tuple[str, ...]]:
    if not workspace.options.text_limits or len(text) <= limits.POST_TEXT_TRUNCATED_CHARS:
        return text, ()
    return text[: limits.POST_TEXT_TRUNCATED_CHARS], ("message_truncated",)


def _blocks(workspace: Workspace, arguments: Arguments) -> list[dict[str, Any]] | None:
    blocks = arguments.parsed("blocks", "invalid_blocks_format")
    if blocks is None:
        return None
    complaints = check_blocks(blocks, workspace.options)
    for complaint in complaints:
        workspace.records.complain(complaint)
    if complaints:
        raise Refused("invalid_blocks", complaints)
    return [{"block_id": workspace.new_id("")[:5]} | block for block in blocks]


def _attachments(arguments: Arguments) -> list[dict[str, Any]] | None:
    attachments = arguments.parsed("attachments", "invalid_attachments")
    if attachments is None:
        return None
    if not isinstance(attachments, list):
        raise Refused("invalid_attachments")
    if len(attachments) > limits.ATTACHMENTS:
        raise Refused("too_many_attachments")
    return attachments


def _metadata(arguments: Arguments) -> dict[str, Any] | None:
    metadata = arguments.parsed("metadata", "invalid_metadata_format")
    if not metadata:
        return None if metadata is None else {}
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
        raise Refused("invalid_metadata_format")
    if not isinstance(metadata.get("event_payload"), dict):
        raise Refused("invalid_metadata_schema")
    return metadata


def _from_markdown_text(workspace: Workspace, arguments: Arguments, content: Content) -> Content:
    if not content.is_empty:
        raise Refused("markdown_text_conflict")
    text = arguments.text("markdown_text")
    check_markdown_text(text, workspace.options)
    block = {"type": "markdown", "text": text, "block_id": workspace.new_id("")[:5]}
    return Content(text=text, blocks=[block] if text else None, metadata=content.metadata)
