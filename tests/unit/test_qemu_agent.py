"""The conversation with the agent in a guest, held with one that is played by the test."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from qemu_cases import machines, qemu_case

from vsperf.errors import ComponentError
from vsperf.guests.agent import Agent, AgentRefused, AgentSilent, last_lines
from vsperf.guests.machine import RunningMachine

BOOTED = {"event": "booted", "protocol": 1, "kernel": "6.1", "nics": []}
Answers = Callable[[dict[str, Any]], Iterable[dict[str, Any] | bytes]]


def alive() -> None:
    """Say that the machine still runs."""


@contextmanager
def guest(folder: Path, answers: Answers, greeting: bytes = b"") -> Iterator[Agent]:
    """Play a guest: `answers` says what it writes to each request."""
    path = folder / "control"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen(1)
        agent = Agent.connect("vm1", path)
        connection, _ = server.accept()

    def serve() -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            connection.sendall(greeting)
            for line in lines:
                for answer in answers(json.loads(line)):
                    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                    connection.sendall(text + b"\n")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield agent
    finally:
        agent.close()
        thread.join()


def once_booted(answers: Answers) -> Answers:
    return lambda request: [BOOTED] if request["verb"] == "hello" else answers(request)


def test_a_guest_that_boots_late_is_greeted_until_it_answers(tmp_path: Path) -> None:
    greetings: list[int] = []

    def late(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        greetings.append(request["id"])
        return [BOOTED] if len(greetings) == 2 else []

    with guest(tmp_path, late) as agent:
        assert agent.await_boot(time.monotonic() + 10, alive)["kernel"] == "6.1"
    assert len(greetings) == 2


def test_a_guest_that_never_boots_is_not_waited_for_forever(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent, pytest.raises(AgentSilent, match="in time"):
        agent.await_boot(time.monotonic() + 0.2, alive)


def test_the_end_of_the_machine_ends_the_waiting(tmp_path: Path) -> None:
    def dead() -> None:
        raise ComponentError("vm1 was killed")

    with guest(tmp_path, lambda request: []) as agent, pytest.raises(ComponentError, match="kille"):
        agent.await_boot(time.monotonic() + 10, dead)


def test_another_protocol_is_refused_with_the_way_to_mend_it(tmp_path: Path) -> None:
    other = {**BOOTED, "protocol": 2}
    wrong = pytest.raises(ComponentError, match="protocol 2, not 1")
    with guest(tmp_path, lambda request: [other]) as agent, wrong as caught:
        agent.await_boot(time.monotonic() + 10, alive)
    assert caught.value.problems[0].fix


def test_an_answer_is_found_among_events_and_late_answers(tmp_path: Path) -> None:
    def answers(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        return [BOOTED, {"id": 0, "stale": True}, {"id": request["id"], "nics": [1]}]

    with guest(tmp_path, answers) as agent:
        assert agent.ask("counters", 5)["nics"] == [1]


def test_a_refusal_says_what_the_application_wrote(tmp_path: Path) -> None:
    def answers(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        return [{"id": request["id"], "error": "it ended", "log": "one\n\ntwo\n"}]

    with guest(tmp_path, answers) as agent, pytest.raises(AgentRefused, match="start") as caught:
        agent.ask("start", 5)
    assert caught.value.problems[0].why == "it wrote: one | two"


def test_an_agent_that_does_not_answer_has_a_deadline(tmp_path: Path) -> None:
    with (
        guest(tmp_path, lambda request: []) as agent,
        pytest.raises(AgentSilent, match="`log` within"),
    ):
        agent.ask("log", 0.2)


def test_a_port_that_closes_is_told_from_silence(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent:
        agent.connection.shutdown(socket.SHUT_RDWR)
        with pytest.raises(AgentSilent, match="was closed"):
            agent.answer(1, "log", 5)


@pytest.mark.parametrize("line", [b"not json", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_an_error(tmp_path: Path, line: bytes) -> None:
    wrong = pytest.raises(ComponentError, match="no JSON")
    with guest(tmp_path, lambda request: [line]) as agent, wrong:
        agent.ask("log", 5)


def drips(request: dict[str, Any]) -> Iterator[dict[str, Any] | bytes]:
    yield b"x" * (3 << 20)


def test_what_an_agent_says_may_not_be_a_line_without_end(tmp_path: Path) -> None:
    with guest(tmp_path, drips) as agent, pytest.raises(ComponentError, match="without end"):
        agent.ask("log", 60)


@pytest.mark.parametrize("number", ["9" * 4000, "1" * 30, "NaN", "-Infinity"])
def test_what_no_counter_holds_is_no_answer(tmp_path: Path, number: str) -> None:
    line = b'{"id": 1, "nics": [{"received": %s}]}' % number.encode()
    with (
        guest(tmp_path, lambda request: [line]) as agent,
        pytest.raises(ComponentError, match="no JSON"),
    ):
        agent.ask("log", 60)


def endlessly(request: dict[str, Any]) -> Iterator[dict[str, Any] | bytes]:
    while True:
        yield {"event": "chatter"}


def test_an_agent_that_speaks_without_end_of_other_things_has_a_deadline(tmp_path: Path) -> None:
    with guest(tmp_path, endlessly) as agent, pytest.raises(AgentSilent, match="`log` within"):
        agent.ask("log", 0.3)


def test_an_agent_that_speaks_without_end_unasked_is_not_listened_to_forever(
    tmp_path: Path,
) -> None:
    with guest(tmp_path, endlessly) as agent:
        agent.request("hello")
        with pytest.raises(ComponentError, match="without end"):
            listen(agent)


def listen(agent: Agent) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        agent.notice()


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({"event": "booted"}, "protocol"),
        ({"event": "booted", "protocol": "1"}, "protocol"),
        ({"event": "booted", "protocol": 1, "nics": 5}, "nics"),
        ({"event": "booted", "protocol": 1, "nics": [5]}, "nics.0"),
        ({"event": "booted", "protocol": 1, "nics": [{"mac": 5}]}, "nics.0.mac"),
        ({"event": "ended", "app": 5}, "app"),
        ({"event": "ended", "log": ["bye"]}, "log"),
    ],
)
def test_events_of_the_wrong_types_are_an_error_that_names_the_place(
    tmp_path: Path, event: dict[str, Any], place: str
) -> None:
    wrong = pytest.raises(ComponentError, match=f"makes no sense: {place}: ")
    with guest(tmp_path, lambda request: [event]) as agent, wrong:
        agent.await_boot(time.monotonic() + 10, alive)


@pytest.mark.parametrize("answer", [{"error": 5}, {"error": "no", "log": 5}, {"error": None}])
def test_a_refusal_of_the_wrong_types_is_an_error(tmp_path: Path, answer: dict[str, Any]) -> None:
    wrong = pytest.raises(ComponentError, match="makes no sense")
    with guest(tmp_path, lambda request: [{"id": request["id"], **answer}]) as agent, wrong:
        agent.ask("start", 5)


@pytest.mark.parametrize(
    "nics",
    [
        *(5, "x", {"a": 1}, [5], [None]),
        *([{"received": "1", "sent": 1}], [{"received": 1.5, "sent": 1}]),
        *([{"received": -1, "sent": 1}], [{"received": 1, "sent": (1 << 60) + 1}]),
        *([{"received": 1, "sent": 1, "drops": drops}] for drops in (5, [1], {"a": "b"})),
    ],
    ids=repr,
)
def test_counters_of_the_wrong_types_are_an_error(tmp_path: Path, nics: object) -> None:
    with guest(tmp_path, lambda request: [{"id": request["id"], "nics": nics}]) as agent:
        running = asked(agent)
        with pytest.raises(ComponentError, match="vm1: what its agent says makes no sense: nics"):
            running.counters()


@pytest.mark.parametrize(
    ("answer", "frames"),
    [
        ({"nics": [{"received": 3, "sent": 2, "drops": {"full": 1}}]}, [(3, 2)]),
        ({"nics": [{"received": 3, "sent": 2}, {"received": None, "sent": 2}]}, []),
        ({"nics": None}, []),
        ({}, []),
    ],
)
def test_a_guest_that_does_not_count_has_no_counters(
    tmp_path: Path, answer: dict[str, Any], frames: list[tuple[int, int]]
) -> None:
    with guest(tmp_path, lambda request: [{"id": request["id"], **answer}]) as agent:
        found = asked(agent).counters()
    assert [(nic.received_frames, nic.sent_frames) for nic in found.nics] == frames


def asked(agent: Agent) -> RunningMachine:
    """Return a machine of which nothing is there but its agent."""
    (machine,) = machines(qemu_case())
    parts: dict[str, Any] = {"program": None, "workspace": None}
    return RunningMachine(machine, **parts, agent=agent)


def test_an_application_that_ended_is_noticed_without_waiting(tmp_path: Path) -> None:
    event = {"event": "ended", "app": "testpmd", "how": "signal 9", "log": "EAL: bye\n"}
    greeting = json.dumps(event).encode() + b"\n"
    with guest(tmp_path, lambda request: [], greeting) as agent:
        deadline = time.monotonic() + 5
        while agent.ended is None and time.monotonic() < deadline:
            agent.notice()
            time.sleep(0.01)
        assert agent.ended == "testpmd ended: signal 9; its last words: EAL: bye"


def test_nothing_said_is_nothing_noticed(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent:
        agent.notice()
        assert agent.ended is None


def test_a_machine_without_the_port_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(AgentSilent, match="no connection to its control port"):
        Agent.connect("vm1", tmp_path / "nothing")


def test_last_lines_are_the_last_ones_that_say_something() -> None:
    assert last_lines("a\nb\n\nc\n", 2) == "b | c"
