"""Pure: shows a file's hunks to the model, with the numbers of the new side.

The lines that were taken out stand apart, under their old numbers, so that nobody takes them for
what is there now.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimibot.review.changes import FileDiff, Hunk, Line, Status

LONGEST_LINE = 2_000
CUT = "[line cut]"


def show_file(file: FileDiff) -> str:
    """A heading and the hunks of a file, as far as they are in it."""
    hunks = [show_hunk(hunk, has_signs=file.status is not Status.WHOLE) for hunk in file.hunks]
    return "\n".join([f"FILE {name_of(file.path)} ({change(file)})", *hunks])


def name_of(path: str) -> str:
    """A path as the model reads it: whatever is in it, it is one line and reads as it is."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in path)


def show_hunk(hunk: Hunk, *, has_signs: bool = True) -> str:
    """The hunk as it is now, and below it what it was; signs mark what was added."""
    new = [line for line in hunk.lines if line.new is not None]
    old = [line for line in hunk.lines if line.new is None]
    shown: list[str] = []
    if new:
        within = f", in {hunk.section}" if hunk.section else ""
        shown += [f"NEW LINES {_range(new)}{within}", *[_new_line(line, has_signs) for line in new]]
    if old:
        shown += [f"REMOVED, OLD LINES {_range(old)}", *map(_old_line, old)]
    return "\n".join(shown)


def change(file: FileDiff) -> str:
    """What happened to a file, in a few words."""
    if file.status is Status.WHOLE:
        return "as it is"
    words: list[str] = [file.status.value]
    if file.status in (Status.RENAMED, Status.COPIED):
        words.append(f"from {name_of(file.old_path)}")
    if file.hunks:
        added, removed = (sum(getattr(h, side) for h in file.hunks) for side in _SIDES)
        words.append(f"+{added} −{removed}")
    if file.status is not Status.ADDED and file.old_mode != file.new_mode and file.new_mode:
        words.append(f"mode {file.old_mode} to {file.new_mode}")
    return ", ".join(words)


_SIDES = ("added", "removed")


def _range(lines: Sequence[Line]) -> str:
    first, last = (line.new or line.old for line in (lines[0], lines[-1]))
    return f"{first}" if first == last else f"{first}-{last}"


def _new_line(line: Line, has_signs: bool) -> str:
    sign = "+" if has_signs and not line.is_context else " "
    return f"{line.new:>5} {sign} {_text(line)}"


def _old_line(line: Line) -> str:
    return f"{line.old:>5} - {_text(line)}"


def _text(line: Line) -> str:
    text = line.text
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} {CUT}"
