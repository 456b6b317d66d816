"""irtt: packets by a clock, and when each of them was back."""
