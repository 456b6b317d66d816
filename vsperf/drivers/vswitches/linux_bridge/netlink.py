"""What the kernel is asked of bridges: to make them, join ports, and know and forget addresses."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.devices import Devices, told
from vsperf.host.netns import apart

HUNDREDTHS = 10_000_000
"""Nanoseconds of the unit in which the kernel counts the age of addresses."""


class Netlink(Devices):
    """A conversation with the kernel about bridges."""

    def add_bridge(self, name: str, *, ageing_ns: int, mtu: int) -> None:
        """Make a bridge that forwards at once, and looks at nothing but addresses."""
        with told(f"to make the bridge {name}"):
            self._routes.link(
                "add",
                ifname=name,
                kind="bridge",
                mtu=mtu,
                br_stp_state=0,
                br_forward_delay=0,
                br_ageing_time=max(1, ageing_ns // HUNDREDTHS),
                br_mcast_snooping=0,
            )
            self._routes.link("set", index=self._index(name), state="up")

    def join(self, name: str, bridge: str, *, learns: bool, floods: bool) -> None:
        with told(f"to make {name} a port of {bridge}"):
            index = self._index(name)
            self._routes.link("set", index=index, master=self._index(bridge))
            self._routes.brport(
                "set",
                index=index,
                learning=int(learns),
                unicast_flood=int(floods),
                mcast_flood=int(floods),
                bcast_flood=int(floods),
            )
            self._routes.link("set", index=index, state="up")

    def know(self, name: str, addresses: Iterable[str]) -> None:
        """Tell a bridge that these addresses are behind a port."""
        self._entries("add", name, addresses)

    def forget(self, name: str, addresses: Iterable[str]) -> None:
        """Take these addresses out again."""
        self._entries("del", name, addresses)

    def forget_learned(self, name: str) -> None:
        with told(f"to forget the addresses behind {name}"):
            self._routes.brport("set", index=self._index(name), flush=True)

    def _entries(self, verb: str, name: str, addresses: Iterable[str]) -> None:
        from pyroute2.netlink.rtnl.ndmsg import flags, states

        with told(f"to {verb} addresses behind {name}"):
            index = self._index(name)
            for address in addresses:
                self._routes.fdb(
                    verb,
                    ifindex=index,
                    lladdr=address,
                    flags=flags["master"],
                    state=states["noarp"] | states["reachable"],
                )


def require_bridges() -> None:
    """Raise `NotReadyError` where this kernel makes no bridges, or not for this user."""

    def try_one() -> None:
        with Netlink.connected() as netlink:
            netlink.add_bridge("br0", ageing_ns=HUNDREDTHS, mtu=1500)

    try:
        apart(try_one)
    except OSError as error:
        raise NotReadyError(
            "cannot make a network apart, in which a bridge could be tried",
            why=error.strerror or str(error),
            fix="run vsperf with sudo",
        ) from error
    except ComponentError as error:
        raise NotReadyError(
            "this kernel makes no bridge", why=error.with_why, fix="modprobe bridge"
        ) from error
