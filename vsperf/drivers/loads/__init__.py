"""Drivers of loads that run beside a case: noisy neighbours, one file or folder each."""
