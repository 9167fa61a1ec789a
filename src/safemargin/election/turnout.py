"""Turnout by dimension, and how inconsistently people answered: from published counts only."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import chdtri

SCALE = 10_000
"""Shares are whole numbers of ten-thousandths: signed documents hold no fractions."""


@dataclass(frozen=True)
class TurnoutInconsistency:
    """How many people answered a dimension otherwise than the total, in ten-thousandths of those of the total."""

    at_least: int
    """Certain: totals differ by so much."""
    interval: tuple[int, int]
    """95 % interval, if changed answers were drawn anew from the overall distribution."""


def published_totals(table: bytes) -> Counter[str] | None:
    """Answers per option over all groups of a published table; None if a count is suppressed or noised."""
    totals: Counter[str] = Counter()
    for row in csv.DictReader(io.StringIO(table.decode())):
        if not row.get("count") or row.get("status") not in ("exact", "merged"):
            return None
        totals[row["option"]] += int(row["count"])
    return totals


def inconsistency(total: Mapping[str, int], dimension: Mapping[str, int]) -> TurnoutInconsistency:
    """An estimate from two totals over the same people.

    If each person answers anew with probability delta, independently and by the overall shares, the difference of the
    totals is multinomial: sum over options of difference^2 / (2 * share * people) is delta times a chi-square variable
    with one degree of freedom less than options. Its quantiles give the interval. No certificate relies on it.
    """
    people = sum(total.values())
    options = [option for option in total if total[option] > 0]
    differences = {option: dimension.get(option, 0) - total[option] for option in total}
    # Whoever answered one of the two only is in one sum: the larger of gains and losses is certain.
    certain = max(sum(max(0, sign * difference) for difference in differences.values()) for sign in (1, -1))
    statistic = sum(differences[option] ** 2 / (2 * total[option]) for option in options)
    freedom = max(1, len(options) - 1)
    low, high = (min(1.0, statistic / chdtri(freedom, 1 - level)) for level in (0.975, 0.025))
    at_least = certain * SCALE // people
    return TurnoutInconsistency(
        at_least, (max(int(low * SCALE), at_least), max(min(int(high * SCALE) + 1, SCALE), at_least))
    )


def turnout(accepted: Mapping[str, int], electorate: int, files: Mapping[str, bytes]) -> dict[str, dict[str, object]]:
    """What is published about participation: accepted records by dimension, and the inconsistency where it is public.

    A dimension whose table was protected by suppression or noise has no estimate: its total is not public.
    """
    total = published_totals(files["total.csv"]) if "total.csv" in files else None
    document: dict[str, dict[str, object]] = {}
    for name, count in accepted.items():
        document[name] = {"accepted": count, "roll": electorate}
        table = files.get(f"{name}.csv")
        sums = published_totals(table) if table is not None else None
        if total is not None and sums is not None and name != "total":
            found = inconsistency(total, sums)
            document[name] |= {"inconsistency": {"at_least": found.at_least, "interval": list(found.interval)}}
    return document
