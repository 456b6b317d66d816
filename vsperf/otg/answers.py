"""Requests of the model's interface, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from vsperf import __version__
from vsperf.otg.config import MOST_FLOWS
from vsperf.otg.counters import FlowCounts
from vsperf.otg.document import Document, Node, RefusedError
from vsperf.otg.flows import Flow
from vsperf.otg.generator import Generator

MODEL = "^1.0.0"
"""Versions of the model whose clients are answered: the model keeps what it had in a major version,
and clients hold their own version against this range. Held against was 1.62.0."""
FLOW_METRICS = (
    "transmit",
    "frames_tx",
    "frames_rx",
    "bytes_tx",
    "bytes_rx",
    "frames_tx_rate",
    "frames_rx_rate",
    "loss",
    "latency",
)
PORT_METRICS = (
    "transmit",
    "location",
    "link",
    "frames_tx",
    "frames_rx",
    "bytes_tx",
    "bytes_rx",
    "frames_tx_rate",
    "frames_rx_rate",
    "bytes_tx_rate",
    "bytes_rx_rate",
    "capture",
)
MOST_COLUMNS = 64
MOST_PORTS = 16
"""tgen's."""
Answer = dict[str, Any]
Handler = Callable[[Generator, object], Answer | bytes | BinaryIO]
"""An object of the model, or its JSON; or a file, as it is."""


def version(generator: Generator, content: object) -> Answer:
    """Answer `GET /capabilities/version`."""
    return {"api_spec_version": MODEL, "sdk_version": "", "app_version": f"vsperf {__version__}"}


def set_config(generator: Generator, content: object) -> Answer:
    """Answer `POST /config`."""
    return _warned(generator.configure(content))


def get_config(generator: Generator, content: object) -> bytes:
    """Answer `GET /config`: what was taken, as it came."""
    return generator.config.text


def update_config(generator: Generator, content: object) -> Answer:
    """Answer `PATCH /config`."""
    return _warned(generator.update(content))


def set_state(generator: Generator, content: object) -> Answer:
    """Answer `POST /control/state`: start and stop."""
    document = Document(content)
    root = document.root
    match root.choice(("traffic", "port", "protocol"), "traffic"):
        case "port":
            return _set_port_state(generator, root.node("port"), document)
        case "protocol":
            root.refuse("only traffic and captures are started and stopped here", "protocol")
            root.get("protocol")
            document.finish()
    traffic = root.node("traffic")
    traffic.choice(("flow_transmit",), "flow_transmit")
    transmit = traffic.node("flow_transmit")
    names = transmit.texts("flow_names", MOST_FLOWS)
    state = transmit.one_of("state", ("start", "stop"))
    document.finish()
    if state == "start":
        generator.start(names)
        return _warned(())
    return _warned(generator.stop(names))


def _set_port_state(generator: Generator, port: Node, document: Document) -> Answer:
    port.choice(("capture",), "capture")
    capture = port.node("capture")
    names = capture.texts("port_names", MOST_PORTS)
    state = capture.one_of("state", ("start", "stop"))
    document.finish()
    if state == "start":
        generator.start_captures(names)
        return _warned(())
    return _warned(generator.stop_captures(names))


def get_capture(generator: Generator, content: object) -> BinaryIO:
    """Answer `POST /monitor/capture`: the file that a capture left."""
    document = Document(content)
    name = document.root.text("port_name")
    if document.root.has("packets"):
        document.root.node("packets").choice(("all",), "all")
    document.finish()
    return generator.captured(name)


def metrics(generator: Generator, content: object) -> Answer:
    """Answer `POST /monitor/metrics`: of flows, or of ports."""
    document = Document(content)
    root = document.root
    chosen = root.choice(("port", "flow"), "port")
    asked = root.node(chosen)
    found = (_port_metrics if chosen == "port" else _flow_metrics)(generator, asked, document)
    return {"choice": f"{chosen}_metrics", f"{chosen}_metrics": found}


def _flow_metrics(generator: Generator, asked: Node, document: Document) -> list[Answer]:
    names = asked.texts("flow_names", MOST_FLOWS)
    columns = asked.texts("metric_names", MOST_COLUMNS)
    refuse_unknown(asked, "metric_names", columns, FLOW_METRICS)
    counted = [flow for flow in generator.config.flows if flow.metrics]
    refuse_unknown(asked, "flow_names", names, [flow.name for flow in counted])
    document.finish()
    counts = generator.counts()
    return [
        _chosen(_flow(flow, counts[flow.name]), columns)
        for flow in counted
        if not names or flow.name in names
    ]


