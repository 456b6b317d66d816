"""Generators of Xena (now Teledyne LeCroy), by the text protocol of their chassis."""
