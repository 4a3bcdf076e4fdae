"""Carries code reviews out: with Kimi, our rows, Slack and GitHub, on what `review` decides."""
