"""Pure: recognises the addresses of pull requests and commits on the one GitHub that is configured.

The forms are those of GitHub's pages, https://docs.github.com/en/pull-requests, and of its API. No
address of an API is ever made from a host that somebody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_URL = re.compile(r"https?://[!#-;=?-\[\]_a-z~%]{1,2000}", re.IGNORECASE)
_SHORT = re.compile(r"(?<![\w/.#@:-])([\w-]+)/([\w.-]+)#(\d+)\b", re.ASCII)
_TRAILING = ".,;:!?*_~'"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_REPOSITORY = r"/(?P<owner>[A-Za-z0-9][\w-]{0,38})/(?P<repo>[\w.-]{1,100})"
_NUMBER = r"(?P<number>[1-9]\d{0,9})"
_SHA = r"[0-9a-fA-F]{5,40}"
_PULL = re.compile(
    rf"{_REPOSITORY}/pull/{_NUMBER}(?:\.diff|\.patch)?(?:/(?P<tab>[^?#]*))?", re.ASCII
)
_API_PULL = re.compile(rf"(?:/api/v3)?/repos{_REPOSITORY}/pulls/{_NUMBER}(?:/.*)?", re.ASCII)
_COMMIT = re.compile(
    rf"{_REPOSITORY}/commits?/(?P<sha>{_SHA})(?:\.diff|\.patch)?(?:/.*)?", re.ASCII
)
_COMPARED = re.compile(rf"{_REPOSITORY}/compare/(?P<old>{_SHA})\.\.\.?(?P<new>{_SHA})", re.ASCII)
_TAB = re.compile(
    rf"(?:commits|changes|files)/(?P<old>{_SHA})(?:\.\.(?P<new>{_SHA}|HEAD))?(?:/.*)?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A pull request, some of its commits, or commits without one.

    `commits` is empty for a pull request as a whole, one id for a single commit, and two for what
    lies between them; the second may be HEAD.
    """

    owner: str
    repo: str
    number: int | None = None
    commits: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.repo}"


@dataclass(frozen=True, slots=True)
class Foreign:
    """What looks like a pull request or a commit, on a host that we do not ask."""

    host: str


def web_host(api_url: str) -> str:
    """The host, with its port, of the pages that belong to an API.

    https://docs.github.com/en/enterprise-server/rest/using-the-rest-api/getting-started-with-the-rest-api
    says where an own server has its API: at `/api/v3` of the same host.
    """
    host = urlsplit(api_url).netloc.lower()
    return host.removeprefix("api.")


def find(text: str, api_url: str) -> list[Address | Foreign]:
    """All that a text names, each once, in the order in which it is named."""
    found = [*_urls(text, api_url), *_short_forms(_URL.sub(" ", text))]
    return list(dict.fromkeys(found))


def read(url: str, api_url: str) -> Address | Foreign | None:
    """What an address names; None for one that is neither a pull request nor a commit.

    Query and fragment never change what is named.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    address = _read_path(parts.path.rstrip("/"))
    if address is None:
        return None
    return address if _is_ours(parts, api_url) else Foreign(parts.netloc.rpartition("@")[2])


def _urls(text: str, api_url: str) -> Iterator[Address | Foreign]:
    for run in _URL.findall(text):
        found = read(_trimmed(run), api_url)
        if found is not None:
            yield found


def _trimmed(run: str) -> str:
    """Without what belongs to the sentence around it."""
    while run:
        last = run[-1]
        is_unbalanced = last in _BRACKETS and run.count(last) > run.count(_BRACKETS[last])
        if last not in _TRAILING and not is_unbalanced:
            break
        run = run[:-1]
    return run


def _short_forms(text: str) -> Iterator[Address]:
    for owner, repo, number in _SHORT.findall(text):
        address = _read_path(f"/{owner}/{repo}/pull/{number}")
        if address is not None:
            yield address


def _is_ours(parts: SplitResult, api_url: str) -> bool:
    """Host and port as a whole: neither a name nor a password before it is taken."""
    api = urlsplit(api_url)
    hosts = {web_host(api_url), f"www.{web_host(api_url)}", api.netloc.lower()}
    is_secure = parts.scheme.lower() == "https" or api.scheme == "http"
    # Typed by hand, an address of github.com often has no s; it is never opened, only read.
    return parts.netloc.lower() in hosts and (is_secure or parts.netloc.lower() == "github.com")


def _read_path(path: str) -> Address | None:
    for pattern, read_one in ((_PULL, _pull), (_API_PULL, _pull), (_COMMIT, _commit),
                              (_COMPARED, _range)):  # fmt: skip
        found = pattern.fullmatch(path)
        if found:
            address = read_one(found)
            return address if address.repo not in ("", ".", "..") else None
    return None


def _pull(found: re.Match[str]) -> Address:
    tab = _TAB.fullmatch(found.groupdict().get("tab") or "")
    commits = tuple(filter(None, (tab["old"], tab["new"]))) if tab else ()
    return Address(found["owner"], _repo(found), int(found["number"]), commits)


def _commit(found: re.Match[str]) -> Address:
    return Address(found["owner"], _repo(found), commits=(found["sha"],))


def _range(found: re.Match[str]) -> Address:
    return Address(found["owner"], _repo(found), commits=(found["old"], found["new"]))


def _repo(found: re.Match[str]) -> str:
    return found["repo"].removesuffix(".git")
