"""Captures of the OTG model, and servers of it that lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import snappi
from otg_documents import config
from otg_fakes import FRAMES, REQUEST, Direct, FakeGenerator, case_for
from otg_servers import ask, port_metrics
from otg_tgen import Echo
from serving import answering
from simulated_cases import simulated_case

from vsperf.drivers.generators.otg.client import Client
from vsperf.drivers.generators.otg.driver import OtgSession, OtgSpec
from vsperf.drivers.generators.otg.traffic import TrafficDirection
from vsperf.engine.judge import Asked, judge
from vsperf.errors import ComponentError, DiedError
from vsperf.otg.captures import MOST_BYTES, MOST_FRAMES, Capture
from vsperf.otg.config import Place, read_config
from vsperf.otg.document import RefusedError
from vsperf.otg.generator import Generator
from vsperf.otg.reading import CHUNK
from vsperf.otg.server import OtgServer
from vsperf.records.flags import Flag, Severity
from vsperf.records.trial import TrialCounts

# Captures of the OTG model: what may be asked for, when they go on, and what they leave.

PLACES = {"p1": Place(0, None), "p2": Place(1, None)}


Told = Callable[[FakeGenerator, dict[str, Any]], dict[str, Any]]


@dataclass
class Liar(FakeGenerator):
    """Tells something else of each flow or each port, or sends something else than it says."""

    of_flow: Told = lambda self, told: {}
    of_port: Told | None = lambda self, told: {}
    """None where it tells nothing of ports."""
    sends: Callable[[int], int] = int
    """How many frames of those that are due."""
    pace: float = 1.0
    """By how much faster than it was asked to."""
    readings: int = 0

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        self.readings += 1
        told = super().flow(flow)
        return {**told, **self.of_flow(self, told)}

    def ports(self) -> list[dict[str, Any]]:
        if (of_port := self.of_port) is None:
            return []
        return [{**told, **of_port(self, told)} for told in super().ports()]

    def sent(self, flow: dict[str, Any]) -> int:
        rate = {"pps": round(int(flow["rate"]["pps"]) * self.pace)}
        return self.sends(super().sent({**flow, "rate": rate}))


def times(key: str, share: float) -> Told:
    """Tell so many times as much."""
    return lambda _, told: {key: str(int(int(told[key]) * share))}


def counts_anew(self: FakeGenerator, told: dict[str, Any]) -> dict[str, Any]:
    """Begin to count anew in mid-trial."""
    ended = told["transmit"] == "stopped" and self.began is not None
    return {"frames_tx": "7", "frames_rx": "7"} if ended else {}


def forgets_arrivals(self: FakeGenerator, told: dict[str, Any]) -> dict[str, Any]:
    """Let counters of what arrived fall between two readings."""
    assert isinstance(self, Liar)
    return {"frames_rx": str(max(0, FRAMES - self.readings))}


def link_when_it_began(self: FakeGenerator, told: dict[str, Any]) -> dict[str, Any]:
    """Have no link from some moment on."""
    return {"link": "up" if self.began is None else "down"}


class Becomes(FakeGenerator):
    """Answers with another version after a while."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        found = super().answer(path, body)
        if self.asked.count("/capabilities/version") > 1 and path == "/capabilities/version":
            found["app_version"] = "another"
        return found


