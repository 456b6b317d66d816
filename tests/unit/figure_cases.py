"""Cases as readers see them, made by hand for the tests of figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from record_samples import case_record, header, planned

from vsperf.records.files.view import CaseView
from vsperf.records.result import SearchResult
from vsperf.records.run import Outcome
from vsperf.records.trial import Trial

RUN = "2026-11-20-phy2phy_tput-k7f3"
CABLE = {"speed": "10Gbit/s"}
RING = {"speed": "100Gbit/s", "virtual": True}


def case(
    size: str = "64B",
    *,
    result: SearchResult | None = None,
    trials: tuple[Trial, ...] = (),
    run: str = RUN,
    simulated: bool = False,
    outcome: Outcome = Outcome.PASS,
    finished: bool = True,
    spec: dict[str, Any] | None = None,
    **changes: Any,
) -> CaseView:
    """Return a case with frames of a size; `spec` replaces sections of its specification."""
    sections: dict[str, Any] = {
        "name": "phy2phy_tput",
        "topology": {"name": "p2p", "paths": [["phy0", "phy1"]]},
        "traffic": {"frame_size": size, "flows": "1", "direction": "both"},
        "testbed": {"name": "lab", "links": {"phy0": CABLE, "phy1": CABLE}},
        "vswitch": {"kind": "ovs-dpdk"},
        "generator": {"kind": "tgen"},
    }
    point = changes.pop("point", {"frame_size": size})
    repeat = changes.pop("repeat", 1)
    if (made := changes.pop("trials_made", None)) is not None:
        changes["trials"] = made
    one = planned(
        key=f"phy2phy_tput-{size}-{repeat}",
        id=f"phy2phy_tput-{size}",
        label=f"phy2phy_tput-{size}",
        point=point,
        repeat=repeat,
        spec={**sections, **(spec or {})},
    )
    record = case_record(one.key, outcome=outcome, result=result, **changes) if finished else None
    top = header(run, simulated=simulated).model_copy(update={"cases": (one,)})
    return CaseView(Path(run), top, one, record=record, trials=trials, attempt=1)
