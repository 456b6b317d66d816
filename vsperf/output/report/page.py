"""What a report says, as plain data: templates show it, and decide on nothing."""

from __future__ import annotations

from dataclasses import dataclass

from vsperf.output.collected_tables import Saw
from vsperf.output.table import Table


@dataclass(frozen=True, slots=True)
class Fact:
    """Something with a name."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Told:
    """Facts of a case or a run; what is different alone, where most were told of one before."""

    facts: tuple[Fact, ...]
    like: str = ""
    """Anchor of that one; empty where all facts are here."""
    like_name: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """One answer of a case, with what defends it."""

    name: str
    meaning: str
    """What the name stands for; empty where it says so itself."""
    value: str
    plain: str
    """The same as a sentence."""
    facts: tuple[Fact, ...] = ()
    how: tuple[str, ...] = ()
    """How it was computed, in steps."""
    remark: str = ""
    """What has to be read with the value."""
    clean: str = ""
    """The answer from clean time, where it is another one."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Frames that did not go on."""

    name: str
    frames: str
    share: str
    why: str
    percent: float
    """Of what came to this place, for the width of a bar."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A place that frames come to, and those that end there."""

    name: str
    frames: str
    percent: float
    """Of what was to be sent."""
    lost: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """Where the frames of one trial went."""

    trial: int
    chosen: str
    """Why this trial and no other."""
    stages: tuple[Stage, ...]
    sums: str
    """The same as an equation."""
    remark: str


@dataclass(frozen=True, slots=True)
class Place:
    """A part that frames pass."""

    kind: str
    """generator, program, link, switch or VNF."""
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lane:
    """One way of frames, there and back, and how many went along it in a second."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A topology with CPUs and rates."""

    name: str
    lanes: tuple[Lane, ...]
    rates: tuple[str, ...]
    rates_of: str
    """Which trial the rates are of; empty where there are none."""
    others: tuple[Fact, ...]
    """CPUs of what frames do not pass."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan, as it can be done by hand."""

    number: int
    component: str
    action: str
    command: str
    """Empty where it is no command."""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """What was done to deploy a case."""

    steps: tuple[Step, ...]
    like: str
    """Anchor of a case with the same plan but for these steps; empty where all are here."""
    like_name: str
    memory: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to worry about, in plain words, with what to do."""

    weight: int
    """The lower, the graver."""
    word: str
    """What kind of doubt it is, such as `suspect`."""
    title: str
    text: str
    term: str = ""
    """What `vsperf explain` says more on; empty where it does not."""
    remedy: str = ""
    """What to do about it, in a line; empty where that depends."""

    @property
    def more(self) -> str:
        """The text without what the title has said of it."""
        return self.text.removeprefix(self.title).removeprefix(".").strip()


@dataclass(frozen=True, slots=True)
class Concern:
    """A doubt and the cases that it is about."""

    doubt: Doubt
    cases: str
    """Empty where it concerns them all."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a case stands to a standard."""

    standard: str
    about: str
    level: str
    mark: str
    meaning: str
    deviations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Criterion:
    """Something that was asked of a number."""

    word: str
    text: str
    found: str
    case: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that was drawn."""

    name: str
    title: str
    caption: str
    svg: str
    simulated: bool
    plots: str = ""
    """The same as JSON, of a page that is interactive."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One number of a case beside noise, held against the quiet case; in words."""

    label: str
    """Of the case beside noise, as it was planned."""
    case: str
    """What both cases are called without their noise."""
    number: str
    level: str
    quiet: str
    noisy: str
    change: str
    judged: str
    """By what means, and how often chance alone makes such a change."""
    repeats: str
    """Of the quiet case and of the one beside noise."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What noise cost in a run, and what has to be read with that."""

    run: str
    rows: tuple[Cost, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CostPart:
    """The same as a table of the page."""

    run: str
    """Empty where the report is of one run."""
    table: Table | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CasePart:
    """All that is said of one case."""

    anchor: str
    label: str
    short: str
    """The label without what all cases of the report have in common."""
    folded: bool
    line: str
    """What it came to, where it is folded."""
    title: str
    outcome: str
    reason: str
    simulated: bool
    state: tuple[str, ...]
    """What the case did not come to, in sentences."""
    asked: Told
    numbers: tuple[Number, ...]
    criteria: tuple[Criterion, ...]
    published: Table | None
    """Its figures beside those that others published, where it repeats a report."""
    latency: Table | None
    curves: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    drawn: Drawn | None
    account: Account | None
    accounts: Table | None
    cpu: tuple[Table, ...]
    """Who used the CPUs while programs exchanged data."""
    cpu_meaning: str
    noise: Table | None
    """What ran beside it, and what that reached."""
    costs: tuple[str, ...]
    """What that cost, against the quiet case."""
    collected: tuple[Saw, ...]
    plan: Planned | None
    found: Told
    """What was found on switch, VNFs, generator and host."""
    doubts: tuple[Doubt, ...]
    standings: tuple[Standing, ...]
    trials: Table | None
    trials_hint: str
    """The command that shows all trials."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run as a whole came out; its tone is good, bad, open or doubt."""

    word: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class Brief:
    """A question, and its answer in a line."""

    question: str
    answer: str
    anchor: str
    """Where the page says more on it, in which words; empty where it does not."""
    more: str


@dataclass(frozen=True, slots=True)
class Compared:
    """What is known of runs by holding them against others."""

    costs: tuple[Costs, ...] = ()
    """What noise cost."""
    before: Brief | None = None
    """Whether they are slower than before; None where there is nothing before."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """One of the runs that a report is made of."""

    anchor: str
    name: str
    state: str
    facts: tuple[Fact, ...]
    environment: tuple[tuple[str, Told], ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen says, and the table below it."""

    title: str
    subtitle: str
    simulated: bool
    verdict: Verdict
    brief: tuple[Brief, ...]
    """What to know before anything else."""
    answers: tuple[Number, ...]
    more: str
    """How many runs have an answer that is not among these; empty where none has."""
    facts: tuple[Fact, ...]
    concerns: tuple[Concern, ...]
    first: str
    """What to do first about them; empty where that depends."""
    criteria: tuple[Criterion, ...]
    words: tuple[Fact, ...]
    """What the words of the page mean, those of columns first."""
    results: Table
    legend: tuple[str, ...]
    repeats: Table | None
    costs: tuple[CostPart, ...]
    """What noise cost, for each run that has levels of it."""
    pictures: tuple[Picture, ...]
    runs: tuple[RunPart, ...]
    standings: tuple[tuple[Standing, str], ...]
    vsperf: str
    compact: bool
    """Whether cases are told in brief, since there are many."""
