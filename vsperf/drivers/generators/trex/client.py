"""Questions to a TRex server, by JSON-RPC over ZeroMQ, one after the other, each with a deadline.

ZeroMQ opens its connections in a thread of its own, which stays in the network namespace that it
was made in; so a server in another network is reached from there.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.software import to_install_extra
from vsperf.trust.answers import LONGEST
from vsperf.waits import wait_for

if TYPE_CHECKING:
    import zmq

ANSWER_S = 5.0
"""Patience with an answer; a server that works gives one within a few milliseconds."""
MOST_WORDS = 500
"""Letters of a reason that a server gives."""
GET_ZMQ = to_install_extra("trex")
Answer = Any


class Client:
    """One connection; after a question without an answer it is of no more use."""

    def __init__(self, address: str, port: int) -> None:
        """Get ready to ask; whether anybody is there shows with the first question."""
        library = load_zmq()
        self.where = f"{address}:{port}"
        self.context: zmq.Context[zmq.Socket[bytes]] = library.Context()
        self.socket = self.context.socket(library.REQ)
        self.socket.setsockopt(library.LINGER, 0)
        self.socket.setsockopt(library.MAXMSGSIZE, LONGEST)
        self.socket.connect(f"tcp://{self.where}")
        self.handler: str | None = None
        """What the server wants to see with each question, once versions were compared."""
        self.number = 0
        self.broken: str | None = None

    def ask(self, method: str, **parameters: Any) -> Answer:
        """Return the result of a method; raises `ComponentError` where there is none."""
        import zmq

        if self.broken is not None:
            raise ComponentError("TRex is no longer connected", why=self.broken)
        self.number += 1
        if self.handler is not None:
            parameters["api_h"] = self.handler
        question = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        try:
            self.socket.send(json.dumps(question).encode())
            if not self._heard():
                raise self._gone(f"it did not answer {method} within {ANSWER_S:g} s")
            return self._result(method, self.socket.recv())
        except zmq.ZMQError as error:
            raise self._gone(str(error)) from error

    def _heard(self) -> bool:
        """Wait for an answer; say whether it came.

        ZeroMQ's descriptor tells only that there is something new, and tells it once.
        """
        import zmq

        until = time.monotonic() + ANSWER_S
        while not self.socket.poll(0):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return False
            wait_for((self.socket.getsockopt(zmq.FD),), left_s)
        return True

    def close(self) -> None:
        """Let go of the connection."""
        self.broken = self.broken or "the session has ended"
        self.socket.close()
        self.context.term()

    def _result(self, method: str, text: bytes) -> Answer:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._gone(f"what it answered to {method} is no JSON") from error
        if not isinstance(answer, dict) or answer.get("id") != self.number:
            raise self._gone(f"its answer to {method} is one to another question")
        if "error" in answer:
            raise ComponentError(f"TRex refused {method}", why=_reason(answer["error"]))
        if "result" not in answer:
            raise self._gone(f"its answer to {method} holds no result")
        return answer["result"]

    def _gone(self, why: str) -> ComponentError:
        self.broken = why
        return ComponentError(f"the TRex server at {self.where} does not answer", why=why)


def load_zmq() -> Any:
    """Return the library; raises `NotReadyError` without it."""
    try:
        import zmq
    except ImportError as error:
        raise NotReadyError(
            "the Python package pyzmq is not installed",
            why="TRex is spoken to over ZeroMQ (generator.kind=trex)",
            fix=GET_ZMQ,
        ) from error
    return zmq


def _reason(error: Any) -> str:
    if isinstance(error, dict):
        error = error.get("specific_err") or error.get("message") or error
    return str(error)[:MOST_WORDS]
