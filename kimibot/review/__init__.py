"""Code review: what is to be reviewed, how it is asked, what comes back. No I/O."""
