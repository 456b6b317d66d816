"""`vsperf explain`: the vocabulary of results, from the same definitions that produce them."""

from __future__ import annotations

import difflib
import json

import click

from vsperf.cli.tables import console
from vsperf.errors import ExitCode, UsageError
from vsperf.plugins import Plugin, Plugins
from vsperf.records.flags import Flag
from vsperf.records.meaning import LEVELS, LIMITS, OUTCOMES, SEVERITIES, STANDARDS
from vsperf.records.result import Assumption
from vsperf.records.words import ALSO, SUBJECTS, without_ending

METHODS = "methods"
"""The subject of what `search.kind` can be, with the packages that are installed."""
WIDEST = 88
"""Columns of a line that is read easily."""


def topics() -> dict[str, dict[str, str]]:
    """Return every term with its explanation, by subject."""
    return {
        "exit-codes": {str(int(code)): code.meaning for code in ExitCode},
        "outcomes": {outcome.value: text for outcome, text in OUTCOMES.items()},
        "limits": {limit.value: text for limit, text in LIMITS.items()},
        "flags": {
            flag.value: f"[{flag.severity}: {SEVERITIES[flag.severity]}] {flag.meaning}"
            for flag in Flag
        },
        "assumptions": {one.value: one.meaning for one in Assumption},
        "standards": {standard.value: text for standard, text in STANDARDS.items()},
        "compliance": {level.value: text for level, text in LEVELS.items()},
        **{subject: dict(words) for subject, words in SUBJECTS.items()},
    }


def _methods() -> dict[str, Plugin]:
    return {one.kind: one for one in Plugins.load().all if one.section == "search"}


def _told(method: Plugin) -> str:
    summary = method.summary or "It cannot be loaded."
    return f"{summary[:1].upper()}{summary[1:]}. In a testcase: search.kind={method.kind}."


def complete_topic(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete subjects and terms."""
    names = [name for subject, terms in topics().items() for name in (subject, *terms)]
    names += [*ALSO, METHODS, *_methods()]
    return [name for name in names if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n  vsperf explain                 # all subjects\n"
    "  vsperf explain exit-codes\n  vsperf explain 5\n  vsperf explain rx-exceeds-tx\n"
    "  vsperf explain NDR\n  vsperf explain cycles/frame\n  vsperf explain so it is\n"
    "  vsperf explain ratio_b\n"
)
@click.argument("words", nargs=-1, metavar="[TOPIC]", shell_complete=complete_topic)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], as_json: bool) -> None:
    """Explain TOPIC: a subject, or a word: a column, a figure, an exit code, a flag, a method."""
    found = find(" ".join(words) or None)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = min(WIDEST, console().width)
    for subject, terms in found.items():
        click.echo(click.style(subject.replace("-", " ").capitalize(), bold=True))
        for term, text in terms.items():
            click.echo(f"  {click.style(term, fg='cyan')}")
            click.echo(click.wrap_text(text, width, "      ", "      "))


def find(topic: str | None) -> dict[str, dict[str, str]]:
    """Return what is explained of a word or a subject, by subject; of none, all there is."""
    everything, methods = topics(), _methods()
    if topic in {None, METHODS}:
        told = {METHODS: {kind: _told(one) for kind, one in methods.items()}}
        return told if topic else {**everything, **told}
    if topic in everything:
        return {topic: everything[topic]}
    for word in filter(None, (topic, without_ending(topic))):
        wanted = _plain(ALSO.get(word.lower(), word))
        found = {
            subject: {term: text for term, text in terms.items() if _plain(term) == wanted}
            for subject, terms in everything.items()
        }
        found[METHODS] = {
            kind: _told(one) for kind, one in methods.items() if _plain(kind) == wanted
        }
        if any(found.values()):
            return {subject: terms for subject, terms in found.items() if terms}
    subjects = [*everything, METHODS]
    terms = (term for terms in everything.values() for term in terms)
    names = dict.fromkeys([*subjects, *methods, *terms])
    close = difflib.get_close_matches(topic, names, n=3, cutoff=0.5)
    fix = f"did you mean {' or '.join(close)}?" if close else f"subjects: {', '.join(subjects)}"
    raise UsageError(f"there is nothing to explain under {topic!r}", fix=fix)


def _plain(word: str) -> str:
    return word.lower().replace("-", " ").replace("_", " ")
