"""Conversations with a TRex server: recorded, kept as lines of JSON, and compared by their form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.trex.server import Client
from vsperf.drivers.generators.trex.session import TrexSession
from vsperf.errors import ComponentError

GOLDEN = Path(__file__).parent / "golden" / "trex" / "conversation.jsonl"
"""Recorded with TRex v3.08, both of whose ports were on one cable of the kernel."""
TRAFFIC = {"flows": 4096, "vlans": [5], "frame_size": "68B"}
TRIALS = (
    TrialRequest(load_fps=1_000, duration_ns=200_000_000),
    TrialRequest(load_fps=1_000, duration_ns=200_000_000, latency=True),
)
ANY = ("api_h", "handler", "session_id", "user", "start_at_ts")
"""What differs from one conversation to the next."""
AGAIN = ("get_async_events", "get_port_stats", "get_pgid_stats", "ping")
"""What is asked as often as it takes."""


@dataclass(frozen=True, slots=True)
class Said:
    """A question, and what came of it."""

    method: str
    asked: dict[str, Any]
    answer: Any

    @property
    def question(self) -> tuple[str, dict[str, Any]]:
        """What is the same in each conversation."""
        return self.method, {key: value for key, value in self.asked.items() if key not in ANY}


@dataclass
class Conversation:
    """What was said, in order."""

    said: list[Said] = field(default_factory=list)

    @property
    def questions(self) -> list[tuple[str, dict[str, Any]]]:
        """What was asked once and in an order that matters."""
        return [one.question for one in self.said if one.method not in AGAIN]

    def forms(self) -> dict[str, set[str]]:
        """Return by method of which form its answers were."""
        found: dict[str, set[str]] = {}
        for one in self.said:
            found.setdefault(one.method, set()).update(_form(one.answer))
        return found

    def write(self, path: Path) -> None:
        """Keep it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            json.dumps({"method": one.method, "params": one.asked, "result": one.answer})
            for one in self.said
        )
        path.write_text("\n".join(lines) + "\n")


def recorded(path: Path = GOLDEN) -> Conversation:
    """Return a conversation that was kept."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return Conversation([Said(one["method"], one["params"], one["result"]) for one in lines])


@contextmanager
def listening() -> Iterator[Conversation]:
    """Write down what is asked and answered."""
    conversation, ask = Conversation(), Client.ask

    def overheard(client: Client, method: str, **asked: Any) -> Any:
        answer = ask(client, method, **asked)
        conversation.said.append(Said(method, dict(asked), answer))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "ask", overheard)
        yield conversation


def talk(session: TrexSession) -> None:
    """Make all trials, and ask for one that is refused without a question."""
    for request in TRIALS:
        session.run(request)
    with pytest.raises(ComponentError):
        session.run(TrialRequest(0, 1))


def _form(answer: Any, path: str = "") -> Iterator[str]:
    """Yield the places in an answer, with the type of what is there; numbers of things aside."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from _form(value, f"{path}/{'N' if key.isdecimal() else key}")
    elif isinstance(answer, list):
        for value in answer:
            yield from _form(value, f"{path}/N")
    else:
        yield f"{path}: {type(answer).__name__}"
