"""SDMX-CSV: one observation per row, as statistics offices exchange tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from safemargin.io.rows import PROTECTION, VALUE, Sheet

FRAME = frozenset(
    ["DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "LAST UPDATE", VALUE, "OBS_STATUS"]
    + ["OBS_FLAG", "OBS_CONF", "CONF_STATUS", "DECIMALS", "UNIT_MULT", "UNIT_MEASURE", "TIME_FORMAT", "COMMENT_OBS"]
    + [PROTECTION]
)
"""Columns of SDMX-CSV that are no dimensions: the frame, the value, and attributes that most agencies use."""
OBSERVED = {"exact": "A", "merged": "W", "noised": "E", "suppressed": "Q", "range": "E"}
"""Code list CL_OBS_STATUS: normal, includes data from another category, estimated, missing because suppressed."""
FLOW = "SAFEMARGIN:TABLE(1.0)"


def of_observations(sheet: Sheet, count: str) -> Sheet:
    """The counts of a sheet of observations by its dimensions; one that has a single value is none. Other sheets stay.

    A value that is absent is suppressed. `_T` is the total of a dimension, as in every table with its margins.
    """
    if VALUE not in sheet.columns or count in sheet.columns:
        return sheet
    values = sheet.columns[VALUE]
    dimensions = {name: texts for name, texts in sheet.columns.items() if name not in FRAME and len(set(texts)) > 1}
    said = sheet.columns.get(PROTECTION, [""] * len(values))
    status = [word or ("" if value.strip() else "suppressed") for word, value in zip(said, values, strict=True)]
    return replace(sheet, columns={**dimensions, count: values, "status": status})


def observations(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Tidy rows as rows of SDMX-CSV 1.0: dimensions keep the names of axes, `PROTECTION` how a count was published."""
    observed = []
    for row in rows:
        status = str(row["status"])
        kept = {name: value for name, value in row.items() if name not in ("count", "people", "status")}
        value = row["people"] if "people" in row else row["count"]
        secret = {"OBS_STATUS": OBSERVED[status], "CONF_STATUS": "C" if status == "suppressed" else "F"}
        observed.append({"DATAFLOW": FLOW, **kept, VALUE: value, **secret, PROTECTION: status})
    return observed


def tidy_rows(rows: Sequence[Mapping[str, str | None]]) -> list[dict[str, str | None]]:
    """The tidy rows of a file that `observations` wrote; other rows stay."""
    return [
        {
            **{name: value for name, value in row.items() if name not in FRAME},
            **({"count": row[VALUE], "status": row[PROTECTION]} if {VALUE, PROTECTION} <= set(row) else {}),
        }
        for row in rows
    ]
