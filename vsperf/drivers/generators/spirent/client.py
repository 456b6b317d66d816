"""Calls to TestCenter: the vendor's client, whatever goes wrong with it a `ComponentError`.

The library is an extra, and imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.software import to_install_extra
from vsperf.trust.answers import BoundedRequests
from vsperf.waits import aside

USER = "vsperf"
"""The user of every session of ours; its name is the deployment's."""
ANSWER_S = 60.0
"""Patience with the whole of an answer: reserving ports and applying a configuration takes
TestCenter many seconds."""
CALL_S = 2 * ANSWER_S
"""Patience with a call of the library, which may ask twice."""


def library() -> Any:
    """Return the vendor's library, which reads whatever comes unless it is told not to."""
    try:
        from stcrestclient import resthttp, stchttp
    except ImportError as error:
        raise NotReadyError(
            "the library stcrestclient is not installed",
            why="TestCenter is spoken to by the vendor's own client (generator.kind=spirent)",
            fix=to_install_extra("spirent"),
        ) from error
    resthttp.requests = BoundedRequests(ANSWER_S)
    return stchttp


def session_id(owner: str) -> str:
    """Return how TestCenter calls a session of ours."""
    return f"{owner} - {USER}"


class Client:
    """A session on a Lab Server."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.address = address
        self._stc: Any = None
        found = library()
        self._stc = self._called(
            "sessions", lambda: found.StcHttp(host, port=port or None, timeout=ANSWER_S)
        )

    def begin(self, owner: str) -> None:
        """Begin a session under a name."""
        self._called("new_session", lambda: self._stc.new_session(USER, owner))

    def take_up(self, owner: str) -> bool:
        """Join a session that a dead run has begun; say whether there is one."""
        found = self._called("sessions", self._stc.sessions)
        if session_id(owner) not in found:
            return False
        self._called("join_session", lambda: self._stc.join_session(session_id(owner)))
        return True

    def end(self) -> None:
        """End the session, which lets go of all that it has."""
        self._called("end_session", lambda: self._stc.end_session("kill", timeout=0))

    def create(self, kind: str, under: str, attributes: Mapping[str, object]) -> str:
        """Make an object; return its handle."""
        found = self._called(
            f"create {kind}", lambda: self._stc.create(kind, under, _texts(attributes))
        )
        return str(found)

    def configure(self, handle: str, attributes: Mapping[str, object]) -> None:
        """Change an object."""
        self._called(f"config {handle}", lambda: self._stc.config(handle, _texts(attributes)))

    def get(self, handle: str, attribute: str) -> str:
        """Return one attribute."""
        return str(
            self._called(f"get {handle} {attribute}", lambda: self._stc.get(handle, attribute))
        )

    def number(self, handle: str, attribute: str) -> int:
        """Return one attribute that is a whole number."""
        found = self.get(handle, attribute)
        try:
            return int(found)
        except ValueError as error:
            raise ComponentError(
                f"TestCenter at {self.address} says that {attribute} of {handle} is {found[:80]!r}",
                why="a whole number was expected: it is another version, or no TestCenter",
            ) from error

    def perform(self, command: str, **parameters: object) -> None:
        """Have a command carried out."""
        self._called(command, lambda: self._stc.perform(command, _texts(parameters)))

    def apply(self) -> None:
        """Send the configuration to the chassis."""
        self._called("apply", self._stc.apply)

    def version(self) -> str:
        """Return the version of the server."""
        return str(self._called("bll_version", self._stc.bll_version))

    def _called(self, what: str, call: Callable[[], Any]) -> Any:
        """Call the library, which raises whatever it likes."""
        try:
            return aside(call, CALL_S)
        except NotReadyError:
            raise
        except Exception as error:
            raise ComponentError(
                f"TestCenter at {self.address} does not do {what}",
                why=str(error)[:400] or type(error).__name__,
            ) from error


def _texts(attributes: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in attributes.items()}
