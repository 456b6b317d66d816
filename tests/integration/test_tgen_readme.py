"""What tgen's page shows is what tgen does: its examples are sent as written."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import REPOSITORY

from vsperf.drivers.generators.tgen.process import TGEN

pytestmark = pytest.mark.machine

PREFIX = f"--file-prefix=vsperf-readme-{os.getpid()}-0"
PAGE = (REPOSITORY / "tools" / "tgen" / "README.md").read_text()
EXAMPLES = [
    json.loads(block.replace("\n", " "))
    for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
REQUESTS = [example for example in EXAMPLES if "verb" in example]
ANSWERS = {example["id"]: example for example in EXAMPLES if "ok" in example}
TWO_STREAMS = [{"transmit_port": port, "receive_port": port, "size": 64} for port in (0, 1)]
BY_HAND = re.search(r"^\$ (build/tgen .*)\n((?:\{.*\n)+)", PAGE, re.MULTILINE)


@dataclass
class Conversation:
    process: subprocess.Popen[str]

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Return the next answer; events go by."""
        assert self.process.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(self.process.stdout.readline())
            if "event" not in message:
                return message


@contextmanager
def started(*argv: str) -> Iterator[Conversation]:
    with subprocess.Popen(
        [str(TGEN.find()), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Conversation(process)
        finally:
            process.terminate()


def shape(value: object) -> object:
    """Return the keys that a value has, and the kinds of what they hold."""
    if isinstance(value, dict):
        return {key: shape(held) for key, held in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@pytest.mark.needs("tgen")
def test_every_verb_has_its_example() -> None:
    with started("--no-huge", "--no-pci", "-m", "256", *ring(), "--") as tgen:
        tgen.say(json.dumps(REQUESTS[0]))
        verbs = tgen.hear()["result"]["verbs"]
    assert sorted(request["verb"] for request in REQUESTS) == sorted(verbs)


def ring() -> tuple[str, ...]:
    """Return two, as turns are between at least two; all other examples use the first."""
    return ("--vdev=net_ring0", "--vdev=net_ring1", "--lcores=0@0,1@0", PREFIX)


def answer_to(tgen: Conversation, request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer; a CPU that was away all the time of a round trip says nothing of it."""
    for _ in range(100):
        tgen.say(json.dumps(request))
        answer = tgen.hear()
        if not answer["ok"] or answer["result"].get("rounds") != 0:
            return answer
    pytest.fail("no round trip came to its end in a hundred attempts")


@pytest.mark.needs("tgen")
def test_every_example_is_answered_as_shown() -> None:
    with started("--no-huge", "--no-pci", "-m", "256", *ring(), "--") as tgen:
        for request in REQUESTS:
            if request["verb"] == "stop":
                tgen.say(
                    '{"id":90,"verb":"trial","rate_fps":1,"duration_ns":9000000000,"wait":false}'
                )
                assert tgen.hear()["ok"]
            if request["verb"] == "turns":
                tgen.say(json.dumps({"id": 91, "verb": "configure", "streams": TWO_STREAMS}))
                assert tgen.hear()["ok"]
            if request["verb"] in ("capture", "listen"):
                continue  # they write where the page says
            answer = answer_to(tgen, request)
            assert answer["ok"], f"{request['verb']}: {answer['error']['message']}"
            if request["id"] in ANSWERS:
                assert shape(answer) == shape(ANSWERS[request["id"]]), request["verb"]
        assert tgen.process.wait(20) == 0


@pytest.mark.needs("tgen")
def test_the_first_trial_by_hand_works_as_typed() -> None:
    assert BY_HAND is not None
    command, lines = BY_HAND.groups()
    argv = command.split()[1:]
    with started(PREFIX, *argv) as tgen:
        answers = []
        for line in lines.splitlines():
            tgen.say(line)
            answers.append(tgen.hear())
        assert [answer["ok"] for answer in answers] == [True, True, True]
        (stream,) = answers[1]["result"]["streams"]
        assert stream["intended"] == 2_000_000
        assert tgen.process.wait(20) == 0
