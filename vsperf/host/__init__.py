"""The machine: what it is, and what is changed on it."""
