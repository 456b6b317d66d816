"""`vsperf schema`: JSON Schemas, for editors and for programs that read records."""

from __future__ import annotations

import json

import click

from vsperf.errors import ExitCode

KINDS = ("testcase", "record")


@click.command(
    epilog="Examples:\n\n\b\n  vsperf schema testcase > testcase.schema.json\n"
    "  vsperf schema record\n"
)
@click.argument("kind", type=click.Choice(KINDS))
def command(kind: str) -> int:
    """Print the JSON Schema of testcases or of records.

    `testcase` describes the YAML files of testcases, testbeds and presets with the drivers of
    this installation; `record` describes the lines of a run's records.jsonl.
    """
    if kind == "record":
        from vsperf.records.schema import record_schema

        schema = record_schema()
    else:
        from vsperf.config.document import document_schema
        from vsperf.plugins import Plugins

        schema = document_schema(Plugins.load().specs())
    click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
    return ExitCode.OK
