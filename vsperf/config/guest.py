"""Places that a user asks for: whose stack is at the end of a link, if not a network's own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.base import Spec
from vsperf.quantities.units import Duration

NETWORK = "network"
PAGE_MB = 2
"""Size of the hugepages that guests get their memory from."""


class AskedPlace(Spec):
    """Whose stack programs use at the end of a link; all but its kind is said of guests."""

    kind: Literal["vm", "host", "user-space", "network"]
    """`vm`, vsperf's own guest, on a vhost-user port or on a tap, as the switch has them; `host`, a
    device in the network of the host; `user-space`, a vhost-user port that a server with a stack of
    its own has to itself; or `network`, one of its own on the host's kernel, which the end of a
    link is without an entry, too. A list makes a case of each."""
    vcpus: Annotated[int, Field(ge=1, le=64)] = 1
    """Virtual CPUs. They run on the CPUs of clients or servers, whichever the guest has."""
    memory: Annotated[int, Field(ge=192, le=1048576, multiple_of=PAGE_MB)] = 256
    """Memory [MB], a multiple of 2. Programs and all that they write are in it, too."""
    hugepages: bool = True
    """Take the memory from hugepages; without, it is slower, and enough for trying things out."""
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    """KVM, or emulation (TCG). `auto` is KVM where a guest has been seen to boot on it."""
    boot_timeout: Duration = Duration(60_000_000_000)
    """How long it may take until it has booted."""
