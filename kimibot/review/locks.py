"""Pure: what is worth a word about lock files, which nobody reads: a change that no manifest asks
for, and addresses at a host that the file did not name before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from types import MappingProxyType

from kimibot.review.changes import FileDiff, Line, Status


@dataclass(frozen=True, slots=True)
class _Kind:
    """Of a lock file: the names of the manifests that it follows, and the keys of addresses.

    It has no manifests where they can't be told from its place, no keys where none of its lines
    says from where something comes.
    """

    manifests: str = ""
    keys: str = ""


_NPM = _Kind("package.json pnpm-workspace.yaml .yarnrc.yml", "resolved|resolution|tarball|registry")
_PYTHON = _Kind("pyproject.toml", "registry|url|index|source")
KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "package-lock.json": _NPM,
        "npm-shrinkwrap.json": _NPM,
        "yarn.lock": _NPM,
        "pnpm-lock.yaml": _NPM,
        "bun.lock": _NPM,
        "bun.lockb": _NPM,
        "deno.lock": _Kind("deno.json deno.jsonc package.json"),
        "poetry.lock": _PYTHON,
        "pdm.lock": _PYTHON,
        "uv.lock": _PYTHON,
        "pixi.lock": _Kind("pixi.toml pyproject.toml", "url|conda|pypi"),
        "Pipfile.lock": _Kind("Pipfile", "url"),
        "Cargo.lock": _Kind("Cargo.toml", "source"),
        "go.sum": _Kind("go.mod"),
        "Gopkg.lock": _Kind("Gopkg.toml"),
        "composer.lock": _Kind("composer.json"),
        "Gemfile.lock": _Kind("Gemfile *.gemspec", "remote"),
        "flake.lock": _Kind("flake.nix"),
        "MODULE.bazel.lock": _Kind("MODULE.bazel *.MODULE.bazel"),
        ".terraform.lock.hcl": _Kind("*.tf"),
        "Package.resolved": _Kind(keys="location"),  # Xcode keeps it far from what it follows
        "Podfile.lock": _Kind("Podfile"),
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
    }
)
"""Nothing is to be said of these where the change shows no other host to compare them with."""

_HOST = (
    r"(?P<scheme>https?|ssh|git|ftp)://(?:[^@/\s\"']{0,200}@)?"
    r"(?P<host>(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?)"
)
_ENCRYPTED = ("https", "ssh")


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
    hosts = tuple(_new_hosts(file, kind)) if kind.keys else ()
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
    address = re.compile(rf"\b(?:{kind.keys})\b.{{0,200}}?{_HOST}")
    lines = [line for hunk in file.hunks for line in hunk.lines]
    old = set(_hosts((line for line in lines if line.old is not None), address))
    new = _hosts((line for line in lines if line.old is None), address)
    known = old or _PUBLIC
    return (host for host in dict.fromkeys(new) if host not in known)


def _hosts(lines: Iterable[Line], address: re.Pattern[str]) -> Iterator[str]:
    for line in lines:
        for found in address.finditer(line.text):
            host = found["host"].lower()
            scheme = found["scheme"]
            yield host if scheme in _ENCRYPTED else f"{host} ({scheme})"
