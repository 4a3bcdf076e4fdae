"""What the bot keeps: threads, messages and turns, in SQLite or PostgreSQL."""

from kimibot.storage.engine import Database, open_database
from kimibot.storage.migrate import Upgraded, pending, upgrade
from kimibot.storage.store import Store
from kimibot.storage.urls import driver_url, shown

__all__ = [
    "Database",
    "Store",
    "Upgraded",
    "driver_url",
    "open_database",
    "pending",
    "shown",
    "upgrade",
]
