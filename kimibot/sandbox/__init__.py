"""Local counterparts of Slack and Kimi, as strict as the real ones, for the demo and the tests."""
