"""Whatever is shipped can be measured by the presets that standards are named after."""

from __future__ import annotations

import pytest
from conftest import REPOSITORY

from vsperf.plugins import Plugins
from vsperf.spec.loader import Request, load
from vsperf.spec.lookup import Library
from vsperf.trafficgens.tgen.checks import check_hosts
from vsperf.trafficgens.tgen.spec import TgenSpec


@pytest.mark.parametrize("preset", ["rfc2544-strict", "tst009"])
def test_every_testcase_goes_with_it(preset: str) -> None:
    library = Library.find({}, REPOSITORY)
    names = tuple(library.files("testcases"))
    loaded = load(Request(names, testbed="local", preset=preset), library, Plugins.load().specs())
    assert {case.spec.name for case in loaded.cases} == set(names)
    ours = [case.spec for case in loaded.cases if isinstance(case.spec.generator, TgenSpec)]
    assert len({spec.name for spec in ours}) > len(names) // 2
    for spec in ours:
        assert isinstance(spec.generator, TgenSpec)
        check_hosts(spec, spec.generator)
