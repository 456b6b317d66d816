"""Measures how evenly tgen and tcpreplay send on a veth, by the time stamps of the kernel there.

Both send the same frames on packet sockets at one end of a cable, in a network namespace that ends
with this program; tcpdump notes at the other end when the kernel got each frame. Needs root, and no
hugepages. The ratio is that of how far half of the gaps between frames are off, with tgen sending
single frames, to the same with tcpreplay.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common import Option, Ratio, carry_out, options, say, two_cpus
from needs import VETH, require_programs

from vsperf import waits
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import TGEN
from vsperf.errors import ComponentError
from vsperf.trust import own_python

EXAMPLE = "tools/bench/tgen_veth.py --rates 100000 --seconds 10"
INSIDE = "TGEN_BENCH_INSIDE"
FRAME_BYTES = 60
LOOP_FRAMES = 10_000
"""In the file that tcpreplay repeats."""
NANOSECOND_PCAP = 0xA1B23C4D
DEADLINE_S = 20
PROGRAM_S = 600
WRITES_EVERY_S = 1.5
"""tcpdump looks at what came once a second, and somewhat later when it has no CPU."""
SHARES = (0.5, 0.9, 0.99, 0.999)

Send = Callable[[], object]
"""Sends at the rate for the time."""


def main() -> None:
    """Let both take turns at each rate."""
    parser = options(
        __doc__,
        EXAMPLE,
        rates=Option("10000,100000", "10000", "fps, by commas"),
        rounds=Option(3, 1, "turns of both per rate"),
        seconds=Option(5.0, 1.0, "how long each sends"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Hold the gaps of both against each other."""
    require_programs(*VETH)
    TGEN.find()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        again = own_python.module(Path(__file__).stem, *sys.argv[1:], folder=Path(__file__).parent)
        os.execvp("unshare", ["unshare", "--net", *again])  # noqa: S606, S607
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_cable()
        for word, _ in itertools.product(found.rates.split(","), range(found.rounds)):
            rate, off = int(word), {}
            for burst in (1, 32):
                with tgen_sends(rate, found.seconds, burst) as send:
                    times = watched(folder, send, rate, found.seconds)
                off[burst] = show(f"tgen, burst {burst}", rate, times)
            send = tcpreplay_sends(folder, rate, found.seconds)
            theirs = show("tcpreplay", rate, watched(folder, send, rate, found.seconds))
            ratios.append(off[1] / max(1, theirs))
    return Ratio.of("gaps of tgen off by, to those of tcpreplay", ratios)


def lay_cable() -> None:
    """Make a veth on which nobody says anything unasked."""
    run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
    for name in ("veth0", "veth1"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        run("ip", "link", "set", name, "up")


def run(*argv: str) -> None:
    """Run a program that must not fail."""
    waits.run(argv, PROGRAM_S).check_returncode()


@contextmanager
def tgen_sends(rate: int, seconds: float, burst: int) -> Iterator[Send]:
    """Start a tgen on the cable."""
    chosen = Options(cpus=(two_cpus()[1],), hugepages=False)
    sending = Sending(str(rate), duration_ns=int(seconds * 1e9), burst=burst)
    way = directions_between(1, "both")
    with at_hand(["net_af_packet0,iface=veth0"], chosen) as tgen:
        yield lambda: trial(tgen, way, Stream(FRAME_BYTES + 4), sending, lambda event: None)


def tcpreplay_sends(folder: Path, rate: int, seconds: float) -> Send:
    """Write the frames that tcpreplay repeats."""
    frame = b"\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0" + bytes(FRAME_BYTES - 14)
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    record = struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame
    file = folder / "frames.pcap"
    file.write_bytes(header + LOOP_FRAMES * record)
    return lambda: run(
        *("taskset", "--cpu-list", str(two_cpus()[1]), "tcpreplay", "--quiet", "--preload-pcap"),
        *("--intf1=veth0", f"--pps={rate:.0f}", f"--limit={rate * seconds:.0f}"),
        *(f"--loop={int(rate * seconds) // LOOP_FRAMES + 1}", str(file)),
    )


def watched(folder: Path, send: Send, rate: int, seconds: float) -> list[int]:
    """Return when each frame came to the other end, in nanoseconds."""
    file = folder / "seen.pcap"
    argv = ["taskset", "--cpu-list", str(two_cpus()[0]), "tcpdump", "-i", "veth1", "-Q", "in"]
    argv += ["-s", "64", "-B", "65536", "-U", "-Z", "root"]
    argv += ["--time-stamp-precision=nano", "-w", str(file)]
    file.unlink(missing_ok=True)
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as tcpdump:  # noqa: S603
        assert tcpdump.stderr is not None
        try:
            said = list(itertools.takewhile(is_silent, waits.lines(tcpdump.stderr)))
            if tcpdump.poll() is not None:
                raise ComponentError("tcpdump does not listen", why=" ".join(said) or None)
            send()
            settle(file, int(rate * seconds))
        finally:
            tcpdump.terminate()
            tcpdump.communicate()
    return list(times_in(file.read_bytes()))


def is_silent(line: str) -> bool:
    """Whether tcpdump does not say yet that it listens."""
    return "listening on" not in line


def settle(file: Path, frames: int) -> None:
    """Wait until tcpdump has written all frames, or writes no more."""
    size, deadline = -1, time.monotonic() + DEADLINE_S
    while file.stat().st_size not in {size, 24 + frames * (16 + FRAME_BYTES)}:
        if time.monotonic() > deadline:
            return
        size = file.stat().st_size
        waits.sleep(WRITES_EVERY_S)


def times_in(capture: bytes) -> Iterator[int]:
    """Yield the time of each frame."""
    (magic,) = struct.unpack_from("<I", capture)
    if magic != NANOSECOND_PCAP:
        raise ComponentError("tcpdump has not kept nanoseconds")
    at = 24
    while at + 16 <= len(capture):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", capture, at)
        at += 16 + length
        yield seconds * 1_000_000_000 + nanoseconds


def show(who: str, rate: int, times: list[int]) -> int:
    """Print the error of the rate, and how far gaps are off; return that of half of them."""
    nominal = 1e9 / rate
    gaps = sorted(after - before for before, after in itertools.pairwise(times))
    error_ppm = ((len(times) - 1) * 1e9 / (times[-1] - times[0]) / rate - 1) * 1e6
    off = sorted(abs(gap - nominal) for gap in gaps)
    shares = " ".join(
        f"p{share * 100:g} {off[int(share * (len(off) - 1))]:.0f}" for share in SHARES
    )
    say(
        f"{rate:>9} fps, {who}: {len(times)} frames, {error_ppm:+.1f} ppm; gaps from "
        f"{gaps[0]} to {gaps[-1]} ns, deviation {statistics.pstdev(gaps):.0f} ns; off by {shares} "
        f"ns"
    )
    return round(off[len(off) // 2])


if __name__ == "__main__":
    main()
