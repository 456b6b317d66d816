"""What cannot be asked of tgen, or of the ports that it was given."""

from __future__ import annotations

from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import ComponentError, UsageError
from vsperf.records.run import Endpoint


def check_devices(ports: list[dict[str, Any]], each: int) -> None:
    """Refuse a device that has fewer queues than workers are to send on."""
    for port in ports:
        if port["transmit_queues"] < each:
            raise ComponentError(
                f"{port['name']} has {port['transmit_queues']} queues to send on, and {each} "
                "workers are to send each direction",
                why="each of them needs a queue of its own",
                fix=f"--set generator.queues={port['transmit_queues']}, or a device with more",
            )


def check_queues(case: CaseSpec, endpoints: tuple[Endpoint, ...], queues: int) -> None:
    """Refuse a VNF that would send on queues which nobody empties."""
    plugged_in = any(endpoint.kind == "vhost-user-backend" for endpoint in endpoints)
    if plugged_in and queues < case.vnf_queues:
        raise UsageError(
            f"tgen serves {queues} of the {case.vnf_queues} queues of a VNF's NIC",
            why=f"in topology {case.topology.name} the generator is plugged into VNFs",
            fix=f"set generator.queues to {case.vnf_queues}, or vnf.queues to {queues}",
        )


def check_hosts(case: CaseSpec, spec: TgenSpec) -> None:
    """Refuse to say where hosts are that nobody knows, or that are nowhere."""
    traffic = case.traffic
    if traffic.destination != "unicast" and (case.trial.learning or spec.respond):
        setting = "trial.learning" if case.trial.learning else "generator.respond"
        raise UsageError(
            f"{setting} says where the hosts of the traffic are, and {traffic.destination} frames "
            "are for no single host",
            why="a switch that learns an address of a group is not one that anybody has",
            fix=f"--set {setting}=false, or --set traffic.destination=unicast",
        )
    if traffic.replay is not None and spec.respond:
        raise UsageError(
            "tgen answers for no hosts of a file that is replayed",
            why="whose addresses those in it are, nobody knows",
            fix="--set generator.respond=false, or no traffic.replay",
        )
