"""The page of the demo: a small Slack in the browser, on top of the local Slack."""

from kimibot.sandbox.page.examples import (
    Example,
    Group,
    local_examples,
    real_examples,
    review_examples,
)
from kimibot.sandbox.page.routes import add_page, open_page

__all__ = [
    "Example",
    "Group",
    "add_page",
    "local_examples",
    "open_page",
    "real_examples",
    "review_examples",
]
