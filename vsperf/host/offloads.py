"""What a network device leaves undone for the next one, such as checksums, and its speed.

Asked and told by ioctl, so that no program has to be there for it. A device that has no such
setting says that it does not do it.
"""

from __future__ import annotations

import array
import errno
import fcntl
import socket
import struct
from collections.abc import Mapping
from typing import Final

SIOCETHTOOL = 0x8946
REQUEST = struct.Struct("16sP")
VALUE = struct.Struct("II")
SETTINGS = struct.Struct("3IH6B2IH2B3I")
"""Of a link, as the kernel has told them from early on: speed in Mbit/s, in two halves of a number.
"""
ASK_SETTINGS, LOW, HIGH = 0x01, 3, 12
UNKNOWN_SPEEDS: Final = (0, 0xFFFF, 0xFFFFFFFF)
NO_SUCH: Final = (errno.EOPNOTSUPP, errno.EINVAL)
COMMANDS: Final = {
    "rx checksum": (0x14, 0x15),
    "tx checksum": (0x16, 0x17),
    "scatter-gather": (0x18, 0x19),
    "tcp segmentation": (0x1E, 0x1F),
    "segmentation": (0x23, 0x24),
    "receive coalescing": (0x2B, 0x2C),
}
"""What can be left undone → the commands that ask for it and set it, in an order that the kernel
takes: who makes no checksum makes no segments."""


MAKES_LONG: Final = ("tcp segmentation", "segmentation", "receive coalescing")
LEAVES_TO_OTHERS: Final = ("tx checksum", "tcp segmentation")


def set_offloads(device: str, *, on: bool) -> dict[str, bool]:
    """Have a device leave all of it undone, or nothing; return what it says then.

    Raises OSError for a device that is not there.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        order = list(COMMANDS.items())
        for _, (_, tell) in order if on else reversed(order):
            _call(asking, device, tell, int(on))
        return {name: bool(_call(asking, device, ask, 0)) for name, (ask, _) in order}


def speed_bps(device: str) -> int | None:
    """Return the speed that a device says it has; None where it says none, or is not there."""
    data = array.array("B", SETTINGS.pack(ASK_SETTINGS, *(0,) * 17))
    address, _ = data.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        try:
            fcntl.ioctl(asking, SIOCETHTOOL, REQUEST.pack(device.encode(), address))
        except OSError:
            return None
    return speed_in(data.tobytes())


def speed_in(settings: bytes) -> int | None:
    """Return the speed that settings of a link tell; None where it is not known."""
    told = SETTINGS.unpack(settings)
    megabits = told[LOW] | told[HIGH] << 16
    return None if megabits in UNKNOWN_SPEEDS else megabits * 1_000_000


def against(told: Mapping[str, bool], *, on: bool) -> tuple[str, ...]:
    """Return what a device says that it does in spite of `set_offloads`, or does not.

    Without offloads no frame is longer than a packet, and each has its checksum; with them both is
    left to whoever comes next.
    """
    decides = LEAVES_TO_OTHERS if on else (*LEAVES_TO_OTHERS, *MAKES_LONG)
    return tuple(dict.fromkeys(name for name in decides if told[name] is not on))


def _call(asking: socket.socket, device: str, command: int, value: int) -> int:
    data = array.array("B", VALUE.pack(command, value))
    address, _ = data.buffer_info()
    try:
        fcntl.ioctl(asking, SIOCETHTOOL, REQUEST.pack(device.encode(), address))
    except OSError as error:
        if error.errno in NO_SUCH:
            return 0
        raise
    return int(VALUE.unpack(data.tobytes())[1])
