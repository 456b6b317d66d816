"""nginx with its module for streams of TCP."""
