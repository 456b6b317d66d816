"""The program itself."""

from __future__ import annotations

from vsperf.host.own_program import OwnProgram

TGEN = OwnProgram("tgen", "the traffic generator tgen")
