"""The conversation with a server of the model: each question with a deadline, by snappi.

snappi itself waits for ever, reads whatever comes, and follows proxies of the environment; so its
session is told not to. Its answers are its own objects; what leaves here is plain data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from itertools import islice
from typing import Any

from vsperf.drivers.generators.otg.accounts import Counters, PortCounters
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.software import to_install_extra
from vsperf.trust.answers import bound
from vsperf.waits import aside

INSTALL = to_install_extra("otg")
USER = "vsperf"
MOST_DIFFERENCES = 5
WHOLE = 3
"""So many times the patience with an answer may take what snappi makes of it, before and after."""
MOST_WORDS = 500
"""Letters of what a server says, in an error."""


class OtgError(ComponentError):
    """The server did not do what it was asked to, or did not answer."""


class Client:
    """One controller of one server."""

    def __init__(self, location: str, patience_s: float, password: str | None = None) -> None:
        self.location = location
        self._patience_s = patience_s
        self._api, self._session = _connected(location, patience_s)
        if password is not None:
            self._session.auth = (USER, password)

    def close(self) -> None:
        self._session.close()

    def version(self) -> dict[str, str]:
        """Return the versions of both sides; raises `OtgError` where they do not fit."""
        with self._asking("its version"):
            remote = self._aside(self._api.get_version)
            found = {
                "model": str(remote.api_spec_version or ""),
                "application": str(remote.app_version or ""),
                "snappi": str(self._api.get_local_version().sdk_version),
            }
        if not fitting(found["model"], found["snappi"]):
            raise OtgError(
                f"the OTG server at {self.location} follows version {found['model'] or 'unknown'} "
                "of the model",
                why=f"snappi is {found['snappi']}, and only the same major version fits",
                fix="install the snappi that fits the server, or another server",
            )
        return found

    def configure(self, content: Mapping[str, Any]) -> tuple[str, ...]:
        """Set a configuration, see that it was taken as it is, and return warnings."""
        config = self._api.config()
        with self._asking("snappi to read the configuration"):
            config.deserialize(dict(content))
        with self._asking("to be configured"):
            warnings = tuple(
                str(one) for one in self._aside(lambda: self._api.set_config(config)).warnings or ()
            )
        with self._asking("what it is configured for"):
            given = config.serialize(config.DICT)
            taken = self._aside(self._api.get_config).serialize(config.DICT)
        if wrong := list(islice(differences(given, taken), MOST_DIFFERENCES)):
            raise OtgError(
                f"the OTG server at {self.location} took another configuration than it was given",
                why="; ".join(wrong),
            )
        return warnings

    def senders(self) -> list[str]:
        """Return the ports that send for whoever configured the server before."""
        with self._asking("whether it is in use"):
            named = [port.name for port in self._aside(self._api.get_config).ports]
            if not named:
                return []
            request = self._api.metrics_request()
            request.port.port_names = named
            told = self._aside(lambda: self._api.get_metrics(request)).port_metrics
            return [one.name for one in told if one.transmit == "started"]

    def release(self) -> None:
        """Take all ports and flows away again."""
        with self._asking("to let go of its ports"):
            self._aside(lambda: self._api.set_config(self._api.config()))

    def transmit(self, state: str, names: tuple[str, ...]) -> None:
        """Start or stop flows; others than ours are left alone."""
        request = self._api.control_state()
        request.traffic.flow_transmit.flow_names = list(names)
        request.traffic.flow_transmit.state = state
        with self._asking(f"to {state}"):
            self._aside(lambda: self._api.set_control_state(request))

    def flows(self, names: tuple[str, ...]) -> dict[str, Counters]:
        """Return the counters of flows; raises `OtgError` where some are not told."""
        request = self._api.metrics_request()
        request.flow.flow_names = list(names)
        with self._asking("for counters of flows"):
            told = self._aside(lambda: self._api.get_metrics(request)).flow_metrics
            found = {one.name: one for one in told}
        for name in names:
            one = found.get(name)
            if one is None or one.frames_tx is None or one.frames_rx is None:
                raise OtgError(f"the OTG server at {self.location} tells no counters of {name}")
        if len(told) != len(names):
            raise OtgError(
                f"the OTG server at {self.location} tells of {len(told)} flows, not {len(names)}"
            )
        return {
            name: Counters(one.transmit != "stopped", one.frames_tx, one.frames_rx)
            for name, one in ((name, found[name]) for name in names)
        }

    def ports(self, names: tuple[str, ...]) -> dict[str, PortCounters]:
        request = self._api.metrics_request()
        request.port.port_names = list(names)
        with self._asking("for counters of ports"):
            told = self._aside(lambda: self._api.get_metrics(request)).port_metrics
            return {one.name: PortCounters(one.frames_tx, one.frames_rx, one.link) for one in told}

    def _aside(self, call: Callable[[], Any]) -> Any:
        """Return what snappi returns, which waits its patience for each piece of an answer."""
        return aside(call, WHOLE * self._patience_s)

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        """Turn whatever snappi raises into an error that says who was asked for what."""
        try:
            yield
        except OtgError:
            raise
        except Exception as error:
            raise OtgError(
                f"the OTG server at {self.location} was asked {what}, and failed",
                why=_words(error),
                fix="see that it runs, and is not used by somebody else",
            ) from error


def fitting(model: str, snappi: str) -> bool:
    """Whether a server's model and a client fit: one major version, and one at all."""
    first, second = model.partition(".")[0], snappi.partition(".")[0]
    return bool(first) and first.lstrip("^~=") == second


