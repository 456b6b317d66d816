"""Append-only records on disk, and the index that finds them again."""
