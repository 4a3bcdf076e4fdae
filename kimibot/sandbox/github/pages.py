"""The pages of the local GitHub: a pull request with its diff, and a file as it was at a commit.

On the page of a pull request its author can push what is ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape
from types import MappingProxyType

from aiohttp import web

from kimibot.sandbox.github.drawing import Markdown
from kimibot.sandbox.github.endpoint import LocalGitHub
from kimibot.sandbox.github.repositories import LocalPull, LocalRepository

PUSH_LABEL = "Push a fix"
_HEADERS = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
)
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
.said { border: 1px solid #d8dee4; border-radius: 6px; padding: 8px 12px; margin: 1rem 0 }
.said pre { padding: 8px 12px; overflow: auto }
pre { background: #f6f8fa; border: 1px solid #d8dee4; border-radius: 6px; padding: 8px 0 }
pre span { display: block; padding: 0 12px } pre i { color: #8c959f; font-style: normal }
.added { background: #e6ffec } .removed { background: #ffebe9 } :target { background: #fff8c5 }
"""

Handler = Callable[[web.Request], Awaitable[web.Response]]


def add_pages(app: web.Application, github: LocalGitHub) -> None:
    """Serve them where the addresses that people write lead to."""
    pages = _Pages(github)
    repository = "/{owner}/{name}"
    app.router.add_get(f"{repository}/pull/{{number:\\d+}}", pages.pull)
    app.router.add_post(f"{repository}/pull/{{number:\\d+}}/push", pages.push)
    app.router.add_get(f"{repository}/blob/{{sha}}/{{path:.+}}", pages.file)


class _Pages:
    def __init__(self, github: LocalGitHub) -> None:
        self._github = github
        self._markdown = Markdown()

    async def pull(self, request: web.Request) -> web.Response:
        """Title and description, what was said of it, and the diff."""
        repository, pull = self._found(request)
        body = [
            f"<h1>{escape(pull.title)} <small>#{request.match_info['number']}</small></h1>",
            f"<p>{escape(repository.full_name)}: {escape(pull.body or '')}</p>",
            *_reviews(pull, self._markdown),
            *_comments(pull, self._markdown),
            *_push_button(request, pull),
            f"<pre>{''.join(map(_diff_line, _lines(pull.diff())))}</pre>",
        ]
        return _page(pull.title, body)

    async def push(self, request: web.Request) -> web.Response:
        """Push, and go back."""
        self._found(request)[1].push()
        back = request.path.removesuffix("/push")
        return web.Response(status=303, headers={"Location": back})

    async def file(self, request: web.Request) -> web.Response:
        """All of a file's lines; an address that ends in #L3 shows which is meant."""
        path, sha = request.match_info["path"], request.match_info["sha"]
        pull = self._repository(request).pull_with(sha)
        tree = pull.tree(sha) if pull else None
        if tree is None or path not in tree:
            raise web.HTTPNotFound
        numbered = map(_numbered, enumerate(_lines(tree[path]), 1))
        return _page(path, [f"<h1>{escape(path)}</h1>", f"<pre>{''.join(numbered)}</pre>"])

    def _found(self, request: web.Request) -> tuple[LocalRepository, LocalPull]:
        repository = self._repository(request)
        pull = repository.pulls.get(int(request.match_info["number"]))
        if pull is None:
            raise web.HTTPNotFound
        return repository, pull

    def _repository(self, request: web.Request) -> LocalRepository:
        name = f"{request.match_info['owner']}/{request.match_info['name']}".lower()
        found = self._github.repositories.get(name)
        if found is None or found.is_private:
            raise web.HTTPNotFound
        return found


def _reviews(pull: LocalPull, markdown: Markdown) -> list[str]:
    """Under the names by which their addresses end."""
    return [
        f'<div class="said" id="pullrequestreview-{one["id"]}">'
        f"<b>{escape(one['user']['login'])}</b> reviewed:{markdown.html(one['body'])}</div>"
        for one in pull.reviews
        if one["state"] != "PENDING"
    ]


def _comments(pull: LocalPull, markdown: Markdown) -> list[str]:
    return [
        f'<div class="said"><b>{escape(str((one.get("user") or {}).get("login", "")))}</b> at '
        f"{escape(str(one['path']))}:{one['line']}:{markdown.html(str(one['body']))}</div>"
        for one in pull.comments
    ]


def _push_button(request: web.Request, pull: LocalPull) -> list[str]:
    if not pull.unpushed:
        return []
    action = escape(f"{request.path}/push", quote=True)
    return [f'<form method="post" action="{action}"><button>{PUSH_LABEL}</button></form>']


def _lines(content: bytes) -> Sequence[str]:
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _diff_line(line: str) -> str:
    kind = {"+": "added", "-": "removed"}.get(line[:1], "")
    return f'<span class="{kind}">{escape(line) or " "}</span>'


def _numbered(line: tuple[int, str]) -> str:
    number, text = line
    return f'<span id="L{number}"><i>{number:4}</i>  {escape(text)}</span>'


def _page(title: str, body: Sequence[str]) -> web.Response:
    head = f"<meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
    html = f"<!doctype html>{head}{''.join(body)}"
    return web.Response(text=html, content_type="text/html", headers=_HEADERS)
