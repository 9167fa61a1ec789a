"""The results of `topdown`: as JSON, in a terminal, and as a page with charts of the errors.

What may leave the office
    The plan, the guarantee and expected errors follow from the design: they are public. Errors by level, size and query
    compare with the data, and are confidential; the page says so at its top, and lies in `confidential/`.

What the page must not suggest
    A smaller error is not a better method: other methods keep other counts exact, and protect people differently. So
    errors stand beside guarantees, and equal error is compared with what an attack gets (`risk.py`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from safemargin import ui
from safemargin.topdown.accuracy import (
    CELLS,
    INTEGER,
    PEOPLE,
    TWO_SIDED,
    Accuracy,
    ExpectedError,
    LevelError,
    SizeError,
)
from safemargin.topdown.design import Design
from safemargin.topdown.plain_words import off_by, one_person
from safemargin.topdown.risk import RiskComparison

COLOURS = ["#56b4e9", "#0072b2", "#888888", "#e69f00", "#cc79a7", "#009e73"]
SHAPES = ["circle", "triangle-up", "cross", "square", "diamond", "triangle-down"]
LEGEND: ui.Spec = {
    "title": None,
    "labelFontSize": 12,
    "labelLimit": 0,
    "orient": "bottom",
    "columns": 3,
    "columnPadding": 40,  # a reader's font may be wider than the one used for the layout
}
OUR_METHODS = 4  # methods that are always shown: the estimate, the tables, and flat noise of two kinds
LEVELS_CAPTION = "Root mean square error by level, from the widest areas to the smallest"
SIZES_CAPTION = "Root mean square error of the number of people of an area, by its size, on all levels"
METHODS_NOTE = (
    "The unbiased estimate may be negative and has fractions; use it, with its standard errors, for statistics. "
    "The integer tables add up and keep every constraint. In them, empty cells come out a little too large and others "
    "a little too small, because no table may show fewer than 0 people. Flat noise has the same loss, all of it spent "
    "on the smallest areas and added up; its errors are expected values, and it keeps nothing exact. Geometric noise "
    "is that of pure epsilon, which has a larger variance at the same loss than Gaussian noise."
)
COMPARISON_NOTE = (
    "Errors say nothing about guarantees: other methods keep other counts exact and protect people differently. "
    "Compare the guarantees before you compare errors."
)
QUERY_COLUMNS = ("level", "query", "standard error published", "estimate", "within 1.96", "integer tables")
QUERY_NOTE = (
    "Standard errors are published with the release. Errors of the estimate should be as large, and 95 % of the counts "
    "within 1.96 standard errors. On a level with few areas both vary by chance."
)
BUDGET_COLUMNS = ("level", "query", "share of rho²", "standard deviation")
PLAN_COLUMNS = ("level", "query", "share of rho²", "noise alone", "standard error", "95 % within")
UNITS = (("M", 10**6), ("k", 10**3))

GuaranteeSummary = Mapping[str, object]


@dataclass(frozen=True)
class TopDownRelease(ui.Result):
    """A release: the public folder, its guarantee in short, and its errors against the data, which are confidential."""

    title: str
    published: Path
    report: Path
    design: Design
    guarantee: GuaranteeSummary
    accuracy: Accuracy
    risk: RiskComparison | None = None

    def to_json(self) -> ui.Document:
        """The document of `topdown --json`; it has errors against the data, so it is confidential."""
        accuracy = self.accuracy
        return {
            "schema": ui.SCHEMA,
            "guarantee": dict(self.guarantee),
            "budget": [
                {"level": level, "query": query, "share": share, "variance": variance}
                for level, query, share, variance in _budget(self.design)
            ],
            "errors_by_level": [asdict(error) for error in accuracy.levels],
            "errors_by_size": [asdict(error) for error in accuracy.sizes],
            "errors_by_query": [asdict(error) for error in accuracy.queries],
            **({} if self.risk is None else {"risk": self.risk.to_json()}),
            "published": str(self.published),
            "report": str(self.report),
        }

    def to_report(self) -> ui.Report:
        """Errors against the data are in it, so it is confidential."""
        design, guarantee, accuracy = self.design, self.guarantee, self.accuracy
        numbers: dict[str, ui.Cell] = {
            "areas": design.spine.areas,
            "counts in each": design.attributes.cells(design.attributes.detailed),
            "rho²": str(guarantee["rho_squared"]),
            f"epsilon at delta {design.delta:g}": f"{guarantee['epsilon']:.2f}",
            "by the losses of all counts": f"{guarantee['epsilon_by_losses']:.2f}",
        }
        columns = ["areas", *accuracy.methods]
        comparison = COMPARISON_NOTE if len(accuracy.methods) > OUR_METHODS else ""
        sizes = ui.Grid(("people", *columns), _by_method((_size_class(e), e) for e in accuracy.sizes))
        budget = [(*row[:3], f"{math.sqrt(row[3]):.2f}") for row in _budget(design)]
        levels = []
        for kind in (PEOPLE, CELLS):
            rows = _by_method((e.level, e) for e in accuracy.levels if e.counts == kind)
            levels.append(ui.Section(f"Root mean square error: {kind}", ui.Grid(("level", *columns), rows, wide=True)))
        return ui.Report(
            self.title,
            ui.Paragraph(f"{off_by(_by_level(accuracy))} {one_person(guarantee)}", "strong"),
            _scope(design),
            _guarantee_text(guarantee),
            ui.OnPage(
                ui.Section("In short", ui.Figures(numbers)),
                ui.Section(
                    "Error by level",
                    ui.Chart(lambda: levels_chart(accuracy), LEVELS_CAPTION),
                    METHODS_NOTE,
                    comparison,
                ),
                ui.Section("Error by size of area", ui.Chart(lambda: sizes_chart(accuracy), SIZES_CAPTION), sizes),
            ),
            *levels,
            self.risk.section if self.risk else None,
            ui.OnPage(
                ui.Section("Error by query", QUERY_NOTE, ui.Grid(QUERY_COLUMNS, _query_rows(accuracy)))
                if accuracy.queries
                else None,
                ui.Section("What is exact, and what is assumed to be public", _assumptions(guarantee)),
                ui.Section("Budget", ui.Grid(BUDGET_COLUMNS, budget)),
            ),
            banner=("Confidential.", "The errors on this page compare with the data. Do not publish it."),
        )


@dataclass(frozen=True)
class TopDownPlan(ui.Result):
    """The guarantee that a release would have, and the precision of its estimates."""

    guarantee: GuaranteeSummary
    queries: tuple[ExpectedError, ...]

    def to_json(self) -> ui.Document:
        """The document of `topdown --plan --json`."""
        return {
            "schema": ui.SCHEMA,
            "guarantee": dict(self.guarantee),
            "queries": [asdict(query) for query in self.queries],
        }

    def to_report(self) -> ui.Report:
        """What the release would guarantee and how precise its estimates would be, level by level; public."""
        rows = []
        for e in self.queries:
            measured = ("-", "-") if e.noise is None else (e.share, _number(e.noise))
            rows.append((e.level, e.query, *measured, *map(_number, (e.standard_error, TWO_SIDED * e.standard_error))))
        wasted = [
            f"{e.query} of every {e.level} follows from exact counts: its share {e.share} has no effect."
            for e in self.queries
            if e.noise is not None and e.standard_error == 0
        ]
        totals = [(e.level, round(e.standard_error, 6)) for e in self.queries if e.query == TOTAL]
        return ui.Report(
            "TopDown plan",
            ui.Paragraph(f"{off_by(totals)} {one_person(self.guarantee)}", "strong"),
            _guarantee_text(self.guarantee),
            ui.Grid(PLAN_COLUMNS, rows, wide=True),
            *wasted,
        )


@dataclass(frozen=True)
class Recomputation(ui.Result):
    """Counts computed again from public files, how many differ, and files whose hash is not the stated one."""

    counts: int
    different: int
    changed_files: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether everything is as published."""
        return not self.different and not self.changed_files

    def to_json(self) -> ui.Document:
        """The document of `topdown FOLDER --json`."""
        changed = list(self.changed_files)
        return {"schema": ui.SCHEMA, "counts": self.counts, "different": self.different, "changed_files": changed}

    def to_report(self) -> ui.Report:
        """How many counts were computed again and differ, and which files are not as the manifest says."""
        agreed = f"{self.counts:,} counts computed again from the public measurements: {self.different:,} differ."
        changed = [f"{name}: is not as the manifest says" for name in self.changed_files]
        return ui.Report("TopDown check", agreed, *changed)


