"""The text protocol of a Xena chassis: one line asks, one line answers.

A setting is answered by `<OK>`, or by the reason in such brackets; a question, which ends with `?`,
by the same words with the values after them.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from vsperf.errors import ComponentError
from vsperf.waits import aside, received, sent

PORT = 22611
OK = "<OK>"
LONGEST = 65_536
CONNECT_S = 10.0
ANSWER_S = 5.0
REASONS = {
    "<NOTLOGGEDON>": "the password was not accepted",
    "<NOTRESERVED>": "the port is not reserved to us",
    "<NOTWRITABLE>": "it cannot be changed now",
    "<NOTREADABLE>": "it cannot be asked",
    "<NOTVALID>": "it cannot be done now",
    "<BADMODULE>": "there is no such module",
    "<BADPORT>": "there is no such port",
    "<BADINDEX>": "there is no such stream",
    "<BADVALUE>": "the chassis does not take this value",
    "<BADSIZE>": "the chassis does not take so many values",
    "<FAILED>": "the chassis could not do it",
}


class Client:
    """A connection to a chassis; whatever goes wrong with it is a `ComponentError`."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.address = address
        self._rest = b""
        try:
            self._socket = aside(
                lambda: socket.create_connection((host, int(port or PORT)), CONNECT_S)
            )
        except OSError as error:
            raise ComponentError(
                f"the Xena chassis {address} cannot be reached",
                why=str(error),
                fix="see that it is on, that generator.chassis is its address, and that its "
                "scripting server is enabled",
            ) from error

    def close(self) -> None:
        """Hang up; reservations stay."""
        self._socket.close()

    def tell(self, command: str, shown: str | None = None) -> None:
        """Change something; raise unless the chassis says that it is done."""
        answer = self._ask(command, shown)
        if answer != OK:
            raise self._refused(shown or command, answer)

    def ask(self, command: str) -> tuple[str, ...]:
        """Return the values that answer a question, such as `0/1 P_TRAFFIC`."""
        answer = self._ask(f"{command} ?")
        words, wanted = answer.split(), command.split()
        if [word.upper() for word in words[: len(wanted)]] != [word.upper() for word in wanted]:
            raise self._refused(command, answer)
        return tuple(words[len(wanted) :])

    def numbers(self, command: str, least: int) -> tuple[int, ...]:
        """Return the numbers that answer a question; there have to be so many at least."""
        values = self.ask(command)
        try:
            found = tuple(int(value) for value in values)
        except ValueError:
            found = ()
        if len(found) < least:
            raise ComponentError(
                f"the Xena chassis {self.address} answers {command} with {' '.join(values)!r}",
                why=f"{least} numbers were expected: it speaks another version of the protocol",
            )
        return found

    def text(self, command: str) -> str:
        """Return the one text, in quotation marks, that answers a question."""
        return " ".join(self.ask(command)).strip('"')

    def _ask(self, command: str, shown: str | None = None) -> str:
        try:
            sent(self._socket, f"{command}\n".encode())
            return self._line()
        except OSError as error:
            self._socket.close()  # an answer that comes late would pass for the next one
            raise ComponentError(
                f"the Xena chassis {self.address} does not answer {shown or command}",
                why=str(error) or type(error).__name__,
            ) from error

    def _line(self) -> str:
        """Return the next line that is not empty, and no remark on where a mistake is."""
        deadline, heard = time.monotonic() + ANSWER_S, len(self._rest)
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                text = line.decode(errors="replace").strip()
                if text and not text.startswith("---"):
                    return text
                continue
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            more = received(self._socket, LONGEST)
            if not more:
                raise ConnectionError("it has hung up")
            self._rest += more
            heard += len(more)
            if heard > LONGEST:  # also where no line of it says anything
                raise ConnectionError("its answer has no end")

    def _refused(self, command: str, answer: str) -> ComponentError:
        return ComponentError(
            f"the Xena chassis {self.address} does not do {command}",
            why=REASONS.get(answer.upper(), f"it answers {answer[:80]!r}"),
        )


def at(place: str, command: str, *arguments: object, index: Sequence[int] | None = None) -> str:
    """Return a command for a port such as 0/1, with the index of a stream where it has one."""
    indexed = () if index is None else (f"[{','.join(str(one) for one in index)}]",)
    return " ".join((place, command, *indexed, *(str(one) for one in arguments)))
