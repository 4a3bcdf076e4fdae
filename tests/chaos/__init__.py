"""The bot as processes that are killed, frozen and cut off, and the channel judged afterwards.

Not a part of the plain run: `pytest -m chaos` is all of it, `pytest -m "chaos and quick"` the part
that takes a few minutes.
"""
