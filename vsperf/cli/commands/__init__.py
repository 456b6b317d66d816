"""One module per command, each with a `command`; imported only when it is called."""
