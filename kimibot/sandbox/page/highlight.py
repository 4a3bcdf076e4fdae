"""Colours code: comments, strings, numbers and the words of a few languages."""

from __future__ import annotations

import re
from html import escape

_SQL = (
    "select insert update delete from where and or not null is in on as join left right inner "
    "outer group by order having limit with values into set create table index unique view begin "
    "commit rollback returning case when then else end default primary key check exists filter "
    "distinct interval text bigint smallint integer jsonb timestamptz boolean conflict do nothing "
    "for skip locked notify generated always identity desc asc coalesce least"
)
_PYTHON = (
    "and as assert async await break case class continue def del elif else except finally for "
    "from global if import in is lambda match nonlocal not or pass raise return self try while "
    "with yield None True False"
)
_CURLY = (
    "as async await break case catch class const continue default delete do else enum export "
    "extends false finally fn for from func function go if impl import in interface let loop "
    "match mod mut new nil null package private public pub return self static struct super switch "
    "this throw trait true try type typeof undefined use var void where while yield"
)
_SHELL = (
    "case do done echo elif else esac exit export fi for function if in local return then while"
)

_HASH_COMMENT = r"#[^\n]*"
_DASH_COMMENT = r"--[^\n]*"
_SLASH_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`"
_PYTHON_STRING = r"\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|" + _STRING
_NUMBER = r"\b\d[\w.]*"
_WORD = r"[^\W\d]\w*"

_LANGUAGES = {
    "python": ("python py", _PYTHON, _HASH_COMMENT, _PYTHON_STRING),
    "sql": ("sql postgres postgresql", _SQL, _DASH_COMMENT, _STRING),
    "curly": (
        "js javascript ts typescript json java go rust rs c cpp kotlin swift",
        _CURLY, _SLASH_COMMENT, _STRING,
    ),
    "shell": ("sh bash shell console yaml yml toml ini", _SHELL, _HASH_COMMENT, _STRING),
}  # fmt: skip


def highlighted(code: str, language: str) -> str:
    """The code as HTML with spans of the classes comment, string, number and keyword."""
    if language in ("diff", "patch"):
        return "\n".join(_diff_line(line) for line in code.split("\n"))
    known = next((one for one in _LANGUAGES.values() if language in one[0].split()), None)
    if known is None:
        return escape(code, quote=False)
    _, words, comment, string = known
    keywords = frozenset(words.split())
    token = re.compile(
        rf"(?P<comment>{comment})|(?P<string>{string})|(?P<number>{_NUMBER})|(?P<word>{_WORD})",
        re.DOTALL,
    )
    return _coloured(code, token, keywords, folds=language in _LANGUAGES["sql"][0].split())


def _coloured(code: str, token: re.Pattern[str], keywords: frozenset[str], *, folds: bool) -> str:
    pieces: list[str] = []
    end = 0
    for found in token.finditer(code):
        pieces.append(escape(code[end : found.start()], quote=False))
        text, kind = found.group(), found.lastgroup
        if kind == "word":
            kind = "keyword" if (text.lower() if folds else text) in keywords else None
        shown = escape(text, quote=False)
        pieces.append(f'<span class="{kind}">{shown}</span>' if kind else shown)
        end = found.end()
    return "".join(pieces) + escape(code[end:], quote=False)


def _diff_line(line: str) -> str:
    shown = escape(line, quote=False)
    kind = {"+": "added", "-": "removed", "@": "hunk"}.get(line[:1])
    return f'<span class="{kind}">{shown}</span>' if kind else shown
