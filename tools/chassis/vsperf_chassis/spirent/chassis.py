"""TestCenter as a generator: its ports, a stream block for each direction, and what it counts.

It is called by the vendor's client, an extra that is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vsperf.drivers.generators.streams import Field
from vsperf.errors import ComponentError, NotReadyError
from vsperf.trust.answers import BoundedRequests
from vsperf.waits import aside
from vsperf_chassis.session import Counted, Shot
from vsperf_chassis.streams import Stream, counted_up

PROJECT = "project1"
SENT, RECEIVED = "TxStreamResults", "RxStreamSummaryResults"
STOPPED = "STOPPED"
USER = "vsperf"
"""The user of every session of ours; its name is the deployment's."""
TO_INSTALL = (
    "pip install './tools/chassis[spirent]' in vsperf's checkout, or, of the wheel of it, "
    "'FILE.whl[spirent]'"
)
ANSWER_S = 60.0
"""Patience with the whole of an answer: reserving ports and applying a configuration takes
TestCenter many seconds."""
CALL_S = 2 * ANSWER_S
"""Patience with a call of the library, which may ask twice."""


def library() -> Any:
    """Return the vendor's library, which reads whatever comes unless it is told not to."""
    try:
        from stcrestclient import resthttp, stchttp
    except ImportError as error:
        raise NotReadyError(
            "the library stcrestclient is not installed",
            why="TestCenter is spoken to by the vendor's own client (generator.kind=spirent)",
            fix=TO_INSTALL,
        ) from error
    resthttp.requests = BoundedRequests(ANSWER_S)
    return stchttp


def session_id(owner: str) -> str:
    """Return how TestCenter calls a session of ours."""
    return f"{owner} - {USER}"


