"""What the YAML parser complains about, in words that help the writer of a file."""

from __future__ import annotations

import yaml

from vsperf.config.tree import Mark
from vsperf.errors import Problem

# A piece of the parser's message → what is wrong, and how to mend it.
_EXPLAINED = (
    ("'\\t'", "a tab stands where only spaces may", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a `:` stands where no key can be",
        "put the value in quotes if it holds `: `, or mend the indentation",
    ),
    (
        "could not find expected ':'",
        "a key has no `:` behind it",
        "write `key: value`, and check the indentation of the lines above",
    ),
    ("found unexpected end of stream", "a quote is not closed", "add the closing quote"),
    ("expected ',' or ']'", "a list that began with `[` is not closed", "add `,` or `]`"),
    ("expected ',' or '}'", "a mapping that began with `{` is not closed", "add `,` or `}`"),
    (
        "expected <block end>",
        "this line does not fit the lines above it",
        "give keys of one mapping, and items of one list, the same indentation",
    ),
    ("expected the node content", "a value is missing or misplaced", "write a value here"),
    (
        "cannot start any token",
        "a value cannot begin with this character",
        "put the value in quotes",
    ),
    ("unknown escape character", "there is no such escape", "write `\\\\` or use single quotes"),
    ("expected escape sequence", "the escape is not complete", "use single quotes"),
    ("undefined tag handle", "tags are not allowed", "write the plain value"),
    ("found duplicate anchor", "the anchor is defined twice", "rename one of the two"),
    (
        "but found '<document start>'",
        "there is one document, and `---` begins another",
        "drop `---`",
    ),
    ("sequence entries are not allowed", "a list item cannot begin here", "begin a new line"),
    ("directive", "the line that begins with `%` is not understood", "remove it or quote the text"),
)


def explain(error: yaml.MarkedYAMLError, mark: Mark) -> Problem:
    """Turn a parser's error into a problem at `mark`."""
    message = " ".join(filter(None, (error.problem, error.context)))
    why = None
    if error.context_mark is not None and error.context_mark.line + 1 != mark.line:
        why = f"the part that goes wrong begins in line {error.context_mark.line + 1}"
    for piece, what, fix in _EXPLAINED:
        if piece in message:
            return Problem(f"not valid YAML: {what}", mark.location, why, fix)
    what = f"not valid YAML: {error.problem or 'it cannot be read'}"
    fix = "put texts with special characters in quotes, and check brackets and indentation"
    return Problem(what, mark.location, why, fix)
