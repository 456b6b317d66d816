"""dperf of the user's own: one process is all clients, another one all servers."""
