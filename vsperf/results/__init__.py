"""Stored results, put side by side and one after the other: comparison, trend, and notebooks."""
