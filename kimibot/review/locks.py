"""Pure: what is worth a word about lock files, which nobody reads: a change that no manifest asks
for, and addresses at a host that the file did not name before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal

from kimibot.review.changes import FileDiff, Hunk, Status

_NAME = r"(?P<host>(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?)"
_SCHEME = r"(?P<scheme>https?|ssh|git|ftp):\\?/\\?/(?:[^@/\s\"']{0,200}@)?"
_HOST = rf"{_SCHEME}{_NAME}"
_ENCRYPTED = ("https", "ssh")
_FAR = 200
"""So many signs at most stand between a key and its address."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Of a lock file: the names of the manifests that it follows, and what its addresses are like.

    It has no manifests where they can't be told from its place, no addresses where it does not say
    from where something comes. With `keys` that is said only behind one of them, in the same line.
    """

    manifests: str = ""
    address: str = ""
    keys: str = ""


_NPM = _Kind(
    "package.json pnpm-workspace.yaml .yarnrc.yml", _HOST, "resolved|resolution|tarball|registry"
)
_PYTHON = _Kind("pyproject.toml", _HOST, "registry|url|index|source")
_ANY_TEXT = rf'"{_HOST}'
_COMPOSER = rf'(?:"type": "\w+",\s{{1,80}}"url"|"notification-url"): "{_HOST}'  # not its "funding"
_FLAKE = rf'(?:"host": "(?=[\w.-]+")|"url": "{_SCHEME}){_NAME}'
_GO = r"^(?P<host>[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,9})(?:/\S{1,500})? v\S{1,200} h1:"
_TERRAFORM = r'^provider "(?P<host>[\w.-]{1,253})/'
KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "package-lock.json": _NPM,
        "npm-shrinkwrap.json": _NPM,
        "yarn.lock": _NPM,
        "pnpm-lock.yaml": _NPM,
        "bun.lock": _NPM,
        "bun.lockb": _NPM,
        "deno.lock": _Kind("deno.json deno.jsonc package.json", _ANY_TEXT),
        "poetry.lock": _PYTHON,
        "pdm.lock": _PYTHON,
        "uv.lock": _PYTHON,
        "pixi.lock": _Kind("pixi.toml pyproject.toml", _HOST, "url|conda|pypi"),
        "Pipfile.lock": _Kind("Pipfile", _HOST, "url"),
        "Cargo.lock": _Kind("Cargo.toml", _HOST, "source"),
        "go.sum": _Kind("go.mod", _GO),
        "go.work.sum": _Kind("go.work go.mod", _GO),
        "Gopkg.lock": _Kind("Gopkg.toml"),
        "composer.lock": _Kind("composer.json", _COMPOSER),
        "Gemfile.lock": _Kind("Gemfile *.gemspec", _HOST, "remote"),
        "flake.lock": _Kind("flake.nix", _FLAKE),
        "MODULE.bazel.lock": _Kind("MODULE.bazel *.MODULE.bazel", _ANY_TEXT),
        ".terraform.lock.hcl": _Kind("*.tf", _TERRAFORM),
        # Xcode keeps it far from what it follows.
        "Package.resolved": _Kind(address=_HOST, keys="location"),
        "Podfile.lock": _Kind("Podfile", _HOST),
    }
)
"""By the name of the lock file."""

_PUBLIC = frozenset(
    {
        "registry.npmjs.org",
        "registry.yarnpkg.com",
        "pypi.org",
        "files.pythonhosted.org",
        "conda.anaconda.org",
        "github.com",  # where Cargo's own index is
        "rubygems.org",
        "deno.land",
        "packagist.org",
        "api.github.com",  # from where Composer takes archives
        "golang.org",
        "google.golang.org",
        "gopkg.in",
        "bcr.bazel.build",
        "registry.terraform.io",
        "cdn.cocoapods.org",
    }
)
"""Nothing is to be said of these where the change shows no other host to compare them with."""


@dataclass(frozen=True, slots=True)
class LockRemark:
    """About one lock file: the manifest that should have changed with it, or "", and new hosts.

    A host that is asked without encryption has ` (http)`, or the like, behind it.
    """

    path: str
    manifest: str = ""
    hosts: tuple[str, ...] = ()


def lock_remarks(files: Sequence[FileDiff], *, is_complete: bool) -> list[LockRemark]:
    """In the order of the files. Where files are missing, nobody knows what did not change."""
    paths = [path for file in files for path in (file.old_path, file.new_path)]
    found = (_remark(file, paths if is_complete else None) for file in files)
    return [one for one in found if one is not None]


def _remark(file: FileDiff, changed: Sequence[str] | None) -> LockRemark | None:
    path = PurePosixPath(file.path)
    kind = KINDS.get(path.name)
    if kind is None or file.status not in (Status.MODIFIED, Status.RENAMED):
        return None
    manifest = _missing_manifest(path, kind, changed) if changed is not None else ""
    hosts = tuple(_new_hosts(file, kind)) if kind.address else ()
    return LockRemark(file.path, manifest, hosts) if manifest or hosts else None


def _missing_manifest(lock: PurePosixPath, kind: _Kind, changed: Iterable[str]) -> str:
    """A lock file at the top of a workspace follows all manifests below it."""
    names = kind.manifests.split()
    below = (PurePosixPath(path).name for path in changed if lock.parent in _folders(path))
    is_met = any(fnmatchcase(name, manifest) for name in below for manifest in names)
    return "" if is_met or not names else names[0]


def _folders(path: str) -> Sequence[PurePosixPath]:
    return PurePosixPath(path).parents


def _new_hosts(file: FileDiff, kind: _Kind) -> Iterator[str]:
    sides = [(_side(hunk, "old"), _side(hunk, "new")) for hunk in file.hunks]
    known = {host for old, _ in sides for host in _hosts(old, kind)} or _PUBLIC
    new = (host for _, text in sides for host in _hosts(text, kind))
    return (host for host in dict.fromkeys(new) if host not in known)


def _side(hunk: Hunk, version: Literal["old", "new"]) -> str:
    """All that stands there then: an address may be told by the line before it."""
    return "\n".join(line.text for line in hunk.lines if getattr(line, version) is not None)


def _hosts(text: str, kind: _Kind) -> Iterator[str]:
    """From each address back to its key: a text may be full of keys without an address."""
    key = re.compile(rf"\b(?:{kind.keys})\b")
    for found in re.finditer(kind.address, text, re.MULTILINE):
        if kind.keys and not _is_behind(key, text, found.start()):
            continue
        host, scheme = found["host"].lower(), found.groupdict().get("scheme")
        yield host if scheme is None or scheme in _ENCRYPTED else f"{host} ({scheme})"


def _is_behind(key: re.Pattern[str], text: str, at: int) -> bool:
    far = max(0, at - _FAR)
    return key.search(text, max(far, text.rfind("\n", far, at) + 1), at) is not None
