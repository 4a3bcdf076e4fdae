"""The demo: the real bot between a local Slack and a local Kimi, each a process of its own."""

from kimibot.sandbox.demo.script import play_script
from kimibot.sandbox.demo.tour import run_demo

__all__ = ["play_script", "run_demo"]
