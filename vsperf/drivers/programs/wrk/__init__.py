"""wrk against nginx: requests of HTTP, by integers that it tells in the end."""