class AnswersLate(FakeGenerator):
    """Is honest, and takes a while for each answer."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        found = super().answer(path, body)
        self.time.sleep(0.3)
        return found


class CountsNowAndThen(FakeGenerator):
    """Is honest, and tells what it counted at the last even second."""

    def looked_at(self) -> float:
        return self.time.now() // 2 * 2


def capture(*ports: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "port_names": list(ports), **more}


def captured(*captures: dict[str, Any]) -> dict[str, Any]:
    return config(captures=list(captures))


@dataclass
class Served:
    """A server whose tgen is a model, and that model."""

    url: str
    tgen: Echo
    folder: Path
    said: list[str]

    def set(self, content: dict[str, Any]) -> int:
        return ask(self.url, "POST", "/config", content)[0]

    def state(self, said: str, *ports: str) -> tuple[int, dict[str, Any]]:
        wanted = {"state": said, "port_names": list(ports)}
        body = {"choice": "port", "port": {"choice": "capture", "capture": wanted}}
        return ask(self.url, "POST", "/control/state", body)

    def states(self) -> dict[str, str]:
        return {name: one["capture"] for name, one in port_metrics(self.url).items()}

    def file(self, port: str) -> bytes:
        api = snappi.api(location=self.url, version_check=True)
        request = api.capture_request()
        request.port_name = port
        return cast("bytes", api.get_capture(request).read())

    def refused_file(self, body: dict[str, Any]) -> tuple[int, str]:
        status, answer = ask(self.url, "POST", "/monitor/capture", body)
        return status, "; ".join(answer["errors"])

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture(name="served")
def fixture_served(tmp_path: Path) -> Iterator[Served]:
    tgen, said = Echo(), list[str]()
    one = Generator(cast("Any", tgen), PLACES, tmp_path, say=said.append)
    with OtgServer(("127.0.0.1", 0), one) as server, answering(server):
        yield Served(server.url, tgen, tmp_path, said)


def test_a_capture_says_of_which_ports_which_end_and_how_much_of_a_frame() -> None:
    content = captured(
        capture("a", format="pcap", overwrite=False, packet_size=64, filters=[]),
        {"name": "d", "port_names": ["b"]},
    )
    assert read_config(content, PLACES).captures == {
        "a": Capture(last=False, longest=64),
        "b": Capture(last=True, longest=9216),
    }


@pytest.mark.parametrize(
    ("captures", "words"),
    [
        ([capture("a", format="pcapng")], "captures[0].format: 'pcapng' is not supported"),
        (
            [capture("a", filters=[{"choice": "vlan", "vlan": {}}])],
            "captures[0].filters: not supported: all that a port receives is captured",
        ),
        ([capture("z")], "captures[0].port_names: there is no port 'z'"),
        ([capture()], "captures[0].port_names: is needed"),
        ([{"port_names": ["a"]}], "captures[0].name: is needed"),
        ([capture("a", packet_size=0)], "captures[0].packet_size: must be a whole number"),
        ([capture("a", wings=2)], "captures[0].wings: not supported"),
        ([capture("a"), capture("b", "a")], "captures[1].port_names: port 'a' is captured"),
        ([capture("a"), capture("b")], "captures: there are several called 'c'"),
        ([capture("a")] * 3, "captures: 3 are too many"),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_path(
    captures: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(RefusedError) as error:
        read_config(captured(*captures), PLACES)
    assert words in "; ".join(error.value.messages)


def test_a_capture_goes_on_until_it_is_stopped_and_leaves_its_file(served: Served) -> None:
    served.set(captured(capture("b", overwrite=False, packet_size=60)))
    assert served.states() == {"a": "stopped", "b": "stopped"}
    assert served.state("start", "b") == (200, {"warnings": []})
    assert served.states() == {"a": "stopped", "b": "started"}
    (said,) = served.tgen.listened.values()
    assert (said["port"], said["keep"], said["longest"]) == (1, "first", 60)
    assert (said["frames"], said["bytes"]) == (MOST_FRAMES, MOST_BYTES)
    assert Path(said["path"]).parent == served.folder
    assert served.state("stop", "b") == (200, {"warnings": []})
    assert served.states() == {"a": "stopped", "b": "stopped"}
    assert served.file("b") == served.tgen.heard


def test_a_file_of_many_pieces_comes_whole(served: Served) -> None:
    served.tgen.heard = bytes(range(256)) * (CHUNK // 256) * 5 + b"rest"
    served.set(captured(capture("a")))
    served.state("start")
    served.state("stop")
    assert served.file("a") == served.tgen.heard
    assert served.file("a") == served.tgen.heard


def test_without_names_all_ports_that_have_a_capture_are_meant(served: Served) -> None:
    served.set(captured(capture("a", "b")))
    served.state("start")
    assert sorted(served.tgen.listened) == [0, 1]
    served.state("stop", "a")
    assert served.states() == {"a": "stopped", "b": "started"}
    assert served.state("stop")[0] == 200
    assert served.states() == {"a": "stopped", "b": "stopped"}


def test_what_had_no_room_is_told_by_stop_and_in_the_log(served: Served) -> None:
    served.tgen.beyond = 40
    served.set(captured(capture("a")))
    served.state("start")
    status, answer = served.state("stop")
    assert status == 200
    assert (
        "port 'a': its capture has the last 2 of the 42 frames that came" in answer["warnings"][0]
    )
    assert served.said == answer["warnings"]


def test_another_start_begins_anew(served: Served) -> None:
    served.set(captured(capture("a")))
    for content in (b"one", b"another"):
        served.tgen.heard = content
        served.state("start")
        status, text = served.refused_file({"port_name": "a"})
        assert (status, "goes on; stop it first" in text) == (409, True)
        served.state("stop")
        assert served.file("a") == content


def test_a_new_configuration_ends_captures_and_removes_files_and_a_refused_one_does_not(
    served: Served,
) -> None:
    served.set(captured(capture("a", "b")))
    served.state("start")
    served.state("stop", "a")
    assert served.set(captured(capture("a", format="pcapng"))) == 400
    assert served.states() == {"a": "stopped", "b": "started"}
    assert served.files() == ["capture-0.pcap", "capture-1.pcap"]
    assert served.set(captured(capture("a"))) == 200
    assert served.states() == {"a": "stopped", "b": "stopped"}
    assert served.files() == []
    assert served.tgen.listened == {}
    assert served.refused_file({"port_name": "a"})[0] == 409


@pytest.mark.parametrize(
    ("state", "port", "status", "words"),
    [
        ("start", "z", 400, "port.capture.port_names: 'z' has no capture"),
        ("start", "b", 400, "port.capture.port_names: 'b' has no capture"),
        ("pause", "a", 400, "port.capture.state: 'pause' is not supported"),
    ],
)
def test_what_has_no_capture_is_not_started(
    state: str, port: str, status: int, words: str, served: Served
) -> None:
    served.set(captured(capture("a")))
    found, answer = served.state(state, port)
    assert (found, words in answer["errors"][0]) == (status, True)
    assert served.tgen.listened == {}


def test_a_start_of_what_goes_on_changes_nothing(served: Served) -> None:
    served.set(captured(capture("a", "b")))
    served.state("start", "a")
    status, answer = served.state("start")
    assert (status, answer["errors"]) == (
        409,
        ["port.capture: a is captured already; stop it first"],
    )
    assert list(served.tgen.listened) == [0]


def test_links_are_not_set_and_captures_that_there_are_not_cannot_be_had(served: Served) -> None:
    served.set(config())
    link = {"choice": "port", "port": {"choice": "link", "link": {"state": "up"}}}
    assert ask(served.url, "POST", "/control/state", link)[0] == 400
    status, answer = served.state("start")
    assert (status, answer["errors"]) == (400, ["port.capture: no capture is configured"])
    for body, code, words in (
        ({}, 400, "port_name: is needed"),
        ({"port_name": "z"}, 400, "port_name: there is no port 'z'"),
        ({"port_name": "a"}, 409, "port_name: nothing of 'a' was captured"),
        (
            {"port_name": "a", "packets": {"choice": "slice", "slice": {}}},
            400,
            "packets.choice: 'slice' is not supported",
        ),
    ):
        status, text = served.refused_file(body)
        assert (status, words in text) == (code, True)


# A server of the OTG model that lies gives a flag or an error, and never a number.

BOTH = (
    TrafficDirection("phy0 to phy1", 0, 1, "phy0", "phy1"),
    TrafficDirection("phy1 to phy0", 1, 0, "phy1", "phy0"),
)


@contextmanager
def session_with(generator: FakeGenerator, **settings: Any) -> Iterator[OtgSession]:
    """Prepare a session in virtual time, as the driver does."""
    case = case_for("http://nowhere", **settings)
    assert isinstance(case.generator, OtgSpec)
    direct = Direct(generator)
    session = OtgSession(
        client=cast(Client, direct),
        spec=case.generator,
        profile=case.traffic,
        policy=case.trial,
        ways=BOTH,
        locations={"phy0": "a", "phy1": "b"},
        versions=direct.version(),
        clock=generator.time.clock,
    )
    with session.measuring():
        yield session


def flags(counts: TrialCounts) -> tuple[Flag, ...]:
    asked = Asked(REQUEST.load_fps, REQUEST.duration_ns, 2)
    return judge(counts, asked, simulated_case().trial)


def test_an_honest_one_gives_counts_that_add_up() -> None:
    with session_with(FakeGenerator()) as session:
        counts = session.run(REQUEST)
    for way in counts.directions:
        assert way.intended_frames == way.sent_frames == way.good_frames == FRAMES
        assert way.foreign_frames == 0
        assert way.latency_histogram is None
    assert counts.settled
    assert flags(counts) == (Flag.UNTIMED,)  # and nobody takes it for one that times itself


LIES: dict[str, tuple[FakeGenerator, str]] = {
    "secretly more": (
        Liar(of_port=times("frames_tx", 1.1)),
        "port phy0 sent 220 frames, and its flows 200",
    ),
    "hides": (
        Liar(of_port=times("frames_rx", 0.5)),
        "port phy0 received 100 frames, and its flows 200",
    ),
    "resets": (
        Liar(of_flow=counts_anew),
        "reset counters in mid-trial: phy0 to phy1 sent 100 frames, and then 7",
    ),
    "gives up": (
        Liar(of_flow=lambda *_: {"transmit": "stopped"}, sends=lambda due: min(7, due)),
        "ended phy0 to phy1 after 7 of 200 frames",
    ),
    "rushes": (Liar(pace=10), "sends too fast: 200 frames of phy0 to phy1 within 25 ms"),
    "has no link": (Liar(of_port=lambda *_: {"link": "down"}), "has no link on phy0, phy1"),
    "loses the link": (Liar(of_port=link_when_it_began), "has no link on phy0, phy1"),
    "forgets arrivals": (Liar(of_flow=forgets_arrivals), "reset counters in mid-trial"),
    "becomes another": (Becomes(), "became another one: another, model 1.62.0"),
    "never stops": (
        Liar(of_flow=lambda *_: {"transmit": "started"}, sends=lambda due: 1),
        "still sends 10 s after it was told to stop",
    ),
}


@pytest.mark.parametrize(("liar", "words"), LIES.values(), ids=LIES)
def test_a_lie_that_its_own_counters_show_is_an_error(liar: FakeGenerator, words: str) -> None:
    with pytest.raises(ComponentError, match=words), session_with(liar) as session:
        session.run(REQUEST)


def counts_on(self: FakeGenerator, told: dict[str, Any]) -> dict[str, Any]:
    """Count for as long as somebody looks."""
    assert isinstance(self, Liar)
    return {"frames_rx": str(self.readings)}


@pytest.mark.parametrize(
    ("liar", "flag"),
    [
        (
            Liar(
                of_flow=lambda _, told: {"frames_rx": str(int(told["frames_tx"]) * 2)}, of_port=None
            ),
            Flag.RX_EXCEEDS_TX,
        ),
        (Liar(sends=lambda due: due * 101 // 100), Flag.OVERSENT),
        (Liar(of_flow=counts_on, of_port=None), Flag.COUNTERS_MOVING),
    ],
    ids=["over-counts", "one per cent more", "never rests"],
)
def test_a_lie_that_the_judge_sees_makes_the_trial_invalid(liar: FakeGenerator, flag: Flag) -> None:
    with session_with(liar) as session:
        found = flags(session.run(REQUEST))
    assert flag in found
    assert flag.severity is Severity.INVALID


def test_what_is_not_sent_in_its_time_stays_unsent_and_is_seen() -> None:
    with session_with(Liar(pace=0.1)) as session:
        counts = session.run(REQUEST)
    for way in counts.directions:
        assert 0 < way.sent_frames == way.good_frames < way.intended_frames
    assert Flag.SHORT_OFFER in flags(counts)


def test_one_that_answers_late_is_believed_as_long_as_its_counters_fit() -> None:
    with session_with(AnswersLate()) as session:
        counts = session.run(REQUEST)
    assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
    assert flags(counts) == (Flag.UNTIMED,)


def test_old_counters_give_no_number_unless_it_is_said_how_old_they_may_be() -> None:
    with session_with(CountsNowAndThen()) as session:
        found = flags(session.run(REQUEST))
        assert any(flag.severity is Severity.INVALID for flag in found)
    with session_with(CountsNowAndThen(), refresh="2s") as session:
        counts = session.run(REQUEST)
        assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
        assert flags(counts) == (Flag.UNTIMED,)


def otherwise(self: FakeGenerator, told: dict[str, Any]) -> dict[str, Any]:
    return {"frames_rx": "190"}


def test_figures_that_change_after_the_end_end_the_session() -> None:
    liar = Liar()
    with session_with(liar) as session:
        session.run(REQUEST)
        liar.of_flow = otherwise
        with pytest.raises(ComponentError, match="sent 200 and received 200 frames, and later 200"):
            session.run(REQUEST)
        why = session.failure()
        assert why is not None and "generator.refresh" in why  # so all its trials are made anew


def test_figures_of_the_last_trial_are_looked_at_once_more() -> None:
    liar = Liar()
    with pytest.raises(DiedError, match="changed its figures"), session_with(liar) as session:
        session.run(REQUEST)
        liar.of_flow = otherwise


def test_one_that_somebody_else_has_configured_meanwhile_is_left_to_them() -> None:
    generator = FakeGenerator()
    with session_with(generator) as session:
        session.run(REQUEST)
        generator.config = {"of": "theirs"}
        with pytest.raises(ComponentError, match="figures of the last trial are gone"):
            session.run(REQUEST)
        assert session.failure() is not None
    assert generator.config == {"of": "theirs"}
