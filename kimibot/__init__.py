"""kimibot answers people in Slack with the Kimi K3 model."""

__version__ = "0.1.0"
