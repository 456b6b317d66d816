"""Real guests: QEMU machines on vhost-user, told what to do by an agent inside."""
