"""Drivers of traffic generators."""
