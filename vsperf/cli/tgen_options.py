"""The options that the commands of `vsperf tgen` share."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from vsperf.cli.selection import QuantityType
from vsperf.drivers.generators.tgen.command import Options
from vsperf.errors import UsageError
from vsperf.quantities.units import Count, CpuSet, Duration, FrameSize

F = TypeVar("F", bound=Callable[..., Any])

SIZE = QuantityType(FrameSize)
DURATION = QuantityType(Duration)


def port_options(function: F) -> F:
    """Add the options that say which ports there are, and where tgen runs."""
    return process_options(
        click.option(
            "--vdev",
            "devices",
            multiple=True,
            required=True,
            metavar="DEVICE",
            help="A port, as DPDK's --vdev takes it; repeatable, once for each port.",
        )(function)
    )


def process_options(function: F) -> F:
    """Add the options that say where tgen runs."""

    @functools.wraps(function)
    def collecting(
        cpus: CpuSet, hugepages: bool, queues: int, ring: int, eal: tuple[str, ...], **values: Any
    ) -> Any:
        options = Options(cpus.cpus, hugepages, queues, ring, extra=eal)
        return function(options=options, **values)

    for option in reversed(_PROCESS):
        collecting = option(collecting)
    return collecting  # type: ignore[return-value]


_PROCESS = (
    click.option(
        "--cpus",
        type=QuantityType(CpuSet),
        default="0",
        help="CPUs of its workers.",
        show_default=True,
    ),
    click.option(
        "--hugepages/--no-hugepages",
        default=True,
        help="Where its memory comes from.",
        show_default=True,
    ),
    click.option("--queues", type=click.IntRange(1, 16), default=1, help="Queues of each port."),
    click.option(
        "--ring", type=click.IntRange(64, 32768), default=1024, help="Descriptors of each queue."
    ),
    click.option(
        "--eal", multiple=True, metavar="ARGUMENT", help="One more argument for DPDK; repeatable."
    ),
)


def stream_options(function: F) -> F:
    """Add the options that say what is sent, and which way; the ports are known by then."""

    @functools.wraps(function)
    def collecting(
        devices: tuple[str, ...],
        size: FrameSize,
        flows: Count,
        direction: Any,
        headers: tuple[str, ...],
        replay: Path | None,
        **values: Any,
    ) -> Any:
        from vsperf.drivers.generators.tgen import byhand

        more = _headers(headers) | (_replayed(replay) if replay else {})
        stream = byhand.Stream(size.bytes, int(flows), more)
        ways = byhand.directions_between(len(devices), direction)
        return function(devices=devices, stream=stream, ways=ways, **values)

    for option in _STREAM:
        collecting = option(collecting)
    return collecting  # type: ignore[return-value]


_STREAM = (
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="KEY=JSON",
        help="A key of tgen's streams, such as vlans=[100] or layer3=ipv6; repeatable.",
    ),
    click.option(
        "--direction",
        type=click.Choice(["both", "forward", "reverse"]),
        default="both",
        help="Which way pairs of ports send.",
    ),
    click.option(
        "--replay",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Send the frames of a pcap or pcapng file, over and over.",
    ),
    click.option("--flows", type=QuantityType(Count), default="1", help="Flows per stream."),
    click.option("--size", type=SIZE, default="64B", help="Frame size with FCS."),
)


def _replayed(file: Path) -> dict[str, Any]:
    """Return what a stream says of its file, whose frames have sizes of their own."""
    given = click.get_current_context().get_parameter_source("size")
    if given is click.core.ParameterSource.COMMANDLINE:
        raise UsageError("frames of a file have sizes of their own", fix="leave out --size")
    return {"replay": str(file.absolute())}


def _headers(texts: tuple[str, ...]) -> dict[str, Any]:
    """Read KEY=JSON; what is no JSON is text."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is no header", fix="write KEY=JSON, such as vlans=[100]")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
