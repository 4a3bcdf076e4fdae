"""A local GitHub for the demo and the tests: pull requests that are read, and reviews of them.

It behaves as https://docs.github.com/en/rest describes; where that is silent, a comment says what
was observed. Its API is below `/api/v3`, as that of an own server is.
"""

from kimibot.sandbox.github.endpoint import GITHUB_TOKEN, LocalGitHub, Order, Request
from kimibot.sandbox.github.repositories import LocalPull, LocalRepository
from kimibot.sandbox.github.server import local_github
from kimibot.sandbox.github.showcase import showcase

__all__ = [
    "GITHUB_TOKEN",
    "LocalGitHub",
    "LocalPull",
    "LocalRepository",
    "Order",
    "Request",
    "local_github",
    "showcase",
]
