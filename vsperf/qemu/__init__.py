"""Guests that QEMU runs, whoever needs one: command line, boot, agent inside, and their end."""
