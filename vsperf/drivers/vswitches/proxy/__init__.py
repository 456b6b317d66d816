"""Proxies of TCP as devices under test: what all of them have in common, and a folder for each."""
