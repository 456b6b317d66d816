"""h2load against nginx: requests of HTTP, by a clock too, by its log of each of them."""
