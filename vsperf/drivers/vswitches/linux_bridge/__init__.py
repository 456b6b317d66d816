"""The bridge of the Linux kernel on taps, in a network of its own: what everybody has."""
