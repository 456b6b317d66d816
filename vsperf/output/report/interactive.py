"""What makes a page interactive: the library in it, what starts it, and what may run at all.

The library comes from the package `plotly`, is packed into the page once, and is unpacked by the
browser. A page lets exactly two scripts run, known by their digests: ours, and the library.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from importlib import metadata, resources
from typing import Any

from vsperf.errors import NotReadyError
from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.interactive import plots

PACKAGE = "plotly"
NAME = re.compile(r"plotly\.js v[0-9][\w.-]*")
UNSAFE = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
"""What could end a script element, or a line within one."""


@dataclass(frozen=True, slots=True)
class Library:
    """All that an interactive page holds beside its figures."""

    name: str
    """With its version."""
    licence: str
    """The whole text."""
    packed: str
    """The library: gzip, as base64."""
    starter: str
    """Our script."""
    palette: str
    """Colours of drawings and what stands for them in a page, as JSON."""
    digests: tuple[str, str]

    @property
    def policy(self) -> str:
        """What a content security policy says of scripts."""
        return " ".join(f"'sha256-{digest}'" for digest in self.digests)


def library() -> Library:
    """Return the library of the package that is installed; an error says how to get it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise NotReadyError(
            f"the package {PACKAGE} is not installed, which --interactive needs",
            why=str(error),
            fix="install it where vsperf is (pip install 'plotly>=6'), or leave out --interactive",
        ) from error
    script = get_plotlyjs()
    starter = _starter()
    found = NAME.search(script[:1000])
    return Library(
        name=found[0] if found else f"plotly.js of plotly {metadata.version(PACKAGE)}",
        licence=_licence(),
        packed=base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode(),
        starter=starter,
        palette=as_json(theme.VARIABLES),
        digests=(_digest(starter), _digest(script)),
    )


def plots_of(drawing: Drawing) -> str:
    """Return a drawing as JSON for a script element; empty of what stays as it is."""
    found = plots(drawing)
    return as_json(found) if found else ""


def as_json(content: Any) -> str:
    """Return JSON that stays text in a script element, whatever stands in it."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.translate(UNSAFE)


def _starter() -> str:
    return (
        resources.files("vsperf.output.report")
        .joinpath("templates/interactive.js")
        .read_text("utf-8")
    )


def _licence() -> str:
    """Return the text of the licence, as the package brings it."""
    files = metadata.files(PACKAGE) or []
    named = [one for one in files if one.name.upper().startswith("LICENSE")]
    return named[0].read_text() if named else "MIT"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
