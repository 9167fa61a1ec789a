"""What published tables of areas disclose about people: the same reconstruction attack on every method.

Section 6.1 of Bailie, Gong and Meng, after Abowd and others: an onlooker who knows somebody's smallest area and some
attributes takes the published table for records, looks up those that match, and states another attribute where all of
them agree. How often that is right says how far a table can be read as the records; it is no measure of a guarantee.
Who could be stated by what is typical of everybody is not counted: only people whose attribute is not the most frequent
one of those who share the known attributes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from safemargin import ui
from safemargin.core import BoolArray, FloatArray, InputError, IntArray
from safemargin.topdown.attributes import Attributes, MarginQuery

CAPTION = "How often a statement is right, against the error of a count, by method; equal error is one column"
COLUMNS = ("method", "error of a count", "not typical", "stated", "rightly", "of statements")


@dataclass(frozen=True)
class MethodRisk:
    """Of one method: the error of detailed counts, and how many people were stated, rightly, of those not typical."""

    method: str
    error: float
    people: int
    stated: int
    right: int

    @property
    def share(self) -> float:
        """People whose attribute is stated rightly, of all who are not typical."""
        return self.right / self.people if self.people else 0.0

    @property
    def precision(self) -> float:
        """Right statements of all statements about them."""
        return self.right / self.stated if self.stated else 0.0


@dataclass(frozen=True)
class RiskComparison:
    """The attack on several methods, sorted as they were given."""

    known: tuple[str, ...]
    secret: str
    methods: tuple[MethodRisk, ...]

    def to_json(self) -> ui.Document:
        """The part `risk` of `topdown --json`."""
        methods = [{**asdict(risk), "share": risk.share, "precision": risk.precision} for risk in self.methods]
        return {"known": list(self.known), "secret": self.secret, "methods": methods}

    @property
    def section(self) -> ui.Section:
        """The attack in words, as a picture and with one row per method."""
        about = (
            f"Somebody who knows the smallest area and {', '.join(self.known)} of a person takes the published table "
            f"for records, and states {self.secret} where all that match agree. Counted are people whose {self.secret} "
            "is not the most frequent one. Compare methods at equal error; risk says nothing about guarantees."
        )
        rows = [
            (
                risk.method,
                f"{risk.error:.3g}",
                f"{risk.people:,}",
                f"{risk.stated:,}",
                ui.percent(risk.share),
                ui.percent(risk.precision),
            )
            for risk in self.methods
        ]
        chart = ui.Chart(lambda: self.chart, CAPTION, fits=True)
        return ui.Section("What the tables disclose about people", about, chart, ui.Grid(COLUMNS, rows))

    @property
    def chart(self) -> ui.Spec:
        """How often statements are right, against the error."""
        values = [
            {"method": risk.method, "family": risk.method.split()[0], "error": risk.error, "right": risk.precision}
            for risk in self.methods
        ]
        axis = {"format": ".0%", "grid": True}
        x = {"field": "error", "type": "quantitative", "title": "root mean square error of a detailed count"}
        y = {"field": "right", "type": "quantitative", "title": "right, of statements", "axis": axis}
        text = {"mark": {"type": "text", "dy": -10}, "encoding": {"x": x, "y": y, "text": {"field": "method"}}}
        # Methods whose names begin alike are one family, such as swapping at several rates: a line connects them.
        colour = {"field": "family", "type": "nominal", "legend": None}
        marks = [{"type": "line", "opacity": 0.5}, {"type": "point", "filled": True, "size": 90, "opacity": 1}]
        layers = [{"mark": mark, "encoding": {"x": x, "y": y, "color": colour}} for mark in marks]
        return {"data": {"values": values}, "width": 560, "height": 320, "layer": [*layers, text]}


def measure_risk(
    attributes: Attributes,
    truth: IntArray,
    tables: Mapping[str, IntArray | FloatArray],
    known: Sequence[str],
    secret: str,
) -> RiskComparison:
    """The attack on every table of the smallest areas (rows: areas, columns: cells)."""
    margin, last = _margin(attributes, known, secret)
    true = _by_secret(attributes, truth, margin, last)
    typical = true.sum(axis=0).argmax(axis=-1)  # by known attributes, over all areas: anybody can guess that
    special = true.copy()
    special[:, np.arange(true.shape[1]), typical] = 0
    risks = []
    for name, table in tables.items():
        seen = _by_secret(attributes, np.rint(np.maximum(table, 0)).astype(np.int64), margin, last)
        alone: BoolArray = (seen > 0).sum(axis=-1) == 1  # all records that match agree
        guess = seen.argmax(axis=-1)
        stated = alone & (guess != typical)
        area, kind = np.nonzero(stated)
        right = int(special[area, kind, guess[area, kind]].sum())
        about = int(special.sum(axis=-1)[alone].sum())
        error = float(np.sqrt(((table - truth).astype(np.float64) ** 2).mean()))
        risks.append(MethodRisk(name, error, int(special.sum()), about, right))
    return RiskComparison(tuple(known), secret, tuple(risks))


def _margin(attributes: Attributes, known: Sequence[str], secret: str) -> tuple[MarginQuery, int]:
    """The margin of the known attributes and the secret one, and the place of the latter in it."""
    for name in (*known, secret):
        if name not in attributes.names:
            raise InputError(f"attack: {name!r} is not one of the attributes ({', '.join(attributes.names)})")
    if not known or secret in known or len(set(known)) < len(known):
        raise InputError(f"attack: name what is known, each once, and another attribute than {secret!r}")
    margin = attributes.query("*".join((*known, secret)))
    return margin, margin.axes.index(attributes.names.index(secret))


def _by_secret(attributes: Attributes, table: IntArray, margin: MarginQuery, place: int) -> IntArray:
    """Counts by area, combination of known attributes, and secret attribute."""
    shaped = attributes.margin(table, margin).reshape(len(table), *attributes.shape(margin))
    moved = np.moveaxis(shaped, place + 1, -1)
    return moved.reshape(len(table), -1, moved.shape[-1])
