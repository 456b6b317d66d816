"""Templates in settings of VNFs: what they can say, and that none takes long."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsperf.drivers.vnfs.settings import LONGEST, render

VM = {"vm": {"name": "vm3", "index": 3}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no template", "no template"),
        ("10.0.0.{{ vm.index }}", "10.0.0.3"),
        ("{{ vm.name }}.qcow2", "vm3.qcow2"),
        ("{{ 8 * vm.index + 1 }}", "25"),
        ("{{ (vm.index - 1) // 2 }}-{{ vm.index % 2 }}", "1-1"),
        ("52:54:00:00:00:{{ '%02x' % vm.index }}", "52:54:00:00:00:03"),
        ("52:54:00:00:00:{{ '%02x' | format(vm.index) }}", "52:54:00:00:00:03"),
        ("{{ 'first' if vm.index == 1 else 'other' }}", "other"),
        ("{% if vm.index > 2 %}late{% else %}early{% endif %}", "late"),
        ("{{ vm.name | upper }}{{ vm['index'] ~ 'a' }}", "VM33a"),
    ],
)
def test_an_expression_is_worked_out_for_each_vnf(text: str, found: str) -> None:
    assert render(text, VM) == found


NESTED = 9 * "{% for a in range(99999) %}" + "x" + 9 * "{% endfor %}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NESTED, "it holds a for"),
        ("{% for a in 'ab' %}{% endfor %}", "it holds a for"),
        ("{{ 10 ** 10 ** 10 }}", "it holds a pow"),
        ("{{ 'a' * 10000000000 }}", "only numbers are multiplied"),
        ("{{ vm.index * 'a' }}", "only numbers are multiplied"),
        ("{{ [0] * 10000000000 }}", "it holds a list"),
        ("{{ '%9999999999d' % vm.index }}", "999 characters"),
        ("{{ '%*d' % vm.index }}", "999 characters"),
        ("{{ '%9999999999d' | format(vm.index) }}", "999 characters"),
        ("{{ 'a'.center(9999999999) }}", "it holds a call"),
        ("{{ 'a' | center(9999999999) }}", "center"),
        ("{% set a = 'b' %}{{ a }}", "it holds a assign"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "it holds a macro"),
        ("{% include 'a' %}", "it holds a include"),
        ("{{ range }}", "'range' is undefined"),
        ("{{ vm.colour }}", "colour"),
        ("{{ ''.__class__ }}", "is unsafe"),
        ("{{ vm.index / 0 }}", "division by zero"),
        ("{{ '\x00' }}", "control character"),
        (r"{{ '\x00' }}", "control character"),
        ("{{", "end of template"),
        ("{{ 1 }}" + " " * LONGEST, "4096 characters"),
    ],
)
def test_what_would_take_long_or_makes_no_sense_is_refused_with_its_reason(
    text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        render(text, VM)


@pytest.mark.parametrize("text", ["(" * 1000 + "1" + ")" * 1000, "9 *" * 1000 + "9", "-" * 4000])
def test_a_deep_expression_is_worked_out_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert render(f"{{{{ {text} }}}}", VM).isdigit()


OPERATORS = ("**", "*", "%", "~", "-", "(", ")", "[", "]", ",", " ", " if ", " else ", "}}", "{{")
PIECES = st.sampled_from(
    (
        *("vm", ".index", ".name", "vm.index", "'ab'", "9", *OPERATORS),
        *("|format", "|int", "|string", "|lower", "|list", "|join(9)", "range(9)"),
        *("{% for a in vm %}", "{% endfor %}"),
    )
)


@given(words=st.lists(PIECES, max_size=40))
def test_any_words_give_a_text_or_a_reason(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert len(render("{{" + "".join(words) + "}}", VM)) < 100_000
