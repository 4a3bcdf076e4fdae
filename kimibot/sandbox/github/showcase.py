"""The repository of the demo: a small pull request, as somebody hands it in on a working day.

Nothing in it says what is wrong with it: whoever reviews it has to find that.
"""

from __future__ import annotations

from kimibot.sandbox.github.repositories import Json, LocalPull, LocalRepository

FULL_NAME = "acme/shop"
NUMBER = 7
_RULES = b"""\
# What we look at

- What people count begins at 1: pages, rows, months.
- Money is in cents, as whole numbers.
- No new dependency without a word about it.
"""
_ORDERS = b'''\
"""The orders of a shop: what a customer has bought, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

CANCELLED = "cancelled"


@dataclass(frozen=True)
class Order:
    """One order; `total_cents` is what was paid for it."""

    number: int
    customer: str
    placed_at: datetime
    total_cents: int
    state: str = "open"


def newest_first(orders: Iterable[Order]) -> list[Order]:
    """All orders but the cancelled ones."""
    kept = [order for order in orders if order.state != CANCELLED]
    return sorted(kept, key=lambda order: order.placed_at, reverse=True)


def of_customer(orders: Iterable[Order], customer: str) -> list[Order]:
    """The orders of one customer."""
    return [order for order in newest_first(orders) if order.customer == customer]


def spent_cents(orders: Sequence[Order]) -> int:
    """What all of them have cost."""
    return sum(order.total_cents for order in orders)
'''
_PAGE = b'''

PAGE_SIZE = 20


@dataclass(frozen=True)
class Page:
    """A part of a list: page `number` of `of`, as its reader counts them."""

    orders: Sequence[Order]
    number: int
    of: int


def page_of(orders: Sequence[Order], number: int, size: int = PAGE_SIZE) -> Page:
    """The page of that number; one behind the last has no orders."""
    first = number * size
    pages = len(orders) // size + 1
    return Page(orders[first : first + size], number, pages)
'''
_LINKS = b'''\
"""The links below a list that comes in pages."""

from __future__ import annotations


def page_links(address: str, pages: int) -> list[str]:
    """One for each page, as readers count them."""
    return [f"{address}?page={number}" for number in range(1, pages + 1)]
'''
_VIEWS = b'''\
"""What a customer sees of the orders."""

from __future__ import annotations

from collections.abc import Iterable

from shop.orders import Order, of_customer


def orders_page(orders: Iterable[Order], customer: str) -> str:
    """A line for each order."""
    return "\\n".join(_line(order) for order in of_customer(orders, customer))


def _line(order: Order) -> str:
    return f"#{order.number}  {order.total_cents // 100}.{order.total_cents % 100:02}"
'''
_PAGED_VIEWS = _VIEWS.replace(b"import Order, of_customer", b"import Order, of_customer, page_of")
_PAGED_VIEWS = _PAGED_VIEWS.replace(
    b'''customer: str) -> str:
    """A line for each order."""
    return "\\n".join(_line(order) for order in of_customer(orders, customer))
''',
    b'''customer: str, number: int = 1) -> str:
    """A line for each order of a page, and which page it is."""
    page = page_of(of_customer(orders, customer), number)
    lines = [_line(order) for order in page.orders]
    return "\\n".join([*lines, f"Page {page.number} of {page.of}"])
''',
)
_TITLE = "Show a customer's orders page by page"
_BODY = """\
Some customers have thousands of orders, and their page takes seconds to load. It now shows 20 \
at a time; without a number it shows page 1."""


def showcase() -> LocalRepository:
    """The repository with its pull request; its author has the mended version ready to push."""
    others = {"REVIEW.md": _RULES, "shop/links.py": _LINKS}
    old = {"shop/orders.py": _ORDERS, "shop/views.py": _VIEWS} | others
    new = {"shop/orders.py": _ORDERS + _PAGE, "shop/views.py": _PAGED_VIEWS} | others
    mended = new["shop/orders.py"].replace(b"= number * size", b"= (number - 1) * size")
    pull = LocalPull(
        old,
        new,
        title=_TITLE,
        body=_BODY,
        comments=[_comment()],
        unpushed=[new | {"shop/orders.py": mended}],
    )
    return LocalRepository(FULL_NAME, {NUMBER: pull})


def _comment() -> Json:
    return {
        "id": 4_711,
        "user": {"login": "bo"},
        "path": "shop/views.py",
        "line": 14,
        "side": "RIGHT",
        "body": "Nice. The old address without a page has to work on: it is in our e-mails.",
        "subject_type": "line",
    }
