"""Loads matplotlib so that figures follow from records and nothing else.

While it is imported it reads the first file `matplotlibrc` that it finds: in the working directory
before all others, where a stranger's would decide, or a pipe of that name would be waited for.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

NAME = "matplotlib"
VARIABLE = "MATPLOTLIBRC"


def matplotlib() -> ModuleType:
    """Return the library, with its own defaults; to be called before any part of it is imported."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    here, named = os.open(".", os.O_PATH | os.O_CLOEXEC), os.environ.get(VARIABLE)
    try:
        os.chdir("/")
        os.environ[VARIABLE] = os.devnull
        return importlib.import_module(NAME)
    finally:
        if named is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = named
        os.fchdir(here)
        os.close(here)
