"""Which criteria are for which case, and what is wrong with those that are for none.

Where `search` is a list each of its items asks another question, so a metric of one may be none of
another: a criterion says by `search` which it is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from vsperf.config.alternatives import KIND, named_items
from vsperf.config.case import CaseSpec
from vsperf.config.document import Drivers
from vsperf.config.expect import Bound, Expectation
from vsperf.config.method import MethodSpec
from vsperf.config.suggest import did_you_mean, listed, quoted
from vsperf.config.tree import Listing, Node, Scalar, Section, find, plain
from vsperf.config.validation import Context, validate
from vsperf.errors import Problem
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.unit import Unit

EXPECT, SEARCH = "expect", "search"
PERCENTILE = re.compile(r"p\d+(\.\d+)?")


def asked_by(document: Section) -> dict[str, Section]:
    """Return each method of a document by the name that its cases have; one alone by its kind."""
    node = document.get(SEARCH)
    if isinstance(node, Listing):
        return {one.name: one.section for one in named_items(node)}
    kind = find(node, KIND)
    return {str(plain(kind)): node} if isinstance(node, Section) and kind is not None else {}


def expected_of(document: Section, name: str) -> Section:
    """Return the document with those criteria alone that are for what is asked by a name."""
    others = [n for n, item in enumerate(_items(document)) if not _is_for(item, name)]
    return document.without_items(EXPECT, others)


def metric_problems(document: Section, drivers: Drivers) -> dict[int, Problem]:
    """Return, by number, which expectations name no metric of the method, or not in its unit.

    They are looked for before the document is whole, so that they are told with all else that is
    wrong in it. A method that cannot be read says nothing of its metrics.
    """
    problems: dict[int, Problem] = {}
    methods = asked_by(document)
    for name, search in methods.items():
        kind = find(search, KIND)
        model = drivers.get(SEARCH, {}).get(str(plain(kind))) if kind is not None else None
        method = validate(search, model, Context())[0] if model is not None else None
        if not isinstance(method, MethodSpec):
            continue
        for index, item in enumerate(_items(document)):
            if not _is_for(item, name) or index in problems:
                continue
            if (found := _metric_problem(item, method, document)) is not None:
                which = f"say which one it is for, by `search:` in it; {name}: {found.fix}"
                problems[index] = replace(found, fix=which) if len(methods) > 1 else found
    return problems


def beside_metrics(document: Section, wrong: Mapping[int, Problem]) -> Iterator[Problem]:
    """Yield what else is wrong in expectations whose metric is: they are read no further."""
    for index, item in enumerate(_items(document)):
        metric = find(item, "metric")
        if metric is None or index not in wrong or not isinstance(item, Section):
            continue
        if metric.mark.location == wrong[index].where:  # and not its bound
            yield from validate(item, Expectation, Context())[1]


def _metric_problem(item: Node, method: MethodSpec, document: Section) -> Problem | None:
    latency = document.get("latency")
    timed = bool(method.asked()) and latency is not None and plain(latency) is not None
    known = (*method.metrics(), *(("p50", "p99") if timed else ()))
    node = find(item, "metric")
    metric = plain(node) if node is not None else None
    if node is None or not isinstance(metric, str):
        return None
    if metric in known or (timed and PERCENTILE.fullmatch(metric)):
        return _of_another_unit(item, metric, method)
    what = f"expect names {quoted(metric)}, which is no metric of this case"
    return Problem(what, node.mark.location, None, f"this case has {', '.join(known)}")


def _of_another_unit(item: Node, metric: str, method: MethodSpec) -> Problem | None:
    """Return that the bound of an expectation is of another unit than its metric, if it is one."""
    if metric in method.losses():
        return None
    names: tuple[str, ...] = ("min", "max")
    if (unit := method.metrics().get(metric)) is None:
        unit, names = Unit.NANOSECONDS, ("max",)  # a percentile of latency
    elif metric in method.asked():
        names = ("min",)
    for name in names:
        bound = find(item, name)
        if bound is None:
            continue
        with suppress(UnitError):
            read = Bound.parse(plain(bound))  # what is no bound at all, its model says
            try:
                read.read(unit)
            except UnitError as error:
                what, _, fix = str(error).partition("; ")
                return Problem(f"`{name}` of {metric}: {what}", bound.mark.location, None, fix)
    return None


def expectations_for(spec: CaseSpec) -> list[int]:
    """Return which expectations apply to a case, by their number."""
    size = spec.traffic.frame_size
    return [i for i, one in enumerate(spec.expect) if one.frame_size in (None, size)]


def of_no_size(cases: Sequence[tuple[CaseSpec, Section]]) -> list[Problem]:
    """Note expectations for a frame size that the testcase does not have; with cases are documents.

    This is no mistake where a layer above the expectations narrows the sizes: who runs one of
    seven with `--set`, or extends a testcase with one size, does so on purpose.
    """
    sizes = {spec.traffic.frame_size for spec, _ in cases}
    problems: dict[Node, Problem] = {}
    for spec, document in cases:
        for expectation, item in zip(spec.expect, _items(document), strict=False):
            node = find(item, "frame_size")
            if node is None or expectation.frame_size in (None, *sizes):
                continue
            what = f"an expectation is for frames of {expectation.frame_size}, which no case has"
            fix = f"sizes of this testcase: {listed(str(size) for size in sorted(sizes))}"
            problems[item] = Problem(what, node.mark.location, None, fix)
    return list(problems.values())


def of_no_method(document: Section) -> list[Problem]:
    """Note expectations for what nobody asks by that name; likewise."""
    methods: Mapping[str, Section] = asked_by(document)
    problems = []
    for item in _items(document):
        node = find(item, SEARCH)
        if isinstance(node, Scalar) and node.value is not None and str(node.value) not in methods:
            what = f"an expectation is for {quoted(str(node.value))}, which `search` does not ask"
            fix = did_you_mean(str(node.value), methods, f"it asks {listed(methods)}")
            problems.append(Problem(what, node.mark.location, None, fix))
    return problems


def _items(document: Section) -> tuple[Node, ...]:
    node = document.get(EXPECT)
    return node.items if isinstance(node, Listing) else ()


def _is_for(item: Node, name: str) -> bool:
    """Whether a criterion is for what is asked by a name."""
    node = find(item, SEARCH)
    said = plain(node) if node is not None else None
    return said is None or str(said) == name
