"""What a method is asked, as far as the rest of a specification refers to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.base import DriverSpec, Spec
from vsperf.config.topology import Topology
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import FrameSize, LinkSpeed, Ratio

RESTARTED = "restarted"
"""`case.search.done_to_switch` of a method that has the switch ended and started again."""
MADE_TO_FORGET = "made to forget what it has seen"
"""The same of one that has it forget flows, or addresses."""
GIVEN_OTHER_RULES = "given other rules"
"""The same of one that adds rules, and takes them out again."""

GoalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


class Goal(Spec):
    """One question to the switch: the highest load with at most this loss."""

    loss_ratio: Ratio
    """Loss that still counts as success: 0 for NDR, 0.5% for a usual PDR."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A setting that another one, or another section, leaves no room for."""

    path: str
    """Of the setting, below the section."""
    what: str
    why: str
    fix: str | None = None


class MethodSpec(DriverSpec):
    """The settings of a method; `kind` names it."""

    COMPARES: ClassVar[bool] = False
    """Whether all switches of a list are deployed at the same time and held against each other
    within one case, rather than measured in a case each."""
    PLACES: ClassVar[bool] = False
    """Whether programs exchange data between places at the ends of the links, where others have the
    generator send frames."""
    PROBED: ClassVar[bool] = False
    """Whether a program of its own measures latency beside those of the places."""
    CONNECTIONS: ClassVar[bool] = False
    """Whether the generator opens connections from one end to the other, and is both of them."""
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset()
    """What its trials need of a generator beside what those of other methods of its kind do."""

    def asked(self) -> Mapping[str, Goal]:
        """Return its goals by name, with every value filled in; latency may refer to them."""
        return {}

    def metrics(self) -> Mapping[str, Unit]:
        """Return what a criterion can be about: goals, and the names of figures."""
        return dict.fromkeys(self.asked(), Unit.FPS)

    def losses(self) -> frozenset[str]:
        """Return which of them are the loss of each load: a criterion on such takes `max_loss`."""
        return frozenset()

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return what its trials need of a generator, beside what frames and latency need."""
        return self.ASKS_BESIDES | {Ability.PACED, Ability.EXACT}

    @property
    def done_to_switch(self) -> str | None:
        """What is done to the switch beside sending frames through it, as a participle."""
        return None

    def controlled(self, *, rivals: int) -> bool:
        """Whether the first of so many rivals and one takes part twice, where it compares."""
        return False

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield what cannot be, for frames of a size on a link."""
        yield from ()

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield what cannot be in a topology."""
        yield from ()
