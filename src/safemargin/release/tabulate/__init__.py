"""From files and databases to a table; and tidy tables that other people published."""

from safemargin.core import InputError, Table
from safemargin.io import Source
from safemargin.release.project import Project
from safemargin.release.tabulate.microdata import tabulate_microdata
from safemargin.release.tabulate.sealed import InconsistencyWarning, tabulate_elections

__all__ = ["InconsistencyWarning", "tabulate"]


def tabulate(project: Project, source: Source | None = None) -> Table:
    """The population that a project describes; `source` holds its data where they are not in a file."""
    if project.data is not None:
        table = tabulate_microdata(project, project.data, source)
    elif project.tallies is not None:
        table = tabulate_elections(project, project.tallies)
    else:
        raise InputError("data and tallies: give exactly one of the sections [data] and [tallies]")
    for onlooker in project.onlookers:
        if onlooker.composition == "joint" and not table.knows_composition:
            raise InputError(
                f"onlookers: {onlooker.name!r} has composition = 'joint', but no roll file has all the axes; "
                "give a joint roll or say 'sizes'"
            )
    return table
