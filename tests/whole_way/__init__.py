"""The real bot between the local Slack and the local Kimi: what a channel looks like at the end."""
