"""Models of a switch, for testing the searches and for teaching; never a measurement."""
