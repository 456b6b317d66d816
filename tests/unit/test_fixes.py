"""What an error or a check advises can be typed as it stands, as far as a machine can tell.

It reads the source: whatever is handed over as a fix, with the constants and the functions of the
same file that it is made of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from all_wrong import REPOSITORY, modules, none_wrong, relative

from vsperf.config.document import ANY_NAME, settable_paths
from vsperf.config.topology import Topology
from vsperf.plugins import Plugins
from vsperf.records.flags import Flag

FOURTH, SECOND = 3, 1
POSITIONS = {"Problem": FOURTH, "absent": SECOND, "failure": SECOND, "warning": SECOND}
"""Where a fix stands in a call, unless it is named."""
FILLED = "{}"
"""What is only known when it runs."""
SECTIONS = (
    r"(?:cache|collect|generator|noise|program|search|testbed|topology|traffic|trial|vnf|vswitch)"
)
BARE = re.compile(rf"(?<!--set )(?<![\w.=`'-]){SECTIONS}\.[a-z_.{{}}]+=")
SETTING = re.compile(rf"--set ({SECTIONS}(?:\.[a-z_]+)+)=")
NAMED = re.compile(rf"`({SECTIONS}(?:\.[a-z_]+)+)`")
COMMAND = re.compile(r"(?:apt-get|cpupower|echo|modprobe|mount|pip|rm|sudo|sysctl|vsperf) ")


def test_a_setting_that_is_advised_is_written_as_an_option() -> None:
    none_wrong(f"{at}: {fix}" for at, fix in _fixes() if BARE.search(fix))


def test_each_mistake_and_each_thing_that_is_missing_comes_with_what_mends_it() -> None:
    raised = (
        (path, node.exc)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    )
    none_wrong(
        f"{relative(path)}:{error.lineno}: no fix"
        for path, error in raised
        if getattr(error.func, "id", None) in ("UsageError", "NotReadyError")
        and not {word.arg for word in error.keywords} & {"fix", None}
    )


def test_a_setting_that_is_advised_exists() -> None:
    known = set(settable_paths(Plugins.load().specs()))
    known |= {f"topology.{name}" for name in Topology.model_fields}
    known |= {path.replace(ANY_NAME, "local") for path in known}
    advised = [(at, path) for at, fix in _fixes() for path in SETTING.findall(fix)]
    remedies = [(flag, path) for flag in Flag for path in NAMED.findall(flag.remedy)]
    assert advised and remedies
    none_wrong(f"{at}: {path}" for at, path in (*advised, *remedies) if path not in known)


def test_what_is_not_too_much_for_a_switch_is_not_made_less() -> None:
    assert "a lower load" in Flag.SHORT_OFFER.remedy
    assert "a lower load" not in Flag.NOT_OVERLOADED.remedy
    assert "--set 'search.load=80% of slowest'" in Flag.NOT_OVERLOADED.remedy


def test_a_command_that_is_advised_has_no_remark_that_a_shell_would_read() -> None:
    none_wrong(f"{at}: {fix}" for at, fix in _fixes() if COMMAND.match(fix) and " (" in fix)


def test_what_is_wrong_in_a_specification_is_told_with_what_mends_it() -> None:
    none_wrong(
        f"{relative(path)}:{node.lineno}"
        for path in sorted((REPOSITORY / "vsperf" / "config").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Problem"
        and len(node.args) <= FOURTH
        and not any(one.arg == "fix" for one in node.keywords)
    )


def _fixes() -> Iterator[tuple[str, str]]:
    for path in modules():
        yield from _fixes_of(path)


def _fixes_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield all that a file hands over as a fix, with its line."""
    tree = ast.parse(path.read_text())
    made = _made_of(tree)
    for node in ast.walk(tree):
        for one in _handed_over(node):
            for text in _texts(one, made):
                yield f"{relative(path)}:{one.lineno}", text


def _handed_over(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            at = POSITIONS.get(name, len(node.args))
            named = (one.value for one in node.keywords if one.arg in {"fix", "otherwise"})
            return [*named, *node.args[at:][:1]]
        case ast.Assign(targets=[ast.Name(id="fix" | "option")]):
            return [node.value]
    return []


def _made_of(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Return by name what constants are, and what functions return."""
    made: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                made[name] = [node.value]
            case ast.FunctionDef(name=name):
                returned = (one for one in ast.walk(node) if isinstance(one, ast.Return))
                made[name] = [one.value for one in returned if one.value is not None]
    return made


def _texts(node: ast.AST, made: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Yield the texts that an expression may be."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            parts = (one.value if isinstance(one, ast.Constant) else FILLED for one in values)
            yield "".join(map(str, parts))
        case ast.Name(id=name) if name in made:
            for one in made[name]:
                yield from _texts(one, {})
        case ast.Call(func=ast.Name(id=name)) if name in made:
            for one in made[name]:
                yield from _texts(one, {key: of for key, of in made.items() if key != name})
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child, made)
