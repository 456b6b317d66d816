"""What cannot take turns is refused before anything is started, with the reason and a way out."""

from __future__ import annotations

import pytest

from vsperf.cli.main import run_cli

MLR = "measure one switch at a time: --set search.kind=mlr"
REFUSED = {
    "the generator in a guest": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "generator.place=vm"),
        "cannot take turns with several switches",
        "from a guest nobody holds processes of the host still",
        "--set generator.place=host",
    ),
    "another generator": (
        ("--vswitch", "ovs-dpdk,testpmd", "--generator", "testpmd"),
        "generator testpmd cannot take turns with several switches",
        "search.kind=paired asks for it: it holds all switches but one still",
        "--generator tgen",
    ),
    "more ports than tgen has": (
        ("--vswitch", ",".join(["testpmd"] * 8)),
        "`vswitch` has 8 switches, the first of them once more, with 18 ports in all",
        "one generator has ports to all of them at the same time",
        "name at most 7 under `vswitch`, or --set search.control=false",
    ),
    "several workers": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "generator.workers=2"),
        "tgen takes turns with one worker, and has 2",
        "the thread that holds switches still is the one that sends and receives",
        "--set generator.workers=1",
    ),
    "a switch that nobody has held still": (
        ("--vswitch", "ovs-dpdk,vpp"),
        "a switch of the kind vpp cannot take turns with others",
        "what a VPP makes of that was not tried",
        MLR,
    ),
    "no switch": (
        ("--vswitch", "testpmd,none"),
        "a switch of the kind none cannot take turns with others",
        "there is no switch",
        MLR,
    ),
    "a switch on taps": (
        ("--vswitch", "testpmd,linux-bridge"),
        "a switch of the kind linux-bridge cannot take turns with others",
        "it cannot tell its own work from not being let run",
        MLR,
    ),
    "OVS on devices of the kernel": (
        ("--vswitch", "testpmd,ovs"),
        "a switch of the kind ovs cannot take turns with others",
        "it cannot tell its own work from not being let run",
        MLR,
    ),
    "a file that is sent": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "traffic.bursts={frames: 100, gap: 1ms}"),
        "tgen cannot send bursts in turns",
        "each turn begins its schedule anew",
        "no traffic.replay and no traffic.bursts",
    ),
    "a warm-up that leaves no room for a round": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "trial.warm_up=60s"),
        "a round would have 5,307 turns, 5,001 of them to become warm",
        "3,000 are the most that 3 switches have in one",
        "a shorter trial.warm_up, or fewer search.pairs",
    ),
    "collectors": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "collect=perf"),
        "`collect` asks for perf, and a comparison has no trials",
        "turns take milliseconds",
        "--set collect=none",
    ),
    "vnfs": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "topology=pvp"),
        "`search.kind` is paired, and topology pvp has vm1",
        "VNFs cannot be, so far",
        "--set topology=p2p",
    ),
}


def planned(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_cli(["plan", "phy2phy_paired", "--testbed", "local", *words])
    said = capfd.readouterr()
    return code, " ".join(f"{said.out} {said.err}".split())


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_what_why_and_a_fix(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words, *wanted = REFUSED[name]
    code, said = planned(capfd, *words)
    assert code == 2, said
    for text in wanted:
        assert text in said, said


@pytest.mark.parametrize("switches", ["ovs-dpdk,testpmd", "ovs-dpdk,ovs-dpdk"])
def test_these_take_turns(switches: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, said = planned(capfd, "--vswitch", switches)
    assert code == 0, said
    assert "start tgen on CPU" in said
    assert "with ports to 3 switches" in said


def test_a_single_switch_is_held_against_itself_and_the_plan_says_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, said = planned(capfd, "--vswitch", "testpmd")
    assert code == 0, said
    assert "a single switch is held against itself, deployed twice" in said
