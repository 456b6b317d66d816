"""Runs of programs held against each other: what decides more than the switch does is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from echoes import Bench
from exchanges import cpu, exchange, instance, use
from viewed_runs import case_of, method, stored

from vsperf.cli.main import run_cli
from vsperf.engine.judge_exchange import judged


@pytest.mark.parametrize(
    ("setting", "values"),
    [("search.pinning", ("same", "apart")), ("search.offloads", ("off", "on"))],
)
def test_what_decides_most_is_named_where_two_runs_differ_in_it(
    setting: str, values: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for letters, value in zip(("aaaa", "bbbb"), values, strict=True):
        used = use(cpu(0, busy=1), cpu(1, busy=0.7), cpu(2, busy=0.4), clients=1, servers=0.6)
        made = [judged(exchange(instance(1), cpu=used, index=number)) for number in (1, 2, 3)]
        case = case_of("places_tcp_stream", f"{setting}={value}", "vswitch.kind=linux-bridge")
        stored(tmp_path, case, letters, method(case).play(Bench(made)), made)
    assert run_cli(["compare", "aaaa", "bbbb", "--results", str(tmp_path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [setting, *values, "places_tcp_stream-1518B"] in lines
