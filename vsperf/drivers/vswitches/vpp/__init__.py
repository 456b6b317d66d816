"""VPP, the packet processor of FD.io, as a private instance."""
