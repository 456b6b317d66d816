"""Ports of tgen that lead to each other, with no switch between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from vsperf.dpdk.mirror import mirror
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace, given_or_own
from vsperf.quantities.units import NANOSECONDS

Loop = Literal["ring", "memif", "vhost", "vnf"]


@contextmanager
def loop(
    kind: Loop,
    mirror_cpus: tuple[int, ...],
    workspace: Workspace | None = None,
    queues: int = 1,
    *,
    withheld: Sequence[str] = (),
) -> Iterator[tuple[str, ...]]:
    """Give devices that lead to each other; the CPUs are for what vhost needs in between.

    `withheld` are features of virtio that the ports of a switch do not offer.
    """
    match kind:
        case "ring":
            yield ("net_ring0",)
        case "memif":
            with given_or_own(workspace, "a loop for a traffic generator") as place:
                common = f"id=0,socket={place.folder / 'loop.sock'},rsize=10"
                yield (f"net_memif0,role=server,{common}", f"net_memif1,role=client,{common}")
        case "vhost":
            with mirror(mirror_cpus, workspace, queues, withheld=withheld) as devices:
                yield devices
        case "vnf":
            with mirror(mirror_cpus, workspace, queues, as_vnf=True) as devices:
                yield devices


def arrived_fps(streams: Sequence[Mapping[str, Any]]) -> int:
    """Return how much came back per second of sending, of the stream with the least; 0 if none."""
    return min(_arrived_fps(stream) for stream in streams)


def _arrived_fps(stream: Mapping[str, Any]) -> int:
    span_ns = stream.get("sending_ns")
    arrived: int = stream["distinct"] + stream.get("unmarked_received", 0)
    return int(arrived * NANOSECONDS // span_ns) if span_ns else 0


def nothing_came(streams: Sequence[Mapping[str, Any]]) -> ComponentError:
    """Return the error for a trial of which nothing came back."""
    sent, arrived = (sum(one[key] for one in streams) for key in ("sent", "received"))
    return ComponentError(
        "no frame came back from the loop", why=f"{sent} were sent, {arrived} arrived"
    )
