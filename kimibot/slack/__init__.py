"""Slack: events to messages, messages to Slack."""
