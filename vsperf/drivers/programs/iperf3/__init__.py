"""The driver of iperf3: streams of TCP and of datagrams."""
