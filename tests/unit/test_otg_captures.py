"""Captures of the OTG model: what may be asked for, when they go on, and what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import snappi
from otg_documents import config
from otg_servers import ask, port_metrics
from otg_tgen import Echo
from serving import answering

from vsperf.otg.captures import MOST_BYTES, MOST_FRAMES, Capture
from vsperf.otg.config import Place, read_config
from vsperf.otg.document import RefusedError
from vsperf.otg.generator import Generator
from vsperf.otg.reading import CHUNK
from vsperf.otg.server import OtgServer

PLACES = {"p1": Place(0, None), "p2": Place(1, None)}


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
