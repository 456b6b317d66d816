"""The database of an instance, by the Idl of Open vSwitch: settings in, state out.

Every wait has a deadline and looks at whether the daemons still live.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.ovs.layout import BRIDGE, SwitchPort
from vsperf.errors import ComponentError
from vsperf.records.run import Placeholder, shown
from vsperf.stop import raise_if_stopped

LOOK_MS = 50
"""Longest time between two looks at whether the daemons live."""
TABLES = {
    "Open_vSwitch": (
        "bridges",
        "cur_cfg",
        "next_cfg",
        "other_config",
        "dpdk_initialized",
        "dpdk_version",
        "iface_types",
        "ovs_version",
    ),
    "Bridge": ("name", "datapath_type", "fail_mode", "other_config", "ports"),
    "Port": ("name", "interfaces"),
    "Interface": (
        "name",
        "type",
        "options",
        "other_config",
        "ofport",
        "ofport_request",
        "mtu",
        "mtu_request",
        "error",
        "status",
        "link_state",
    ),
}
"""What is read. Statistics are not: they lag by seconds, and would be sent on and on."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What the switch made of a port."""

    name: str
    number: int | None
    """OpenFlow port number; None as long as it has none, -1 when it could not be opened."""
    error: str | None
    mtu: int | None
    status: dict[str, str]


class Database:
    """A connection to the database of one instance."""

    def __init__(self, idl: Any, look: Callable[[], None]) -> None:
        self._idl = idl
        self._look = look

    def set_up(self, other_config: Mapping[str, str], patience_s: float) -> None:
        """Write the settings that the daemon reads when it starts."""

        def write(transaction: Any) -> None:
            row = self._row() or transaction.insert(self._idl.tables["Open_vSwitch"])
            row.other_config = dict(other_config)

        self._commit(write, patience_s)

    def add_bridge(self, ports: tuple[SwitchPort, ...], datapath: str, patience_s: float) -> None:
        """Make the bridge with all its ports at once, and wait until the switch has done so."""
        deadline = time.monotonic() + patience_s
        root = self._row()

        def write(transaction: Any) -> None:
            tables = self._idl.tables
            bridge = transaction.insert(tables["Bridge"])
            bridge.name = BRIDGE
            bridge.datapath_type = datapath
            bridge.fail_mode = "secure"  # no rule of its own
            bridge.other_config = {"disable-in-band": "true"}
            local = SwitchPort(BRIDGE, 65534, None, "internal")
            rows = [_insert(transaction, tables, port) for port in (local, *ports)]
            bridge.ports = rows
            root.bridges = [bridge]
            root.next_cfg = root.next_cfg + 1

        self._commit(write, patience_s)
        self.wait_until(
            lambda: root.cur_cfg >= root.next_cfg,
            deadline - time.monotonic(),
            "the switch has not taken up its ports",
        )

    def give_options(self, options: Mapping[str, Mapping[str, str]], patience_s: float) -> None:
        def write(transaction: Any) -> None:
            for row in self._idl.tables["Interface"].rows.values():
                if row.name in options:
                    row.options = dict(options[row.name])

        self._commit(write, patience_s)

    def wait_until(
        self, condition: Callable[[], object], patience_s: float, otherwise: str
    ) -> None:
        """Wait until the condition holds on what the database says."""
        deadline = time.monotonic() + patience_s
        while True:
            self._idl.run()
            if condition():
                return
            self._look()
            if time.monotonic() > deadline:
                raise ComponentError(f"{otherwise} within {patience_s:.0f} s")
            self._doze()

    def is_up(self, *, dpdk: bool) -> bool:
        """Whether the daemon can be given ports, and has brought up DPDK if it has to."""
        row = self._row()
        if row is None:
            return False
        return bool(row.dpdk_initialized if dpdk else row.iface_types)

    def interfaces(self) -> tuple[Interface, ...]:
        """Return what became of the ports."""
        return tuple(_interface(row) for row in self._idl.tables["Interface"].rows.values())

    def without_link(self) -> frozenset[str]:
        """Return the interfaces at whose other end nobody is, as the switch says."""
        rows = self._idl.tables["Interface"].rows.values()
        return frozenset(row.name for row in rows if _first(row.link_state) == "down")

    def facts(self, name: str) -> dict[str, Any]:
        """Return versions and settings as found, with the deployment's name as plans have it.

        It is another one each time, and no two switches would ever be set alike.
        """
        row = self._row()
        if row is None:
            return {}
        return {
            "ovs_version": _first(row.ovs_version),
            "dpdk_version": _first(row.dpdk_version),
            "other_config": {
                key: value.replace(name, shown(f"{Placeholder.NAME}"))
                for key, value in sorted(row.other_config.items())
            },
            "interface_types": sorted(row.iface_types),
        }

    def _row(self) -> Any:
        return next(iter(self._idl.tables["Open_vSwitch"].rows.values()), None)

    def _commit(self, write: Callable[[Any], None], patience_s: float) -> None:
        from ovs.db.idl import Transaction

        deadline = time.monotonic() + patience_s
        while True:
            transaction = Transaction(self._idl)
            write(transaction)
            status = transaction.commit()
            while status == Transaction.INCOMPLETE:
                self._look()
                if time.monotonic() > deadline:
                    raise ComponentError(
                        f"the database of the switch did not answer within {patience_s:.0f} s"
                    )
                self._doze(transaction)
                self._idl.run()
                status = transaction.commit()
            if status in (Transaction.SUCCESS, Transaction.UNCHANGED):
                return
            if status != Transaction.TRY_AGAIN:
                raise ComponentError(
                    "the database of the switch refused a change", why=transaction.get_error()
                )
            self._idl.run()

    def _doze(self, transaction: Any = None) -> None:
        from ovs.poller import Poller

        raise_if_stopped()
        poller = Poller()
        self._idl.wait(poller)
        if transaction is not None:
            transaction.wait(poller)
        poller.timer_wait(LOOK_MS)
        poller.block()


@contextmanager
def connected(
    socket: Path, schema: Path, look: Callable[[], None], patience_s: float
) -> Iterator[Database]:
    """Connect to a database; `look` raises when a daemon no longer lives."""
    from ovs.db.idl import Idl, SchemaHelper

    helper = SchemaHelper(location=str(schema))
    for table, columns in TABLES.items():
        helper.register_columns(table, list(columns))
    idl = Idl(f"unix:{socket}", helper)
    try:
        database = Database(idl, look)
        database.wait_until(idl.has_ever_connected, patience_s, "the database was not reached")
        yield database
    finally:
        idl.close()


def _insert(transaction: Any, tables: Any, port: SwitchPort) -> Any:
    interface = transaction.insert(tables["Interface"])
    interface.name = port.interface
    interface.type = port.type
    interface.options = dict(port.options)
    interface.other_config = dict(port.other_config)
    if port.number != 65534:
        interface.ofport_request = [port.number]
    if port.mtu_request is not None:
        interface.mtu_request = [port.mtu_request]
    row = transaction.insert(tables["Port"])
    row.name = port.interface
    row.interfaces = [interface]
    return row


def _interface(row: Any) -> Interface:
    return Interface(
        name=row.name,
        number=_first(row.ofport),
        error=_first(row.error),
        mtu=_first(row.mtu),
        status=dict(row.status),
    )


def _first(values: Any) -> Any:
    """Return the value of an optional column, or None."""
    return values[0] if values else None
