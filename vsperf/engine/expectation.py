"""What is expected of a case before it runs: a restless machine or not, and its time.

The times are medians on a machine of two CPUs; `tools/bench/estimate.py` holds them against runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vsperf.config.case import CaseSpec
from vsperf.deploy.planner import CasePlan
from vsperf.engine.checks import DURATION_NS
from vsperf.host.cpus import CpuTopology
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.estimate import (
    RESTLESS,
    STEADY,
    Estimate,
    Overheads,
    Presumption,
    Rehearsals,
    estimate,
    estimate_of_rounds,
)
from vsperf.methods.follow import followers
from vsperf.methods.throughput import Throughput
from vsperf.simulation.generator import GeneratorSettings

DEPLOYMENT_NS = 2_100_000_000
"""Start and end of switch and generator."""
VNF_NS = 4_000_000_000
"""Start and end of a VNF."""
CALIBRATION_NS = 1_200_000_000
STALLS_NS = 1_300_000_000
"""Of looking for stalls, the start of the program that does it included."""
TRIAL_NS = 22_000_000
"""Around each trial: counters, the distance of the CPUs, the record."""
MODELLED_TRIAL_S = 0.02
"""Of a model, per trial: to count the frames and to store the record. How long the trial is in the
model makes no difference, so no factor leads from one time to the other."""
MODELLED_ROUND_S = 0.05
"""Of a model, per round."""
NEVER_SLEEPING = ("generator", "pmd")


def expected(  # noqa: PLR0913 - a case, and what is presumed and known beside it
    spec: CaseSpec,
    presumed: Presumption,
    cap_fps: int | None,
    rehearsals: Rehearsals,
    *,
    first: bool,
    apart_ns: Sequence[int] = (),
    trial_ns: int = 0,
) -> Estimate:
    """Return what a case will take; `cap_fps` of the generator is None unless it is known.

    `first`: nothing is known of the machine's stalls. `apart_ns`: lengths of the trials that
    collectors have for themselves. `trial_ns`: what the generator takes beside each trial.
    """
    rounds_ns = method_of(spec).rounds_ns(spec)
    if rounds_ns:
        return _of_rounds(spec, rounds_ns, calibrated=cap_fps is not None, first=first)
    found = estimate(
        method_of(spec),
        spec.trial,
        loads_of(spec, cap_fps),
        [*(ns for follower in followers(spec) for ns in follower.durations_ns), *apart_ns],
        presumed,
        overheads(spec, calibrated=cap_fps is not None, first=first, trial_ns=trial_ns),
        rehearsals,
    )
    if not spec.testbed.simulated:
        return found
    waits = isinstance(spec.generator, GeneratorSettings) and spec.generator.realtime
    return replace(found, here_s=found.trials * MODELLED_TRIAL_S + waits * found.seconds)


def _of_rounds(
    spec: CaseSpec, rounds_ns: Sequence[int], *, calibrated: bool, first: bool
) -> Estimate:
    """Return what a case with rounds will take: everything is deployed for some of them.

    One switch and its generator are in what each case costs.
    """
    around = overheads(spec, calibrated=calibrated, first=first)
    further = max(0, len(spec.sides) * method_of(spec).rounds_anew - 1)
    anew_ns = 0 if spec.testbed.simulated else DEPLOYMENT_NS * further
    found = estimate_of_rounds(rounds_ns, around, anew_ns)
    if not spec.testbed.simulated:
        return found
    return replace(found, here_s=len(rounds_ns) * MODELLED_ROUND_S)


def presumption(spec: CaseSpec, plan: CasePlan, topology: CpuTopology) -> Presumption:
    """Return what is presumed of switch and machine.

    Trials agree in a model, and where the system keeps everybody else away from the CPUs in use.
    """
    used = {cpu for role in NEVER_SLEEPING for cpu in plan.plan.placement.of(role)}
    quiet = all(topology[cpu].isolated for cpu in used)
    return STEADY if spec.testbed.simulated or quiet else RESTLESS


def may_hold(spec: CaseSpec, plan: CasePlan) -> bool:
    """Whether trials may be held back, until CPUs that were moved are where they were."""
    method = method_of(spec)
    if not (isinstance(method, Throughput | ConnectionSearch) and method.of_time):
        return False
    if isinstance(spec.generator, GeneratorSettings):
        return spec.generator.host is not None
    return plan.busy_cpus is not None


def overheads(spec: CaseSpec, *, calibrated: bool, first: bool, trial_ns: int = 0) -> Overheads:
    """Return what a case costs beside traffic; a model costs nothing.

    `calibrated`: the generator's cap is known; `first`: nothing is known of the machine's stalls.
    `trial_ns`: what the generator takes beside each trial.
    """
    if spec.testbed.simulated:
        return Overheads()
    each_ns = TRIAL_NS + trial_ns
    path_check = DURATION_NS + spec.trial.overhead_ns + each_ns
    deployment_ns = DEPLOYMENT_NS + len(spec.topology.vnfs) * VNF_NS + path_check
    further = method_of(spec).deployments - 1
    warm_up = spec.trial.warm_up.ns
    warm_up += spec.trial.overhead_ns + each_ns if warm_up else 0
    return Overheads(
        case_ns=deployment_ns
        + further * (deployment_ns + warm_up)
        + (0 if calibrated else CALIBRATION_NS)
        + (STALLS_NS if first else 0),
        trial_ns=each_ns,
    )
