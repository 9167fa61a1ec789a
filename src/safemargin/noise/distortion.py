"""What noise does to small areas: relative errors by size, in one count or in all of an area, and who vanishes.

The study of section 4.2: the frequencies that a law of noise leads to are compared with a draw. Draws are for study;
published noise comes from `samplers`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from safemargin import ui
from safemargin.core import BoolArray, FloatArray, Generator, InputError, IntArray, numpy_generator
from safemargin.io import Sheet, check_columns, read_sheet
from safemargin.noise.charts import distortion_chart
from safemargin.noise.laws import EpsilonNoise, StudiedNoise, studied_noise
from safemargin.noise.records import Data
from safemargin.samplers import at_least

THRESHOLDS = (0.2, 0.5, 1.0)
"""Relative errors that the paper looks at."""
COLUMNS = (
    "count",
    "how many",
    *(f"{ui.exact_percent(share)} {kind}" for share in THRESHOLDS for kind in ("rough", "expected", "seen")),
)
WIDTH, BELOW = 20, 500
"""Width of a size class, and where the classes end."""
NAMED = 10
"""Areas that are listed by name."""


@dataclass(frozen=True)
class Areas:
    """Areas with their true counts: one column per part, the total last."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        parts, total = self.counts[:, :-1].sum(axis=1), self.counts[:, -1]
        if len(self.columns) > 1 and (parts != total).any():
            row = int(np.flatnonzero(parts != total)[0])
            added = f"{' + '.join(self.columns[:-1])} = {parts[row]}"
            raise InputError(f"{self.names[row]}: {added} but {self.columns[-1]} = {total[row]}; the parts must add up")


@dataclass(frozen=True)
class SizeClass:
    """Counts above `low` up to `high`: per threshold, how many are off by at least that share.

    `rough` is the paper's estimate, with the noise of Laplace and the upper end of the class; `expected` takes every
    count by itself, `seen` was drawn.
    """

    low: int
    high: int
    counts: int
    rough: tuple[float, ...]
    expected: tuple[float, ...]
    seen: tuple[int, ...]


@dataclass(frozen=True)
class Gone:
    """An area one of whose counts vanished or became negative."""

    name: str
    column: str
    true: int
    printed: int


