"""Figures: pure functions from records to drawings, and the one renderer that shows them."""
