"""What the words of a result mean, for people: `vsperf explain` and reports say it."""

from __future__ import annotations

from vsperf.records.flags import Severity
from vsperf.records.result import Level, Limit, Standard
from vsperf.records.run import Outcome

SEVERITIES = {
    Severity.NOTE: "the numbers stand",
    Severity.SUSPECT: "the numbers stand, with a reservation",
    Severity.INVALID: "the numbers are not used",
}
LIMITS = {
    Limit.DUT: "The switch, the device under test, lost frames that were really sent: this is its "
    "capacity. Of programs: it had no CPU time left, or dropped what they sent.",
    Limit.VNF: "Most frames ended in the VNFs, or before their full rings. The "
    "switch may do better with faster VNFs.",
    Limit.GENERATOR: "The generator could not send more, or programs that are in its place had no "
    "CPU time left. The switch may do better.",
    Limit.SERVER: "The programs that answer had no CPU time left, or did not read what came to "
    "them. The switch may do better.",
    Limit.LINK: "The line rate passed, and no link carries more. The switch may do better.",
    Limit.HOST: "What made trials fail was lost while the machine kept generator or switch from "
    "running, or had their CPUs at another distance, so it says nothing on the switch. Where there "
    "is an answer from clean time, or by regime, that is without it. Of programs: others had a CPU "
    "for a good part of the time that had nothing left.",
    Limit.UNCOUNTED: "Frames went missing, and no counter of switch or VNFs says where. The "
    "switch may do better, or something beside it drops frames.",
    Limit.SETTING: "The highest load that the settings allow (`search.max_load`) passed. Of "
    "programs: what was asked for by a clock (`search.rate`) was answered.",
    Limit.BUDGET: "The case's share of the budget was used up before the limit was found.",
    Limit.UNKNOWN: "Trials contradict each other, as the flags say, so little of their time was "
    "clean that nobody can tell whose loss it was, or there is no answer, for the reason given. Of "
    "programs: none had nothing left, or several had.",
}
LIMITED_BY = {
    Limit.DUT: "the switch",
    Limit.VNF: "the VNFs",
    Limit.GENERATOR: "the generator",
    Limit.SERVER: "the programs that answer",
    Limit.LINK: "the line rate",
    Limit.HOST: "the host",
    Limit.UNCOUNTED: "something that nobody counted",
    Limit.SETTING: "the highest load that was allowed",
    Limit.BUDGET: "the budget",
    Limit.UNKNOWN: "it cannot be told",
}
OUTCOMES = {
    Outcome.PASS: "It was measured, and every criterion of `expect:` was met. Where there is none, "
    "no target was set, and nobody says whether that is enough.",
    Outcome.FAIL: "It was measured, and a criterion was missed for certain.",
    Outcome.INVALID: "It ran, but its number cannot be trusted, or cannot answer a criterion: the "
    "loss that would miss it may be that of the machine, say.",
    Outcome.ERROR: "A component failed before there was a number.",
    Outcome.SKIP: "It was not run, for the reason given.",
    Outcome.ABORTED: "It was interrupted; `vsperf run --resume RUN` runs it again.",
}
STANDARDS = {
    Standard.RFC2544: "Benchmarking methodology: constant loads, 60 s trials, no loss at all.",
    Standard.RFC2889: "Benchmarking of LAN switches: forwarding rate, addresses, broadcast.",
    Standard.RFC6201: "Reset time: how long nothing is forwarded, by loss and by time stamps.",
    Standard.RFC8219: "Latency as a distribution: typical, worst case, and its variation.",
    Standard.RFC9004: "Back-to-back frames: the longest burst without loss, and the buffer.",
    Standard.RFC9971: "MLRsearch: several loss ratios in one search, from short trials to long. A "
    "result is irregular where only one of its bounds was found, and is named so.",
    Standard.TST009: "ETSI GS NFV-TST 009: binary search with loss verification.",
}
ETHERNET_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""Which frame sizes of Ethernet are to be measured: RFC 2544 section 9.1 [B]."""
LEVELS = {
    Level.UNCONDITIONAL: "Every must and should of the standard is met.",
    Level.CONDITIONAL: "Every must is met; the deviations list the shoulds that are not.",
    Level.NOT: "The deviations change what the number means.",
}


DIED = "made before a part died, so it does not count"
"""Said of a trial, an exchange or a round on what the case was not measured on in the end."""


def how_far(*, begun: bool, refuted: str | None) -> str:
    """Say in a word how far a case came that has no outcome, or none that stands."""
    if refuted:
        return "refuted"
    return "interrupted" if begun else "not run"
