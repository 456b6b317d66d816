"""IxNetwork as a generator: its ports, a traffic item for each direction, and what it counts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vsperf.drivers.generators.streams import Field
from vsperf.errors import ComponentError, NotReadyError
from vsperf.waits import sleep
from vsperf_chassis.ixnetwork import sessions
from vsperf_chassis.ixnetwork.client import Client
from vsperf_chassis.session import Counted, Shot
from vsperf_chassis.streams import Stream, counted_up

VIEW = "Traffic Item Statistics"
ITEM, SENT, RECEIVED = "Traffic Item", "Tx Frames", "Rx Frames"
LINK_UP, LINK_DOWN = "connectedLinkUp", "connectedLinkDown"
TAKEN = "assignedInUseByOther"
READY, STOPPED = "ready", "stopped"
LINK_S = 60.0
"""Patience with a chassis, and with a link that comes up after its port was taken."""
VIEW_S = 20.0
"""Patience with a table of counters that is made when traffic starts."""
POLL_S = 0.5
REFRESHED = ["waitForPortStatsRefresh", "waitForTrafficStatsRefresh"]
ETHERNET, VLAN, IPV4, UDP = "ethernet", "vlan", "ipv4", "udp"
VLAN_TYPE = 0x8100
"""Of a tag, where nobody says more."""
FIELDS = {
    "source ip": (IPV4, "ipv4.header.srcIp"),
    "destination ip": (IPV4, "ipv4.header.dstIp"),
    "source port": (UDP, "udp.header.srcPort"),
    "destination port": (UDP, "udp.header.dstPort"),
    "source mac": (ETHERNET, "ethernet.header.sourceAddress"),
    "destination mac": (ETHERNET, "ethernet.header.destinationAddress"),
}
"""By what flows differ by: the header, and what IxNetwork calls the field."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One header."""

    kind: str
    """What IxNetwork calls its template."""
    fields: dict[str, dict[str, object]] = field(default_factory=dict)
    """By what IxNetwork calls a field, what it is set to."""


def layers_of(stream: Stream) -> tuple[Layer, ...]:
    """Return the headers from the outside in."""
    named = stream.named
    types = [kind for kind, _ in named.tags]
    ethernet = Layer(
        ETHERNET,
        {
            "ethernet.header.destinationAddress": _single(named.destination_mac),
            "ethernet.header.sourceAddress": _single(named.source_mac),
        },
    )
    if types and types[0] != VLAN_TYPE:
        ethernet.fields["ethernet.header.etherType"] = _single(f"{types[0]:x}")
    tags = [Layer(VLAN, {"vlan.header.vlanTag.vlanID": _single(one)}) for _, one in named.tags]
    ip = Layer(
        IPV4,
        {
            "ipv4.header.ttl": _single(named.ttl),
            "ipv4.header.srcIp": _single(named.source_ip),
            "ipv4.header.dstIp": _single(named.destination_ip),
        },
    )
    udp = Layer(
        UDP,
        {
            "udp.header.srcPort": _single(named.source_port),
            "udp.header.dstPort": _single(named.destination_port),
        },
    )
    found = (ethernet, *tags, ip, udp)
    for one in stream.fields:
        kind, name = FIELDS[one.name]
        (layer,) = (layer for layer in found if layer.kind == kind)
        layer.fields[name] = _counted(one, stream.header)
    return found


def _single(value: object) -> dict[str, object]:
    return {"auto": False, "valueType": "singleValue", "singleValue": str(value)}


def _counted(one: Field, header: bytes) -> dict[str, object]:
    first, step = counted_up(one, header)
    return {
        "auto": False,
        "valueType": "increment",
        "startValue": first,
        "stepValue": step,
        "countValue": str(one.count),
    }


