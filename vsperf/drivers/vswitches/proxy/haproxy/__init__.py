"""HAProxy in TCP mode."""
