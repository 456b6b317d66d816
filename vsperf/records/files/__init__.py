"""Records on disk: append-only files that are the truth, and an index that can be thrown away."""
