"""wrk2 against nginx: requests of HTTP by a clock, with times from when they were due."""
