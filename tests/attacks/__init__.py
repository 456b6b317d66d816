"""Attacks on vsperf: kills at random moments, full disks, and input that nobody meant.

`tools/soak` carries them out for hours; tests carry out a few of each. Every attack follows from a
seed and its number alone.
"""