def _flow(flow: Flow, counts: FlowCounts) -> Answer:
    found: Answer = {
        "name": flow.name,
        "port_tx": flow.transmit,
        "port_rx": flow.receive,
        "transmit": "started" if counts.sending else "stopped",
        "frames_tx": str(counts.frames_tx),
        "frames_rx": str(counts.frames_rx),
        "bytes_tx": str(counts.bytes_tx),
        "bytes_rx": str(counts.bytes_rx),
        "frames_tx_rate": counts.tx_fps,
        "frames_rx_rate": counts.rx_fps,
    }
    if flow.loss and counts.lost is not None and counts.frames_tx:
        found["loss"] = 100 * counts.lost / counts.frames_tx
    if counts.latency_ns is not None:
        names = ("minimum_ns", "average_ns", "maximum_ns")
        found["latency"] = dict(zip(names, counts.latency_ns, strict=True))
    return found


def _port_metrics(generator: Generator, asked: Node, document: Document) -> list[Answer]:
    names = asked.texts("port_names", MOST_PORTS)
    columns = asked.texts("column_names", MOST_COLUMNS)
    refuse_unknown(asked, "column_names", columns, PORT_METRICS)
    refuse_unknown(asked, "port_names", names, list(generator.config.ports))
    document.finish()
    with generator.turn:
        ports = dict(generator.config.ports)
        counts, links = generator.port_counts(), generator.links()
        sending = {name: generator.sending(name) for name in ports}
        capturing = {name: generator.capturing(name) for name in ports}
    found = []
    for name, location in ports.items():
        one = counts[name]
        answer: Answer = {
            "name": name,
            "location": location,
            "link": "up" if links[name] else "down",
            "transmit": "started" if sending[name] else "stopped",
            "frames_tx": str(one.frames_tx),
            "frames_rx": str(one.frames_rx),
            "bytes_tx": str(one.bytes_tx),
            "frames_tx_rate": one.tx_fps,
            "frames_rx_rate": one.rx_fps,
            "bytes_tx_rate": one.tx_bytes,
            "bytes_rx_rate": one.rx_bytes,
            "capture": "started" if capturing[name] else "stopped",
        }
        if one.bytes_rx is not None:
            answer["bytes_rx"] = str(one.bytes_rx)
        if not names or name in names:
            found.append(_chosen(answer, columns))
    return found


def refuse_unknown(asked: Node, key: str, said: Sequence[str], known: Sequence[str]) -> None:
    """Refuse each name that there is not, in one line whatever others are called."""
    for one in said:
        if one not in known:
            names = ", ".join(name if name.isprintable() else repr(name) for name in known)
            asked.refuse(f"there is no {one!r}, only {names or 'none'}", key)


def _chosen(found: Answer, columns: Sequence[str]) -> Answer:
    """Return the columns that are wanted; the name is always one of them."""
    if not columns:
        return found
    return {key: value for key, value in found.items() if key == "name" or key in columns}


def _warned(warnings: Sequence[str]) -> Answer:
    return {"warnings": list(warnings)}


def nothing_of_the_kind(what: str) -> Handler:
    """Return a handler that refuses a request of the model which means nothing here."""

    def refuse(generator: Generator, content: object) -> Answer:
        raise RefusedError([f"{what}: not supported"], 501)

    return refuse


HANDLERS: Mapping[tuple[str, str], Handler] = {
    ("GET", "/capabilities/version"): version,
    ("GET", "/config"): get_config,
    ("POST", "/config"): set_config,
    ("PATCH", "/config"): update_config,
    ("PATCH", "/config/append"): nothing_of_the_kind("append"),
    ("PATCH", "/config/delete"): nothing_of_the_kind("delete"),
    ("POST", "/control/state"): set_state,
    ("POST", "/control/action"): nothing_of_the_kind("action"),
    ("POST", "/monitor/metrics"): metrics,
    ("POST", "/monitor/states"): nothing_of_the_kind("states of protocols"),
    ("POST", "/monitor/capture"): get_capture,
}
"""What is answered, by method and path."""
