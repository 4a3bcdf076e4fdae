"""Lock files are not read, but what is odd about them is told: over diffs that git has made."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

import pytest

from kimibot.review.changes import FileDiff, Hunk, Line, Status
from kimibot.review.diffs import parse, whole
from kimibot.review.locks import KINDS, LockRemark, lock_remarks
from kimibot.review.report import covered
from kimibot.review.selecting import Limits, select
from kimibot.slack.markdown import render
from tests.review.repositories import Tree, versions

NPM = b"""{
  "packages": {
    "node_modules/left-pad": {
      "version": "1.3.0",
      "resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz",
      "integrity": "sha512-aaaa",
      "funding": {
        "url": "https://opencollective.example.com/left-pad"
      }
    }
  }
}
"""
UV = b"""[[package]]
name = "idna"
version = "3.10"
source = { registry = "https://pypi.org/index" }
wheels = [
    { url = "https://files.pythonhosted.org/idna-3.10-py3-none-any.whl", size = 70442 },
]
"""
CARGO = b"""[[package]]
name = "itoa"
version = "1.0.9"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""
COMPOSER = b"""{
    "packages": [
        {
            "name": "psr/log",
            "source": {
                "type": "git",
                "url": "https://github.com/php-fig/log.git",
                "reference": "d49695b9"
            },
            "dist": {
                "type": "zip",
                "url": "https:\\/\\/api.github.com/repos/php-fig/log/zipball/d49695b9",
                "shasum": ""
            },
            "notification-url": "https://packagist.org/downloads/",
            "homepage": "https://home.example.org",
            "support": {
                "source": "https://support.example.org/log"
            },
            "funding": [
                {
                    "url": "https://funding.example.org/fig",
                    "type": "custom"
                }
            ]
        }
    ]
}
"""
FLAKE = b"""{
  "nodes": {
    "nixpkgs": {
      "locked": {
        "narHash": "sha256-J",
        "owner": "NixOS",
        "repo": "nixpkgs",
        "type": "github"
      }
    },
    "own": {
      "locked": {
        "host": "gitlab.example.org",
        "owner": "acme",
        "type": "gitlab",
        "url": "ssh://git@git.example.org/own.git"
      }
    }
  }
}
"""
DENO = b"""{
  "version": "5",
  "specifiers": { "jsr:@std/path@1": "1.1.6" },
  "redirects": { "https://esm.example.org/a": "https://cdn.example.org/a@1.js" },
  "remote": {
    "https://deno.land/std@0.224.0/assert/mod.ts": "48b8"
  }
}
"""
GO = b"""github.com/acme/a v1.2.0 h1:aaaa=
github.com/acme/a v1.2.0/go.mod h1:bbbb=
golang.org/x/net v0.30.0 h1:cccc=
vanity.example.org v1.0.0 h1:dddd=
"""
TERRAFORM = b"""provider "registry.terraform.io/hashicorp/aws" {
  version = "5.0.0"
}
"""
BAZEL = b"""{
  "registryFileHashes": {
    "https://bcr.bazel.build/modules/rules_cc/0.0.9/MODULE.bazel": "abc"
  }
}
"""
POD = b"""SPEC REPOS:
  https://github.com/CocoaPods/Specs.git:
    - Alamofire

EXTERNAL SOURCES:
  Own:
    :git: https://git.example.org/own.git
"""


def between(folder: Path, old: Tree, new: Tree) -> tuple[FileDiff, ...]:
    folder.mkdir(exist_ok=True)
    return parse(versions(folder / "repository", old, new).diff("-M")).files


def changed(folder: Path, path: str, old: bytes, new: bytes) -> list[LockRemark]:
    """What is to be said of a lock file whose manifest has changed with it."""
    files = between(folder, {path: old, "package.json": b"1"}, {path: new, "package.json": b"2"})
    return lock_remarks(files, is_complete=True)


@pytest.mark.parametrize(
    ("lock", "manifest", "named"),
    [
        ("package-lock.json", "package.json", "package.json"),
        ("web/yarn.lock", "web/package.json", "package.json"),
        ("pnpm-lock.yaml", "packages/a/package.json", "package.json"),
        ("uv.lock", "pyproject.toml", "pyproject.toml"),
        ("Cargo.lock", "crates/core/Cargo.toml", "Cargo.toml"),
        ("go.sum", "go.mod", "go.mod"),
        ("Gemfile.lock", "shop.gemspec", "Gemfile"),
        (".terraform.lock.hcl", "main.tf", "*.tf"),
    ],
)
def test_a_lock_file_is_named_that_changed_without_its_manifest(
    lock: str, manifest: str, named: str, tmp_path: Path
) -> None:
    old = {lock: b"a\n", manifest: b"a\n"}

    alone = between(tmp_path / "alone", old, old | {lock: b"b\n"})
    together = between(tmp_path / "together", old, {lock: b"b\n", manifest: b"b\n"})

    assert lock_remarks(alone, is_complete=True) == [LockRemark(lock, named)]
    assert lock_remarks(together, is_complete=True) == []


