"""When the switch calls those who listen at its ports.

DPDK calls a socket when it is given the path, and from then on once a second. A program with
several ports opens one socket after the other, each when the one before was called, so that every
one of them would cost a second. Therefore a port is given its path when somebody listens there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vsperf.drivers.vswitches.ovs.layout import SwitchPort

PATH = "vhost-server-path"
Give = Callable[[Mapping[str, Mapping[str, str]]], None]
"""Gives interfaces of the switch, by their names, all of their options."""


@dataclass
class Calls:
    """The calls that were not made yet."""

    give: Give
    _ahead: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By interface, the options of the ports whose path is held back."""

    def hold_back(self, ports: Collection[SwitchPort]) -> tuple[SwitchPort, ...]:
        """Return the ports as they are made: without a path where nobody listens."""
        self._ahead = {
            port.interface: port.options
            for port in ports
            if PATH in port.options and not _is_listened_at(port.options)
        }
        return tuple(_silent(port) if port.interface in self._ahead else port for port in ports)

    def make(self) -> None:
        """Call where somebody listens by now."""
        self._make([name for name, told in self._ahead.items() if _is_listened_at(told)])

    def make_all(self) -> None:
        """Call everywhere: DPDK goes on until there is an answer."""
        self._make(tuple(self._ahead))

    def _make(self, names: Collection[str]) -> None:
        if names:
            self.give({name: self._ahead.pop(name) for name in names})


def _is_listened_at(options: Mapping[str, str]) -> bool:
    return Path(options[PATH]).is_socket()


def _silent(port: SwitchPort) -> SwitchPort:
    return replace(port, options={n: text for n, text in port.options.items() if n != PATH})
