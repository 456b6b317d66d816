"""Places: the kernel's stack at the end of a link, where programs run. Pure.

It is that of this machine, in a network of its own or in the host's, or that of a guest; or there
is none, where a program with a stack of its own has the port of the switch to itself. A place has
the addresses that the test traffic has there, so a switch that is told where frames go is told the
same for both. Its device carries packets of the case's frame size, and no longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.abilities import OF_MODELS
from vsperf.config.case import CaseSpec
from vsperf.config.flows import BENCHMARKS, link_ip, link_mac
from vsperf.config.traffic import TrafficProfile
from vsperf.config.tree import Section, find
from vsperf.config.wiring import directions_of
from vsperf.errors import Location, Problem

ETHERNET_BYTES = 18
"""Header and FCS: a frame of 1518 bytes carries a packet of 1500."""
ANY_FRAME = ("port", "learn")
"""Rules of a switch by which frames of programs pass: they look at no ports of UDP."""
MEANT = ("frame_size", "direction")
"""What of the traffic has a meaning for places: their longest frame, and which way data go."""
PREFIX_BITS = int(BENCHMARKS["ipv4"].partition("/")[2])
"""All places are in one network, so none needs a route."""


def place_mac(case: CaseSpec, link: str) -> str:
    """Return the address of the place at the end of a link."""
    return link_mac(case.topology.links.index(link))


def place_ip(case: CaseSpec, link: str) -> str:
    """Return its address of IPv4."""
    return link_ip(case.topology.links.index(link))


def place_mtu(case: CaseSpec) -> int:
    """Return the largest packet of a place."""
    return case.traffic.frame_size.bytes - ETHERNET_BYTES


def own_stack(case: CaseSpec) -> bool:
    """Whether servers have stacks of their own, and threads that never sleep."""
    return bool(getattr(case.program, "OWN_STACK", False))


def is_silent(case: CaseSpec, link: str) -> bool:
    """Whether the kernel says nothing at the end of a link, as a server there does."""
    ways = directions_of(case.topology, case.traffic.direction)
    return own_stack(case) and link in {target for _, target in ways}


def place_problems(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return what does not go with places, of a method that has some, or guests with another."""
    if not spec.has_places:
        return [*_no_guests(spec, document)]
    return [*_program(spec, document), *_traffic(spec, document), *_ends(spec, document)]


def place_refusals(spec: CaseSpec) -> list[Problem]:
    """Return why places cannot be had with the switch and the testbed of a case.

    Both are often chosen on the command line, for testcases of all kinds: so it is a plan that is
    refused, and no testcase that is wrong.
    """
    if spec.testbed.simulated:
        return [_no_model(spec)]
    return [
        *_switch(spec),
        *_guests(spec),
        *_hosts(spec),
        *_own_stacks(spec),
        *_ports_of_programs(spec),
        *_not_so_far(spec),
    ]


def _program(spec: CaseSpec, document: Section) -> Iterator[Problem]:
    if spec.program is None:
        yield Problem(
            f"the method {spec.search.kind} has programs exchange data, and no `program` is given",
            _place(document, "search.kind"),
            None,
            "--set program.kind=iperf3; `vsperf plugins` shows all kinds",
        )
    if spec.search.PROBED and spec.probe is None:
        yield Problem(
            f"the method {spec.search.kind} has a program measure latency, and no `probe` is given",
            _place(document, "search.kind"),
            None,
            "--set probe.kind=irtt; `vsperf plugins` shows all kinds",
        )


def _traffic(spec: CaseSpec, document: Section) -> Iterator[Problem]:
    """Yield settings of frames that nobody would follow."""
    for name, field in TrafficProfile.model_fields.items():
        if name in MEANT or getattr(spec.traffic, name) == field.default:
            continue
        yield Problem(
            f"`traffic.{name}` says nothing to programs",
            _place(document, f"traffic.{name}"),
            f"the method {spec.search.kind} sends no frames of its own: the kernel makes them of "
            "what programs write",
            f"leave traffic.{name} out",
        )


def _no_guests(spec: CaseSpec, document: Section) -> Iterator[Problem]:
    """Yield that nobody is in guests at the ends of links, where a generator is there."""
    if spec.places:
        yield Problem(
            f"`places` says nothing to the method {spec.search.kind}",
            _place(document, "places"),
            "it has the generator at the ends of the links, and no programs",
            "leave places out",
        )


def _ends(spec: CaseSpec, document: Section) -> Iterator[Problem]:
    """Yield guests at the end of nothing."""
    for link in spec.places:
        if link not in spec.topology.links:
            yield Problem(
                f"`places` names {link}, which topology {spec.topology.name} does not have",
                _place(document, f"places.{link}"),
                f"it has {', '.join(spec.topology.links)}",
                f"--set places.{link}=null",
            )


def _guests(spec: CaseSpec) -> Iterator[Problem]:
    """Yield what guests cannot have, or do, so far."""
    if not spec.guests:
        return
    links, kind = ", ".join(spec.guests), spec.vswitch.kind
    out = " ".join(f"--set places.{link}=null" for link in spec.guests)
    if not getattr(spec.vswitch, "GUESTS", False):
        yield Problem(
            f"vswitch {kind} has no ports that a guest with programs can be plugged into, so far",
            None,
            f"`places` asks for one at {links}",
            f"--set vswitch.kind=ovs-dpdk, or a network of the host in its place: {out}",
        )
    if getattr(spec.search, "offloads", "off") == "on":
        yield Problem(
            f"`search.offloads` is on, and the NICs of guests at {links} leave nothing to others",
            None,
            "no frame longer than the case's may pass, so QEMU offers the guest none of it",
            "--set search.offloads=off",
        )


