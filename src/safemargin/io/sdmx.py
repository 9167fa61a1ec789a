"""SDMX-CSV: one observation per row, as statistics offices exchange tables."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from safemargin.core import InputError
from safemargin.io.rows import AMOUNTS, PROTECTION, VALUE, Sheet, is_number

FRAME = frozenset(
    ["DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "LAST UPDATE", VALUE, "OBS_STATUS"]
    + ["OBS_FLAG", "OBS_CONF", "CONF_STATUS", "DECIMALS", "UNIT_MULT", "UNIT_MEASURE", "TIME_FORMAT", "COMMENT_OBS"]
    + [PROTECTION]
)
"""Columns of SDMX-CSV that are no dimensions: the frame, the value, and attributes that most agencies use."""
OBSERVED = {"exact": "A", "merged": "W", "noised": "E", "suppressed": "Q", "range": "E"}
"""Code list CL_OBS_STATUS: normal, includes data from another category, estimated, missing because suppressed."""
FLOW = "SAFEMARGIN:TABLE(1.0)"
HIDDEN = {"OBS_STATUS": ("Q",), "CONF_STATUS": ("C", "N", "S", "D", "A"), "OBS_CONF": ("C", "N", "S", "D", "A")}
"""Codes of values that are not published: CL_OBS_STATUS and CL_CONF_STATUS."""
ESTIMATED = ("E", "I", "F", "P", "U", "V")
"""Codes of CL_OBS_STATUS of values that may not be the count: estimated, imputed, forecast, provisional, unreliable."""
AMOUNT_UNITS = re.compile(
    r"EUR|USD|GBP|CHF|JPY|XDR|NAC|[A-Z]{3}_|.*(?:EUR|USD|PPS|CUR).*|PC(?:_.*)?|PT(?:_.*)?|PCT|RT|RATIO|IX.*|INDEX.*|"
    r"KG|T|TN|TONNE.*|HA|KM2?|M2|M3|KWH|GWH|TJ|HOURS?|HW|YR|AVG", re.I,
)  # fmt: skip
"""Codes of UNIT_MEASURE that are no numbers of people: money, shares, indices, weights, areas, hours."""


def of_observations(sheet: Sheet, count: str) -> Sheet:
    """The counts of a sheet of observations by its dimensions; one that has a single value is none. Other sheets stay.

    A value that is absent is suppressed. `_T` is the total of a dimension, as in every table with its margins.
    """
    if VALUE not in sheet.columns or count in sheet.columns or _has_symbols(sheet):
        return sheet
    values, base = _in_units(sheet)
    dimensions = {name: texts for name, texts in sheet.columns.items() if name not in FRAME and len(set(texts)) > 1}
    said = list(sheet.columns.get(PROTECTION, [""] * len(values)))
    if PROTECTION not in sheet.columns:
        for name, codes in HIDDEN.items():
            for row, code in enumerate(sheet.columns.get(name, ())):
                if code.strip().upper() in codes:
                    said[row] = "suppressed"
                    values[row] = ""
    status = [word or ("" if value.strip() else "suppressed") for word, value in zip(said, values, strict=True)]
    notes = [] if PROTECTION in sheet.columns else _notes(sheet)
    counted = {**dimensions, count: values, "status": status}
    return replace(sheet, columns=counted, base=base, notes=(*sheet.notes, *notes), is_observed=True)


def _has_symbols(sheet: Sheet) -> bool:
    """Whether values have signs in place of numbers, or between thousands: a table as it is found, without units."""
    if {"UNIT_MULT", "UNIT_MEASURE", PROTECTION} & set(sheet.columns):
        return False
    return any(text.strip() and not is_number(text) for text in map(str, sheet.columns[VALUE]))


def _notes(sheet: Sheet) -> list[str]:
    codes = [code.strip().upper() for code in sheet.columns.get("OBS_STATUS", ())]
    doubtful = sum(code in ESTIMATED for code in codes)
    return [f"OBS_STATUS says of {doubtful:,} values that they are estimates or provisional"] if doubtful else []


def _in_units(sheet: Sheet) -> tuple[list[str], int]:
    """The values as numbers of people, and what they are rounded to; several units in one file are an error."""
    for name in ("UNIT_MEASURE", "UNIT_MULT"):
        used = list(dict.fromkeys(text.strip() for text in sheet.columns.get(name, ()) if text.strip()))
        if len(used) > 1:
            row = [text.strip() for text in sheet.columns[name]].index(used[1])
            raise sheet.fault(row, name, f"but {used[0]!r} above; give the values of one unit")
        if used and name == "UNIT_MEASURE" and AMOUNT_UNITS.fullmatch(used[0]):
            raise InputError(f"{sheet.path}: UNIT_MEASURE = {used[0][:60]!r}: {AMOUNTS}")
    stated = next((text.strip() for text in sheet.columns.get("UNIT_MULT", ()) if text.strip()), "0")
    if not re.fullmatch(r"[+-]?[0-9]{1,2}", stated):
        raise InputError(f"{sheet.path}: UNIT_MULT = {stated[:60]!r}: is no power of ten, such as 3 for thousands")
    power = int(stated)
    values = [str(text) for text in sheet.columns[VALUE]]
    if power == 0:
        return values, 1
    scaled, finest = [], power
    for text in values:
        try:
            number = Decimal(text.strip()) if text.strip() else None
        except InvalidOperation:
            number = None
        if number is None or not number.is_finite():
            scaled.append(text)
            continue
        finest = min(finest, power + min(int(number.as_tuple().exponent), 0))
        scaled.append(format(number.scaleb(power), "f"))
    return scaled, 10 ** max(finest, 0)


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
