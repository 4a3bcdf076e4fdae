"""Speed and memory, measured; run by hand, since a timed test says more about the machine."""
