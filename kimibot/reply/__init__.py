"""The reply: the messages in which a thread sees an answer, while it grows and when it is whole."""
