"""Exact quantities with units, as they are written, computed with and read."""
