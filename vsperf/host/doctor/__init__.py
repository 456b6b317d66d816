"""Checks of a machine: each has a name, evidence, and the way to mend it. They change nothing."""
