"""Lets `python -m kimibot` do what the `kimibot` command does."""

from kimibot.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