class Client:
    """A session on a Lab Server."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.address = address
        self._stc: Any = None
        found = library()
        self._stc = self._called(
            "sessions", lambda: found.StcHttp(host, port=port or None, timeout=ANSWER_S)
        )

    def begin(self, owner: str) -> None:
        """Begin a session under a name."""
        self._called("new_session", lambda: self._stc.new_session(USER, owner))

    def take_up(self, owner: str) -> bool:
        """Join a session that a dead run has begun; say whether there is one."""
        found = self._called("sessions", self._stc.sessions)
        if session_id(owner) not in found:
            return False
        self._called("join_session", lambda: self._stc.join_session(session_id(owner)))
        return True

    def end(self) -> None:
        """End the session, which lets go of all that it has."""
        self._called("end_session", lambda: self._stc.end_session("kill", timeout=0))

    def create(self, kind: str, under: str, attributes: Mapping[str, object]) -> str:
        """Make an object; return its handle."""
        found = self._called(
            f"create {kind}", lambda: self._stc.create(kind, under, _texts(attributes))
        )
        return str(found)

    def configure(self, handle: str, attributes: Mapping[str, object]) -> None:
        self._called(f"config {handle}", lambda: self._stc.config(handle, _texts(attributes)))

    def get(self, handle: str, attribute: str) -> str:
        return str(
            self._called(f"get {handle} {attribute}", lambda: self._stc.get(handle, attribute))
        )

    def number(self, handle: str, attribute: str) -> int:
        """Return one attribute that is a whole number."""
        found = self.get(handle, attribute)
        try:
            return int(found)
        except ValueError as error:
            raise ComponentError(
                f"TestCenter at {self.address} says that {attribute} of {handle} is {found[:80]!r}",
                why="a whole number was expected: it is another version, or no TestCenter",
            ) from error

    def perform(self, command: str, **parameters: object) -> None:
        self._called(command, lambda: self._stc.perform(command, _texts(parameters)))

    def apply(self) -> None:
        """Send the configuration to the chassis."""
        self._called("apply", self._stc.apply)

    def version(self) -> str:
        return str(self._called("bll_version", self._stc.bll_version))

    def _called(self, what: str, call: Callable[[], Any]) -> Any:
        """Call the library, which raises whatever it likes."""
        try:
            return aside(call, CALL_S)
        except NotReadyError:
            raise
        except Exception as error:
            raise ComponentError(
                f"TestCenter at {self.address} does not do {what}",
                why=str(error)[:400] or type(error).__name__,
            ) from error


def _texts(attributes: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in attributes.items()}


@dataclass
class Spirent:
    """A connection to a Lab Server, on which a session under the name of an owner has ports."""

    rest_s: ClassVar[float] = 1.5
    """Results are read from the chassis once a second."""

    client: Client
    places: tuple[str, ...]
    owner: str
    ports: dict[str, str] = field(default_factory=dict)
    """By place, the handle of its port."""
    generators: dict[str, str] = field(default_factory=dict)
    blocks: tuple[str, ...] = ()
    """Handles of the stream blocks, in the order of the streams."""
    streams: tuple[Stream, ...] = ()

    def reserve(self) -> None:
        self.client.begin(self.owner)
        for place in self.places:
            attributes = {"location": place, "useDefaultHost": "FALSE"}
            self.ports[place] = self.client.create("port", PROJECT, attributes)
        self.client.perform(
            "AttachPorts",
            portList=" ".join(self.ports.values()),
            autoConnect="TRUE",
            revokeOwner="FALSE",
        )

    def release(self) -> None:
        """Let go of the session's ports that it still has; one that somebody took is theirs."""
        try:
            ports = self.client.get(PROJECT, "children-port").split()
            if ours := [port for port in ports if self._has(port)]:
                places = [self.client.get(port, "location") for port in ours]
                self.client.perform("ReleasePort", location=" ".join(places))
        finally:
            self.client.end()

    def _has(self, port: str) -> bool:
        return self.client.get(port, "online").upper() == "TRUE"

    def load(self, streams: tuple[Stream, ...]) -> None:
        self.streams = streams
        self.blocks = tuple(self._build(stream) for stream in streams)
        for place in dict.fromkeys(stream.sender for stream in streams):
            self.generators[place] = self.client.get(self.ports[place], "children-generator")
        for kind in (SENT, RECEIVED):
            self.client.perform(
                "ResultsSubscribe", parent=PROJECT, configType="StreamBlock", resultType=kind
            )
        self.client.apply()
        analyzers = [self.client.get(port, "children-analyzer") for port in self.ports.values()]
        self.client.perform("AnalyzerStart", analyzerList=" ".join(analyzers))

    def _build(self, stream: Stream) -> str:
        block = self.client.create(
            "streamBlock",
            self.ports[stream.sender],
            {
                "name": stream.name,
                "frameConfig": "",
                "frameLengthMode": "FIXED",
                "fixedFrameLength": stream.size,
                "insertSig": "TRUE",
                "expectedRxPort": self.ports[stream.receiver],
            },
        )
        self._headers(block, stream)
        for one in stream.fields:
            self.client.create("rangeModifier", block, _modifier(one, stream.header))
        return block

    def _headers(self, block: str, stream: Stream) -> None:
        named, create = stream.named, self.client.create
        macs = {"dstMac": named.destination_mac, "srcMac": named.source_mac}
        ethernet = create("ethernet:EthernetII", block, {"name": "eth", **macs})
        if named.tags:
            outer = create("vlans", ethernet, {})
            for kind, number in named.tags:
                create("vlan", outer, {"id": number, "type": f"{kind:04X}"})
        ends = {"sourceAddr": named.source_ip, "destAddr": named.destination_ip}
        create("ipv4:IPv4", block, {"name": "ip", "ttl": named.ttl, **ends})
        ports = {"sourcePort": named.source_port, "destPort": named.destination_port}
        create("udp:Udp", block, {"name": "udp", **ports})

    def arm(self, shots: tuple[Shot, ...]) -> None:
        for stream, shot in zip(self.streams, shots, strict=True):
            generator = self.generators[stream.sender]
            self.client.configure(
                self.client.get(generator, "children-generatorconfig"),
                {
                    "schedulingMode": "PORT_BASED",
                    "durationMode": "BURSTS",
                    "burstSize": 1,
                    "duration": shot.frames,
                    "loadMode": "FIXED",
                    "loadUnit": "FRAMES_PER_SECOND",
                    "fixedLoad": shot.load_fps,
                },
            )
        self.client.apply()

    def clear(self) -> None:
        self.client.perform("ResultsClearAll", portList=" ".join(self.ports.values()))

    def start(self) -> None:
        self.client.perform("GeneratorStart", generatorList=" ".join(self.generators.values()))

    def stop(self) -> None:
        self.client.perform("GeneratorStop", generatorList=" ".join(self.generators.values()))

    def sending(self) -> bool:
        states = [self.client.get(one, "state") for one in self.generators.values()]
        return any(state.upper() != STOPPED for state in states)

    def read(self) -> tuple[Counted, ...]:
        return tuple(self._read(block) for block in self.blocks)

    def _read(self, block: str) -> Counted:
        sent = self.client.get(block, f"children-{SENT}")
        received = self.client.get(block, f"children-{RECEIVED}")
        if not sent or not received:
            raise ComponentError(f"TestCenter has no results of {block}, which were subscribed to")
        number = self.client.number
        frames = number(sent, "FrameCount"), number(received, "FrameCount")
        if not number(received, "InOrderFrameCount"):
            return Counted(*frames)  # it does not look at sequence numbers: 0 would say nothing
        return Counted(
            *frames,
            reordered=number(received, "ReorderedFrameCount"),
            duplicates=number(received, "DuplicateFrameCount"),
        )

    def lost_to(self) -> str | None:
        return None if all(map(self._has, self.ports.values())) else "somebody"

    def facts(self) -> dict[str, Any]:
        return {"testcenter": self.client.version(), "server": self.client.address}


FIELDS = {
    "source ip": ("ip.sourceAddr", "255.255.255.255"),
    "destination ip": ("ip.destAddr", "255.255.255.255"),
    "source port": ("udp.sourcePort", "65535"),
    "destination port": ("udp.destPort", "65535"),
    "source mac": ("eth.srcMac", "FF:FF:FF:FF:FF:FF"),
    "destination mac": ("eth.dstMac", "FF:FF:FF:FF:FF:FF"),
}
"""By what flows differ by: how it is called here, and the mask of all its bits."""


def _modifier(one: Field, header: bytes) -> dict[str, object]:
    """Return what counts a field up: a value is repeated after its first frame, and so one less."""
    reference, mask = FIELDS[one.name]
    data, step = counted_up(one, header)
    return {
        "modifierMode": "INCR",
        "offsetReference": reference,
        "data": data,
        "mask": mask,
        "stepValue": step,
        "recycleCount": one.count,
        "repeatCount": one.every - 1,
        "enableStream": "FALSE",
    }
