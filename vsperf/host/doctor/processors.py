"""Checks of the CPUs: how many, how quiet, and at which speed."""

from __future__ import annotations

from pathlib import Path

from vsperf.host.doctor.finding import Answer, Check, Group, Host, listed, ok, unknown, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.facts import hypervisor, turbo
from vsperf.host.files import cpu_list, field, integer, numbered, text

LONG_WAKE_US = 10


def _cpus(here: Host) -> Answer:
    present = cpu_list(here.roots.cpus / "present")
    of = f" of {len(present)}" if present else ""
    evidence = f"{len(here.usable)}{of} usable: {listed(here.usable)}"
    if len(here.usable) < 2:
        fix = "give the machine or the container two CPUs"
        return warning(f"{evidence}; switch and generator have to share", fix)
    return ok(evidence)


def _isolated(here: Host) -> Answer:
    isolated = cpu_list(here.roots.cpus / "isolated")
    if isolated is None:
        return unknown("the kernel does not list isolated CPUs")
    if inside := isolated & here.usable:
        return ok(listed(inside))
    wanted = listed(here.usable - {min(here.usable)}) or "CPUS"
    return warning(
        "none: the kernel may run anything on the CPUs that poll",
        f"boot with isolcpus=managed_irq,domain,{wanted}",
    )


def _tickless(here: Host) -> Answer:
    quiet = cpu_list(here.roots.cpus / "nohz_full")
    words = (text(here.roots.proc / "cmdline") or "").split()
    callbacks = next((w.partition("=")[2] for w in words if w.startswith("rcu_nocbs=")), None)
    wanted = listed(here.usable - {min(here.usable)}) or "CPUS"
    fix = f"boot with nohz_full={wanted} rcu_nocbs={wanted}"
    if quiet is None:
        return warning(
            "this kernel cannot stop its tick on a busy CPU (no CONFIG_NO_HZ_FULL)",
            "use a kernel that can",
        )
    if not quiet & here.usable:
        return warning("no CPU: each one is interrupted by the kernel's tick", fix)
    evidence = f"nohz_full on {listed(quiet & here.usable)}, rcu_nocbs on {callbacks or 'none'}"
    return ok(evidence)


def _governor(here: Host) -> Answer:
    found = {cpu: text(_frequency(here, cpu) / "scaling_governor") for cpu in sorted(here.usable)}
    known = {governor for governor in found.values() if governor}
    if not known:
        return unknown("the kernel controls no frequency here, as in most virtual machines")
    driver = text(_frequency(here, min(here.usable)) / "scaling_driver")
    evidence = ", ".join(sorted(known)) + (f" ({driver})" if driver else "")
    if known != {"performance"}:
        return warning(evidence, "cpupower frequency-set --governor performance")
    return ok(evidence)


def _turbo(here: Host) -> Answer:
    on = turbo(here.roots)
    if on is None:
        return unknown("the kernel shows no switch for it")
    if not on:
        return ok("off")
    pstate = here.roots.cpus / "intel_pstate" / "no_turbo"
    boost = here.roots.cpus / "cpufreq" / "boost"
    fix = f"echo 1 > {pstate}" if pstate.exists() else f"echo 0 > {boost}"
    return warning("on: the clock rate depends on temperature and neighbours", fix)


def _idle_states(here: Host) -> Answer:
    """Look for states from which a CPU is slow to wake."""
    deep, known = set(), False
    for cpu in here.usable:
        for _, state in numbered(here.roots.cpus / f"cpu{cpu}" / "cpuidle", "state"):
            latency = integer(state / "latency")
            known = known or latency is not None
            if latency is not None and latency > LONG_WAKE_US and not integer(state / "disable"):
                deep.add(f"{text(state / 'name') or state.name} ({latency} µs)")
    if not known:
        return unknown("the kernel lists no idle states")
    if deep:
        return warning(f"slow to wake: {', '.join(sorted(deep))}", "cpupower idle-set -D 10")
    return ok(f"all wake within {LONG_WAKE_US} µs")


def _smt(here: Host) -> Answer:
    active = integer(here.roots.cpus / "smt" / "active")
    pairs = set()
    for cpu in here.usable:
        folder = here.roots.cpus / f"cpu{cpu}" / "topology"
        siblings = cpu_list(folder / "thread_siblings_list")
        if siblings and len(siblings) > 1:
            pairs.add(listed(siblings))
    if pairs:
        return warning(
            f"on: {'; '.join(sorted(pairs))} share a core each",
            "list one CPU of each pair in hosts.local.cpus of the testbed",
        )
    if hypervisor(here.roots) is not None:
        return unknown("a virtual machine is not told whether its CPUs share a core")
    return unknown("the kernel does not say") if active is None else ok("off, or not there")


def _virtualisation(here: Host) -> Answer:
    if field(here.roots.proc / "cpuinfo", "flags") is None:
        return unknown("the CPU has no flags by which a hypervisor shows itself")
    host = hypervisor(here.roots)
    if host is None:
        return ok("no hypervisor seen")
    named = "" if host == "unknown" else f" ({host})"
    return warning(
        f"this is a virtual machine{named}: its speed depends on its neighbours",
        "repeat runs before comparing them, or use a machine of your own",
    )


def _mitigations(here: Host) -> Answer:
    """Name them only: to compare two machines that differ here compares their mitigations."""
    folder = here.roots.cpus / "vulnerabilities"
    states = {path.name: text(path) or "" for path in sorted(folder.glob("*"))}
    if not states:
        return unknown("the kernel does not list vulnerabilities")
    mitigated = [name for name, state in states.items() if state.startswith("Mitigation")]
    vulnerable = [name for name, state in states.items() if state.startswith("Vulnerable")]
    parts = [f"{len(mitigated)} mitigated ({', '.join(mitigated)})"] if mitigated else []
    parts += [f"{len(vulnerable)} open ({', '.join(vulnerable)})"] if vulnerable else []
    return ok("; ".join(parts) or "the CPU needs none")


def _frequency(here: Host, cpu: int) -> Path:
    return here.roots.cpus / f"cpu{cpu}" / "cpufreq"


CHECKS = tuple(
    Check(name, Group.PROCESSORS, ask, frozenset({Want.QUIET_CPUS}))
    for name, ask in (
        ("cpus", _cpus),
        ("isolated cpus", _isolated),
        ("tickless cpus", _tickless),
        ("governor", _governor),
        ("turbo", _turbo),
        ("idle states", _idle_states),
        ("smt", _smt),
        ("virtualisation", _virtualisation),
        ("mitigations", _mitigations),
    )
)
