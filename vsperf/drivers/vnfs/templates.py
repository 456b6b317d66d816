"""Templates in settings of VNFs: an expression per VNF, and never a program.

What a template can say, and how long it takes, grows with its length only. There are no loops,
assignments, calls and powers, and nothing is repeated.
"""

from __future__ import annotations

from typing import Any

from vsperf.config.yaml import is_plain_text

LONGEST = 4096
"""Characters of a template."""


def render(text: str, known: dict[str, Any]) -> str:
    """Return a template filled in; raises ValueError for what is wrong with it."""
    if "{{" not in text and "{%" not in text:
        return text
    if len(text) > LONGEST:
        raise ValueError(f"a template has {LONGEST} characters at most, and this one {len(text)}")
    from vsperf.drivers.vnfs.template_language import fill_in  # few have one, and Jinja is large

    try:
        found = fill_in(text, known)
    except ValueError:
        raise
    except Exception as error:  # a template can fail in as many ways as a program
        raise ValueError(str(error)) from error
    if not is_plain_text(found):
        raise ValueError("it makes a control character")
    return found
