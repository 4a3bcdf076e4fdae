"""The Kimi client against sockets, bytes and other people's servers."""
