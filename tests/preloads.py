"""A tgen whose ports do what none here does by itself, since a library is loaded before DPDK."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from loopbacks import tgen_dut

from vsperf.drivers.generators.tgen.process import TGEN


def preload(library: str, folder: Path, patch: pytest.MonkeyPatch, **environment: str) -> None:
    """From now on, start tgen with a library that is built beside the reference DUT.

    By a link, as the loader takes a space in its path for the end of it.
    """
    file = folder / f"lib{library}.so"
    file.unlink(missing_ok=True)
    file.symlink_to(tgen_dut().parent / file.name)
    words = ["env", f"LD_PRELOAD={file}"]
    words += [f"{name}={value}" for name, value in environment.items()]
    script = folder / f"tgen-{library}"
    script.write_text(f'#!/bin/sh\nexec {shlex.join([*words, str(TGEN.find())])} "$@"\n')
    script.chmod(0o700)
    patch.setenv("VSPERF_TGEN", str(script))
