"""MLRsearch, imported in a tenth of the time.

While it is imported the library looks at its callers ten times, and for each has `inspect` find and
read the sources of all that is loaded, of which it uses nothing: as much work as the rest of a
short command.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def without_sources() -> Iterator[None]:
    """Have `inspect.stack` tell of frames and not of their source lines."""
    whole = inspect.stack
    inspect.stack = partial(whole, context=0)
    try:
        yield
    finally:
        inspect.stack = whole
