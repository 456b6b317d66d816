"""What a guest's own kernel counts, asked of its agent."""

from __future__ import annotations

from vsperf.qemu.agent import Agent
from vsperf.qemu.answers import SeenSystem, understood

ANSWER_S = 1.0


def seen_inside(vm: str, agent: Agent) -> dict[str, dict[str, int]]:
    """Return the counters of the guest and of each of its processors, by whom they are about."""
    seen = understood(vm, agent.ask("system", ANSWER_S), SeenSystem)
    return {
        vm: {"interrupts": seen.interrupts, "context_switches": seen.switches},
        **{f"{vm} cpu {one.number}": one.model_dump(exclude={"number"}) for one in seen.processors},
    }
