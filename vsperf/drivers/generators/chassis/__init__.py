"""What all generators have in common whose ports are in a chassis that others share."""