def levels_chart(accuracy: Accuracy) -> ui.Spec:
    """Errors of every method by level, people and detailed counts side by side."""
    order = list(dict.fromkeys(error.level for error in accuracy.levels))
    values = [{"method": e.method, "x": e.level, "kind": e.counts, "error": e.rmse} for e in accuracy.levels]
    layers = _lines([error.rmse for error in accuracy.levels], accuracy.methods, order, "")
    return {
        "data": {"values": values},
        "facet": {"field": "kind", "type": "nominal", "sort": [PEOPLE, CELLS]},
        "columns": 2,
        "spacing": 30,
        "spec": {"width": 290, "height": 280, "layer": layers},
    }


def sizes_chart(accuracy: Accuracy) -> ui.Spec:
    """Errors of every method by size of area."""
    values = [{"method": e.method, "x": _size_class(e), "error": e.rmse} for e in accuracy.sizes]
    order = list(dict.fromkeys(value["x"] for value in values))
    layers = _lines([error.rmse for error in accuracy.sizes], accuracy.methods, order, "people of the area")
    return {"data": {"values": values}, "width": 620, "height": 280, "layer": layers}


def _lines(errors: Sequence[float], methods: list[str], order: Sequence[object], title: str) -> list[ui.Spec]:
    """Points and lines of all methods over levels or sizes, on a symmetric logarithm: exact counts have error 0."""
    marks = [0.0, 1.0]
    while marks[-1] < max(errors, default=0.0):
        marks.append(marks[-1] * 10)
    # Symmetric logarithm: errors of exact counts are 0, which a logarithm cannot show.
    scale = {"type": "symlog", "constant": 1, "domain": [0, marks[-1]], "nice": False}
    axis = {"values": marks, "title": "error (people)", "grid": True, "format": ",~r"}
    x = {
        "field": "x",
        "type": "ordinal",
        "sort": list(order),
        "axis": {"title": title or None, "labelAngle": 0, "labelLimit": 0},
    }
    method = {"field": "method", "type": "nominal", "legend": LEGEND}
    colour = {**method, "scale": {"domain": methods, "range": COLOURS[: len(methods)]}}
    shape = {**method, "scale": {"domain": methods, "range": SHAPES[: len(methods)]}}
    y = {"field": "error", "type": "quantitative", "scale": scale, "axis": axis}
    return [
        {"mark": {"type": "line", "opacity": 0.6}, "encoding": {"x": x, "y": y, "color": colour}},
        {
            "mark": {"type": "point", "filled": True, "size": 90},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
        },
    ]


