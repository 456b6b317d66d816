"""A TRex server of our own making: two ports on one cable, and faults that a test asks for.

It answers in the form in which a real server did when a conversation with it was recorded
(`golden/trex/conversation.jsonl`), which is held against it in a test.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import zmq
from hdrh.histogram import HdrHistogram

FAULTS = (
    *("lossy", "over-count", "one-percent-more", "reset", "never-rests", "hang", "babble"),
    *("other-answer", "another-version", "another-mode", "stolen", "restarted", "no-counter"),
    *("slow", "rushed", "contradicts", "coarse", "too-many-latencies", "endless-latency"),
    "forgets",
)
Json = dict[str, Any]
Ours = TypeVar("Ours", bound="TrexServer")


class Refusal(Exception):
    """What the server refuses, in its words."""

    code = -32000


class Later(Refusal):
    """What it has begun, in place of a result: the number under which that is asked for."""

    code = -32002


@dataclass
class FakePort:
    owner: str = ""
    handler: str = ""
    session: int = 0
    streams: list[Json] = field(default_factory=list)
    running: list[Json] = field(default_factory=list)
    began: float = 0.0
    stopped: float | None = None
    told: bool = True
    """Whether its end was told."""
    before: int = 0
    """Frames of earlier trials."""


@dataclass
class TrexServer:
    """The server; `port` is that of the machine at which it listens."""

    port: int = 0
    fault: str = ""
    owners: tuple[str, str] = ("", "")
    """Who has the ports when it starts."""
    ports: list[FakePort] = field(default_factory=list)
    questions: list[tuple[str, Json]] = field(default_factory=list)
    api: str = field(default_factory=lambda: secrets.token_hex(4))
    events: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ports = [FakePort(owner) for owner in self.owners]

    def answer(self, text: bytes) -> bytes | None:
        question = json.loads(text)
        method, given = question["method"], question["params"]
        self.questions.append((method, given))
        sending = any(port.running for port in self.ports)
        if self.fault == "hang" and sending:
            return None
        if self.fault == "babble" and sending:
            return b"what?"
        reply: Json = {"jsonrpc": "2.0", "id": question["id"]}
        if self.fault == "other-answer" and sending:
            reply["id"] += 1
        try:
            reply["result"] = self._result(method, given)
        except Refusal as refusal:
            words = {"message": "Failed To Execute Method", "specific_err": str(refusal)}
            reply["error"] = {"code": refusal.code, **words}
        return json.dumps(reply).encode()

    def _result(self, method: str, given: Json) -> Any:
        free = ("ping", "get_version", "api_sync_v2")
        started_anew = self.fault == "restarted" and any(port.running for port in self.ports)
        if method not in free and (given.get("api_h") != self.api or started_anew):
            raise Refusal("API verification failed - API handler provided mismatch")
        owned = ("release", "add_stream", "remove_all_streams", "start_traffic", "stop_traffic")
        if method in owned and given["handler"] != self.ports[given["port_id"]].handler:
            raise Refusal("port is not owned by you or your current executing session")
        call: Callable[[Json], Any] = getattr(self, f"_{method}")
        return call(given)

    def _get_version(self, _: Json) -> Json:
        mode = "ASTF" if self.fault == "another-mode" else "STL"
        built = {"build_date": "Nov 23 2026", "build_time": "21:07:37", "built_by": "unknown"}
        return {**built, "mode": mode, "version": "v3.08"}

    def _api_sync_v2(self, given: Json) -> Json:
        if self.fault == "another-version" or (given["major"], given["minor"]) != (5, 1):
            raise Refusal("API mismatch: server has 6.0")
        return {"api_h": self.api}

    def _ping(self, _: Json) -> Json:
        return {"ts": time.monotonic()}

    def _get_system_info(self, _: Json) -> Json:
        caps = ["flow_stats", "latency", "rx_bytes", "tpg"]
        return {
            "dp_core_count": 1,
            "ports": [
                {"index": number, "driver": "net_af_packet", "rx": {"caps": caps}}
                for number in range(len(self.ports))
            ],
        }

    def _get_owner(self, given: Json) -> Json:
        return {"owner": self.ports[given["port_id"]].owner or "<FREE>"}

    def _acquire(self, given: Json) -> str | Json:
        port = self.ports[given["port_id"]]
        if port.owner and not given["force"]:
            raise Refusal(f"port is already taken by '{port.owner}'")
        port.owner, port.session = given["user"], given["session_id"]
        port.handler = secrets.token_hex(4)
        return port.handler

    def _release(self, given: Json) -> Json:
        self.ports[given["port_id"]].owner = ""
        return {}

    def _set_port_attr(self, _: Json) -> Json:
        return {}

    def _remove_all_streams(self, given: Json) -> Json:
        port = self.ports[given["port_id"]]
        port.before += sum(self._sent(port, one) for one in port.running)
        port.streams, port.running = [], []
        return {}

    def _add_stream(self, given: Json) -> Json:
        self.ports[given["port_id"]].streams.append(given["stream"])
        return {}

    def _start_traffic(self, given: Json) -> Json:
        port = self.ports[given["port_id"]]
        port.running, port.began = port.streams, given.get("start_at_ts", time.monotonic())
        port.stopped, port.told = None, False
        if self.fault == "stolen":
            port.owner, port.handler = "mallory", "none of yours"
            data = {"port_id": given["port_id"], "who": "mallory", "session_id": 1}
            self.events.append({"name": "trex-event", "type": 5, "data": {**data, "force": True}})
        return {"multiplier": 1.0, "ts": time.monotonic()}

    def _stop_traffic(self, given: Json) -> Json:
        self.ports[given["port_id"]].stopped = time.monotonic()
        return {}

    def _get_async_events(self, _: Json) -> Json:
        found, self.events = self.events, []
        for number, port in enumerate(self.ports):
            done = all(self._sent(port, one) >= self._due(one) for one in port.running)
            if port.running and not port.told and done:
                port.told = True
                found.append({"name": "trex-event", "type": 4, "data": {"port_id": number}})
        return {"data": found}

    def _get_port_stats(self, given: Json) -> Json:
        number = given["port_id"]
        own, other = self.ports[number], self.ports[1 - number]
        sent = own.before + sum(self._sent(own, one) for one in own.running)
        arrived = other.before + sum(self._arrived(other, one) for one in other.running)
        if self.fault == "contradicts" and own.running:
            sent = own.before
        if self.fault == "reset" and any(self._sent(own, one) for one in own.running):
            sent = own.before - 1
        missed = sent // 10 if self.fault == "lossy" else 0
        counters = {"opackets": sent, "ipackets": arrived, "oerrors": 0, "ierrors": missed}
        if self.fault == "no-counter":
            del counters["ipackets"]
        return counters

    def _get_pgid_stats(self, given: Json) -> Json:
        streams: Json = {}
        latency: Json = {"g": None}
        for group in given["pgids"]:
            for number, port in enumerate(self.ports):
                for one in port.streams:
                    if one["flow_stats"].get("stream_id") == group:
                        streams[str(group)] = self._group(number, port, one)
                        if one["flow_stats"]["rule_type"] == "latency":
                            latency[str(group)] = {"lat": self._latencies(port, one)}
        sending = any(port.running for port in self.ports)
        told = {} if self.fault == "forgets" and sending else streams
        return {"flow_stats": told, "latency": latency, "ver_id": {}}

    def _group(self, number: int, port: FakePort, stream: Json) -> Json:
        sent = self._sent(port, stream) if port.running else 0
        arrived = self._arrived(port, stream) if port.running else 0
        there = {str(one): 0 for one in range(len(self.ports))}
        return {"tp": {**there, str(number): sent}, "rp": {**there, str(1 - number): arrived}}

    def _latencies(self, port: FakePort, stream: Json) -> Json:
        many = 2 if self.fault == "too-many-latencies" else 1
        microseconds = 9_000_000 if self.fault == "endless-latency" else 25
        histogram = HdrHistogram(1, 10_000_000, 3)
        histogram.record_value(microseconds, many * self._arrived(port, stream))
        ranges = {"histogram": {"20": 1}, "jit": 1, "average": 25.0}
        return ranges if self.fault == "coarse" else {**ranges, "hdrh": histogram.encode().decode()}

    def _due(self, stream: Json) -> int:
        total = int(stream["mode"]["total_pkts"])
        return total + total // 100 if self.fault == "one-percent-more" else total

    def _sent(self, port: FakePort, stream: Json) -> int:
        now = time.monotonic() if port.stopped is None else port.stopped
        faster = {"slow": 0.25, "rushed": 4.0}.get(self.fault, 1.0)
        elapsed_s = max(0.0, (now - port.began) * faster)
        return min(self._due(stream), int(elapsed_s * stream["mode"]["rate"]["value"]))

    def _arrived(self, port: FakePort, stream: Json) -> int:
        sent = self._sent(port, stream)
        if self.fault == "never-rests":
            return sent // 2 + int((time.monotonic() - port.began) * 100)
        return {"lossy": sent - sent // 10, "over-count": sent + sent // 10}.get(self.fault, sent)


COUNTERS = (
    *("m_active_flows", "m_est_flows", "-", "TCP", "-"),
    *("tcps_connattempt", "tcps_accepts", "tcps_connects", "tcps_closed"),
    *("tcps_sndtotal", "tcps_rcvtotal", "tcps_rcvbyte"),
    *("tcps_drops", "tcps_conndrops", "tcps_timeoutdrop", "tcps_rexmttimeo"),
    *("tcps_rexmttimeo_syn", "tcps_keepdrops", "tcps_testdrops", "tcps_sndrexmitpack"),
    *("tcps_rcvbadsum", "tcps_rcvbadoff", "tcps_rcvshort", "tcps_rcvoopackdrop"),
    *("tcps_persistdrop", "tcps_nombuf", "-", "Application", "-"),
    *("user_counter_A", "user_counter_B", "user_counter_C", "-", "Flow Table", "-"),
    *("err_cwf", "err_no_syn", "err_len_err", "err_no_tcp_udp", "err_no_template"),
    *("err_dct", "err_l3_cs", "err_l4_cs", "err_c_nf_throttled", "err_c_tuple_err"),
)
"""Some of the counters of TRex v3.08 in mode ASTF, in its order and by its names (`stt_cp.cpp`);
their places are the numbers under which values are told, and names of dashes are lines between."""
STATEFUL_FAULTS = (
    *("another-mode", "refused", "goes-on", "hangs", "begins-more", "no-counter", "misses-less"),
    *("stolen", "too-slow", "not-busy"),
)
LOADED, SENDING = 1, 4


@dataclass
class StatefulTrexServer(TrexServer):
    """The same in mode ASTF, with connections on the cable in place of frames.

    Made after the sources of TRex v3.08 (`trex_astf_rpc_cmds.cpp`), and not recorded. What each end
    counts of a profile is what a test says, or of so many as the profile is limited to all well.
    """

    told: dict[str, Json] | None = None
    """By end, what is told of all that a profile asks for."""
    looks: int = 2
    """How often it says that connections go on, before all have ended."""
    whole: str = ""
    slowed: bool = False
    """Whether it was told to begin no more."""
    profile: Json = field(default_factory=dict)
    started: Json = field(default_factory=dict)
    left: int = 0
    missed: int = 7

    def _result(self, method: str, given: Json) -> Any:
        free = ("get_version", "api_sync_v2")
        if method not in free and given.get("api_h") != self.api:
            raise Refusal("API verification failed - API handler provided mismatch")
        owned = ("release", "profile_fragment", "start", "stop", "update")
        if method in owned and given["handler"] != self.whole:
            raise Refusal("must acquire the context for this operation")
        call: Callable[[Json], Any] = getattr(self, f"_{method}")
        return call(given)

    def _get_version(self, _: Json) -> Json:
        return {"mode": "STL" if self.fault == "another-mode" else "ASTF", "version": "v3.08"}

    def _api_sync_v2(self, given: Json) -> Json:
        if (given["name"], given["major"], given["minor"]) != ("ASTF", 2, 3):
            raise Refusal("API mismatch: server has 2.3")
        return {"api_h": self.api}

    def _acquire(self, given: Json) -> Json:
        if any(port.owner for port in self.ports) and not given["force"]:
            raise Refusal("context is already taken (use 'force' argument to override)")
        self.whole = secrets.token_hex(4)
        for port in self.ports:
            port.owner, port.handler = given["user"], secrets.token_hex(4)
        handlers = {str(number): port.handler for number, port in enumerate(self.ports)}
        return {"handler": self.whole, "ports": handlers}

    def _release(self, _: Json) -> Json:
        for port in self.ports:
            port.owner = ""
        return {}

    def _set_l2(self, given: Json) -> Json:
        if given["handler"] != self.ports[given["port_id"]].handler or given["block"]:
            raise Refusal("this stack configures nothing while it is waited for")
        raise Later("7")

    def _get_async_results(self, given: Json) -> Json:
        if given["ticket_id"] != 7:
            raise Refusal("No results for request")
        return {}

    def _profile_fragment(self, given: Json) -> Json:
        assert given["frag_first"] and given["frag_last"]
        self.profile = json.loads(given["fragment"])
        return {}

    def _start(self, given: Json) -> Json:
        self.started, self.left, self.slowed = given, self.looks, False
        if self.fault == "stolen":
            self.whole = "none of yours"
        if self.fault == "refused":
            data = {"profile_id": "_", "state": LOADED, "error": "Profile parsing error: no port"}
            self.events.append({"name": "trex-event", "type": 60, "data": data})
        if self.fault == "misses-less":
            self.missed -= 1
        return {}

    def _stop(self, _: Json) -> Json:
        if self.fault != "hangs":
            self.left = 0
        return {}

    def _update(self, given: Json) -> Json:
        if not self.left:
            raise Refusal("Invalid state: Loaded profile, should be: Transmitting")
        self.slowed = given["mult"] < 1e-6
        if self.fault == "too-slow":
            self.left = 1
        return {}

    def _get_async_events(self, _: Json) -> Json:
        found, self.events = self.events, []
        return {"data": found}

    def _sync(self, _: Json) -> Json:
        endless = self.fault in ("goes-on", "hangs") or (
            self.fault == "too-slow" and not self.slowed
        )
        if self.left and not endless:
            self.left -= 1
            return {"epoch": 1, "state": SENDING, "state_profile": {"_": SENDING}}
        state = SENDING if self.left else LOADED
        return {"epoch": 1, "state": state, "state_profile": {"_": state}}

    def _get_global_stats(self, _: Json) -> Json:
        busy = {} if self.fault == "not-busy" else {"m_cpu_util": 41.5}
        return {**busy, "m_active_flows": 0.0}

    def _get_port_stats(self, given: Json) -> Json:
        counters = super()._get_port_stats(given)
        return {"ipackets": 0, **counters, "ierrors": self.missed}  # "no-counter" is another here

    def _get_counter_desc(self, _: Json) -> Json:
        names = [name for name in COUNTERS if (name, self.fault) != ("tcps_drops", "no-counter")]
        return {"data": [{"id": number, "name": name} for number, name in enumerate(names)]}

    def _get_counter_values(self, _: Json) -> Json:
        told = self.told if self.told is not None else self._all_well()
        if self.left:  # none has ended yet
            told = {end: {**counts, "tcps_closed": 0} for end, counts in told.items()}
        return {
            "epoch": 1,
            **{
                end: {str(COUNTERS.index(name)): count for name, count in counts.items() if count}
                for end, counts in told.items()
            },
        }

    def _all_well(self) -> dict[str, Json]:
        limit = self.profile["templates"][0]["client_template"]["limit"]
        begun = limit + 1 if self.fault == "begins-more" else limit
        if self.fault == "too-slow" and self.slowed:
            begun = limit // 2
        return {"client": opened(begun), "server": served(begun)}


def opened(count: int, **others: int) -> Json:
    """Return what clients count of so many connections in order, and of others beside them."""
    names = ("tcps_connattempt", "tcps_connects", "tcps_closed")
    own = ("user_counter_A", "user_counter_B", "user_counter_C")
    found = dict.fromkeys((*names, *own), count) | {
        "tcps_sndtotal": 4 * count,
        "tcps_rcvtotal": 3 * count,
    }
    found["tcps_rcvbyte"] = 1024 * count
    return {name: found.get(name, 0) + others.get(name, 0) for name in {*found, *others}}


def served(count: int, **others: int) -> Json:
    """Return the same of servers."""
    names = ("tcps_accepts", "tcps_connects", "tcps_closed", "user_counter_A")
    found = dict.fromkeys(names, count) | {"tcps_sndtotal": 3 * count, "tcps_rcvtotal": 4 * count}
    return {name: found.get(name, 0) + others.get(name, 0) for name in {*found, *others}}


@contextmanager
def trex_server(**settings: Any) -> Iterator[TrexServer]:
    """Run a stateless server in a thread."""
    with run_in_thread(TrexServer(**settings)) as server:
        yield server


@contextmanager
def run_in_thread(server: Ours) -> Iterator[Ours]:
    """Answer whoever asks, until the context is left."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    rep = context.socket(zmq.ROUTER)
    rep.setsockopt(zmq.LINGER, 0)
    server.port = rep.bind_to_random_port("tcp://127.0.0.1")
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            if rep.poll(10):
                who, empty, text = rep.recv_multipart()
                if (reply := server.answer(text)) is not None:
                    rep.send_multipart([who, empty, reply])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        over.set()
        thread.join()
        rep.close()
        context.term()
