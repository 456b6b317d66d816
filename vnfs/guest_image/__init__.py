"""The recipe of the guest image: a kernel and an initramfs from the distribution's own packages."""
