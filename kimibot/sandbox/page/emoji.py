"""The few emoji that have a name on the page."""

from __future__ import annotations

from html import escape
from types import MappingProxyType

_BY_NAME = MappingProxyType(
    {
        "smile": "😄",
        "grinning": "😀",
        "joy": "😂",
        "heart": "❤️",
        "eyes": "👀",
        "+1": "👍",
        "-1": "👎",
        "thumbsup": "👍",
        "thumbsdown": "👎",
        "tada": "🎉",
        "rocket": "🚀",
        "fire": "🔥",
        "warning": "⚠️",
        "x": "❌",
        "wave": "👋",
        "octagonal_sign": "🛑",
        "white_check_mark": "✅",
        "pray": "🙏",
        "thinking_face": "🤔",
        "bug": "🐛",
    }
)


def drawn(name: str) -> str:
    """The emoji of that name with its name as a label, or the name as it was typed."""
    sign = _BY_NAME.get(name)
    if sign is None:
        return escape(f":{name}:")
    return f'<span class="emoji" role="img" aria-label="{escape(name)}">{sign}</span>'