def _connected(location: str, patience_s: float) -> tuple[Any, Any]:
    """Return snappi's interface and the session that it asks by."""
    try:
        import snappi
    except ImportError as error:
        raise NotReadyError(
            "the package snappi is not installed",
            why="generators of the Open Traffic Generator model are reached by it",
            fix=INSTALL,
        ) from error

    quiet = logging.getLogger("vsperf.otg.snappi")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    api = snappi.api(location=location, verify=False, logger=quiet, loglevel=logging.CRITICAL)
    try:
        session = api._transport._session
    except AttributeError as error:
        raise NotReadyError(
            "this version of snappi is not known",
            why="without its session of HTTP there is no deadline for answers",
            fix=INSTALL,
        ) from error
    session.trust_env = False
    session.max_redirects = 0
    return api, bound(session, patience_s)


def _words(error: Exception) -> str:
    """Return what an exception of snappi says, in one line."""
    if isinstance(error, AttributeError | KeyError):
        return "what it answers is not of the Open Traffic Generator model"
    said = error.args[0] if error.args else error
    listed = getattr(said, "errors", None)
    text = "; ".join(str(one) for one in listed) if listed else str(said)
    return " ".join(text.split())[:MOST_WORDS] or type(error).__name__


def differences(given: Any, taken: Any, path: str = "") -> Iterator[str]:
    """Yield what was given and is not there; a server may fill in more."""
    if isinstance(given, Mapping):
        keys = taken if isinstance(taken, Mapping) else {}
        for key, value in given.items():
            if key != "choice" or key in keys:  # what is chosen shows in what is there
                yield from differences(value, keys.get(key), f"{path}.{key}" if path else key)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        items = taken if isinstance(taken, Sequence) else []
        if len(items) != len(given):
            yield f"{path}: {len(items)}, not {len(given)}"
            return
        for number, (one, other) in enumerate(zip(given, items, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif not _same(given, taken):
        yield f"{path}: {'nothing' if taken is None else taken}, not {given}"


def _same(given: object, taken: object) -> bool:
    """Whether two values mean the same; letters of addresses may be small or great."""
    if isinstance(given, str) and isinstance(taken, str):
        address = _address(given)
        return given.casefold() == taken.casefold() or (
            address is not None and address == _address(taken)
        )
    return given == taken


def _address(text: str) -> object:
    try:
        return ip_address(text)
    except ValueError:
        return None
