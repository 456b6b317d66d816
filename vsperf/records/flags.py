"""What can be said against a trial or a result, and how much it weighs.

Flags are the vocabulary of doubt: each has one meaning, one severity, and one paragraph that
`vsperf explain FLAG` prints.
"""

from __future__ import annotations

import enum


class Severity(enum.StrEnum):
    """What a flag does to the trial that carries it."""

    NOTE = "note"
    """Worth knowing; the numbers stand."""
    SUSPECT = "suspect"
    """The numbers stand, but their reader must know this."""
    INVALID = "invalid"
    """No search may build on this trial; it is repeated."""


class Flag(enum.StrEnum):
    """One thing that can be said against a trial or a result."""

    severity: Severity
    meaning: str

    def __new__(cls, name: str, severity: Severity, meaning: str) -> Flag:
        member = str.__new__(cls, name)
        member._value_ = name
        member.severity = severity
        member.meaning = meaning
        return member

    @property
    def gist(self) -> str:
        """What it means, in one sentence."""
        return self.meaning.partition(". ")[0].rstrip(".")

    @property
    def gravity(self) -> Severity:
        """How grave it is for a result: none is graver than to say nothing of speed."""
        return Severity.INVALID if self in FUNCTIONAL_ONLY else self.severity

    @property
    def remedy(self) -> str:
        """What to do about it, in a line; empty where that depends on what went wrong."""
        return REMEDIES.get(self, "")

    # Of a trial: something makes its counters unusable.
    NOTHING_SENT = (
        "nothing-sent",
        Severity.INVALID,
        "The generator sent no frame although it was asked to. Without traffic there is no loss "
        "to see, so a search would take a dead generator for a perfect switch.",
    )
    NOTHING_RECEIVED = (
        "nothing-received",
        Severity.INVALID,
        "Frames were sent one way and not a single one arrived. That is a broken path or a dead "
        "switch, not overload.",
    )
    OVERSENT = (
        "oversent",
        Severity.INVALID,
        "The generator sent more frames than it was asked to, so the offered load was not the "
        "load that this trial stands for.",
    )
    RX_EXCEEDS_TX = (
        "rx-exceeds-tx",
        Severity.INVALID,
        "More frames arrived than were sent, and no duplicates account for it: frames of another "
        "trial, foreign frames, or counters read at different times. Loss cannot be computed.",
    )
    COUNTERS_MOVING = (
        "counters-moving",
        Severity.INVALID,
        "Counters still changed at the end of the drain time. A count that moves is not a result; "
        "a longer `trial.drain` helps if frames are just late.",
    )
    COUNTERS_IMPOSSIBLE = (
        "counters-impossible",
        Severity.INVALID,
        "A counter is negative or contradicts another one of the same trial.",
    )
    GENERATOR_ERROR = (
        "generator-error",
        Severity.INVALID,
        "The generator failed during the trial.",
    )
    SWITCH_ERROR = (
        "switch-error",
        Severity.INVALID,
        "The switch failed during the trial: a process of it ended, or no longer answers.",
    )
    VNF_ERROR = (
        "vnf-error",
        Severity.INVALID,
        "A VNF failed during the trial: it ended, or what forwards in it did.",
    )
    NOISE_ERROR = (
        "noise-error",
        Severity.INVALID,
        "The load that was to run beside the case ended during the trial, so nobody knows how much "
        "of the trial it was there for. The case is measured anew with another one.",
    )
    NOISE_SLACKENED = (
        "noise-slackened",
        Severity.INVALID,
        "The load beside the case did less during the trial than when it had settled (beyond "
        "`noise.tolerance`), or was not heard of. The trial does not stand for the noise that it "
        "is named after.",
    )
    STRETCHED = (
        "stretched",
        Severity.INVALID,
        "Sending took longer than intended (beyond `trial.stretch_tolerance`), so the offered "
        "rate was lower than the load that this trial stands for.",
    )
    RUSHED = (
        "rushed",
        Severity.INVALID,
        "The frames were sent in less time than they were due in (beyond "
        "`trial.stretch_tolerance`), so the offered rate was higher than the load that this trial "
        "stands for.",
    )
    WRONG_LOAD = (
        "wrong-load",
        Severity.INVALID,
        "The generator reports another number of frames to send, or of directions, than it was "
        "asked for: its counters belong to another trial, or its driver is wrong.",
    )
    EVENT_MISSED = (
        "event-missed",
        Severity.INVALID,
        "What was to be done to the switch or the VNFs in the middle of the trial was not, "
        "since the trial was over by then: the machine kept vsperf itself from running.",
    )
    # Of an exchange between programs: something makes what they tell unusable.
    PROGRAM_FAILED = (
        "program-failed",
        Severity.INVALID,
        "A program that was to exchange data ended early, was killed, named an error, or did not "
        "tell what it did. The others had the path for themselves then, so what they tell is the "
        "answer to another question.",
    )
    PROGRAM_LATE = (
        "program-late",
        Severity.INVALID,
        "An instance of a program began later than the first one by more than a tenth of the "
        "duration, so that others had the path for themselves for so long.",
    )
    SHORT_WINDOW = (
        "short-window",
        Severity.INVALID,
        "All instances exchanged data at the same time for less than nine tenths of the duration "
        "that was asked for. A rate is one of the time in which all of them ran.",
    )
    ENDS_DISAGREE = (
        "ends-disagree",
        Severity.INVALID,
        "The two ends of TCP, which loses nothing, differ on what was sent and what arrived: of a "
        "stream by more than 1 % and more than their sockets hold, of connections by responses "
        "that no server gave. Or more connections came to their end than a switch that counts them "
        "says that it accepted, or opened, so some went another way, or it counts wrongly.",
    )
    DEVICES_DISAGREE = (
        "devices-disagree",
        Severity.INVALID,
        "Programs say that more arrived than the network devices at the ends of the links counted, "
        "so it did not all come by the switch, or one of both counts wrongly. Or frames were "
        "longer than any can be without offloads.",
    )
    REQUESTS_FAILED = (
        "requests-failed",
        Severity.SUSPECT,
        "Some requests of HTTP failed: they were answered with a status other than 2xx, later "
        "than the program waits for, or not at all as their connection broke. The rate counts "
        "those that were answered well, and how long these took says nothing of the others.",
    )
    REQUESTS_WAITING = (
        "requests-waiting",
        Severity.SUSPECT,
        "More than one in a hundred requests was due by the clock and not answered when the time "
        "was over: more was asked for than was answered, or somebody stood still in the end. Each "
        "counts with as long as it had waited by then, so that times are at least so long.",
    )
    PACKETS_UNSENT = (
        "packets-unsent",
        Severity.SUSPECT,
        "More than one in a hundred packets that were due by the clock was not sent, as the client "
        "was kept from running: by its CPU, which others use, or by the machine. Each counts from "
        "when it was due to the answer of the next one that was sent, so this wait is in the times "
        "from when packets were due, and in none of those from when they were sent.",
    )
    PROGRAM_MISPINNED = (
        "program-mispinned",
        Severity.SUSPECT,
        "By the kernel's word a program could run on other CPUs than those that it was put on: it "
        "chose them itself, or somebody moved it. Whether both ends share a CPU, with each other "
        "or with the switch, decides more than most switches do, so the rate need not be that of "
        "the CPUs that are named beside it.",
    )
    # Of a trial: the counters stand, with a reservation.
    UNTIMED = (
        "untimed",
        Severity.SUSPECT,
        "The generator cannot tell how long it sent. Nobody knows whether the rate was that of the "
        "load, so the bounds are as exact as the generator is, and no more.",
    )
    UNPACED = (
        "unpaced",
        Severity.SUSPECT,
        "The generator sends as fast as it can, and not at the load. What was sent in a second is "
        "what it came to, and differs from trial to trial; no load between can be tried.",
    )
    COUNTED_BY_SWITCH = (
        "counted-by-switch",
        Severity.SUSPECT,
        "The switch's own counters say what was sent and what arrived, since the generator does "
        "not count. A switch that counts wrongly, or drops frames before it counts them, goes "
        "unnoticed.",
    )
    LATENCY_SAMPLED = (
        "latency-sampled",
        Severity.SUSPECT,
        "Latency is that of frames of a sampled stream, sent among the others at a rate of their "
        "own, and not of every frame. A percentile far out, or what happens to few frames in the "
        "rest, need not be in it; do not hold it against one of every frame.",
    )
    COUNTERS_RESET = (
        "counters-reset",
        Severity.SUSPECT,
        "A counter of the switch or of a VNF fell during the trial: it was reset, or wrapped. "
        "Where frames were lost cannot be told then; the generator's own counts stand.",
    )
    SHORT_OFFER = (
        "short-offer",
        Severity.SUSPECT,
        "The generator could not send all the frames it was asked to (beyond "
        "`trial.offered_tolerance`). Unsent frames count as lost, and the limit is the generator, "
        "not the switch. Of switches in turns it is more than 0.5 % of what was due to one at a "
        "load that is given, and there they are no loss of it.",
    )
    BUFFERED = (
        "buffered",
        Severity.SUSPECT,
        "Frames went on arriving for longer than they were sent: they had been waiting somewhere. "
        "A buffer hides overload until it is full, so a load that passed like this may be more "
        "than the switch can carry; longer trials tell.",
    )
    UNEXPLAINED = (
        "unexplained-loss",
        Severity.SUSPECT,
        "More frames are missing than the counters of switch and generator account for (beyond "
        "`trial.unexplained_tolerance`); or datagrams of programs than sockets, devices and switch "
        "do. Something on the path drops frames and does not say so.",
    )
    HOST_STALLED = (
        "host-stalled",
        Severity.NOTE,
        "All that this trial lost it lost in slots of time in which the generator, or the switch "
        "as the kernel has it, was kept from running. That loss is the machine's, and in clean "
        "time, which leaves such slots out, the trial passed.",
    )
    KEPT_FROM_RUNNING = (
        "switch-kept-from-running",
        Severity.NOTE,
        "A polling thread of the switch, or of a VNF behind it, did not run for so long that "
        "this alone can explain the whole loss of the trial: at its load more came in that time "
        "than a ring holds and what was lost. It waited for its CPU (run-queue delay) or "
        "a hypervisor gave its CPU to others (steal). The time is the sum over the trial, so the "
        "loss may be the switch's own all the same; `vsperf show RUN CASE --all` has it by thread.",
    )
    GENERATOR_PAUSED = (
        "generator-paused",
        Severity.SUSPECT,
        "The generator was kept from running for more than a tenth of the time in which it sent, "
        "and its schedule stood still meanwhile. Between these pauses the load was the one that "
        "this trial stands for; over all of the trial it was less, and the switch had rests. Go by "
        "clean time, which leaves them out, or measure on a machine that others use less.",
    )
    GENERATOR_BEHIND = (
        "generator-behind",
        Severity.SUSPECT,
        "Frames were lost while the generator was behind with receiving: it found one full burst "
        "after another, half a ring or more of them. What comes while a ring is full is lost, and "
        "that loss is the generator's. A result whose loss this explains is limited by the "
        "generator; fewer streams, more CPUs for it or a lower load help. Of switches in turns it "
        "was so in more than one of twenty turns of one, or a thousandth of its frames were lost "
        "like that: it may be faster than it seems beside the others.",
    )
    DUPLICATES = (
        "duplicates",
        Severity.SUSPECT,
        "Frames arrived more than once. Loss is computed from distinct frames.",
    )
    CORRUPTED = (
        "corrupted",
        Severity.SUSPECT,
        "Frames arrived with a damaged payload; they count as lost.",
    )
    REORDERED = (
        "reordered",
        Severity.NOTE,
        "Frames arrived in another order than they were sent. They count as received.",
    )
    FOREIGN = (
        "foreign-frames",
        Severity.NOTE,
        "Frames that are not of the test arrived. They are counted apart and never mixed in.",
    )
    UNCHECKED = (
        "unchecked-frames",
        Severity.NOTE,
        "Frames bear no mark of the generator: those of a file that is replayed may have no room "
        "for it, and a generator that counts by ports, such as testpmd, gives none. They are "
        "counted where they should arrive, so loss is complete; but a foreign frame there passes "
        "for one of them, and their order, copies and contents are not known.",
    )
    ONE_SIDED = (
        "one-sided",
        Severity.NOTE,
        "Only one direction lost frames. The search judges the worse direction; a sum over both "
        "would have hidden half of its loss.",
    )
    # Of a result.
    SHARED_CPU = (
        "shared-cpu",
        Severity.SUSPECT,
        "The result is functional only: parts that never sleep (the switch's polling thread, the "
        "generator, the processors of virtual machines) share a CPU, because there are too few. It "
        "shows that frames pass and not how fast, since the scheduler of the machine is what is "
        "measured.",
    )
    EMULATED = (
        "emulated-guest",
        Severity.SUSPECT,
        "The result is functional only: the processors of virtual machines are emulated in "
        "software (TCG), because KVM is not there or boots no guest. Such a guest is slower by "
        "orders of magnitude than one on KVM.",
    )
    TOO_BUSY = (
        "host-too-busy",
        Severity.SUSPECT,
        "Less than half of the time of its trials was clean, as the machine kept the generator "
        "or programs from running, or the switch as the kernel has it. A pause spoils more time "
        "than it takes (`vsperf explain clean`). Of programs it is the time of their CPUs and the "
        "switch's: others, or a hypervisor, had more than half of one, and no part had a full one "
        "to itself. The numbers stand for what came through: so much the switch did, and how much "
        "more it does nobody can tell. So exports have no rate of it. End what else runs, measure "
        "at another time (`vsperf run --wait 30m`), or on another machine. Beside noise that was "
        "asked for it is part of the question, and the rate stands.",
    )
    CORES_MOVED = (
        "cores-moved",
        Severity.NOTE,
        "The time that a cache line takes between the CPUs of generator and switch changed by "
        "more than half while the case was measured. On a virtual machine the hypervisor moves "
        "CPUs about; results from before and after such a move differ by up to a factor of two.",
    )
    UPPER_NOT_REPRODUCED = (
        "upper-not-reproduced",
        Severity.INVALID,
        "The load taken for an upper bound passed when it was tried again. Its loss was an "
        "accident (a stall, a rare random drop), so the interval does not bracket the capacity. "
        "A search that verifies loss (`mlr` with an exceed ratio, `tst009`) is made for this.",
    )
    REFUTED = (
        "refuted",
        Severity.INVALID,
        "Latency trials at or below the load that was found lost more than the goal allows. Where "
        "a search takes single trials for granted, one is enough; where it weighs them, so many "
        "did that the load no longer passes.",
    )
    SPORADIC_LOSS = (
        "sporadic-loss",
        Severity.NOTE,
        "What ended the search is a loss far smaller than that of overload: a few frames now and "
        "then, as from a stall, a batch that found a ring full for a moment, or a protocol. How "
        "long trials are decides on such a result as much as the switch does; a goal that allows "
        "a little loss (PDR) says what it can carry.",
    )
    LENGTH_MATTERS = (
        "length-matters",
        Severity.SUSPECT,
        "At a load short trials passed, and full-length ones failed, each time. The switch can "
        "carry it for a while only, and what is found depends on the length of a trial.",
    )
    CHANGED_SINCE = (
        "changed-since",
        Severity.SUSPECT,
        "The answer changed while it was measured: at the end of the search, three trials in a row "
        "failed at the load that had passed, or passed at the one that had failed. The switch or "
        "its machine was not the same (a clock, a cache, overload before), so the interval is that "
        "of no one moment. Longer trials and a longer warm-up help, if it comes to rest at all.",
    )
    FORWARDS_LESS = (
        "forwards-less",
        Severity.SUSPECT,
        "At the load that failed the switch forwarded less than what had passed at the lower one, "
        "more often than the goal lets a load fail. Either overload costs it some of what it can "
        "do, or it could do less by then than before. The interval is that of no one moment.",
    )
    STILL_WARMING = (
        "still-warming",
        Severity.SUSPECT,
        "In the second half of the warm-up the switch forwarded more and more, by a twentieth and "
        "above. It had not come to rest when the search began, so early trials may have failed at "
        "loads that it carries. A longer `trial.warm_up` helps.",
    )
    LOSS_INVERSION = (
        "loss-inversion",
        Severity.SUSPECT,
        "A load passed although a lower one failed. The result keeps to the lower side, as RFC "
        "9971 asks, and the switch may well do better at some higher load.",
    )
    CONSTANT_LOSS = (
        "constant-loss",
        Severity.SUSPECT,
        "Every trial lost the same few frames whatever the load. That is not overload; something "
        "takes those frames (a protocol daemon, the first frame of a flow).",
    )
    UNSTABLE = (
        "unstable",
        Severity.SUSPECT,
        "Equal trials at one load disagreed: some passed, some failed. A load counts as passed "
        "when enough of its trials do (the setting `exceed_ratio` says how many may fail), so the "
        "lower bound is no promise for the next trial. `--repeat` shows how far answers lie apart.",
    )
    OUT_OF_BUDGET = (
        "out-of-budget",
        Severity.SUSPECT,
        "The case's share of the budget was used up before the search ended. Of several cases each "
        "has a share by the time of its trials, one alone has all. The bounds are those found so "
        "far; the interval is wider than asked, or one-sided.",
    )
    FEWER_REPEATS = (
        "fewer-repeats",
        Severity.SUSPECT,
        "A trial stayed invalid after all its repeats, when the method had its answer and tried it "
        "again, or had done some of what it does several times; or a part failed when switches had "
        "taken turns in enough rounds for an answer. What was found before stands, from fewer runs "
        "than asked; a warning says which trial or part it was, and the run's record holds every "
        "attempt.",
    )
    AT_MINIMUM = (
        "none-at-minimum",
        Severity.SUSPECT,
        "Even the lowest load of the search failed, so there is no lower bound above zero.",
    )
    CONTROL_DIFFERS = (
        "control-differs",
        Severity.INVALID,
        "The first switch was deployed twice, and the two differ by more than chance should make. "
        "So something else than the switches decides, or it was one of the twenty times in which "
        "chance does make that. No other difference of the case is believed. Measure again, with "
        "more `search.rounds`; a machine with others on it needs more of them.",
    )
    COLD_TURNS = (
        "cold-turns",
        Severity.SUSPECT,
        "Of switches in turns, this one forwarded less right behind the guard than in the rest of "
        "its turns, by more than 1 % for sure: its caches were not yet its own again. So its rate "
        "is in part that of how it begins. A longer `search.guard` helps.",
    )
    NOT_OVERLOADED = (
        "not-overloaded",
        Severity.SUSPECT,
        "The load was meant to be too much for every switch, and this one forwarded all of it: the "
        "generator could offer no more, or receive full rings no faster. It may be faster than it "
        "seems.",
    )
    LEFT_TO_REGIMES = (
        "left-to-regimes",
        Severity.NOTE,
        "The machine moved its CPUs, and what a goal came to in a regime is its answer. More was "
        "not asked of all trials together, so their interval may be wider than the goal asks for, "
        "and rest on less.",
    )
    AS_NO_LOSS = (
        "asked-as-no-loss",
        Severity.SUSPECT,
        "No trial at the lower bound was of so many frames that one of them could be lost within "
        "the goal's loss ratio. So the goal was asked as one without loss, and says no more than "
        "that. Longer trials tell: for a ratio of 1e-7, of ten million frames each way "
        "(`search.final_duration`, or `search.duration`).",
    )


