"""Real guests: QEMU on vhost-user, told what to do by an agent inside."""
