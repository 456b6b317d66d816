"""Asking the kernel by netlink for all that there are of a kind, such as addresses or sockets.

Or to do something, and to say that it did.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from vsperf.waits import received

HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
ERROR_CODE = struct.Struct("=i")
DUMP = 0x301
ACKNOWLEDGED = 0x5
DONE, ERROR = 3, 2
ANSWER_BYTES = 1 << 16
ANSWER_S = 2.0


def dump(protocol: int, kind: int, body: bytes) -> Iterator[bytes]:
    """Yield the content of each message with which the kernel answers; raises OSError."""
    with _asking(protocol, kind, DUMP, body) as answers:
        while True:
            for answer, content in messages(received(answers, ANSWER_BYTES)):
                if answer == DONE:
                    return
                if answer == ERROR:
                    _refused(content)
                yield content


def order(protocol: int, kind: int, body: bytes) -> None:
    """Have the kernel do something, and wait until it has; raises OSError where it refuses."""
    with _asking(protocol, kind, ACKNOWLEDGED, body) as answers:
        for answer, content in messages(received(answers, ANSWER_BYTES)):
            if answer == ERROR and ERROR_CODE.unpack_from(content)[0]:
                _refused(content)


@contextmanager
def _asking(protocol: int, kind: int, flags: int, body: bytes) -> Iterator[socket.socket]:
    raw = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    with socket.socket(socket.AF_NETLINK, raw, protocol) as asking:
        asking.settimeout(ANSWER_S)
        asking.bind((0, 0))
        asking.send(HEADER.pack(HEADER.size + len(body), kind, flags, 1, 0) + body)
        yield asking


def _refused(content: bytes) -> NoReturn:
    number = -ERROR_CODE.unpack_from(content)[0]
    raise OSError(number, os.strerror(number))


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of each message; raises OSError where there is none."""
    while len(data) >= HEADER.size:
        length, kind, _, _, _ = HEADER.unpack_from(data)
        if length < HEADER.size:
            raise OSError("the kernel's answer is damaged")
        yield kind, data[HEADER.size : length]
        data = data[(length + 3) & ~3 :]


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of each attribute of a message, up to one that is damaged."""
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        if length < ATTRIBUTE.size:
            return
        yield kind, data[ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]
