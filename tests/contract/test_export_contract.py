"""All formats of this installation keep the promises of exports."""

from __future__ import annotations

import pytest
from export_contract import ExportContract

from vsperf.output.export.base import Format
from vsperf.output.export.catalog import format_names, load_format


@pytest.mark.parametrize("driver", sorted(format_names()), indirect=True)
class TestEach(ExportContract):
    @pytest.fixture
    def driver(self, request: pytest.FixtureRequest) -> Format:
        return load_format(request.param)
