"""Cables of the kernel: for a tgen in a network namespace of its own, and beside real devices."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Require
from loopbacks import OPTIONS

from vsperf.drivers.generators.tgen.byhand import at_hand
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import TGEN, Tgen

VETH = """
ip link add veth0 type veth peer name veth1
for name in veth0 veth1; do
    echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6
    ip link set $name up
done
"""
"""A cable with two ends, on which nobody but tgen says anything."""
PACKET_SOCKETS = ("net_af_packet0,iface=veth0", "net_af_packet1,iface=veth1")
"""tgen's devices on both ends of the cable."""


@contextmanager
def apart(folder: Path, prepare: str = VETH) -> Iterator[None]:
    """Have each tgen run in a namespace that ends with it, prepared by a few commands."""
    inner = folder / "inner"
    inner.write_text(f'#!/bin/sh -e\n{prepare}\nexec {shlex.quote(str(TGEN.find()))} "$@"\n')
    outer = folder / "tgen"
    outer.write_text(f'#!/bin/sh\nexec unshare --net --mount -- {shlex.quote(str(inner))} "$@"\n')
    for script in (inner, outer):
        script.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSPERF_TGEN", str(outer))
        yield


@contextmanager
def tgen_apart(
    folder: Path,
    devices: tuple[str, ...] = PACKET_SOCKETS,
    prepare: str = VETH,
    options: Options = OPTIONS,
) -> Iterator[Tgen]:
    """Start a tgen in a namespace of its own."""
    with apart(folder, prepare), at_hand(devices, replace(options)) as tgen:
        yield tgen


@contextmanager
def two_cables() -> Iterator[None]:
    """Two cables of the kernel, vscable0s to vscable0g and vscable1s to vscable1g."""
    ends = [f"vscable{number}{end}" for number in (0, 1) for end in "sg"]
    for switch, generator_end in zip(ends[::2], ends[1::2], strict=True):
        ip("link", "add", switch, "type", "veth", "peer", "name", generator_end)
    try:
        for end in ends:
            quiet = Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6")
            if quiet.exists():
                quiet.write_text("1")  # the kernel sends nothing of its own
            ip("link", "set", end, "up")
        yield
    finally:
        for switch in ends[::2]:
            ip("link", "delete", switch)


@pytest.fixture(name="cables")
def fixture_cables(require: Require) -> Iterator[None]:
    """The same, for one test."""
    require("taps")  # who can make taps can make cables
    with two_cables():
        yield


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
