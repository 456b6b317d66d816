"""Loads matplotlib so that figures follow from records and nothing else.

While it is imported it reads the first file `matplotlibrc` that it finds: in the working directory
before all others, where a stranger's would decide, or a pipe of that name would be waited for. Its
list of fonts, and fonts themselves, it has from the home that it is told of. Where that is not this
user's alone, it gets an empty one in its place.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

from vsperf.trust import trusted

NAME = "matplotlib"
FONTS = "matplotlib.font_manager"
"""What looks for them as soon as it is imported."""
VARIABLE = "MATPLOTLIBRC"


def matplotlib() -> ModuleType:
    """Return the library, with its own defaults; to be called before any part of it is imported."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.chdir("/")
        with trusted.own_home() as homes, _environment({VARIABLE: os.devnull, **homes}):
            library = importlib.import_module(NAME)
            importlib.import_module(FONTS)
            return library
    finally:
        os.fchdir(here)
        os.close(here)


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Have variables of the environment be others for a while."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