FUNCTIONAL_ONLY = (Flag.SHARED_CPU, Flag.EMULATED)
"""With these a result says nothing of speed."""
REMEDIES = {
    **dict.fromkeys(
        (
            *(Flag.TOO_BUSY, Flag.GENERATOR_PAUSED, Flag.STRETCHED, Flag.EVENT_MISSED),
            *(Flag.PROGRAM_LATE, Flag.SHORT_WINDOW, Flag.PACKETS_UNSENT, Flag.NOISE_SLACKENED),
        ),
        "end what else runs on this machine, or wait until it ends: `vsperf run … --wait 30m`",
    ),
    **dict.fromkeys(
        (
            *(Flag.UNSTABLE, Flag.CHANGED_SINCE, Flag.UPPER_NOT_REPRODUCED, Flag.REFUTED),
            *(Flag.LENGTH_MATTERS, Flag.BUFFERED, Flag.FORWARDS_LESS),
        ),
        "measure longer and several times: `vsperf run … --preset standard --repeat 4`",
    ),
    **dict.fromkeys(
        (Flag.SHORT_OFFER, Flag.GENERATOR_BEHIND),
        "give the generator more CPUs of its own, or ask for a lower load",
    ),
    Flag.NOT_OVERLOADED: "have the generator receive only, if it does not so far: `--set "
    "search.full_rings=true`; or ask with larger frames; or compare latency and loss below the "
    "overload: `--set 'search.load=80% of slowest'`",
    Flag.PROGRAM_MISPINNED: "find who moves it: the program itself, by its settings, or a daemon "
    "that shares out CPUs",
    Flag.SHARED_CPU: "measure on a machine with more CPUs; `vsperf plan` says who shares which",
    Flag.EMULATED: "measure where guests boot on KVM; `vsperf doctor` says why they do not here",
    Flag.STILL_WARMING: "let it warm up for longer: `trial.warm_up`",
    Flag.COUNTERS_MOVING: "wait longer for late frames: `trial.drain`",
    Flag.COLD_TURNS: "leave more of each turn out: `search.guard`",
    Flag.CONTROL_DIFFERS: "measure again, in more rounds: `search.rounds`",
    Flag.AS_NO_LOSS: "make trials longer: `search.final_duration`, or `search.duration`",
    Flag.OUT_OF_BUDGET: "give it more time: `vsperf run … --budget`",
}


def worst(flags: tuple[Flag, ...]) -> Severity | None:
    """Return the gravest severity among `flags`, or None if nothing was said."""
    order = (Severity.INVALID, Severity.SUSPECT, Severity.NOTE)
    present = {flag.severity for flag in flags}
    return next((severity for severity in order if severity in present), None)
