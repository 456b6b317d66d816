"""`vsperf tgen`: the traffic generator by hand."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from vsperf.cli.selection import QuantityType
from vsperf.cli.stored import json_option, say_json
from vsperf.cli.tgen_options import DURATION, SIZE, port_options, process_options, stream_options
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import UsageError
from vsperf.quantities.quantity import decimal_text
from vsperf.quantities.units import CpuSet, Duration, FrameSize, Rate

NOTHING = ("net_null0",)
"""For what needs no port."""


@click.group(
    epilog="Examples:\n\n\b\n"
    "  vsperf tgen ports --vdev net_ring0\n"
    "  vsperf tgen trial --vdev net_ring0 --size 64 --rate 1Mpps --duration 10s\n"
    "  vsperf tgen calibrate --loop memif --size 64 --size 1518\n"
)
def command() -> None:
    """Run the traffic generator by hand, without a testcase and without a record.

    Every frame is numbered and stamped, and every frame that comes back is checked. Frames go
    from the first port to the second and back, from the third to the fourth, and so on; a port
    without a partner gets its own frames back.
    """


@command.command(
    short_help="Show what was negotiated on each port",
    epilog="Example:\n\n\b\n  vsperf tgen ports --vdev net_ring0 --json\n",
)
@port_options
@json_option
def ports(devices: tuple[str, ...], options: Options, as_json: bool) -> None:
    """Show what was negotiated on each port: driver, link, rings, offloads."""
    from vsperf.cli.tgen_view import print_ports
    from vsperf.drivers.generators.tgen.byhand import at_hand

    with at_hand(devices, options) as tgen:
        found = tgen.ports()
        if as_json:
            say_json({"hello": tgen.hello, "ports": found})
        else:
            print_ports(tgen.hello, found)


@command.command(
    short_help="Make one trial",
    epilog="Examples:\n\n\b\n"
    "  vsperf tgen trial --vdev net_ring0 --size 64 --rate 1Mpps --duration 10s\n"
    "  vsperf tgen trial --vdev net_virtio_user0,path=/run/p0 --size 1518 --json\n"
    "  vsperf tgen trial --vdev net_ring0 --header vlans=[9] --header layer3=ipv6\n"
    "  vsperf tgen trial --vdev net_ring0 --replay seen.pcap --rhythm file\n",
)
@port_options
@stream_options
@click.option(
    "--rhythm",
    type=click.Choice(["even", "file"]),
    default="even",
    help="Whether frames are as far apart as in the file; --rate is then their mean rate.",
)
@click.option("--rate", type=QuantityType(Rate), help="Per stream; flat out when not given.")
@click.option("--duration", type=DURATION, default="10s", show_default=True, help="Of sending.")
@click.option("--burst", type=click.IntRange(1, 64), default=32, help="Most frames back to back.")
@click.option("--variation", is_flag=True, help="Measure the variation of latency (IPDV), too.")
@click.option("--respond", is_flag=True, help="Answer ARP and neighbour discovery, for routers.")
@json_option
def trial(
    devices: tuple[str, ...],
    options: Options,
    stream: Any,
    ways: Any,
    rate: Rate | None,
    duration: Duration,
    burst: int,
    variation: bool,
    respond: bool,
    rhythm: str,
    as_json: bool,
) -> None:
    """Make one trial; a table of each second on stderr, everything at the end on stdout."""
    from vsperf.drivers.generators.tgen import byhand

    sending = byhand.Sending(
        _fps(rate), duration.ns, burst=burst, variation=variation, rhythm=rhythm, respond=respond
    )
    if rhythm == "file" and "replay" not in stream.more:
        raise UsageError("there is no file to keep the rhythm of", fix="give --replay FILE")
    _send(devices, options, ways, stream, sending, as_json)


@command.command(
    short_help="Send bursts of an exact number of frames",
    epilog="Examples:\n\n\b\n"
    "  vsperf tgen burst --vdev net_ring0 --frames 1000\n"
    "  vsperf tgen burst --vdev net_ring0 --frames 1000 --bursts 50 --gap 100ms\n",
)
@port_options
@stream_options
@click.option("--frames", type=click.IntRange(1), required=True, help="Of each burst, per stream.")
@click.option("--bursts", type=click.IntRange(1, 1_000_000), default=1, help="How many.")
@click.option("--gap", type=DURATION, default="100ms", show_default=True, help="Between bursts.")
@click.option(
    "--rate", type=QuantityType(Rate), help="Within a burst; back to back when not given."
)
@json_option
def burst(
    devices: tuple[str, ...],
    options: Options,
    stream: Any,
    ways: Any,
    frames: int,
    bursts: int,
    gap: Duration,
    rate: Rate | None,
    as_json: bool,
) -> None:
    """Send bursts of an exact number of frames back to back (RFC 9004), with a gap after each.

    The gap is from the last frame of a burst that a port took to the first one of the next.
    """
    from vsperf.drivers.generators.tgen import byhand

    sending = byhand.Bursts(frames, bursts, gap.ns, _fps(rate))
    _send(devices, options, ways, stream, sending, as_json)


@command.command(
    short_help="Write a few frames to a pcap file",
    epilog="Example:\n\n\b\n"
    "  vsperf tgen capture --vdev net_ring0 --size 128 --header vlans=[9] seen.pcap\n",
)
@port_options
@stream_options
@click.option("--frames", type=click.IntRange(1, 10_000), default=10, help="Sent per stream.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def capture(
    devices: tuple[str, ...],
    options: Options,
    stream: Any,
    ways: Any,
    frames: int,
    file: Path,
) -> None:
    """Send a few frames and write what each port sent and received to FILE, in pcap format.

    With several ports, the number of the port comes before the suffix: seen.0.pcap, seen.1.pcap.
    """
    from vsperf.drivers.generators.tgen import byhand

    if not file.name:
        raise UsageError(f"{str(file)!r} names no file", fix="name one, such as seen.pcap")
    files = {n: file.with_suffix(f".{n}{file.suffix}") for n in range(len(devices))}
    if len(devices) == 1:
        files = {0: file}
    with byhand.at_hand(devices, options) as tgen:
        tgen.ports()
        byhand.capture(tgen, ways, stream, frames, files)
    for path in files.values():
        click.echo(path)


@command.command(
    short_help="Measure how long this host keeps a busy loop waiting",
    epilog="Example:\n\n\b\n  vsperf tgen stalls --cpus 0,1 --duration 30s --threshold 10us\n",
)
@process_options
@click.option("--duration", type=DURATION, default="10s", show_default=True, help="Of looking.")
@click.option(
    "--threshold", type=DURATION, default="1us", show_default=True, help="Least gap that counts."
)
@json_option
def stalls(options: Options, duration: Duration, threshold: Duration, as_json: bool) -> None:
    """Measure how long this host keeps a busy loop from running; sends nothing."""
    from vsperf.cli.tgen_view import print_stalls
    from vsperf.drivers.generators.tgen import byhand

    with byhand.at_hand(NOTHING, options) as tgen:
        result = byhand.stalls(tgen, duration.ns, threshold.ns)
    if as_json:
        say_json(result)
    else:
        print_stalls(result)


@command.command(
    short_help="Measure how long a cache line takes between two CPUs",
    epilog="Example:\n\n\b\n  vsperf tgen roundtrip --cpus 0,1\n",
)
@click.option(
    "--cpus", type=QuantityType(CpuSet), default="0,1", show_default=True, help="The two CPUs."
)
@click.option(
    "--times", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Measured."
)
@json_option
def roundtrip(cpus: CpuSet, times: int, as_json: bool) -> None:
    """Measure how long a cache line takes from one CPU to another and back; sends nothing.

    Frames in a ring between two CPUs cost this much. On a virtual machine it changes when the
    host moves a CPU, and results change with it.
    """
    from vsperf.cli.tgen_view import print_roundtrips
    from vsperf.drivers.generators.tgen import byhand

    if len(cpus.cpus) != 2:
        raise UsageError(f"--cpus {cpus} is not two CPUs", fix="name two, such as --cpus 0,1")
    first, second = cpus.cpus
    with byhand.at_hand(NOTHING, Options((first,), hugepages=False)) as tgen:
        results = byhand.roundtrips(tgen, (first, second), times)
    if as_json:
        say_json(results)
    else:
        print_roundtrips(results)


@command.command(
    short_help="Find what the generator itself can do",
    epilog="Example:\n\n\b\n  vsperf tgen calibrate --loop vhost --size 64 --size 1518\n",
)
@process_options
@click.option(
    "--loop",
    type=click.Choice(["ring", "memif", "vhost"]),
    default="vhost",
    show_default=True,
    help="What joins the ports; take what the switch's ports are.",
)
@click.option(
    "--mirror-cpu", type=click.IntRange(0), default=1, help="Where the mirror of vhost ports runs."
)
@click.option(
    "--size",
    "sizes",
    type=SIZE,
    multiple=True,
    default=("64B", "1518B"),
    help="Frames of it, on a line of their own; repeatable.",
)
@click.option("--duration", type=DURATION, default="1s", show_default=True, help="Of a trial.")
@click.option("--budget", type=DURATION, default="1m", show_default=True, help="Per frame size.")
@json_option
def calibrate(
    options: Options,
    loop: Any,
    mirror_cpu: int,
    sizes: tuple[FrameSize, ...],
    duration: Duration,
    budget: Duration,
    as_json: bool,
) -> None:
    """Find what the generator itself can do: its ports against each other, without a switch.

    Per frame size: the maximum rate, the loss-free rate as an interval, the floor of latency.
    Rings and memif ports lead to each other within tgen; between vhost-user ports stands DPDK's
    testpmd on a CPU of its own, which forwards without looking.
    """
    from vsperf.cli.tgen_view import print_calibrations
    from vsperf.drivers.generators.tgen import byhand
    from vsperf.drivers.generators.tgen import calibrate as calibrating
    from vsperf.drivers.generators.tgen.cap import loop as leading_to_itself
    from vsperf.engine.measurer import Measurer
    from vsperf.engine.watch import Watch

    def measure(session: Any, policy: Any, limit: Any) -> Any:
        return Measurer(session, Watch(None, session), policy, limit, len(session.ways)).measure

    with (
        leading_to_itself(loop, (mirror_cpu,)) as devices,
        byhand.at_hand(devices, options) as tgen,
    ):
        found = [
            calibrating.calibrate(tgen, size.bytes, duration.ns, budget.ns, measure)
            for size in sizes
        ]
    if as_json:
        say_json([asdict(one) for one in found])
    else:
        print_calibrations(found)


def _fps(rate: Rate | None) -> str | None:
    """Return a rate as tgen takes it: frames per second, to the thousandth."""
    if rate is None:
        return None
    if rate.unit != "fps":
        raise UsageError(
            f"the rate {rate} refers to a link, and ports by hand have none",
            fix="give frames per second, such as --rate 1Mpps",
        )
    return decimal_text(Fraction(round(rate.number * 1000), 1000))


def _send(
    devices: tuple[str, ...], options: Options, ways: Any, stream: Any, sending: Any, as_json: bool
) -> None:
    """Make one trial, and show what is known of it."""
    from vsperf.cli.tgen_view import print_trial, watching
    from vsperf.drivers.generators.tgen import byhand

    watcher = nullcontext(lambda event: None) if as_json else watching(ways)
    with byhand.at_hand(devices, options) as tgen:
        tgen.ports()
        with watcher as show:
            result = byhand.trial(tgen, ways, stream, sending, show)
    if as_json:
        say_json(result)
    else:
        print_trial(result, ways)
