"""`--mode trafficgen`: cases as a generator sees them whose device under test others deployed."""

from __future__ import annotations

from dataclasses import replace

from vsperf.config.case import Case
from vsperf.config.loader import Loaded
from vsperf.config.topology import Topology
from vsperf.errors import UsageError

MODE = "trafficgen"
OPTION = f"--mode {MODE}"


def seen_from_outside(loaded: Loaded) -> Loaded:
    """Return the cases with topologies of links alone: what lies between is not vsperf's."""
    return replace(loaded, cases=tuple(_case(case) for case in loaded.cases))


def _case(case: Case) -> Case:
    topology = case.spec.topology
    if not topology.vnfs:
        return case
    spec = case.spec.model_copy(update={"topology": _between_links(topology)})
    kept = {path: origin for path, origin in case.origins.items() if not _is_moved(path)}
    return replace(case, spec=spec, origins={**kept, "topology": OPTION})


def _is_moved(path: str) -> bool:
    return path.startswith("topology.") or path == "topology"


def _between_links(topology: Topology) -> Topology:
    """Return the same ends without the VNFs; parallel paths become one."""
    ends = dict.fromkeys((path[0], path[-1]) for path in topology.paths)
    vnfs = [end for pair in ends for end in pair if end in topology.vnfs]
    if vnfs:
        raise UsageError(
            f"topology {topology.name} cannot be measured from outside",
            why=f"its frames begin or end in {vnfs[0]}, and {OPTION} deploys no VNF",
            fix="choose a testcase whose topology begins and ends at links, such as pvp_tput",
        )
    found = [pair for pair in ends if pair[::-1] not in ends or pair <= pair[::-1]]
    name = "p2p" if found == [("phy0", "phy1")] else topology.name
    return Topology(name=name, paths=tuple(found))
