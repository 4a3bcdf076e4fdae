"""The local Kimi: a Chat Completions endpoint on loopback, for `kimibot demo` and the tests."""

from kimibot.sandbox.kimi.dialect import Dialect
from kimibot.sandbox.kimi.endpoint import LOCAL_KEY, Exchange, KimiOptions, LocalKimi
from kimibot.sandbox.kimi.heard import Heard
from kimibot.sandbox.kimi.plan import Chunk, Counted, End, Pace, Plan, Refusal
from kimibot.sandbox.kimi.scenes import Scene, choose, scenes
from kimibot.sandbox.kimi.server import local_kimi
from kimibot.sandbox.kimi.telling import Teller

__all__ = [
    "LOCAL_KEY",
    "Chunk",
    "Counted",
    "Dialect",
    "End",
    "Exchange",
    "Heard",
    "KimiOptions",
    "LocalKimi",
    "Pace",
    "Plan",
    "Refusal",
    "Scene",
    "Teller",
    "choose",
    "local_kimi",
    "scenes",
]
