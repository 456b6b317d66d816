"""TRex, by the interface of its server: JSON-RPC over ZeroMQ, in words of our own."""
