"""A contract of import-linter: no driver imports another. Entry points say which there are."""

from __future__ import annotations

from importlib.metadata import entry_points

from grimp import ImportGraph
from importlinter.contracts.independence import IndependenceContract
from importlinter.domain import fields
from importlinter.domain.contract import ContractCheck
from importlinter.domain.imports import ModuleExpression

GROUPS = (
    *("vsperf.vswitches", "vsperf.vnfs", "vsperf.generators"),
    *("vsperf.loads", "vsperf.collectors", "vsperf.programs", "vsperf.probes"),
)


class IndependentDrivers(IndependenceContract):
    """Takes the drivers of our packages from entry points: a new one is held to it at once."""

    type_name = "independent_drivers"
    modules = fields.SetField(subfield=fields.ModuleExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look for imports of one driver by another, whatever lies between them."""
        self.modules = {ModuleExpression(home) for home in homes(graph)}  # type: ignore[assignment]
        return super().check(graph, verbose)


def homes(graph: ImportGraph) -> set[str]:
    """Return the module or the package that each driver lives in; the graph has those of ours."""
    modules = (entry.module for group in GROUPS for entry in entry_points(group=group))
    return {
        ".".join(module.split(".")[: 4 if module.startswith("vsperf.") else 2])
        for module in modules
        if module in graph.modules
    }
