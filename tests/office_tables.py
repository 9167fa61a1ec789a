"""Random tables in the manner of offices, built cell by cell from what an office decides: a second generator.

An office has a population by one to three characteristics, a house style (language, separators, symbol, footnote), and
a layout. `office_table(seed)` gives the cells of a sheet and the truth: counts by the set of their labels, and gaps.
`plain_table(seed)` gives a cross table with totals that is the same table in every layout of `found_forms`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Grid = list[list[object]]
Truth = dict[frozenset[str], int]


@dataclass(frozen=True)
class House:
    """How an office prints: names of places and kinds, of totals, its separators, symbol and footnotes."""

    places: tuple[str, ...]
    kinds: tuple[str, ...]
    total: str
    thousands: str
    decimal: str
    symbol: str
    footnote: str
    title: str
    source: str
    remark: str


HOUSES = (
    House(
        ("Berlin", "Brandenburg", "Hamburg", "Hessen", "Saarland", "Sachsen", "Thüringen"),
        ("ledig", "verheiratet", "geschieden", "verwitwet"),
        "Insgesamt",
        ".",
        ",",
        ".",
        ". = Zahlenwert geheim zu halten",
        "Tabelle 12411-0014: Bevölkerung",
        "Quelle: Statistisches Amt",
        "vorläufig",
    ),
    House(
        ("Bretagne", "Normandie", "Occitanie", "Grand Est", "Centre"),
        ("hommes seuls", "femmes seules", "couples", "autres"),
        "Ensemble",
        " ",
        ",",
        "s",
        "s : secret statistique",
        "Tableau 3 – Ménages par région",
        "Source : Insee, recensement",
        "révisé",
    ),
    House(
        ("Leeds", "York", "Hull", "Bath", "Derby", "Ely", "Truro"),
        ("owned", "rented", "shared", "other tenure"),
        "All households",
        ",",
        ".",
        "[c]",
        "[c] = confidential",
        "Table 2: Households by tenure [note 1]",
        "Source: Office for National Statistics",
        "provisional",
    ),
    House(
        ("Aragón", "Asturias", "Cantabria", "Galicia", "Murcia", "Navarra"),
        ("solteros", "casados", "viudos", "separados"),
        "Total",
        ".",
        ",",
        "*",
        "* menos de 5",
        "Tabla 1. Población por comunidad",
        "Fuente: Instituto de Estadística",
        "provisional",
    ),
    House(
        ("Praha", "Plzeň", "Brno", "Olomouc", "Zlín"),
        ("muži", "ženy", "děti"),
        "Celkem",
        " ",
        ",",
        "x",
        "x důvěrný údaj (confidential)",
        "Tab. 5 Obyvatelstvo podle krajů",
        "Zdroj: ČSÚ",
        "předběžné",
    ),
    House(
        ("Łódź", "Kraków", "Gdańsk", "Poznań", "Opole", "Lublin"),
        ("pracujący", "bezrobotni", "bierni"),
        "Ogółem",
        " ",
        ",",
        "#",
        "# dane poufne (confidential)",
        "Tablica 7. Ludność",
        "Źródło: GUS",
        "szacunek",
    ),
    House(
        ("札幌", "仙台", "横浜", "京都", "神戸"),
        ("持ち家", "借家", "その他"),
        "総数",
        ",",
        ".",
        "x",
        "x: 秘匿 (suppressed)",
        "表1 世帯数",
        "資料：統計局",
        "速報",
    ),
    House(
        ("Alberta", "Manitoba", "Nunavut", "Ontario", "Quebec", "Yukon"),
        ("full-time", "part-time", "not employed"),
        "Total",
        ",",
        ".",
        "x",
        "x suppressed to meet the confidentiality requirements of the Statistics Act",
        "Table 17-10-0005",
        "Source: Statistics Canada",
        "revised",
    ),
    House(
        ("Alabama", "Alaska", "Idaho", "Maine", "Nevada", "Utah", "Vermont"),
        ("White", "Black", "Asian", "Two or more"),
        "Total",
        ",",
        ".",
        "(D)",
        "(D) Suppressed to avoid disclosing data",
        "Table B02001. Race",
        "Source: U.S. Census Bureau",
        "revised",
    ),
    House(
        ("Hordaland", "Rogaland", "Troms", "Telemark"),
        ("gift", "ugift", "skilt"),
        "I alt",
        " ",
        ",",
        ":",
        ": tall kan ikke offentliggjøres (confidential)",
        "Tabell 4. Personer",
        "Kilde: SSB",
        "foreløpig",
    ),
)


@dataclass(frozen=True)
class Office:
    """The cells of a sheet, the counts of all inner cells, which of them are gaps, and what was drawn."""

    rows: Grid
    counts: Truth
    gaps: frozenset[frozenset[str]]
    what: str


def _number(house: House, separated: bool) -> Callable[[int], object]:
    return lambda n: f"{n:,}".replace(",", house.thousands) if separated and n >= 1000 else n


def _cross(rng: np.random.Generator, house: House) -> tuple[list[str], list[str], np.ndarray, set[tuple[int, int]]]:
    rows = [str(x) for x in rng.permutation(house.places)[: int(rng.integers(3, len(house.places) + 1))]]
    cols = list(house.kinds[: int(rng.integers(2, len(house.kinds) + 1))])
    size = int(rng.choice([60, 900, 90_000]))
    counts = rng.integers(5, size, size=(len(rows), len(cols)))
    gaps = set()
    for _ in range(int(rng.integers(0, 5))):
        place = int(rng.integers(len(rows))), int(rng.integers(len(cols)))
        gaps.add(place)
        counts[place] = int(rng.integers(1, 5))
    return rows, cols, counts, gaps


def plain_table(seed: int) -> tuple[Grid, dict[frozenset[str], int | None]]:
    """A cross table with totals last, small enough for every layout, and its inner counts; None is a gap."""
    rng = np.random.default_rng([seed, 77])
    house = HOUSES[int(rng.integers(len(HOUSES)))]
    rows, cols, counts, gaps = _cross(rng, house)
    symbol = str(rng.choice(["*", "x", "..", "[c]", ":", "n/a"]))
    body: Grid = [
        [row, *(symbol if (i, j) in gaps else int(counts[i, j]) for j in range(len(cols))), int(counts[i].sum())]
        for i, row in enumerate(rows)
    ]
    grid: Grid = [["Place", *cols, "Total"], *body, ["Total", *map(int, counts.sum(axis=0)), int(counts.sum())]]
    truth = {
        frozenset([row, col]): None if (i, j) in gaps else int(counts[i, j])
        for i, row in enumerate(rows)
        for j, col in enumerate(cols)
    }
    return grid, truth


def office_table(seed: int) -> Office:
    """One sheet."""
    rng = np.random.default_rng([seed, 4711])
    house = HOUSES[seed % len(HOUSES)]
    rows, cols, counts, gaps = _cross(rng, house)
    number = _number(house, bool(rng.random() < 0.5))
    layout = str(
        rng.choice(["cross", "cross", "first", "shares", "rows of shares", "two levels", "years", "list", "areas"])
    )
    cell = {(i, j): house.symbol if (i, j) in gaps else number(int(counts[i, j])) for i, j in np.ndindex(counts.shape)}
    across, down, whole = counts.sum(axis=1), counts.sum(axis=0), int(counts.sum())
    body: Grid = [[row, *(cell[i, j] for j in range(len(cols))), number(int(across[i]))] for i, row in enumerate(rows)]
    last: list[object] = [house.total, *(number(int(n)) for n in down), number(whole)]
    truth: Truth = {frozenset([r, c]): int(counts[i, j]) for i, r in enumerate(rows) for j, c in enumerate(cols)}
    hidden = frozenset(frozenset([rows[i], cols[j]]) for i, j in gaps)
    grid: Grid = [["", *cols, house.total], *body, last]
    if layout == "first":
        grid = [[row[0], row[-1], *row[1:-1]] for row in [grid[0], last, *body]]
    elif layout == "shares":
        share = lambda v, n: house.symbol if v == house.symbol else f"{100 * n:.1f}".replace(".", house.decimal)  # noqa: E731
        grid = [["", *(x for c in [*cols, house.total] for x in (c, f"{c} %"))]]
        for i, row in enumerate([*body, last]):
            base = int(across[i]) if i < len(rows) else whole
            real = [*(map(int, counts[i])), base] if i < len(rows) else [*map(int, down), whole]
            grid.append([row[0], *(x for v, n in zip(row[1:], real, strict=True) for x in (v, share(v, n / base)))])
    elif layout == "rows of shares":
        grid = [["", "", *cols, house.total]]
        for i, row in enumerate([*body, last]):
            base = int(across[i]) if i < len(rows) else whole
            real = [*(map(int, counts[i])), base] if i < len(rows) else [*map(int, down), whole]
            grid.append([row[0], "n", *row[1:]])
            grid.append(
                [
                    "",
                    "%",
                    *(v if v == house.symbol else f"{100 * n / base:.1f}%" for v, n in zip(row[1:], real, strict=True)),
                ]
            )
    elif layout == "two levels":
        grid = [["", house.title.split(":")[0], *[""] * len(cols)], ["", *cols, house.total], *body, last]
    elif layout == "list":
        grid = [["Area", "Kind", "Persons"]]
        for row in [*body, last]:
            grid += [[row[0], c, v] for c, v in zip([*cols, house.total], row[1:], strict=True)]
    elif layout == "areas":
        half = max(len(rows) // 2, 1)
        parts = [("Zone A", rows[:half]), ("Zone B", rows[half:])]
        grid = [["", *cols, house.total]]
        for name, inside in parts:
            picked = [rows.index(r) for r in inside]
            grid.append(
                [name, *(number(int(n)) for n in counts[picked].sum(axis=0)), number(int(counts[picked].sum()))]
            )
            grid += [[f"   {body[i][0]}", *body[i][1:]] for i in picked]
        grid.append(last)
    elif layout == "years":
        grid = [
            ["", *cols, house.total, "remark"],
            *([*row, house.remark if i == 0 else ""] for i, row in enumerate([*body, last])),
        ]
    top: Grid = [
        [house.title],
        *([[house.source]] if rng.random() < 0.4 else []),
        *([[]] if rng.random() < 0.6 else []),
    ]
    foot: Grid = [*([[]] if rng.random() < 0.6 else []), [house.footnote], [house.source]]
    bare = layout == "list" or rng.random() < 0.2
    return Office(grid if bare else [*top, *grid, *foot], truth, hidden, f"{layout}, {house.total}, {house.symbol}")
