"""Whatever stands in a record, a report shows it as text, and a page stays the page that it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from record_samples import case_record, case_start, header, plan, run_end, trial
from record_samples import goal as answered
from report_pages import Reader, markdown_of, read, whole_case
from stored_runs import RUN, store

from vsperf.output.table import escape_markdown
from vsperf.records.result import SearchResult
from vsperf.records.run import Check, Line, Placement, Step, TrialLine
from vsperf.records.switch import PortCounters, SwitchCounters

NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><svg onload=alert(1)>",
    "'; }</title></details></section>",
    "{{ 7 * 7 }}{% raw %}",
    "a\u202ertl\x1b]0;title\x07\x00",
    "# head | *bold* [link](javascript:1) `x` ~~gone~~ @somebody https://evil.example ![i](y)",
    "</summary></details>\n\n# not a heading\n- no list",
    "`</code><b>x",
    "$x^{",
    "&lt;b&gt; &amp;",
)
WORDS = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=30),
    st.text("<>&\"'`|*_[]()#!~\\\n{}%$", max_size=30),
).filter(lambda text: not any(0xD800 <= ord(one) < 0xE000 for one in text))


def hostile(word: str) -> list[Line]:
    """A run with the word in every place that takes a text of somebody."""
    case = whole_case(
        title=word,
        vswitch={"kind": word},
        generator={"kind": word},
        topology={"name": word, "paths": [["phy0", "phy1"]]},
        search={"kind": word, "min_load": word, "max_load": word, "width": word},
    ).model_copy(update={"key": f"key {word}", "label": word, "point": {"frame_size": word}})
    head = header().model_copy(
        update={
            "cases": (case,),
            "testbed": word,
            "preset": word,
            "argv": ("run", word),
            "started_at": word,
            "environment": {word: {word: word, "list": [word, {"name": word, "of": word}]}},
        }
    )
    goal = answered(1_000_000, 2_000_000, word, throughput_fps=1, reason=word)
    record = case_record(
        case.key,
        reason=word,
        result=SearchResult(goals=(goal,)),
        warnings=(word,),
        checks=(Check(criterion=word, met=None, found=word),),
    )
    step = Step(component=word, action=word, argv=("program", word), lines=(word,))
    placement = Placement(cpus={word: (1,), f"vsperf {word}": (0,)}, notes=(word,))
    done = plan().model_copy(update={"steps": (step,), "placement": placement, "notes": (word,)})
    start = case_start(case.key).model_copy(update={"plan": done})
    port = PortCounters(name=word, received_frames=1, sent_frames=1, drops={f"tx {word}": 5})
    switch = SwitchCounters(ports=(port,), drops={word: 2})
    made = trial(lost=9, switch=switch, error=word, reference=word)
    return [head, start, TrialLine(case=case.key, trial=made), record, run_end()]


FEW = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])


def page_of(word: str) -> Reader:
    """Read the page of a hostile run; this fails where an element is closed that is not open."""
    with tempfile.TemporaryDirectory() as name:
        return read(store(Path(name), RUN, hostile(word)))


@pytest.fixture(name="usual", scope="module")
def fixture_usual() -> set[str]:
    """Return the elements of a page on which nobody wrote anything strange."""
    return page_of("plain").tags


@FEW
@given(word=WORDS)
def test_no_text_becomes_a_part_of_the_page(word: str, usual: set[str]) -> None:
    page = page_of(word)
    assert page.tags <= usual | {"code"}
    assert page.handlers == []
    assert all(link.startswith("#") for link in page.links)
    assert not any(one in page.words for one in "\x00\x07\x1b\u202e")


@FEW
@given(WORDS)
def test_markdown_holds_no_html_link_or_heading_of_others(word: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        text = markdown_of(store(Path(name), RUN, hostile(word)))
    lines = text.splitlines()
    ours = ("## ", "### Criteria", "### Results", "### What", "### Measured", "### Cases")
    assert all(line.startswith(ours) for line in lines if line.startswith("#"))
    assert text.count("<details>") == text.count("</details>") == 1
    assert "<script" not in text
    assert "<img" not in text


@given(WORDS)
def test_escaped_markdown_is_one_line_without_marks(word: str) -> None:
    found = escape_markdown(word)
    assert "\n" not in found
    assert not set("<>@") & set(found)
    bare = found.replace("\\\\", "")
    assert all(bare[place - 1] == "\\" for place, one in enumerate(bare) if one in "*_[]|`~")
