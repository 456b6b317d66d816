"""Runs cases: trials are judged here, and only here."""
