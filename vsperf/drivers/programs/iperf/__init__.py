"""iperf 2: streams of TCP and UDP, as old reports have them."""