def _by_method(errors: Iterable[tuple[str, LevelError | SizeError]]) -> list[list[str]]:
    """A row per name, with the number of areas and the error of every method."""
    rows: dict[str, list[str]] = {}
    for name, error in errors:
        rows.setdefault(name, [name, f"{error.areas:,}"]).append(_number(error.rmse))
    return list(rows.values())


def _query_rows(accuracy: Accuracy) -> list[list[str]]:
    """Errors by level and query, as rows of a table."""
    return [
        [
            e.level,
            e.query,
            *map(_number, (e.standard_error, e.estimate)),
            "-" if e.covered is None else f"{100 * e.covered:.1f} %",
            _number(e.integer_tables),
        ]
        for e in accuracy.queries
    ]


def _size_class(error: SizeError) -> str:
    """A class of sizes.

    >>> [_size_class(SizeError("", least, 10 * least - 1, 1, 0.0)) for least in (10, 1000, 10000000)]
    ['10+', '1k+', '10M+']
    """
    unit, size = next(((unit, size) for unit, size in UNITS if error.least >= size), ("", 1))
    return f"{error.least // size}{unit}+" if error.most else "0"


def _number(value: float) -> str:
    """Three digits.

    >>> _number(0.0), _number(1e-12), _number(12.345), _number(1234.5)
    ('0', '0', '12.3', '1,234')
    """
    return "0" if value < 1e-6 else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _scope(design: Design) -> str:
    """How many areas and counts the release has, in one sentence."""
    cells = design.attributes.cells(design.attributes.detailed)
    levels = zip(design.spine.levels, design.spine.names, strict=True)
    areas = ", ".join(f"{name} {len(names):,}" for name, names in levels)
    return f"{ui.plural(design.spine.areas, 'area')} ({areas}) with {ui.plural(cells, 'count')} each."


