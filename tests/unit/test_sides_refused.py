"""What cannot take turns is refused before anything is started, with the reason and a way out."""

from __future__ import annotations

import pytest
from config_world import planned, see_refused

PAIRED = "phy2phy_paired"
MLR = "measure one switch at a time: --set search.kind=mlr"
REFUSED: dict[str, tuple[tuple[str, ...], *tuple[str, ...]]] = {
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
    "a switch that routes": (
        ("--set", "vswitch=[{kind: ovs-dpdk}, {kind: vpp, forwarding: ip4}]"),
        "a switch of the kind vpp cannot take turns with others",
        "it routes, so frames have to be addressed to it",
        MLR,
    ),
    "a router of connections": (
        ("--vswitch", "testpmd,nftables"),
        "a switch of the kind nftables cannot take turns with others",
        "it forwards what belongs to a connection",
        MLR,
    ),
    "no switch": (
        ("--vswitch", "testpmd,none"),
        "a switch of the kind none cannot take turns with others",
        "there is no switch",
        MLR,
    ),
    "two switches of the kernel": (
        ("--vswitch", "linux-bridge,testpmd"),
        "A (linux-bridge) and A′ (linux-bridge once more) each have devices in a network of their",
        "a process is in one network",
        "name one such switch behind others, whose ports are sockets",
    ),
    "two bridges on pairs of devices": (
        ("--set", "vswitch={kind: linux-bridge, ports: pair}"),
        "A (linux-bridge) and A′ (linux-bridge once more) each have devices in a network of their",
    ),
    "OVS with its taps in the network of the host": (
        ("--vswitch", "testpmd,ovs"),
        "a switch of the kind ovs cannot take turns with others",
        "with vswitch.ports=packet it has a network of its own",
        MLR,
    ),
    "latency under an overload": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "search.metric=latency"),
        "under an overload all queues are full, so latency says nothing of switches",
        "give a `load`, such as 80% of slowest",
        "",
    ),
    "rings of switches with VNFs": (
        (
            *("--vswitch", "ovs-dpdk,testpmd", "--set", "search.full_rings=true"),
            *("--set", "topology=pvp", "--set", "vnf.kind=process"),
        ),
        "rings cannot be filled for switches with VNFs, so far",
        "what is seen is the chain",
        "--set search.full_rings=false",
    ),
    "less of the load on the way back": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "traffic.reverse_load=50%"),
        "the way back has 50% of the load",
        "the mean of its directions",
        "leave traffic.reverse_load out",
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
    "models of VNFs, since no model of turns has any": (
        ("--testbed", "sim", "--vswitch", "sim,sim", "--set", "topology=pvp"),
        "VNFs of the kind sim cannot take turns with their switches",
    ),
    "collectors": (
        ("--vswitch", "ovs-dpdk,testpmd", "--set", "collect=perf"),
        "`collect` asks for perf, and a comparison has no trials",
        "turns take milliseconds",
        "--set collect=none",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_what_why_and_a_fix(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words, *wanted = REFUSED[name]
    see_refused(capfd, PAIRED, words, wanted)


@pytest.mark.parametrize(
    "words",
    [
        ("--vswitch", "ovs-dpdk,testpmd"),
        ("--vswitch", "ovs-dpdk,ovs-dpdk"),
        ("--vswitch", "ovs-dpdk,vpp"),
        ("--vswitch", "testpmd,linux-bridge"),
        # OVS without DPDK, where it has a network of its own.
        ("--set", "vswitch=[{kind: testpmd}, {kind: ovs, ports: packet}]"),
    ],
    ids=lambda words: words[1],
)
def test_these_take_turns(words: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    code, said = planned(capfd, PAIRED, *words)
    assert code == 0, said
    assert "start tgen on CPU" in said
    assert "with ports to 3 switches" in said


@pytest.mark.parametrize("kind", ["process", "qemu"])
def test_vnfs_take_turns_with_their_switch_and_start_before_it(
    kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = ("--vswitch", "ovs-dpdk,testpmd", "--set", "topology=pvp", "--set", f"vnf.kind={kind}")
    code, said = planned(capfd, PAIRED, *asked)
    assert code == 0, said
    for side in ("A (ovs-dpdk)", "A′ (ovs-dpdk once more)", "B (testpmd)"):
        begins = [said.find(f"{part}: {side}:") for part in ("vnf", "vswitch")]
        assert 0 < begins[0] < begins[1], said


def test_a_single_switch_is_held_against_itself_and_the_plan_says_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, said = planned(capfd, PAIRED, "--vswitch", "testpmd")
    assert code == 0, said
    assert "a single switch is held against itself, deployed twice" in said
