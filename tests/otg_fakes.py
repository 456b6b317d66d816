"""Servers of the OTG model that send nothing: an honest one, and such as lie."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from serving import answering
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.otg.accounts import Counters, PortCounters
from vsperf.drivers.generators.otg.client import OtgError
from vsperf.drivers.generators.otg.driver import Clock, OtgSpec

REQUEST = TrialRequest(load_fps=4000, duration_ns=50_000_000)
FRAMES = 200
"""That each flow is asked for by it."""


def case_for(server: str, **settings: Any) -> CaseSpec:
    spec = OtgSpec.model_validate({"kind": "otg", "server": server, **settings})
    case = simulated_case()
    trial = {**case.trial.model_dump(), "drain": "10ms", "pause": "0s"}
    policy = type(case.trial).model_validate(trial)
    return case.model_copy(update={"generator": spec, "trial": policy})


class Time:
    """Passes only when somebody sleeps, so that what is seen does not depend on the machine."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.sleep)


@dataclass
class FakeGenerator:
    """Counts as if a perfect switch gave every frame back; subclasses are worse."""

    version: str = "1.62.0"
    time: Time = field(default_factory=Time)
    config: dict[str, Any] = field(default_factory=dict)
    began: float | None = None
    ended: float | None = None
    asked: list[str] = field(default_factory=list)
    """What it was asked for, by path."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        self.asked.append(path)
        if path == "/capabilities/version":
            return {"api_spec_version": self.version, "sdk_version": "", "app_version": "fake"}
        if path == "/config":
            if body is not None:
                self.config, self.began = self.taken(body), None
            return {"warnings": []} if body is not None else self.config
        assert body is not None
        if path == "/control/state":
            state = body["traffic"]["flow_transmit"]["state"]
            now = self.time.now()
            if state == "start":
                self.began, self.ended = now, None
            elif self.ended is None:
                self.ended = now
            return {"warnings": []}
        if body["choice"] == "flow":
            return {"choice": "flow_metrics", "flow_metrics": self.flows()}
        return {"choice": "port_metrics", "port_metrics": self.ports()}

    def taken(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return the configuration that it takes."""
        return config

    def looked_at(self) -> float:
        """Return when what is told now was counted."""
        return self.time.now()

    def sent(self, flow: dict[str, Any]) -> int:
        """Return what a flow has sent by now."""
        if self.began is None:
            return 0
        looked_at = self.looked_at()
        until = looked_at if self.ended is None else min(looked_at, self.ended)
        due = round((until - self.began) * int(flow["rate"]["pps"]))
        return int(min(max(0, due), flow["duration"]["fixed_packets"]["packets"]))

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        """Return what is told of a flow."""
        sent = self.sent(flow)
        full = sent == flow["duration"]["fixed_packets"]["packets"]
        state = "stopped" if full or self.ended is not None else "started"
        return {
            "name": flow["name"],
            "transmit": state,
            "frames_tx": str(sent),
            "frames_rx": str(sent),
        }

    def flows(self) -> list[dict[str, Any]]:
        return [self.flow(flow) for flow in self.config.get("flows", ())]

    def ports(self) -> list[dict[str, Any]]:
        """Return what is told of ports."""
        found = []
        for port in self.config.get("ports", ()):
            ends = [flow["tx_rx"]["port"] for flow in self.config["flows"]]
            counts = [self.sent(flow) for flow in self.config["flows"]]
            out = sum(
                n for n, end in zip(counts, ends, strict=True) if end["tx_name"] == port["name"]
            )
            into = sum(
                n for n, end in zip(counts, ends, strict=True) if port["name"] in end["rx_names"]
            )
            found.append({"name": port["name"], "frames_tx": str(out), "frames_rx": str(into)})
        return found

    def hang(self, path: str) -> bool:
        """Whether it never answers."""
        return False

    def lose(self, path: str) -> bool:
        """Whether it hangs up without an answer."""
        return False


class Direct:
    """The conversation with such a server without HTTP and snappi, which take their time."""

    location = "nowhere"

    def __init__(self, generator: FakeGenerator) -> None:
        self.generator = generator

    def version(self) -> dict[str, str]:
        said = self.generator.answer("/capabilities/version", None)
        return {"model": said["api_spec_version"], "application": said["app_version"]}

    def configure(self, content: dict[str, Any]) -> tuple[str, ...]:
        self.generator.answer("/config", content)
        return ()

    def senders(self) -> list[str]:
        return []

    def release(self) -> None:
        self.generator.answer("/config", {})

    def transmit(self, state: str, names: tuple[str, ...]) -> None:
        transmit = {"state": state, "flow_names": list(names)}
        self.generator.answer("/control/state", {"traffic": {"flow_transmit": transmit}})

    def flows(self, names: tuple[str, ...]) -> dict[str, Counters]:
        told = self.generator.answer("/monitor/metrics", {"choice": "flow"})["flow_metrics"]
        if [one["name"] for one in told] != list(names):
            raise OtgError("the fake tells no counters of other flows")
        return {
            one["name"]: Counters(
                one["transmit"] != "stopped", int(one["frames_tx"]), int(one["frames_rx"])
            )
            for one in told
        }

    def ports(self, names: tuple[str, ...]) -> dict[str, PortCounters]:
        told = self.generator.answer("/monitor/metrics", {"choice": "port"})["port_metrics"]
        return {
            one["name"]: PortCounters(int(one["frames_tx"]), int(one["frames_rx"]), one.get("link"))
            for one in told
        }


@contextmanager
def fake_server(generator: FakeGenerator) -> Iterator[str]:
    """Serve on 127.0.0.1; give where."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._answer(json.loads(self.rfile.read(length)))

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self, body: dict[str, Any] | None) -> None:
            if generator.hang(self.path):
                over.wait(20)
                self.close_connection = True
                return
            if generator.lose(self.path):
                return
            content = json.dumps(generator.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, answering(server):
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            over.set()