def test_the_manifest_of_another_folder_is_not_the_one_that_counts(tmp_path: Path) -> None:
    old = {"web/yarn.lock": b"a\n", "api/package.json": b"a\n"}

    files = between(tmp_path, old, {"web/yarn.lock": b"b\n", "api/package.json": b"b\n"})

    assert lock_remarks(files, is_complete=True) == [LockRemark("web/yarn.lock", "package.json")]


def test_a_manifest_that_was_removed_has_changed(tmp_path: Path) -> None:
    old = {"yarn.lock": b"a\n", "old/package.json": b"a\n", "a.js": b"1"}

    files = between(tmp_path, old, {"yarn.lock": b"b\n", "a.js": b"1"})

    assert lock_remarks(files, is_complete=True) == []


def test_nothing_is_said_of_a_new_lock_file_nor_of_one_that_goes(tmp_path: Path) -> None:
    files = between(tmp_path, {"go.sum": b"a\n"}, {"uv.lock": UV})

    assert lock_remarks([*files, whole("yarn.lock", b"x\n")], is_complete=True) == []


def test_where_files_are_missing_nobody_says_that_one_did_not_change(tmp_path: Path) -> None:
    files = between(tmp_path, {"uv.lock": b"a\n"}, {"uv.lock": b"b\n"})

    assert lock_remarks(files, is_complete=False) == []


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("package-lock.json", NPM, NPM.replace(b"registry.npmjs.org", b"npm.evil.example.com")),
        ("uv.lock", UV, UV.replace(b"pypi.org", b"npm.evil.example.com")),
        ("uv.lock", UV, UV.replace(b"files.pythonhosted.org", b"NPM.evil.example.com")),
        ("Cargo.lock", CARGO, CARGO.replace(b"github.com", b"npm.evil.example.com")),
        ("composer.lock", COMPOSER, COMPOSER.replace(b"github.com/php", b"npm.evil.example.com/")),
        ("composer.lock", COMPOSER, COMPOSER.replace(b"api.github.com", b"npm.evil.example.com")),
        ("composer.lock", COMPOSER, COMPOSER.replace(b"packagist.org", b"npm.evil.example.com")),
        ("flake.lock", FLAKE, FLAKE.replace(b"gitlab.example.org", b"npm.evil.example.com")),
        ("flake.lock", FLAKE, FLAKE.replace(b"git.example.org", b"npm.evil.example.com")),
        ("deno.lock", DENO, DENO.replace(b"deno.land", b"npm.evil.example.com")),
        ("deno.lock", DENO, DENO.replace(b"cdn.example.org", b"npm.evil.example.com")),
        ("go.sum", GO, GO + b"npm.evil.example.com/a/b/v2 v2.0.0+incompatible h1:eeee=\n"),
        ("go.work.sum", GO, GO.replace(b"vanity.example.org", b"npm.evil.example.com")),
        (".terraform.lock.hcl", TERRAFORM,
         TERRAFORM.replace(b"registry.terraform.io", b"npm.evil.example.com")),
        ("MODULE.bazel.lock", BAZEL, BAZEL.replace(b"bcr.bazel.build", b"npm.evil.example.com")),
        ("Podfile.lock", POD, POD.replace(b"git.example.org", b"npm.evil.example.com")),
        ("package-lock.json", NPM,
         NPM.replace(b"https://registry", b"https://registry.npmjs.org@npm.evil.example.com/")),
    ],
)  # fmt: skip
def test_a_host_that_takes_the_place_of_another_is_named(
    path: str, old: bytes, new: bytes, tmp_path: Path
) -> None:
    hosts = [one.hosts for one in changed(tmp_path, path, old, new)]

    assert hosts == [("npm.evil.example.com",)]


