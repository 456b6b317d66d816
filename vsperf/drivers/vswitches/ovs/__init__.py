"""Open vSwitch: a private instance, beside any other."""