def _hosts(spec: CaseSpec) -> Iterator[Problem]:
    """Yield what the host cannot have, or be, and what is said of guests alone."""
    if len(spec.hosts) > 1:
        yield Problem(
            f"`places` has the host at {', '.join(spec.hosts)}",
            None,
            "it would speak with itself, and nothing would come to the switch",
            f"--set places.{spec.hosts[-1]}=null",
        )
    for link, asked in spec.places.items():
        if link in spec.guests:
            continue
        who = "the host" if link in spec.hosts else "a program in user space"
        for name, field in type(asked).model_fields.items():
            if name != "kind" and getattr(asked, name) != field.default:
                yield Problem(
                    f"`places.{link}.{name}` says nothing to {who}",
                    None,
                    "it is said of guests",
                    f"leave places.{link}.{name} out, or --set places.{link}.kind=vm",
                )


def _own_stacks(spec: CaseSpec) -> Iterator[Problem]:
    """Yield what does not go with a server that has a stack of its own."""
    if not own_stack(spec):
        return
    ways, search = directions_of(spec.topology, spec.traffic.direction), spec.search
    sources, targets = ([way[end] for way in ways] for end in (0, 1))
    asked = {
        "search.instances": getattr(search, "instances", 1) > 1,
        "search.workers": getattr(search, "workers", 1) > 1,
        "search.keepalive": getattr(search, "keepalive", "on") == "off",
        "search.offloads": getattr(search, "offloads", "off") == "on",
        "search.pinning": getattr(search, "pinning", "same") == "apart",
        "traffic.direction": bool({*sources} & {*targets}) or len({*targets}) < len(targets),
        "places": any(link in spec.guests or link in spec.hosts for link in targets),
    }
    for path, there in asked.items():
        if there:
            yield Problem(
                f"`{path}` does not go with a server that has a stack of its own",
                None,
                "it is one server that polls on one CPU, in a network of its own where the kernel "
                "is silent; it has one client, who closes connections, and takes no longer frames, "
                "and the CPU is its own anyway where there are enough",
                f"--set program.stack=kernel, or leave {path} out",
            )


def _ports_of_programs(spec: CaseSpec) -> Iterator[Problem]:
    """Yield where no program could have a port of the switch to itself."""
    if not spec.user_space:
        return
    out = " ".join(f"--set places.{link}=null" for link in spec.user_space)
    if not getattr(spec.vswitch, "OWN_PORTS", False):
        yield Problem(
            f"vswitch {spec.vswitch.kind} has no ports that a program can have to itself, so far",
            None,
            f"`places` asks for one at {', '.join(spec.user_space)}, and it would be vhost-user",
            f"--set vswitch.kind=ovs-dpdk, or a network of the host in its place: {out}",
        )
    targets = {target for _, target in directions_of(spec.topology, spec.traffic.direction)}
    unserved = [link for link in spec.user_space if link not in targets]
    if unserved or not own_stack(spec):
        yield Problem(
            f"`places` has {', '.join(unserved or spec.user_space)} in user space, and no program "
            "there has a stack of its own",
            None,
            "the kernel has no device there; a server of HTTP in user space does without one, "
            "where requests go to",
            f"--set program.kind=wrk --set program.stack=user-space; or {out}",
        )


def _switch(spec: CaseSpec) -> Iterator[Problem]:
    switch, kind = spec.vswitch, spec.vswitch.kind
    if not getattr(switch, "PLACES", False):
        yield Problem(
            f"vswitch {kind} has no ports that a place can be joined to, so far",
            None,
            f"the method {spec.search.kind} has programs at the ends of the links",
            "--set vswitch.kind=linux-bridge, or --set vswitch.kind=ovs-dpdk",
        )
        return
    if getattr(spec.search, "offloads", "off") == "on" and not getattr(switch, "OFFLOADS", False):
        yield Problem(
            f"`search.offloads` is on, and vswitch {kind} takes no frames that are longer than "
            "its ports carry, nor any without a checksum",
            None,
            None,
            "--set search.offloads=off",
        )
    flows = getattr(switch, "flows", ANY_FRAME[0])
    if flows not in ANY_FRAME + getattr(switch, "BY_ADDRESS", ()):
        yield Problem(
            f"`vswitch.flows` is {flows}, and rules for single streams let no program through",
            None,
            "they are those of the test traffic, by its ports",
            f"--set vswitch.flows={ANY_FRAME[0]}",
        )
    if spec.rewriting is not None:
        yield Problem(
            f"`{spec.rewriting}` changes frames, and programs would not know each other",
            None,
            None,
            f"leave {spec.rewriting} out",
        )
    for link in spec.topology.links:
        found = spec.testbed.links.get(link)
        if found is not None and (found.switch or found.generator):
            yield Problem(
                f"testbed link {link} has a device, and a place is joined to the switch by a pair "
                "of devices of its own",
                None,
                "a place on another machine is not there so far",
                "take the testbed local",
            )


def _no_model(spec: CaseSpec) -> Problem:
    """Return why a model is of no use, which makes all else that it lacks beside the point."""
    return Problem(
        f"testbed {spec.testbed.name} is simulated, and the method {spec.search.kind} has programs "
        "exchange data",
        None,
        "its models forward frames; programs are run, and there is no model of one",
        OF_MODELS,
    )


def _not_so_far(spec: CaseSpec) -> Iterator[Problem]:
    """Yield what is not there for places yet, rather than leave it out in silence."""
    if spec.cache:
        yield Problem(
            f"`cache` and the method {spec.search.kind} do not go together, so far",
            None,
            None,
            "--set cache=null",
        )


def _place(document: Section, path: str) -> Location | None:
    node = find(document, path)
    return None if node is None else node.mark.location