def test_what_is_no_longer_encrypted_is_named(tmp_path: Path) -> None:
    new = NPM.replace(b"https://registry", b"http://registry")

    [remark] = changed(tmp_path, "package-lock.json", NPM, new)

    assert remark.hosts == ("registry.npmjs.org (http)",)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (b"git+ssh://git@evil.example.com/a.git", "evil.example.com"),
        (b"git+ssh://git@evil.example.com:2222/a.git", "evil.example.com:2222"),
        (b"git://evil.example.com/a.git", "evil.example.com (git)"),
        (b"git+https://evil.example.com/a.git", "evil.example.com"),
        (b"ftp://evil.example.com/a.tgz", "evil.example.com (ftp)"),
        (b"https://[2001:db8::1]/a.tgz", "[2001:db8::1]"),
    ],
)
def test_a_host_is_named_however_it_is_asked(address: bytes, host: str, tmp_path: Path) -> None:
    new = NPM + b'      "resolved": "%s",\n' % address

    assert [one.hosts for one in changed(tmp_path, "package-lock.json", NPM, new)] == [(host,)]


def test_a_dependency_that_comes_in_addition_is_named_only_if_it_comes_from_elsewhere(
    tmp_path: Path,
) -> None:
    def added(host: bytes) -> bytes:
        return NPM + b'      "resolved": "https://%s/b/-/b-1.0.0.tgz",\n' % host

    usual = changed(tmp_path / "a", "package-lock.json", NPM, added(b"registry.npmjs.org"))
    odd = changed(tmp_path / "b", "package-lock.json", NPM, added(b"npm.evil.example.com"))

    assert usual == []
    assert [one.hosts for one in odd] == [("npm.evil.example.com",)]


def test_a_new_version_from_the_same_host_is_not_worth_a_word(tmp_path: Path) -> None:
    new = NPM.replace(b"1.3.0", b"1.4.0").replace(b"opencollective", b"sponsors")

    assert changed(tmp_path, "package-lock.json", NPM, new) == []


@pytest.mark.parametrize("name", ["home", "support", "funding"])
def test_where_people_are_sent_is_not_where_a_package_comes_from(name: str, tmp_path: Path) -> None:
    new = COMPOSER.replace(f"{name}.example.org".encode(), b"another.example.com")

    assert [one.hosts for one in changed(tmp_path, "composer.lock", COMPOSER, new)] == [()]


def test_a_line_of_a_megabyte_is_looked_at_in_no_time(tmp_path: Path) -> None:
    long = b'"resolved" ' * 100_000

    assert changed(tmp_path, "package-lock.json", b"{}\n", long + b"\n") == []


def test_both_are_told_in_one_line_below_what_was_read(tmp_path: Path) -> None:
    old = {"uv.lock": UV, "go.sum": b"a\n", "a.py": b"x = 1\n"}
    new = {"uv.lock": UV.replace(b"pypi.org", b"pypi.example.com"), "go.sum": b"b\n"}

    coverage = select(between(tmp_path, old, new | {"a.py": b"x = 2\n"}), Limits(9_000, 1)).coverage

    assert covered(coverage).split("\n") == [
        "Read 1 of 3 files. Not read: `go.sum`, `uv.lock` (lock file).",
        "Look at the lock files yourself: `go.sum` changed without `go.mod`; `uv.lock` changed "
        "without `pyproject.toml`; `uv.lock` has new addresses at `pypi.example.com`.",
    ]


def test_many_lock_files_are_told_in_one_line_too(tmp_path: Path) -> None:
    old = {f"{n}/go.sum": b"a\n" for n in range(9)}

    files = between(tmp_path, old, dict.fromkeys(old, b"b\n"))

    last = covered(select(files, Limits(9_000, 1)).coverage).split("\n")[-1]
    assert last.count("changed without") == 5
    assert last.endswith("; and 4 more.")


def test_no_host_can_ping_or_become_a_link(tmp_path: Path) -> None:
    evil = b"evil.example.com`<!channel>` <@U123>"
    files = between(tmp_path, {"uv.lock": UV}, {"uv.lock": UV.replace(b"pypi.org", evil)})

    told = covered(select(files, Limits(9_000, 1)).coverage)
    shown = render(told)

    assert told.endswith("new addresses at `evil.example.com`.")
    assert not re.search("<[!@]|https?:", shown)


def test_a_lock_file_full_of_keys_is_looked_through_in_no_time() -> None:
    """Whoever opens a pull request may have made it up."""
    line = Line(None, 1, b"url " * 1_000_000)
    file = FileDiff("uv.lock", "uv.lock", Status.MODIFIED, (Hunk((line,)),))
    began = process_time()

    assert lock_remarks([file], is_complete=False) == []

    assert process_time() - began < 1


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_of_lock_file_is_known_by_its_name_in_any_folder(name: str) -> None:
    [coverage] = select([whole(f"web/{name}", b"x\n")], Limits(9_000, 1)).coverage

    assert coverage.reason == "lock file"
