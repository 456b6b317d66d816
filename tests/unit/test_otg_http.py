"""The HTTP side of the OTG model: our server, and our client."""

from __future__ import annotations

import base64
import json
import re
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import snappi
from all_wrong import hold_each
from otg_documents import config, flow
from otg_fakes import FRAMES, REQUEST, FakeGenerator, case_for, fake_server
from otg_servers import PATIENCE_S, ask
from otg_tgen import Echo
from places import refused, started_generator
from serving import answering
from simulated_cases import WAYS

from vsperf.cli.commands.otg import listening_at
from vsperf.drivers.generators.otg.client import differences, fitting
from vsperf.drivers.generators.otg.driver import OtgGenerator, OtgSession
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.otg import generator, reading
from vsperf.otg.config import Config, Place, read_config
from vsperf.otg.document import RefusedError
from vsperf.otg.generator import Generator
from vsperf.otg.password import password_in
from vsperf.otg.server import MOST_BYTES, MOST_CONNECTIONS, SMALL_BYTES, OtgServer
from vsperf.records.run import Endpoint

# The HTTP side of `vsperf otg serve`: whom it answers, and what it makes of requests.

PASSWORD = "correct horse battery"
LARGE = {"options": " " * SMALL_BYTES}
"""No configuration, and too long to come without room."""


class Watched(OtgServer):
    """Keeps what no request may cause."""

    failures: tuple[BaseException | None, ...] = ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.failures = (*self.failures, sys.exc_info()[1])