@dataclass(frozen=True)
class Distortion(ui.Result):
    """Relative errors of all counts by size (`single`), of areas whose counts are all off the same way (`broadband`, by
    their total), and the counts that are gone, the largest first.
    """

    single: tuple[SizeClass, ...]
    broadband: tuple[SizeClass, ...]
    gone: tuple[Gone, ...]
    inputs: Mapping[str, object] = field(default_factory=dict)
    title: str = "Distortion"

    @property
    def vanished(self) -> tuple[Gone, ...]:
        """Counts that print zero."""
        return tuple(count for count in self.gone if count.printed == 0)

    @property
    def negative(self) -> tuple[Gone, ...]:
        """Counts that print a negative number."""
        return tuple(count for count in self.gone if count.printed < 0)

    def to_json(self) -> ui.Document:
        return {
            "value": len(self.gone),
            "inputs": dict(self.inputs),
            "details": {
                "thresholds": list(THRESHOLDS),
                "single": [asdict(size) for size in self.single],
                "broadband": [asdict(size) for size in self.broadband],
                "vanished": len(self.vanished),
                "negative": len(self.negative),
                "gone": [asdict(count) for count in self.gone],
            },
        }

    def to_report(self) -> ui.Report:
        caption = "Counts by size: bars are what the law of the noise leads to, ticks were drawn"
        law = (
            f"epsilon {self.inputs['epsilon']:g}"
            if self.inputs.get("epsilon") is not None
            else f"variance {self.inputs.get('variance')} within {self.inputs.get('bound')}"
        )
        kinds = {
            "Single counts off by at least a share": self.single,
            "Areas whose counts are all off the same way": self.broadband,
        }
        summary = "No count vanished or became negative."
        if self.gone:
            summary = (
                f"{ui.plural(len(self.vanished), 'count')} vanished and {len(self.negative):,} became negative; the "
                f"largest of them has {ui.plural(self.gone[0].true, 'person')}."
            )
        listed = [f"{count.name}: {count.column} {count.true:,}, printed {count.printed:,}" for count in self.gone]
        return ui.Report(
            self.title,
            ui.OnPage(f"{self.inputs.get('areas', 0):,} areas; noise with {law}."),
            *(
                ui.Section(
                    name,
                    ui.Chart(distortion_chart(self.chart_rows(classes)), caption, fits=True),
                    ui.Grid(COLUMNS, self.rows(classes), wide=True),
                )
                for name, classes in kinds.items()
            ),
            summary,
            ui.OnPage(ui.Figures({"vanished": len(self.vanished), "negative": len(self.negative)})),
            ui.Points(listed, NAMED),
        )

    def rows(self, classes: Sequence[SizeClass]) -> list[list[str]]:
        """Classes that hold any count."""
        return [
            [
                f"{size.low + 1}-{size.high}",
                f"{size.counts:,}",
                *(
                    text
                    for rough, expected, seen in zip(size.rough, size.expected, size.seen, strict=True)
                    for text in (_number(rough), _number(expected), f"{seen:,}")
                ),
            ]
            for size in classes
            if size.counts
        ]

    def chart_rows(self, classes: Sequence[SizeClass]) -> list[ui.Spec]:
        """One row per class and threshold."""
        return [
            {"upto": size.high, "threshold": threshold, "expected": size.expected[n], "seen": size.seen[n]}
            for size in classes
            for n, threshold in enumerate(THRESHOLDS)
        ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def distort(
    areas: Data,
    count: str = "count",
    parts: Sequence[str] = (),
    *,
    halves: bool = False,
    printed: Sequence[str] = (),
    name: Sequence[str] = (),
    epsilon: float | None = None,
    variance: float | None = None,
    bound: int | None = None,
    below: int = BELOW,
    width: int = WIDTH,
    seed: int = 1,
) -> Distortion:
    """Measure how noise distorts small areas by size, and which of them vanish or become negative.

    `areas` is a file or a DataFrame, `count` its column with the total of an area, `parts` those that add up to it;
    with `halves` two parts of equal chance are drawn. The noise has an epsilon, or a variance and a bound. It is drawn,
    unless `printed` names the columns with what was printed, parts first.
    """
    noise = studied_noise(epsilon, variance, bound)
    columns: tuple[str, ...] = (*parts, count)
    if printed and (halves or len(printed) != len(columns)):
        raise InputError(
            f"printed = {','.join(printed)}: name one column for each of {', '.join(columns)}, without halves"
        )
    sheet = read_sheet(areas, "areas")
    path = sheet.path
    names, values, without = read_areas(sheet, name, (*columns, *printed))
    counts = values[:, : len(columns)]
    if (counts < 0).any():
        raise InputError(f"{path}: {columns[int(np.argwhere(counts < 0)[0][1])]}: a true count is negative")
    generator = numpy_generator(seed)
    if halves and not parts:
        columns, counts = ("first half", "second half", count), halved(counts[:, 0], generator)
    noisy = values[:, len(columns) :] if printed else counts + noise.draw(counts.shape, generator)
    measured = distortion(Areas(names, columns, counts), noisy, noise, width=width, below=below)
    inputs = {
        "file": str(path),
        "areas": len(names),
        "without_count": without,
        "epsilon": epsilon,
        "variance": variance,
        "bound": bound,
        "seed": seed,
    }
    return replace(measured, inputs=inputs, title=f"{path.stem}: distortion")


def read_areas(sheet: Sheet, names: Sequence[str], counts: Sequence[str]) -> tuple[tuple[str, ...], IntArray, int]:
    """Names of areas (columns joined by a comma), their counts by column, and how many rows have no count."""
    check_columns(sheet.path, sheet.columns, (*names, *counts))
    rows = [row for row in range(len(sheet.rows)) if all(sheet.columns[column][row].strip() for column in counts)]
    if not rows:
        raise InputError(f"{sheet.path}: no row has a count in {', '.join(counts)}")
    values = np.array([[_integer(sheet, row, column) for column in counts] for row in rows], dtype=np.int64)
    texts = [[sheet.columns[name][row] for name in names] for row in rows]
    labels = tuple(", ".join(filter(None, text)) or sheet.place(row) for row, text in zip(rows, texts, strict=True))
    return labels, values, len(sheet.rows) - len(rows)


def _integer(sheet: Sheet, row: int, column: str) -> int:
    """An integer, which may be negative where noise was added, and may be written as 12.0."""
    try:
        number = float(sheet.columns[column][row])
    except ValueError:
        raise sheet.fault(row, column, "is not a number") from None
    # Beyond 2**53 doubles no longer hold every integer.
    if not number.is_integer() or abs(number) > 2**53:
        raise sheet.fault(row, column, "is not an integer")
    return int(number)


def distortion(
    areas: Areas,
    printed: IntArray,
    noise: StudiedNoise,
    *,
    width: int = WIDTH,
    below: int = BELOW,
) -> Distortion:
    """What `noise` does to the areas: what its law leads to, and what `printed` counts show."""
    at_least("width", width, 1)
    at_least("below", below, width)
    true, off = areas.counts, printed - areas.counts
    edges = np.arange(0, below + 1, width)
    # An error of exactly the share counts; 0.2 * 15 is a little above 3 in doubles, so it is rounded first.
    need = [np.maximum(1, np.ceil(np.round(threshold * true, 9))).astype(np.int64) for threshold in THRESHOLDS]
    single = _classes(
        true.ravel(),
        edges,
        [2 * noise.beyond(size).ravel() for size in need],
        [(np.abs(off) >= size).ravel() for size in need],
        [_rough(noise, threshold, edges, 1) for threshold in THRESHOLDS],
    )
    # Noise of the counts of one area is independent: the chance that all are off the same way is a product.
    broadband = _classes(
        true[:, -1],
        edges,
        [2 * noise.beyond(size).prod(axis=1) for size in need],
        [np.all(off >= size, axis=1) | np.all(off <= -size, axis=1) for size in need],
        [_rough(noise, threshold, edges, true.shape[1]) for threshold in THRESHOLDS],
    )
    return Distortion(single, broadband, _gone(areas, printed))


def _rough(noise: StudiedNoise, threshold: float, edges: IntArray, parts: int) -> FloatArray:
    """Chance per class at its upper end: of one count, or of a total and its equal parts together.

    For noise with an epsilon it is that of Laplace, `exp(-epsilon * threshold * high)` for one count (footnote 29).
    """
    shares = np.array([1.0]) if parts == 1 else np.array([*[1 / (parts - 1)] * (parts - 1), 1.0])
    sizes = threshold * edges[1:, None] * shares
    if isinstance(noise, EpsilonNoise):
        sides: FloatArray = np.exp(-noise.epsilon * sizes) / 2
    else:
        sides = noise.beyond(np.maximum(1, np.ceil(sizes)).astype(np.int64))
    chances: FloatArray = 2 * sides.prod(axis=1)
    return chances


def _classes(
    sizes: IntArray,
    edges: IntArray,
    expected: Sequence[FloatArray],
    seen: Sequence[BoolArray],
    rough: Sequence[FloatArray],
) -> tuple[SizeClass, ...]:
    classes = []
    for number, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        members = (sizes > low) & (sizes <= high)
        counts = int(members.sum())
        classes.append(
            SizeClass(
                low,
                high,
                counts,
                tuple(float(chances[number] * counts) for chances in rough),
                tuple(float(chances[members].sum()) for chances in expected),
                tuple(int(hits[members].sum()) for hits in seen),
            )
        )
    return tuple(classes)


def _gone(areas: Areas, printed: IntArray) -> tuple[Gone, ...]:
    # An empty area that prints a negative number has lost nobody.
    rows, columns = np.nonzero((areas.counts > 0) & (printed <= 0))
    gone = [
        Gone(areas.names[row], areas.columns[column], int(areas.counts[row, column]), int(printed[row, column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return tuple(sorted(gone, key=lambda count: (-count.true, count.name, count.column)))


def halved(totals: IntArray, generator: Generator) -> IntArray:
    """Two parts of every total, as if everybody were one or the other with equal chance, and the total."""
    first = generator.binomial(totals, 0.5)
    return np.stack([first, totals - first, totals], axis=1)
