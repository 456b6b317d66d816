"""Generators in a chassis that others share: what their drivers have in common, and each driver."""
