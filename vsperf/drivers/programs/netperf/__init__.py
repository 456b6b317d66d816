"""netperf: streams, and requests with responses, by TCP and UDP."""
