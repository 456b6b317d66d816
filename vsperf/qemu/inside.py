"""What a guest's own kernel counts, asked of its agent."""

from __future__ import annotations

from vsperf.qemu.agent import Agent
from vsperf.qemu.answers import SeenSystem, understood

ANSWER_S = 1.0


def seen_inside(machine: str, agent: Agent) -> dict[str, dict[str, int]]:
    """Return the counters of the guest and of each of its processors, by whom they are about."""
    seen = understood(machine, agent.ask("system", ANSWER_S), SeenSystem)
    return {
        machine: {"interrupts": seen.interrupts, "context_switches": seen.switches},
        **{
            f"{machine} cpu {one.number}": one.model_dump(exclude={"number"})
            for one in seen.processors
        },
    }
