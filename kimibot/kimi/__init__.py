"""Kimi over Chat Completions: the only room that speaks HTTP with a model's endpoint."""
