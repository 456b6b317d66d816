"""`vsperf explain`: the vocabulary of results, from the same definitions that produce them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from vsperf.cli.selection import library
from vsperf.cli.stored import say_json
from vsperf.cli.tables import console
from vsperf.cli.terminal import between_words
from vsperf.config.described import Choice, Row, choices_of, described
from vsperf.config.document import BY_KIND, document_schema
from vsperf.errors import ExitCode, UsageError
from vsperf.plugins import Plugin, Plugins
from vsperf.records.flags import Flag
from vsperf.records.meaning import LEVELS, LIMITS, OUTCOMES, SEVERITIES, STANDARDS
from vsperf.records.result import Assumption
from vsperf.records.words import ALSO, SUBJECTS, without_ending

METHODS, METHOD = "methods", "search"
"""The subject of what `search.kind` can be, with the packages that are installed."""
DRIVERS = "drivers"
"""The subject of all else that packages bring."""
CALLED = {
    "vswitch": "--vswitch {}",
    "generator": "--generator {}",
    "vnf": "--vnf {}",
    "program": "--program {}",
    "probe": "--set probe.kind={}",
    METHOD: "--set search.kind={}",
    "collect": "--set collect={}",
    "noise": "--noise {}",
    "export": "vsperf export {}",
    "figure": "vsperf plot {}",
    "event": "--set search.event={}",
}
"""How a kind is called on the command line."""
NAMED = {
    "testcases": "vsperf run {}",
    "testbeds": "--testbed {}",
    "presets": "--preset {}",
    "topologies": "--set topology={}",
    "noise": "--noise {}",
}
"""What files have a name, and how each is called."""
SETTING = re.compile(r"\w+(?:[._\[\]]+\w+)*")
"""What may be a setting, by its path or the last part of one."""
MARKUP = re.compile(r"\[([^]]+)\]\([^)]*\)|(?<!\w)\*([^*]+)\*(?!\w)")
"""Links and italics of a page."""
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


def _told(plugins: Iterable[Plugin]) -> dict[str, str]:
    """Say of each how it is called, and what it is."""
    found: dict[str, str] = {}
    for one in plugins:
        called = CALLED[one.section].format(one.kind)
        text = _said(called, one.summary or "It cannot be loaded.")
        found[one.kind] = f"{found[one.kind]} {text}" if one.kind in found else text
    return found


def _said(called: str, text: str) -> str:
    return f"`{called}`: {text.removesuffix('.')}."


def _methods() -> tuple[Plugin, ...]:
    return tuple(one for one in Plugins.load().all if one.section == METHOD)


def _drivers() -> tuple[Plugin, ...]:
    others = (one for one in Plugins.load().all if one.section != METHOD)
    return (*others, *Plugins.beside())


def complete_topic(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete subjects and terms."""
    names = [name for subject, terms in topics().items() for name in (subject, *terms)]
    names += [*ALSO, METHODS, DRIVERS, *(one.kind for one in (*_methods(), *_drivers()))]
    return [name for name in names if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n  vsperf explain                 # all words, by subject\n"
    "  vsperf explain exit-codes\n  vsperf explain 5\n  vsperf explain rx-exceeds-tx\n"
    "  vsperf explain NDR\n  vsperf explain cycles/frame\n  vsperf explain so it is\n"
    "  vsperf explain ratio_b\n  vsperf explain ovs-dpdk\n  vsperf explain search.width\n"
)
@click.argument("words", nargs=-1, metavar="[TOPIC]", shell_complete=complete_topic)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(words: tuple[str, ...], as_json: bool) -> None:
    """Explain TOPIC: a subject, or a word.

    Words are columns, figures, flags, exit codes, methods, drivers, presets, testcases, and
    settings by their paths.
    """
    topic = " ".join(words) or None
    if as_json:
        say_json(find(topic))
    elif topic is None:
        _print_index(console())
    else:
        _print_terms(console(), find(topic))


def _print_terms(out: Console, found: Mapping[str, Mapping[str, str]]) -> None:
    for subject, terms in found.items():
        out.print(Text(subject.replace("-", " ").capitalize(), "bold"))
        for term, text in terms.items():
            out.print(Text(f"  {term}", "cyan"))
            _print_broken(out, text, " " * 6)


def _print_index(out: Console) -> None:
    """Print the words alone; with what they mean they fill some twenty screens."""
    names = {subject: list(terms) for subject, terms in topics().items()}
    for subject, offered in {METHODS: _methods(), DRIVERS: _drivers()}.items():
        names[subject] = list(dict.fromkeys(one.kind for one in offered))
    for subject, words in names.items():
        out.print(Text(subject, "bold"))
        _print_broken(out, " · ".join(words), "  ")
    hint = "what they mean: vsperf explain WORD, or SUBJECT; all at once: vsperf explain --json"
    _print_broken(out, hint, "")


def _print_broken(out: Console, text: str, indent: str) -> None:
    out.print(between_words(Text(indent + text), min(WIDEST, out.width), indent))


