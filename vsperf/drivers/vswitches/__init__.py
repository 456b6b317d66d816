"""Drivers of virtual switches."""