@contextmanager
def serving(
    folder: Path, password: str | None = None, address: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[OtgServer]:
    """Have a server answer; what makes it stumble is told at the end."""
    places = {"p1": Place(0, None), "p2": Place(1, None)}
    generator = Generator(cast("Any", Echo()), places, folder)
    with Watched(address, generator, password) as server, answering(server):
        yield server
    assert server.failures == ()


@pytest.fixture(name="url")
def fixture_url(tmp_path: Path) -> Iterator[str]:
    """Where a server is that asks for no password."""
    with serving(tmp_path) as server:
        yield server.url


class TestPassword:
    """Asked for in the way that clients of the model bring it: in the location."""

    def test_a_client_of_the_model_brings_it_in_the_location(self, tmp_path: Path) -> None:
        with serving(tmp_path, PASSWORD) as server:
            said = "otg:" + PASSWORD.replace(" ", "%20")
            api = snappi.api(location=server.url.replace("://", f"://{said}@"), version_check=True)
            assert len(api.get_config().ports) == 0
            api.set_config(api.config())

    def test_nobody_else_is_answered(self, tmp_path: Path) -> None:
        right = base64.b64encode(f"otg:{PASSWORD}".encode()).decode()
        others = ("", "Basic", "Basic !!", "Basic Og==", f"Bearer {right}", "Basic b3RnOnc=", "ÿ")
        paths = (("GET", "/config"), ("POST", "/control/state"), ("GET", "/nowhere"))
        with serving(tmp_path, PASSWORD) as server:
            assert ask(server.url, "GET", "/config", Authorization=f"basic {right}")[0] == 200
            for said in others:
                for method, path in paths:
                    status, answer = ask(server.url, method, path, Authorization=said)
                    assert status == 401, (said, method, path)
                    assert "asks for a password" in answer["errors"][0]

    def test_it_stands_alone_in_a_file_that_nobody_else_can_read(self, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_text(f"{PASSWORD}\n# of the rack\n")
        file.chmod(0o600)
        assert password_in(file) == PASSWORD
        file.chmod(0o640)
        with pytest.raises(NotReadyError, match="others can read the password"):
            password_in(file)

    @pytest.mark.parametrize("content", [b"", b"short\n", b"with\x1bescape\n", b"\xff" * 9])
    def test_what_is_none_is_an_error(self, content: bytes, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(NotReadyError, match="password"):
            password_in(file)

    def test_one_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(NotReadyError, match="cannot be read"):
            password_in(tmp_path / "none")


def spoken(server: OtgServer, content: bytes) -> bytes:
    """Say this by a connection of its own, and return all that is answered."""
    with connected(server) as connection:
        with suppress(OSError):  # who is not listened to is hung up on
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
        return heard(connection)


def connected(server: OtgServer) -> socket.socket:
    return socket.create_connection(cast("Any", server.server_address[:2]), PATIENCE_S)


def heard(connection: socket.socket) -> bytes:
    """Return what comes until the other end hangs up."""
    found = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(1 << 16):
            found += chunk
    return found


def post(body: bytes = b"{}", path: str = "/config", **headers: str | None) -> bytes:
    """Return a request with its headers; those that are None are left out."""
    known = {"Host": "localhost", "Content-Type": "application/json"}
    said = {**known, "Content-Length": str(len(body))}
    said |= {name.replace("_", "-"): text for name, text in headers.items()}  # type: ignore[misc]
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {text}" for key, text in said.items() if text)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def question(path: str = "/config", **headers: str | None) -> bytes:
    return post(b"", path, **headers).replace(b"POST", b"GET", 1)


class TestRequests:
    """Whatever comes in is answered or refused; nothing makes the server stumble."""

    MALFORMED = (
        ("a length in other digits", post(Content_Length="²"), 400),
        ("a length of 5,000 digits", post(Content_Length="1" * 5000), 413),
        ("a length below zero", post(Content_Length="-1"), 400),
        ("two lengths", post(Content_Length="2\r\nContent-Length: 3"), 400),
        ("pieces", post(Transfer_Encoding="chunked", Content_Length=None), 411),
        ("more than is said", post(Content_Length="99"), 400),
        ("a host that is none", post(Host="["), 400),
        ("a path that is none", post(path="http://[/config"), 400),
        ("depth without end", post(b"[" * 100_000), 400),
        ("more depth than a document has", post(b"[" * 100 + b"]" * 100), 400),
        ("a number of 5,000 digits", post(b'{"flows": ' + b"1" * 5000 + b"}"), 400),
        ("the same thing twice", post(b'{"flows": [], "flows": []}'), 400),
        ("no number", post(b'{"flows": NaN}'), 400),
        ("no letters", post(b"\xff\xfe\xff"), 400),
        ("a question with a body", post().replace(b"POST", b"GET"), 400),
        ("a question with two lengths", question(Content_Length="0\r\nContent-Length: 2"), 400),
        ("an unknown verb", post().replace(b"POST", b"BREW"), 501),
        ("no request", b"what?\r\n\r\n", 400),
        ("a line without end", b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        ("too many headers", post(X="1\r\n" + "X: 1\r\n" * 200), 431),
        ("too long headers", post(X="1\r\n" + f"X: {'1' * 60_000}\r\n" * 6), 431),
        ("more objects than there can be", post(b"[" + b"[]," * 70_000 + b"{}]"), 400),
    )

    def test_what_is_none_is_refused_in_json(self, tmp_path: Path) -> None:
        def check(row: tuple[str, bytes, int]) -> None:
            _, request, status = row
            head, _, body = spoken(server, request).partition(b"\r\n\r\n")
            assert head.split(b" ")[1] == str(status).encode()
            answer = json.loads(body)
            assert answer["code"] == status and answer["errors"]

        with serving(tmp_path) as server:
            hold_each(self.MALFORMED, check, name=lambda row: row[0])
            assert ask(server.url, "GET", "/config")[0] == 200

    def test_a_body_has_so_many_objects_and_so_many_in_each_other(self) -> None:
        def many(count: int) -> bytes:
            return b"[" + b",".join([b"{}"] * (count - 1)) + b"]"

        def deep(count: int) -> bytes:
            return b"[" * count + b"]" * count

        for made, most, words in (
            (many, reading.MOST_OBJECTS, "objects and lists"),
            (deep, reading.MOST_DEPTH, "in each other"),
        ):
            assert reading.read_json(made(most)) == json.loads(made(most))
            with pytest.raises(RefusedError) as refused:
                reading.read_json(made(most + 1))
            assert words in refused.value.messages[0]

    def test_a_page_in_a_browser_is_told_nothing_either(self, url: str) -> None:
        for path in ("/config", "/capabilities/version"):
            assert ask(url, "GET", path, Host="evil.example")[0] == 421
            for host in ("localhost:8443", "127.0.0.1", "[::1]:80"):
                assert ask(url, "GET", path, Host=host)[0] == 200

    def test_several_come_by_one_connection(self, tmp_path: Path) -> None:
        with serving(tmp_path) as server:
            said = spoken(server, post() + post(b"x") + post())
        # What cannot be told from the beginning of the next one ends the connection.
        assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200", b"400"]


class TestLoad:
    """One client's doings do not keep others from being answered."""

    def test_who_drips_is_hung_up_on_when_its_time_is_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reading, "SLOW_S", 0.4)
        with serving(tmp_path) as server, connected(server) as connection:
            over = threading.Event()
            thread = threading.Thread(target=self.drip, args=(connection, over))
            thread.start()
            try:
                assert heard(connection) == b""  # whatever the next byte brings
            finally:
                over.set()
                thread.join()

    def drip(self, connection: socket.socket, over: threading.Event) -> None:
        with suppress(OSError):
            for byte in post(Authorization="x" * 60_000):
                if over.wait(0.02):
                    return
                connection.sendall(bytes([byte]))

    def test_bodies_on_their_way_take_no_more_memory_than_there_is_for_them(
        self, tmp_path: Path
    ) -> None:
        announced = post(Content_Length=str(MOST_BYTES))
        with serving(tmp_path) as server, ExitStack() as stack:
            waiting = [stack.enter_context(connected(server)) for _ in range(3)]
            for connection in waiting:
                connection.sendall(announced)  # and nothing more of the body
            refused, _, _ = select.select(waiting, [], [], PATIENCE_S)
            (one,) = refused
            assert b" 503 " in heard(one).splitlines()[0]
            assert ask(server.url, "GET", "/config")[0] == 200
            assert ask(server.url, "POST", "/config", {})[0] == 200  # a small one takes none of it
            assert ask(server.url, "POST", "/config", LARGE)[0] == 503
            for connection in waiting:
                connection.close()
            self.until(lambda: ask(server.url, "POST", "/config", LARGE)[0] == 400)

    def test_what_came_has_its_room_until_it_was_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go_on = threading.Semaphore(0), threading.Event()

        def slow(content: object, places: object) -> Config:
            begun.release()
            assert go_on.wait(PATIENCE_S)
            return read_config({}, {})

        body = json.dumps(LARGE).encode().ljust(MOST_BYTES)
        with serving(tmp_path) as server, ExitStack() as stack:
            monkeypatch.setattr(generator, "read_config", slow)
            waiting = [stack.enter_context(connected(server)) for _ in range(2)]
            for connection in waiting:
                connection.sendall(post(body))
            assert begun.acquire(timeout=PATIENCE_S)
            try:
                self.until(lambda: ask(server.url, "POST", "/config", LARGE)[0] == 503)
                body_of_metrics = {"choice": "port"}
                with server.parsing:  # a large one is being read
                    assert ask(server.url, "POST", "/monitor/metrics", body_of_metrics)[0] == 200
            finally:
                go_on.set()
            for connection in waiting:
                connection.shutdown(socket.SHUT_WR)
                assert b" 200 " in heard(connection).splitlines()[0]

    def test_a_configuration_is_there_once_however_many_ask_for_it(self, tmp_path: Path) -> None:
        content = config(flow())
        with serving(tmp_path) as server:
            assert ask(server.url, "POST", "/config", content)[0] == 200
            assert ask(server.url, "GET", "/config") == (200, content)
            first, second = (server.answer("GET", "/config", None)[1] for _ in range(2))
        assert isinstance(first, bytes)
        assert first is second

    def test_connections_are_as_many_as_can_be_looked_after(self, tmp_path: Path) -> None:
        with serving(tmp_path) as server, ExitStack() as stack:
            idle = [stack.enter_context(connected(server)) for _ in range(MOST_CONNECTIONS)]
            with connected(server) as one_more:
                assert heard(one_more) == b""
            idle[0].close()
            question = post().replace(b"POST /config", b"POST /nowhere")
            self.until(lambda: b" 404 " in spoken(server, question))

    def test_a_connection_for_which_there_is_no_thread_takes_no_room(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with serving(tmp_path) as server:
            with monkeypatch.context() as patched:
                patched.setattr(threading.Thread, "start", refused)
                for _ in range(MOST_CONNECTIONS + 1):
                    assert spoken(server, question()) == b""
            assert b" 404 " in spoken(server, question("/nowhere"))

    def test_a_document_that_takes_long_to_read_keeps_no_question_waiting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def slow(content: object, places: object) -> Config:
            begun.set()
            assert go_on.wait(PATIENCE_S)
            return read_config(content, {})

        with serving(tmp_path) as server:
            monkeypatch.setattr(generator, "read_config", slow)
            thread = threading.Thread(target=ask, args=(server.url, "POST", "/config", {}))
            thread.start()
            assert begun.wait(PATIENCE_S)
            try:
                for path in ("/config", "/capabilities/version"):
                    assert ask(server.url, "GET", path)[0] == 200
                body = {"choice": "port"}
                assert ask(server.url, "POST", "/monitor/metrics", body)[0] == 200
            finally:
                go_on.set()
                thread.join()

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("text", ["localhost:0", "127.0.0.1:0", "0.0.0.0:0"])
def test_a_page_in_a_browser_is_told_nothing_wherever_it_listens(text: str, tmp_path: Path) -> None:
    own = socket.gethostname()
    with serving(tmp_path, address=listening_at(text)) as server:
        for host in (
            "evil.example",
            "evil.example:8443",
            f"{own}.evil.example",
            "127.0.0.1.evil.example",
        ):
            assert ask(server.url, "GET", "/config", Host=host)[0] == 421, host
        for host in ("localhost", own.upper(), own.partition(".")[0], "192.0.2.7:8443", "[::1]"):
            assert ask(server.url, "GET", "/config", Host=host)[0] == 200, host


def test_who_brings_the_password_may_call_it_by_any_name(tmp_path: Path) -> None:
    right = base64.b64encode(f"otg:{PASSWORD}".encode()).decode()
    with serving(tmp_path, PASSWORD) as server:
        for said, status in ((f"basic {right}", 200), ("", 401)):
            asked = ask(server.url, "GET", "/config", Host="rack.example", Authorization=said)
            assert asked[0] == status


@pytest.mark.parametrize("text", ["localhost", ":80", "127.0.0.1:²", "127.0.0.1:65536"])
def test_where_nobody_can_listen_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="is no ADDRESS:PORT"):
        listening_at(text)


class TestVersions:
    """Clients hold their own version of the model against the range that they are told."""

    @pytest.mark.parametrize(
        ("version", "fits"),
        [("1.0.0", True), ("1.40.0", True), ("1.58.0", True), ("1.99.9", True), ("2.0.0", False)],
    )
    def test_all_of_one_major_version_fit(self, version: str, fits: bool, url: str) -> None:
        api = snappi.api(location=url, version_check=True)
        api._version_meta.api_spec_version = version
        if fits:
            api.set_config(api.config())
        else:
            with pytest.raises(Exception, match="is not compatible"):
                api.set_config(api.config())


class TestTrials:
    """What tgen is asked for."""

    def test_all_bytes_behind_the_headers_are_looked_at_unless_that_is_not_wanted(
        self, tmp_path: Path
    ) -> None:
        for whole in (True, False):
            tgen = Echo()
            places = {"p1": Place(0, None), "p2": Place(1, None)}
            one = Generator(cast("Any", tgen), places, tmp_path, whole_payload=whole)
            one.configure(config(flow()))
            one.start(())
            assert [said["check_fill"] for verb, said in tgen.asked if verb == "trial"] == [whole]

    def test_each_flow_has_its_own_time(self, tmp_path: Path) -> None:
        tgen = Echo()
        one = Generator(cast("Any", tgen), {"p1": Place(0, None), "p2": Place(1, None)}, tmp_path)
        seconds = {"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.5}}
        endless = {"choice": "continuous", "continuous": {}}
        one.configure(config(flow("f", duration=seconds), flow("g", duration=endless)))
        one.start(())
        (said,) = [said for verb, said in tgen.asked if verb == "trial"]
        assert said["until_ns"] == [500_000_000, 0]
        assert "duration_ns" not in said


# The conversation with servers of the OTG model, by HTTP and snappi.

ENDPOINTS = tuple(Endpoint(link=f"phy{n}", kind="vdev", address=f"net_p{n}") for n in range(2))


@contextmanager
def session_with(generator: FakeGenerator, **settings: Any) -> Iterator[OtgSession]:
    driver = OtgGenerator(generator.time.clock)
    with (
        fake_server(generator) as server,
        started_generator(driver, case_for(server, **settings), ENDPOINTS, WAYS["both"]) as session,
    ):
        yield session


def test_a_trial_of_an_honest_one_and_its_ports_are_let_go_of_at_the_end() -> None:
    honest = FakeGenerator()
    with session_with(honest) as session:
        counts = session.run(REQUEST)
        assert honest.config["ports"][0] == {"name": "phy0", "location": "net_p0"}
        assert session.facts()["application"] == "fake"
    assert [way.good_frames for way in counts.directions] == [FRAMES, FRAMES]
    assert honest.config == {}


class Hangs(FakeGenerator):
    """Never answers when asked for counters of a trial."""

    def hang(self, path: str) -> bool:
        return path == "/monitor/metrics" and self.began is not None


class LosesReplies(FakeGenerator):
    """Does what it is told, and does not say so."""

    def lose(self, path: str) -> bool:
        return path == "/control/state"


class LeavesAHeaderOut(FakeGenerator):
    """Takes other frames than it was given."""

    def taken(self, config: dict[str, Any]) -> dict[str, Any]:
        flows = [{**flow, "packet": flow["packet"][:-1]} for flow in config.get("flows", ())]
        return {**config, "flows": flows}


class Silent(FakeGenerator):
    """Tells of one flow only."""

    def flows(self) -> list[dict[str, Any]]:
        return super().flows()[:1]


class Blank(FakeGenerator):
    """Leaves a counter out: it is not known, and so not 0."""

    def flow(self, flow: dict[str, Any]) -> dict[str, Any]:
        found = super().flow(flow)
        del found["frames_rx"]
        return found


class Busy(FakeGenerator):
    """Sends for somebody else."""

    def ports(self) -> list[dict[str, Any]]:
        return [{"name": "theirs", "transmit": "started"}]


class NoneOfThem(FakeGenerator):
    """Speaks JSON, and of something else."""

    def answer(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        return {"status": "ok"}


def test_one_that_does_not_answer_is_an_error_in_its_time() -> None:
    with (
        pytest.raises(ComponentError, match="was asked for counters of flows, and failed"),
        session_with(Hangs(), patience="1s") as session,
    ):
        session.run(REQUEST)


def test_one_that_sends_for_somebody_else_is_left_alone() -> None:
    theirs = {"ports": [{"name": "theirs", "location": "x"}], "flows": []}
    busy = Busy(config=theirs)
    error = refused(NotReadyError, session_with(busy), "sending for somebody else")
    assert "theirs" in str(error.problems[0].why)
    assert busy.config == theirs


def test_nobody_there_is_an_error_with_a_way_out() -> None:
    case = case_for("http://127.0.0.1:9")
    error = refused(
        ComponentError,
        started_generator(OtgGenerator(), case, ENDPOINTS, WAYS["both"]),
        "was asked its version",
    )
    assert "see that it runs" in str(error.problems[0].fix)


@pytest.mark.parametrize(
    ("liar", "words"),
    [
        (LosesReplies(), "was asked to start, and failed"),
        (LeavesAHeaderOut(), "took another configuration than it was given"),
        (Silent(), "tells no counters of phy1 to phy0"),
        (Blank(), "tells no counters of phy0 to phy1"),
        (NoneOfThem(), "follows version unknown of the model"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, FakeGenerator) else "",
)
def test_one_that_does_not_do_what_it_is_told_is_an_error(liar: FakeGenerator, words: str) -> None:
    with pytest.raises(ComponentError, match=words), session_with(liar) as session:
        session.run(REQUEST)


def test_another_version_of_the_model_is_refused_before_anything_is_sent() -> None:
    liar = FakeGenerator(version="2.0.0")
    error = refused(ComponentError, session_with(liar), "follows version 2")
    assert error.problems[0].fix
    assert liar.asked == ["/capabilities/version"]


@pytest.mark.parametrize(
    ("model", "fits"),
    [("1.0.0", True), ("^1.40.1", True), ("2.0.0", False), ("0.9.1", False), ("", False)],
)
def test_only_one_major_version_fits(model: str, fits: bool) -> None:
    assert fitting(model, "1.62.0") is fits


GIVEN = {
    "flows": [
        {"name": "a", "rate": {"choice": "pps", "pps": "1000"}, "packet": [{}, {"dst": "00:AA"}]}
    ]
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"rate": {"pps": "1000", "more": 1}, "metrics": {}}, []),
        ({"packet": [{}, {"dst": "00:aa"}]}, []),
        ({"packet": [{}]}, ["flows[0].packet: 1, not 2"]),
        ({"rate": {"pps": "1"}}, ["flows[0].rate.pps: 1, not 1000"]),
        ({"rate": {"choice": "gbps", "gbps": "1"}}, None),
        ({"packet": [{}, {}]}, ["flows[0].packet[1].dst: nothing, not 00:AA"]),
    ],
)
def test_a_server_may_fill_in_more_and_change_nothing(
    change: dict[str, Any], said: list[str] | None
) -> None:
    taken = {"flows": [{**GIVEN["flows"][0], **change}], "ports": []}
    found = list(differences(GIVEN, taken))
    assert found == said if said is not None else found


def test_addresses_may_be_written_otherwise() -> None:
    assert not list(differences({"value": "2001:DB8::1"}, {"value": "2001:db8:0::1"}))
    assert list(differences({"value": "2001:db8::1"}, {"value": "2001:db8::2"}))
