"""What published tables of areas disclose about people: the same reconstruction attack on every method.

Objects
    known       attributes of somebody that an onlooker has, beside their smallest area
    match       a record of the published table (taken as a list of records) with this area and these attributes
    stated      people about whom all matches agree on another attribute; `right`, where it is theirs
    rebuilt     records of the table that are records of the data, counted with their number
    named       records that are the only one with their area and known attributes, and whose attributes one person has

Attack (section 6.1 of Bailie, Gong and Meng, after Abowd and others)
    The onlooker takes the table for records, looks up those that match, and states the attribute where they agree. How
    often that is right says how far a table can be read as the records; it is no measure of a guarantee. Who could be
    stated by what is typical of everybody is not counted: only people whose attribute is not the most frequent one of
    those who share the known attributes.

Names (Eq. 13 of Bach, Eurostat 2020)
    The onlooker also has a file with the name, area and known attributes of everybody, which is the most that any
    outside file can hold. The rate of re-identification is r_recon r_match: the share that was rebuilt, times the share
    of these that were matched with the right name.

Equal error
    Methods are compared at the same root mean square error of a detailed count, one column of the picture: noise that
    is large enough hides people from any method, and the question is what an office gets for the same accuracy.

What callers may rely on
    * Every method goes through the same code; noisy counts are cut to 0 and rounded first.
    * The attack reads the published table and the file of names only; `right` and `named_rightly` compare with the
      data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from safemargin import ui
from safemargin.core import BoolArray, FloatArray, InputError, IntArray
from safemargin.topdown.attributes import Attributes, MarginQuery

CAPTION = (
    "How often a statement is right, and how many people get their name, against the error of a count; equal error is "
    "one column"
)
COLUMNS = ("method", "error of a count", "not typical", "stated", "rightly", "of statements")
NAMES = ("method", "error of a count", "rebuilt", "matched, of these", "named rightly", "of names given")


@dataclass(frozen=True)
class MethodRisk:
    """Of one method: the error of detailed counts, and how many people were stated, rightly, of those not typical."""

    method: str
    error: float
    people: int
    stated: int
    right: int
    everybody: int = 0
    rebuilt: int = 0
    named: int = 0
    named_rightly: int = 0

    @property
    def rebuilt_share(self) -> float:
        """Records of the data that the table has, of all (r_recon)."""
        return self.rebuilt / self.everybody if self.everybody else 0.0

    @property
    def matched_share(self) -> float:
        """Rebuilt records that get the right name, of all that are rebuilt (r_match)."""
        return self.named_rightly / self.rebuilt if self.rebuilt else 0.0

    @property
    def named_share(self) -> float:
        """People who are given their name, of all: the product of both."""
        return self.named_rightly / self.everybody if self.everybody else 0.0

    @property
    def naming_precision(self) -> float:
        """Right names of all names that are given."""
        return self.named_rightly / self.named if self.named else 0.0

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
        shares = ("share", "precision", "rebuilt_share", "matched_share", "named_share", "naming_precision")
        methods = [{**asdict(risk), **{name: getattr(risk, name) for name in shares}} for risk in self.methods]
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
        names = [
            (
                risk.method,
                f"{risk.error:.3g}",
                *map(ui.percent, (risk.rebuilt_share, risk.matched_share, risk.named_share, risk.naming_precision)),
            )
            for risk in self.methods
        ]
        naming = (
            f"With a file of the name, smallest area and {', '.join(self.known)} of everybody, a record gets a name "
            "where one person and one record match. The share named rightly is that of records rebuilt times that of "
            "these matched rightly. Whoever has a poorer file names fewer."
        )
        chart = ui.Chart(lambda: self.chart, CAPTION, fits=True)
        title = "What the tables disclose about people"
        return ui.Section(title, about, chart, ui.Grid(COLUMNS, rows), naming, ui.Grid(NAMES, names))

    @property
    def chart(self) -> ui.Spec:
        """How often statements are right, and how many people get their name, against the error."""
        values = [
            {
                "method": risk.method,
                "family": risk.method.split()[0],
                "error": risk.error,
                "right": risk.precision,
                "named": risk.named_share,
            }
            for risk in self.methods
        ]
        x = {"field": "error", "type": "quantitative", "title": "root mean square error of a detailed count"}
        # Methods whose names begin alike are one family, such as swapping at several rates: a line connects them.
        colour = {"field": "family", "type": "nominal", "legend": None}
        marks = [{"type": "line", "opacity": 0.5}, {"type": "point", "filled": True, "size": 90, "opacity": 1}]
        panels = []
        for field, title in (("right", "right, of statements"), ("named", "named rightly, of all people")):
            y = {"field": field, "type": "quantitative", "title": title, "axis": {"format": "~%", "grid": True}}
            text = {"mark": {"type": "text", "dy": -10}, "encoding": {"x": x, "y": y, "text": {"field": "method"}}}
            layers = [{"mark": mark, "encoding": {"x": x, "y": y, "color": colour}} for mark in marks]
            panels.append({"width": 560, "height": 280, "layer": [*layers, text]})
        return {"data": {"values": values}, "vconcat": panels}


def measure_risk(
    attributes: Attributes,
    truth: IntArray,
    tables: Mapping[str, IntArray | FloatArray],
    known: Sequence[str],
    secret: str,
) -> RiskComparison:
    """The attack on every table of the smallest areas (rows: areas, columns: cells).

    Two areas, sex known, tenure stated, the exact table attacked. Most women own and most men rent; one man owns, where
    another rents, so that records of men there do not agree and nothing is stated about him:

    >>> attributes = Attributes(("sex", "tenure"), (("f", "m"), ("own", "rent")))
    >>> truth = np.array([[1, 0, 0, 2], [3, 0, 1, 1]])
    >>> (found,) = measure_risk(attributes, truth, {"exact": truth}, ["sex"], "tenure").methods
    >>> found.people, found.stated, found.rebuilt, found.named_rightly
    (1, 0, 8, 1)
    """
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
        once = (true.sum(axis=-1) == 1) & (seen.sum(axis=-1) == 1)
        names = int((once & (guess == true.argmax(axis=-1))).sum())
        rebuilt = int(np.minimum(true, seen).sum())
        risks.append(
            MethodRisk(name, error, int(special.sum()), about, right, int(true.sum()), rebuilt, int(once.sum()), names)
        )
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
    """Counts by area, combination of known attributes, and secret attribute: three dimensions, the secret one last."""
    shaped = attributes.margin(table, margin).reshape(len(table), *attributes.shape(margin))
    moved = np.moveaxis(shaped, place + 1, -1)
    return moved.reshape(len(table), -1, moved.shape[-1])