def find(topic: str | None) -> dict[str, dict[str, str]]:
    """Return what is explained of a word or a subject, by subject; of none, all there is."""
    everything, offered = topics(), {METHODS: _methods(), DRIVERS: _drivers()}
    if topic is None:
        return {**everything, **{name: _told(all_) for name, all_ in offered.items()}}
    if topic in offered:
        return {topic: _told(offered[topic])}
    if topic in everything:
        alike = {name: terms[topic] for name, terms in everything.items() if topic in terms}
        beside = {name: {topic: text} for name, text in alike.items() if name != topic}
        return {**beside, topic: everything[topic]}
    if told := _as_printed(topic, everything):
        return told
    for word in filter(None, (topic, without_ending(topic))):
        wanted = _plain(ALSO.get(word.lower(), word))
        found = {
            subject: {term: text for term, text in terms.items() if _plain(term) == wanted}
            for subject, terms in everything.items()
        }
        for name, plugins in offered.items():
            meant = (one for one in plugins if _plain(one.kind) in (wanted, _plain(word)))
            found[name] = _told(meant)
        if any(found.values()):
            return {subject: terms for subject, terms in found.items() if terms}
    if told := _in_files(topic) or _of_settings(topic) or _of_choices(topic):
        return told
    subjects = [*everything, *offered]
    terms = (term for terms in everything.values() for term in terms)
    kinds = (one.kind for plugins in offered.values() for one in plugins)
    words = (one.word for section in _schema()["properties"] for one in _choices(section))
    names = dict.fromkeys([*subjects, *kinds, *terms, *words])
    close = difflib.get_close_matches(topic, names, n=3, cutoff=0.5)
    if (setting := setting_meant(topic)) is not None:
        close = [setting]
    fix = f"did you mean {' or '.join(close)}?" if close else f"subjects: {', '.join(subjects)}"
    raise UsageError(f"there is nothing to explain under {topic!r}", fix=fix)


def _as_printed(
    topic: str, everything: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return what is explained of a word with its subject before it, such as `limit: host`."""
    subject, _, word = (part.strip() for part in topic.partition(":" if ":" in topic else " "))
    names = (name for name in (subject, f"{subject}s") if word in everything.get(name, ()))
    return {name: {word: everything[name][word]} for name in names}


def _in_files(topic: str) -> dict[str, dict[str, str]]:
    """Return the title of what has that name in a file, such as a preset or a testcase."""
    places, found = library(), {}
    for kind, called in NAMED.items():
        if topic not in (files := places.files(kind)):
            continue
        heads = (places.head(files[topic], section) for section in ("", kind.removesuffix("s")))
        title = next((head.title for head in heads if head.title), "It has no title")
        found[kind] = {topic: _said(called.format(topic), title)}
    return found


def _of_settings(topic: str) -> dict[str, dict[str, str]]:
    """Return what a setting means, by its path or the last part of one."""
    if not SETTING.fullmatch(topic):
        return {}
    wanted = topic.replace("[]", "").split(".")
    rows = (row for row in _settings() if _is_path(row.path.replace("[]", "").split("."), wanted))
    found: dict[str, str] = {}
    for row in rows:
        name = f"{row.path} ({row.kind})" if row.kind else row.path
        meaning = f"{row.meaning.removesuffix('.')}. " if row.meaning else ""
        default = f" By default {row.default}." if row.default else ""
        text = MARKUP.sub(r"\1\2", f"{meaning}Value: {row.value}.{default}")
        found[name] = " ".join(text.split())
    if not found and topic in _schema()["properties"]:
        found[topic] = _of_section(topic)
    return {"settings": found} if found else {}


def _of_section(section: str) -> str:
    """Say what can be set in a section, of whatever kind it is."""
    paths = (row.path for row in described(_schema(), section) if not row.kind)
    names = (path.removeprefix(f"{section}.").partition(".")[0] for path in paths)
    inside = dict.fromkeys(name.removesuffix("[]") for name in names)
    return f"A section with the settings {', '.join(inside)}."


def _of_choices(topic: str) -> dict[str, dict[str, str]]:
    """Return what a word means that settings can be chosen by, such as a model of a switch."""
    told: dict[tuple[str, str], dict[str, None]] = {}
    for section in _schema()["properties"]:
        for one in _choices(section):
            if one.word == topic:
                told.setdefault((one.path, one.meaning), {})[one.kind] = None
    texts: dict[str, str] = {}
    for (path, meaning), kinds in told.items():
        having = f"of {', '.join(kinds)}: " if any(kinds) else ""
        text = " ".join(MARKUP.sub(r"\1\2", f"{having}{meaning}").split())
        texts[path] = f"{texts[path]} {text}" if path in texts else text
    return {"choices": texts} if texts else {}


@cache
def _schema() -> dict[str, Any]:
    return document_schema(Plugins.load().specs())


@cache
def _choices(section: str) -> tuple[Choice, ...]:
    return () if section in BY_KIND else choices_of(_schema(), section)


def _settings() -> Iterator[Row]:
    schema = _schema()
    return (row for section in schema["properties"] for row in described(schema, section))


def setting_meant(word: str) -> str | None:
    """Return the path of the setting that was probably meant; None where none ends nearly so."""
    endings: dict[str, str] = {}
    for row in _settings():
        if "[]" not in row.path and "NAME" not in row.path:
            endings.setdefault(row.path.rpartition(".")[2], row.path)
    near = difflib.get_close_matches(word.replace("-", "_"), endings, n=1, cutoff=0.85)
    return endings[near[0]] if near else None


def _is_path(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a path is meant; a name that the user chose stands for any."""
    if len(wanted) == 1:
        return list(path[-1:]) == list(wanted)
    pairs = zip(path, wanted, strict=False)
    return len(path) == len(wanted) and all(one in ("NAME", other) for one, other in pairs)


def _plain(word: str) -> str:
    return re.sub(r"\Arfc(?=\d)", "rfc ", word.lower().replace("-", " ").replace("_", " "))