@dataclass
class Ixnetwork:
    """A connection to an API server, on which a session under the name of an owner has ports."""

    rest_s: ClassVar[float] = 3.0
    """Tables of counters are read from the chassis every second or two."""

    client: Client
    places: tuple[str, ...]
    owner: str
    session: str | None = None
    """Its path on the server."""
    ports: dict[str, str] = field(default_factory=dict)
    """By place, the path of its port."""
    streams: tuple[Stream, ...] = ()
    items: tuple[str, ...] = ()
    """Paths of the traffic items, in the order of the streams."""
    started: bool = False
    """Whether a trial was begun since the counters were cleared."""

    @property
    def root(self) -> str:
        """Where all that the session has is."""
        if self.session is None:
            raise ComponentError(f"there is no session on IxNetwork at {self.client.address}")
        return f"{self.session}/ixnetwork"

    @property
    def traffic(self) -> str:
        return f"{self.root}/traffic"

    def reserve(self) -> None:
        self.session = sessions.make(self.client)
        sessions.begin(self.client, self.session, self.owner)
        for host in dict.fromkeys(place.partition("/")[0] for place in self.places):
            self._await_chassis(host)
        for place in self.places:
            self.ports[place] = self.client.create(f"{self.root}/vport", {"name": place})
        cards = [place.replace("/", ";") for place in self.places]
        clear_ownership = False  # of whoever has them
        self.client.operate(
            f"{self.root}/operations/assignports", cards, [*self.ports.values()], clear_ownership
        )
        deadline = time.monotonic() + LINK_S
        for place, port in self.ports.items():
            self._await_link(place, port, deadline)

    def _await_chassis(self, host: str) -> None:
        path = f"{self.root}/availableHardware/chassis"
        made, deadline = self.client.create(path, {"hostname": host}), time.monotonic() + LINK_S
        while (state := self.client.attributes(made).get("state")) != READY:
            if time.monotonic() > deadline:
                raise NotReadyError(
                    f"IxNetwork does not reach the chassis {host}",
                    why=f"it has been {state} for {LINK_S:g} s",
                    fix="see that it is on, and that the API server can reach it",
                )
            sleep(POLL_S)

    def _await_link(self, place: str, port: str, deadline: float) -> None:
        while (found := self.client.attributes(port)).get("connectionState") != LINK_UP:
            if found.get("connectionState") == TAKEN:
                raise NotReadyError(
                    f"port {place} of IxNetwork is somebody else's",
                    why=f"{found.get('connectionStatus') or 'IxNetwork does not say whose'}; "
                    "vsperf takes no port from anybody",
                    fix="ask them to release it, or, if it is of a run that was killed: "
                    "vsperf clean",
                )
            if time.monotonic() > deadline:
                raise NotReadyError(
                    f"port {place} of IxNetwork has no link",
                    why=f"it has been {found.get('connectionState')} for {LINK_S:g} s: "
                    f"{found.get('connectionStatus')}",
                    fix="see to the cable, and to the switch at its other end",
                )
            sleep(POLL_S)

    def release(self) -> None:
        """Let go of the session's ports that it still has, and end it."""
        if self.session is None:
            return
        try:
            ports = self.client.objects(f"{self.root}/vport")
            ours = [one for one in ports if one.get("connectionState") in (LINK_UP, LINK_DOWN)]
            if ours:
                paths = [f"{self.root}/vport/{one['id']}" for one in ours]
                self.client.operate(f"{self.root}/vport/operations/releaseport", paths)
        finally:
            sessions.end(self.client, self.session)
            self.session = None

    def load(self, streams: tuple[Stream, ...]) -> None:
        self.streams = streams
        found = self.client.objects(f"{self.traffic}/protocolTemplate?skip=0&take=end")
        templates = {
            str(one.get("stackTypeId")): f"{self.traffic}/protocolTemplate/{one.get('id')}"
            for one in found
        }
        self.items = tuple(self._build(stream, templates) for stream in streams)

    def _build(self, stream: Stream, templates: dict[str, str]) -> str:
        raw = {"trafficType": "raw", "trafficItemType": "l2L3", "biDirectional": False}
        item = self.client.create(f"{self.traffic}/trafficItem", {"name": stream.name, **raw})
        ends = {
            "sources": [f"{self.ports[stream.sender]}/protocols"],
            "destinations": [f"{self.ports[stream.receiver]}/protocols"],
        }
        self.client.create(f"{item}/endpointSet", ends)
        self.client.change(f"{item}/tracking", {"trackBy": ["trackingenabled0"]})
        element = _element(item)
        size = {"type": "fixed", "fixedSize": stream.size}
        self.client.change(f"{element}/frameSize", size)
        stack = f"{element}/stack/1"  # that of Ethernet is there
        for layer in layers_of(stream):
            if layer.kind != ETHERNET:
                if layer.kind not in templates:
                    raise ComponentError(f"IxNetwork has no template of a header {layer.kind}")
                after = self.client.operate(
                    f"{stack}/operations/appendprotocol", stack, templates[layer.kind]
                )
                stack = str(after)
            self._fill(stack, layer.fields)
        return item

    def _fill(self, stack: str, wanted: dict[str, dict[str, object]]) -> None:
        """Set fields of a header, each of which has to be there."""
        found = {
            str(one.get("fieldTypeId")): one["id"] for one in self.client.objects(f"{stack}/field")
        }
        for name, values in wanted.items():
            if name not in found:
                raise ComponentError(f"IxNetwork has no field {name} in {stack}")
            self.client.change(f"{stack}/field/{found[name]}", values)

    def arm(self, shots: tuple[Shot, ...]) -> None:
        for item, shot in zip(self.items, shots, strict=True):
            element = _element(item)
            rate = {"type": "framesPerSecond", "rate": shot.load_fps}
            self.client.change(f"{element}/frameRate", rate)
            count = {"type": "fixedFrameCount", "frameCount": shot.frames}
            self.client.change(f"{element}/transmissionControl", count)
        self.client.operate(f"{self.traffic}/trafficItem/operations/generate", [*self.items])
        self.client.operate(f"{self.traffic}/operations/apply", self.traffic)
        for item, shot in zip(self.items, shots, strict=True):
            self._require_applied(item, shot)

    def _require_applied(self, item: str, shot: Shot) -> None:
        """Refuse what became of a shot when it was applied to the chassis, if that is another."""
        found = self.client.objects(f"{item}/highLevelStream")
        counts = [one.get("appliedPacketCount") for one in found]
        if [str(one) for one in counts] != [str(shot.frames)]:
            raise ComponentError(
                f"IxNetwork made {counts} of {shot.frames} frames",
                why="one stream was expected, with as many frames",
            )
        if found[0].get("overSubscribed"):
            raise ComponentError(
                f"IxNetwork cannot send {shot.load_fps} frames a second there",
                why="it says that its port would be oversubscribed",
                fix="search below it: --set search.max_load=…",
            )

    def clear(self) -> None:
        self.client.operate(f"{self.root}/operations/clearportsandtrafficstats", REFRESHED)
        self.started = False

    def start(self) -> None:
        path = f"{self.traffic}/operations/startstatelesstrafficblocking"
        self.client.operate(path, self.traffic)
        self.started = True

    def stop(self) -> None:
        self.client.operate(f"{self.traffic}/operations/stopstatelesstrafficblocking", self.traffic)

    def sending(self) -> bool:
        return self.client.attributes(self.traffic).get("state") != STOPPED

    def read(self) -> tuple[Counted, ...]:
        deadline = time.monotonic() + VIEW_S
        while True:
            rows = self._rows()
            if rows is not None and all(stream.name in rows for stream in self.streams):
                return tuple(rows[stream.name] for stream in self.streams)
            if rows is not None and not self.started:  # there is no counter yet that could stand
                return tuple(rows.get(stream.name, Counted(0, 0)) for stream in self.streams)
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"IxNetwork shows no {VIEW} of {self.streams[0].name}",
                    why=f"there was no such table, or no such line, for {VIEW_S:g} s",
                )
            sleep(POLL_S)

    def _rows(self) -> dict[str, Counted] | None:
        """Return what the table says by name of a traffic item; nothing while there is no table.

        None where there is one that is just being made: it may still hold what was counted before.
        """
        views = self.client.objects(f"{self.root}/statistics/view")
        for view in views:
            if view.get("caption") == VIEW:
                data = self.client.attributes(f"{self.root}/statistics/view/{view['id']}/data")
                return self._counted(data) if data.get("isReady") else None
        return {}

    def _counted(self, data: dict[str, Any]) -> dict[str, Counted]:
        try:
            columns = [data["columnCaptions"].index(one) for one in (ITEM, SENT, RECEIVED)]
            lines = [[row[0][column] for column in columns] for row in data["pageValues"]]
            return {name: Counted(int(sent), int(received)) for name, sent, received in lines}
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ComponentError(
                f"the {VIEW} of IxNetwork cannot be read",
                why=f"{error}: whole numbers were expected in {SENT} and {RECEIVED}; it is another "
                "version, or counts nothing there",
            ) from error

    def lost_to(self) -> str | None:
        for port in self.ports.values():
            found = self.client.attributes(port)
            if found.get("connectionState") not in (LINK_UP, LINK_DOWN):
                return str(found.get("connectionStatus") or "somebody")
        return None

    def facts(self) -> dict[str, Any]:
        found = self.client.attributes(f"{self.root}/globals")
        return {"ixnetwork": str(found.get("buildNumber")), "server": self.client.address}


def _element(item: str) -> str:
    """Return where a traffic item says what it sends; a raw one has a single place for that."""
    return f"{item}/configElement/1"