def _guarantee_text(guarantee: GuaranteeSummary) -> str:
    """The guarantee in words: rho², epsilon at delta in two ways, whom it is about, what is exact, and earlier
    releases.
    """
    earlier = guarantee.get("with_earlier")
    both = ""
    if isinstance(earlier, dict):
        both = f" With the earlier releases that tables agree with: rho² = {earlier['rho_squared']} "
        both += f"(epsilon {earlier['epsilon']:.2f})."
    return (
        f"rho² = {guarantee['rho_squared']} in zero-concentrated differential privacy (epsilon "
        f"{guarantee['epsilon']:.2f} at delta {guarantee['delta']:g}, {guarantee['epsilon_by_losses']:.2f} by the "
        f"losses of all counts), for {guarantee['neighbours']}. Exact: "
        f"{'; '.join(_texts(guarantee, 'invariants'))}.{both}"
    )


TOTAL = "total"
"""The query for the number of people of an area."""


def _by_level(accuracy: Accuracy) -> list[tuple[str, float]]:
    """Errors of the numbers of people that are published, by level."""
    found = [error for error in accuracy.levels if error.counts == PEOPLE and error.method == INTEGER]
    return [(error.level, error.rmse) for error in found]


def _texts(guarantee: GuaranteeSummary, key: str) -> list[str]:
    """The texts of a list in the summary of a guarantee; none where it has another kind of value."""
    texts = guarantee[key]
    return [str(text) for text in texts] if isinstance(texts, list) else []


def _assumptions(guarantee: GuaranteeSummary) -> ui.Points:
    """What is exact, impossible or bounded, and which tables were there before: all that the guarantee takes as
    public.
    """
    impossible = guarantee.get("impossible_cells")
    return ui.Points(
        [
            *(f"exact: {text}" for text in _texts(guarantee, "invariants")),
            *([f"counts of an area that are zero in all data: {impossible}"] if impossible else []),
            *(f"public bounds: {text}" for text in _texts(guarantee, "public_bounds")),
            *(f"as published before: {text}" for text in _texts(guarantee, "earlier_tables")),
        ]
    )


def _budget(design: Design) -> list[tuple[str, str, str, float]]:
    """Share of rho² and variance of every query that is measured, level by level."""
    rows = []
    for index, level in enumerate(design.spine.levels):
        for query, variance in design.noise(index).items():
            share = design.shares[index] * design.queries[index][query]
            rows.append((level, design.attributes.title(query), str(share), variance))
    return rows
