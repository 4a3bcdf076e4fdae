"""Knows what a file of code is called, by the language of the fence that it stood in.

Slack's names are those of https://docs.slack.dev/reference/objects/file-object; where it has none,
code is text, or what it looks most like.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class FileType:
    """What Slack calls it, and how such a file's name ends."""

    kind: str
    ending: str


def file_type(language: str) -> FileType:
    """Plain text for a language that we do not know."""
    return _TYPES.get(language.lower(), _PLAIN)


_PLAIN = FileType("text", "txt")
_TYPES = MappingProxyType(
    {
        language: FileType(kind, ending)
        for kind, ending, languages in (
            ("c", "c", "c h"),
            ("clojure", "clj", "clojure clj"),
            ("cpp", "cpp", "cpp c++ cc hpp"),
            ("csharp", "cs", "csharp cs c#"),
            ("css", "css", "css"),
            ("csv", "csv", "csv"),
            ("dart", "dart", "dart"),
            ("diff", "diff", "diff"),
            ("diff", "patch", "patch"),
            ("dockerfile", "Dockerfile", "dockerfile docker"),
            ("erlang", "erl", "erlang erl"),
            ("fsharp", "fs", "fsharp fs f#"),
            ("go", "go", "go golang"),
            ("groovy", "groovy", "groovy gradle"),
            ("haskell", "hs", "haskell hs"),
            ("html", "html", "html htm xhtml"),
            ("html", "vue", "vue"),
            ("java", "java", "java"),
            ("javascript", "js", "javascript js mjs cjs node"),
            ("javascript", "jsx", "jsx"),
            ("javascript", "ts", "typescript ts"),
            ("javascript", "tsx", "tsx"),
            ("json", "json", "json jsonc json5"),
            ("kotlin", "kt", "kotlin kt kts"),
            ("latex", "tex", "latex tex"),
            ("lisp", "lisp", "lisp"),
            ("lua", "lua", "lua"),
            ("markdown", "md", "markdown md"),
            ("matlab", "m", "matlab"),
            ("objc", "m", "objc objective-c"),
            ("ocaml", "ml", "ocaml ml"),
            ("perl", "pl", "perl pl"),
            ("php", "php", "php"),
            ("powershell", "ps1", "powershell ps1 pwsh"),
            ("python", "py", "python py python3"),
            ("r", "r", "r"),
            ("ruby", "rb", "ruby rb"),
            ("rust", "rs", "rust rs"),
            ("sass", "scss", "sass scss"),
            ("scala", "scala", "scala"),
            ("shell", "sh", "shell sh bash zsh"),
            ("sql", "sql", "sql postgresql postgres mysql sqlite plpgsql"),
            ("swift", "swift", "swift"),
            ("text", "ex", "elixir ex exs"),
            ("text", "jl", "julia jl"),
            ("text", "tf", "hcl terraform tf"),
            ("text", "toml", "toml"),
            ("vb", "vb", "vb vbnet"),
            ("xml", "xml", "xml"),
            ("yaml", "yaml", "yaml yml"),
        )
        for language in languages.split()
    }
)
