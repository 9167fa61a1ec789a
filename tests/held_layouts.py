"""Layouts in which offices print one cross table: a function from a table to a grid of cells, one per layout.

Written from the list of what is found in the wild, not from the reader. `TEXTS` are written as text files by
`held_files.py`; a layout that makes a statement of its own (`-` for a gap) puts the words for it in the footnote.
"""

from collections.abc import Callable

from held_worlds import Cell, Grid, Table, transposed

LAYOUTS: dict[str, Callable[[Table], Grid]] = {}


def layout(function: Callable[[Table], Grid]) -> Callable[[Table], Grid]:
    LAYOUTS[function.__name__] = function
    return function


def _titled(t: Table, grid: Grid, foot: str | None = None) -> Grid:
    return [[t.world.title], [], *grid, [], [t.world.foot if foot is None else foot], [t.world.source]]


@layout
def plain(t: Table) -> Grid:
    return t.wide()


@layout
def titled(t: Table) -> Grid:
    return _titled(t, t.wide())


@layout
def titled_with_text_numbers(t: Table) -> Grid:
    return _titled(t, t.wide(number=t.text))


@layout
def totals_first(t: Table) -> Grid:
    grid = [[row[0], row[-1], *row[1:-1]] for row in t.wide()]
    return _titled(t, [grid[0], grid[-1], *grid[1:-1]])


@layout
def total_row_first_column_last(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], grid[-1], *grid[1:-1]]


@layout
def turned(t: Table) -> Grid:
    return _titled(t, transposed(t.wide()))


@layout
def total_row_twice(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], *grid[1:-1], grid[-1], [], [grid[-1][0], *grid[-1][1:]]]


@layout
def empty_columns_between(t: Table) -> Grid:
    return [[x for cell in row for x in (cell, None)] for row in t.wide()]


@layout
def empty_rows_between(t: Table) -> Grid:
    return [line for row in t.wide() for line in ([*row], [])]


@layout
def shifted_to_the_right(t: Table) -> Grid:
    return [[], [None, None, t.world.title], [], *([None, None, *row] for row in t.wide())]


@layout
def axis_name_above(t: Table) -> Grid:
    w, grid = t.world, t.wide()
    return [[None, w.column_name], [w.row_name, *grid[0][1:]], *grid[1:]]


@layout
def corner_with_both_names(t: Table) -> Grid:
    w, grid = t.world, t.wide()
    return [[f"{w.row_name} \\ {w.column_name}", *grid[0][1:]], *grid[1:]]


@layout
def no_corner(t: Table) -> Grid:
    grid = t.wide()
    return [[None, *grid[0][1:]], *grid[1:]]


@layout
def units_below_header(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], [None, *["number"] * (len(grid[0]) - 1)], *grid[1:]]


@layout
def numbers_below_header(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], [f"({n})" for n in range(1, len(grid[0]) + 1)], *grid[1:]]


@layout
def code_column_before(t: Table) -> Grid:
    grid = t.wide()
    body = [[f"{101 + n}", *row] for n, row in enumerate(grid[1:-1])]
    return [["code", *grid[0]], *body, [None, *grid[-1]]]


@layout
def code_column_after(t: Table) -> Grid:
    grid = t.wide()
    body = [[row[0], f"Z{n:02}", *row[1:]] for n, row in enumerate(grid[1:-1], 1)]
    return [[grid[0][0], "id", *grid[0][1:]], *body, [grid[-1][0], "Z", *grid[-1][1:]]]


@layout
def code_in_the_label(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], *([f"{11 + n} {row[0]}", *row[1:]] for n, row in enumerate(grid[1:-1])), grid[-1]]


@layout
def numbered_rows(t: Table) -> Grid:
    grid = t.wide()
    return [["No.", *grid[0]], *([n, *row] for n, row in enumerate(grid[1:], 1))]


@layout
def notes_after(t: Table) -> Grid:
    grid = t.wide()
    return [[*grid[0], "Remarks"], *([*row, "see annex" if n == 2 else None] for n, row in enumerate(grid[1:]))]


@layout
def shares_after_each(t: Table) -> Grid:
    grid = t.wide()
    out: Grid = [[grid[0][0], *(x for name in grid[0][1:] for x in (name, f"{name} (%)"))]]
    for row in grid[1:]:
        whole = row[-1]
        assert isinstance(whole, int)
        shares = [f"{100 * v / whole:.1f}" if isinstance(v, int) else v for v in row[1:]]
        out.append([row[0], *(x for pair in zip(row[1:], shares, strict=True) for x in pair)])
    return out


@layout
def shares_in_a_block(t: Table) -> Grid:
    grid, m = t.wide(), t.shape[1]
    out: Grid = [[None, "Number", *[None] * m, "Per cent", *[None] * m], [grid[0][0], *grid[0][1:], *grid[0][1:]]]
    for row in grid[1:]:
        whole = row[-1]
        assert isinstance(whole, int)
        out.append([*row, *(f"{100 * v / whole:.1f}" if isinstance(v, int) else v for v in row[1:])])
    return out


@layout
def shares_below(t: Table) -> Grid:
    grid = t.wide()
    whole = grid[-1]
    last = [f"{100 * v / whole[-1]:.1f} %" for v in whole[1:] if isinstance(v, int) and isinstance(whole[-1], int)]
    return [*grid, ["Share", *last]]


@layout
def shares_in_the_cell(t: Table) -> Grid:
    grid = t.wide()
    out: Grid = [grid[0]]
    for row in grid[1:]:
        whole = row[-1]
        assert isinstance(whole, int)
        out.append([row[0], *(f"{v} ({100 * v / whole:.1f}%)" if isinstance(v, int) else v for v in row[1:])])
    return out


@layout
def change_column(t: Table) -> Grid:
    grid = t.wide()
    return [[*grid[0], "Change on 2022"], *([*row, (-1) ** n * (3 + n)] for n, row in enumerate(grid[1:]))]


@layout
def change_percent_column(t: Table) -> Grid:
    grid = t.wide()
    return [[*grid[0], "+/- %"], *([*row, f"{(-1) ** n * (1.5 + n):+.1f}"] for n, row in enumerate(grid[1:]))]


@layout
def mean_column(t: Table) -> Grid:
    grid = t.wide()
    return [[*grid[0], "Average age"], *([*row, 38.5 + n] for n, row in enumerate(grid[1:]))]


@layout
def rank_column(t: Table) -> Grid:
    grid = t.wide()
    return [[*grid[0], "Rank"], *([*row, n] for n, row in enumerate(grid[1:-1], 1)), [*grid[-1], None]]


@layout
def year_column_before(t: Table) -> Grid:
    grid = t.wide()
    return [["Year", *grid[0]], *([2023, *row] for row in grid[1:])]


@layout
def flags_after_each(t: Table) -> Grid:
    """An empty cell with a flag beside it, as statistical data bases write it."""
    grid = t.wide(sign="")
    out: Grid = [[x for n, name in enumerate(grid[0]) for x in ((name, None) if n else (name,))]]
    for row in grid[1:]:
        out.append([row[0], *(x for v in row[1:] for x in (v or None, None if v else "c"))])
    return _titled(t, out, "c confidential")


@layout
def marks_behind_numbers(t: Table) -> Grid:
    return _titled(t, t.wide(number=lambda n: f"{n} r" if n % 5 == 0 else n), f"r revised; {t.world.foot}")


@layout
def raised_marks_on_labels(t: Table) -> Grid:
    grid = t.wide()
    grid[1][0] = f"{grid[1][0]}¹"
    grid[0][1] = f"{grid[0][1]}²⁾"
    return _titled(t, [*grid, [], ["¹ without islands"], ["²⁾ including transit"]])


@layout
def bracket_marks_on_labels(t: Table) -> Grid:
    grid = t.wide()
    grid[2][0] = f"{grid[2][0]} [note 1]"
    grid[-1][0] = f"{grid[-1][0]} [note 2]"
    return _titled(t, [*grid, [], ["[note 1] new boundaries"], ["[note 2] includes people without an address"]])


@layout
def long(t: Table) -> Grid:
    w, grid = t.world, t.wide()
    rows = [[row[0], name, v] for row in grid[1:] for name, v in zip(grid[0][1:], row[1:], strict=True)]
    return [[w.row_name, w.column_name, "persons"], *rows]


@layout
def long_with_blanks(t: Table) -> Grid:
    rows = long(t)
    return [rows[0], *([None if n and r[0] == rows[n][0] else r[0], *r[1:]] for n, r in enumerate(rows[1:]))]


@layout
def long_by_columns_first(t: Table) -> Grid:
    w, grid = t.world, t.wide()
    rows = [[grid[0][j], row[0], row[j]] for j in range(1, len(grid[0])) for row in grid[1:]]
    return [[w.column_name, w.row_name, "persons"], *rows]


@layout
def long_with_year_and_unit(t: Table) -> Grid:
    rows = long(t)
    return [["year", *rows[0][:2], "unit", "value"], *([2023, *r[:2], "persons", r[2]] for r in rows[1:])]


@layout
def long_without_gaps_listed(t: Table) -> Grid:
    """What is suppressed is not listed at all."""
    rows = long(t)
    return [rows[0], *(r for r in rows[1:] if isinstance(r[2], int))]


@layout
def long_with_flag(t: Table) -> Grid:
    rows = long(t)
    return [[*rows[0], "flag"], *([*r[:2], r[2], None] if isinstance(r[2], int) else [*r[:2], None, "c"]
                                  for r in rows[1:])]  # fmt: skip


@layout
def long_with_yes_no_flag(t: Table) -> Grid:
    rows = long(t)
    return [[*rows[0], "suppressed"], *([*r[:2], r[2], "no"] if isinstance(r[2], int) else [*r[:2], None, "yes"]
                                        for r in rows[1:])]  # fmt: skip


@layout
def long_with_bounds(t: Table) -> Grid:
    rows = long(t)
    out: Grid = [[*rows[0][:2], "lower", "upper"]]
    return out + [[*r[:2], *((r[2], r[2]) if isinstance(r[2], int) else (0, 12))] for r in rows[1:]]


@layout
def long_with_indicator(t: Table) -> Grid:
    """Counts and shares below each other, distinguished by a column."""
    w, grid = t.world, t.wide()
    out: Grid = [[w.row_name, w.column_name, "Indicator", "Value"]]
    for row in grid[1:]:
        whole = row[-1]
        assert isinstance(whole, int)
        for name, v in zip(grid[0][1:], row[1:], strict=True):
            out.append([row[0], name, "Number", v])
            out.append([row[0], name, "Per cent", f"{100 * v / whole:.1f}" if isinstance(v, int) else v])
    return out


@layout
def long_with_level(t: Table) -> Grid:
    rows, total = long(t), t.world.total
    return [["level", *rows[0]], *(["all" if total in r[:2] else "cell", *r] for r in rows[1:])]


@layout
def headings_with_indents(t: Table) -> Grid:
    grid = t.wide()
    out: Grid = [[f"{t.world.row_name} / {t.world.column_name}", "persons"]]
    for row in [grid[-1], *grid[1:-1]]:
        out.append([row[0], row[-1]])
        out += [[f"    {name}", v] for name, v in zip(grid[0][1:-1], row[1:-1], strict=True)]
    return _titled(t, out)


@layout
def headings_with_dots(t: Table) -> Grid:
    grid = headings_with_indents(t)
    return [[r[0].replace("    ", "..") if r and isinstance(r[0], str) else None, *r[1:]] if r else r for r in grid]


@layout
def headings_alone(t: Table) -> Grid:
    grid = t.wide()
    out: Grid = [[t.world.row_name, "persons"]]
    for row in grid[1:]:
        out.append([row[0]])
        out += [[name, v] for name, v in zip(grid[0][1:], row[1:], strict=True)]
    return out


def _regions(t: Table) -> tuple[list[Cell], list[list[int]]]:
    """Two parts of all rows, which get subtotals."""
    cut = t.shape[0] // 2
    return ["Area One", "Area Two"], [list(range(cut)), list(range(cut, t.shape[0]))]


def _sub(t: Table, rows: list[int]) -> list[Cell]:
    return [*(int(t.counts[rows, j].sum()) for j in range(t.shape[1])), int(t.counts[rows].sum())]


def _with_subtotals(t: Table, place: str, indent: str = "") -> Grid:
    """Subtotals that hide nothing: rows with a gap are in a part with another, or all follow all the more."""
    grid = t.wide()
    names, parts = _regions(t)
    out: Grid = [grid[0]]
    if place == "top":
        out.append(grid[-1])
    for name, rows in zip(names, parts, strict=True):
        head: list[Cell] = [name, *_sub(t, rows)]
        inner = [[f"{indent}{grid[i + 1][0]}", *grid[i + 1][1:]] for i in rows]
        out += [*inner, head] if place == "after" else [head, *inner]
    return out if place == "top" else [*out, grid[-1]]


@layout
def subtotals_before(t: Table) -> Grid:
    return _with_subtotals(t, "before")


@layout
def subtotals_after(t: Table) -> Grid:
    return _with_subtotals(t, "after")


@layout
def subtotals_indented(t: Table) -> Grid:
    return _with_subtotals(t, "before", "\u00a0\u00a0")


@layout
def subtotals_below_a_total(t: Table) -> Grid:
    return _titled(t, _with_subtotals(t, "top", "  "))


@layout
def subtotal_columns(t: Table) -> Grid:
    """The first two columns have a sum in the middle of the table."""
    grid = t.wide()
    out: Grid = [[*grid[0][:3], "Subtotal", *grid[0][3:]]]
    sums = [*(int(t.counts[i, :2].sum()) for i in range(t.shape[0])), int(t.counts[:, :2].sum())]
    return [*out, *([*row[:3], both, *row[3:]] for row, both in zip(grid[1:], sums, strict=True))]


@layout
def two_levels_across(t: Table) -> Grid:
    """Men and women, each with all columns and their sum: men hold the table, women the same counts and 20."""
    w, (n, m) = t.world, t.shape
    out: Grid = [[None, "Men", *[None] * m, "Women", *[None] * m, "All"],
                 [w.row_name, *w.columns, w.total, *w.columns, w.total, None]]  # fmt: skip
    for i in range(n + 1):
        own = [int(t.counts[i, j] if i < n else t.counts[:, j].sum()) for j in range(m)]
        men: list[Cell] = [*((t.cell(i, j) for j in range(m)) if i < n else own), sum(own)]
        add = 20 if i < n else 20 * n
        women = [*(v + add for v in own), sum(own) + m * add]
        out.append([w.rows[i] if i < n else w.total, *men, *women, 2 * sum(own) + m * add])
    return out


@layout
def two_levels_down(t: Table) -> Grid:
    """Two years below each other with the names of rows in each, and the year in the first of its rows alone."""
    w, grid = t.world, t.wide()
    out: Grid = [["Year", *grid[0]]]
    for year, add in ((2022, 0), (2023, 30)):
        for n, row in enumerate(grid[1:]):
            more = 0 if not add else add * (t.shape[0] if n == t.shape[0] else 1)
            cells: list[Cell] = []
            for j, v in enumerate(row[1:]):
                truth = int(t.counts[n, j]) if n < t.shape[0] and j < t.shape[1] else v
                assert isinstance(truth, int)
                cells.append(v if not add else truth + more * (t.shape[1] if j == t.shape[1] else 1))
            out.append([year if n == 0 else None, w.total if n == t.shape[0] else row[0], *cells])
    return out


@layout
def header_over_three_lines(t: Table) -> Grid:
    w, grid = t.world, t.wide()
    m = len(grid[0]) - 2
    return [[None, w.column_name, *[None] * m], [w.row_name, *grid[0][1:]], [None, *["n"] * (m + 1)], *grid[1:]]


@layout
def total_column_in_the_middle(t: Table) -> Grid:
    return [[*row[:2], row[-1], *row[2:-1]] for row in t.wide()]


@layout
def total_without_a_name(t: Table) -> Grid:
    grid = t.wide()
    return [grid[0], *grid[1:-1], [None, *grid[-1][1:]]]


@layout
def total_with_the_name_of_a_place(t: Table) -> Grid:
    grid = t.wide()
    grid[-1][0], grid[0][-1] = "Ruritania", "Persons"
    return grid


@layout
def only_row_totals(t: Table) -> Grid:
    return t.wide()[:-1]


@layout
def only_column_totals(t: Table) -> Grid:
    return [row[:-1] for row in t.wide()]


@layout
def total_in_the_title(t: Table) -> Grid:
    """The grand total is printed alone above the table."""
    return [[t.world.title], [t.world.total, int(t.counts.sum())], [], *t.wide()]


@layout
def two_tables_below_each_other(t: Table) -> Grid:
    """The second one is whole and about other people."""
    w, (n, m) = t.world, t.shape
    other: Grid = [[w.row_name, *w.columns, w.total]]
    for i in range(n):
        own = [int(t.counts[i, j]) + 40 + i for j in range(m)]
        other.append([w.rows[i], *own, sum(own)])
    cells = [[v for v in row[1:] if isinstance(v, int)] for row in other[1:]]
    other.append([w.total, *(sum(column) for column in zip(*cells, strict=True))])
    return [["A. 2023"], *t.wide(), [], [], ["B. 2022"], *other]


@layout
def two_tables_side_by_side(t: Table) -> Grid:
    grid = t.wide()
    other = [
        [v + 50 if isinstance(v, int) else v for v in row]
        for row in Table(t.world, t.counts, frozenset(), False).wide()
    ]
    wide = len(t.world.columns)
    for n, row in enumerate(other[1:], 1):
        add = 50 * (t.shape[0] if n > t.shape[0] else 1)
        truth = [int(t.counts[n - 1, j] if n <= t.shape[0] else t.counts[:, j].sum()) for j in range(wide)]
        other[n] = [row[0], *(v + add for v in truth), sum(truth) + wide * add]
    return [[*one, None, None, *two] for one, two in zip(grid, other, strict=True)]


@layout
def page_breaks(t: Table) -> Grid:
    grid = t.wide()
    return [[t.world.title], *grid[:3], [f"{t.world.title} (continued)"], grid[0], *grid[3:]]


@layout
def dashes_for_zero(t: Table) -> Grid:
    """One more column of nobody, printed as dashes, and a footnote for them."""
    grid = t.wide()
    wide = [[*row[:-1], "Nobody" if n == 0 else "-", row[-1]] for n, row in enumerate(grid)]
    return _titled(t, wide, f"- nil; {t.world.foot}")


@layout
def dash_gaps_explained(t: Table) -> Grid:
    return _titled(t.with_words(sign="-"), t.wide(sign="–"), "– suppressed for confidentiality")


@layout
def dash_gaps_unexplained(t: Table) -> Grid:
    return t.wide(sign="-")


@layout
def years_across(t: Table) -> Grid:
    grid = t.wide()
    return [[grid[0][0], *range(2020, 2020 + t.shape[1]), grid[0][-1]], *grid[1:]]


@layout
def bands_across(t: Table) -> Grid:
    grid = t.wide()
    names = ["0-14", "15-24", "25-64", "65+"][: t.shape[1]]
    return [[grid[0][0], *names, grid[0][-1]], *grid[1:]]


@layout
def bands_down(t: Table) -> Grid:
    grid = t.wide()
    names = ["under 15", "15-24", "25-44", "45-64", "65 and over"][: t.shape[0]]
    return [grid[0], *([name, *row[1:]] for name, row in zip(names, grid[1:], strict=False)), grid[-1]]


@layout
def wrapped_labels(t: Table) -> Grid:
    """Labels and names with a line break inside."""
    grid = t.wide()
    grid[0] = [grid[0][0], *(f"{name}\n(persons)" for name in grid[0][1:])]
    grid[1][0] = f"{grid[1][0]}\nand around"
    return grid


@layout
def label_in_two_columns(t: Table) -> Grid:
    """Labels in one of two columns by how deep they are."""
    grid = t.wide()
    names, parts = _regions(t)
    out: Grid = [[t.world.row_name, None, *grid[0][1:]]]
    for name, rows in zip(names, parts, strict=True):
        out.append([name, None, *_sub(t, rows)])
        out += [[None, *grid[i + 1]] for i in rows]
    return [*out, [grid[-1][0], None, *grid[-1][1:]]]


# Layouts that hide a count in one place and state it in another ----------------------------------------------------


@layout
def shares_of_gaps(t: Table) -> Grid:
    """The share of the row is printed where the count is not: it states the count."""
    grid, (n, m) = t.wide(), t.shape
    out: Grid = [[grid[0][0], *(x for name in grid[0][1:] for x in (name, f"{name} %"))]]
    for i, row in enumerate(grid[1:]):
        truth = [int(t.counts[i, j] if i < n else t.counts[:, j].sum()) for j in range(m)]
        shares = [f"{100 * v / sum(truth):.2f}" for v in (*truth, sum(truth))]
        out.append([row[0], *(x for pair in zip(row[1:], shares, strict=True) for x in pair)])
    return out


@layout
def shares_of_gaps_in_a_block(t: Table) -> Grid:
    grid, (n, m) = t.wide(), t.shape
    out: Grid = [[None, "Number", *[None] * m, "Per cent", *[None] * m], [grid[0][0], *grid[0][1:], *grid[0][1:]]]
    for i, row in enumerate(grid[1:]):
        truth = [int(t.counts[i, j] if i < n else t.counts[:, j].sum()) for j in range(m)]
        out.append([*row, *(round(100 * v / sum(truth), 2) for v in (*truth, sum(truth)))])
    return out


@layout
def shares_of_gaps_below(t: Table) -> Grid:
    """Below every row its shares, with those of gaps."""
    grid, (n, m) = t.wide(), t.shape
    out: Grid = [[grid[0][0], "", *grid[0][1:]]]
    for i, row in enumerate(grid[1:]):
        truth = [int(t.counts[i, j] if i < n else t.counts[:, j].sum()) for j in range(m)]
        out.append([row[0], "n", *row[1:]])
        out.append([None, "%", *(f"{100 * v / sum(truth):.2f}%" for v in (*truth, sum(truth)))])
    return out


@layout
def changes_of_gaps(t: Table) -> Grid:
    """Last year and the change since, where this year is suppressed."""
    w, n = t.world, t.shape[0]
    out: Grid = [[w.row_name, "2022", "2023", "Change"]]
    gaps = {i for i, _ in t.gaps}
    for i in range(n):
        now, before = int(t.counts[i].sum()), int(t.counts[i].sum()) + (-1) ** i * (5 + i)
        out.append([w.rows[i], before, w.sign if i in gaps else now, now - before])
    return out


@layout
def total_printed_for_some_rows(t: Table) -> Grid:
    """The last column has a sum only where a count of the row is suppressed."""
    grid, gaps = t.wide(), {i for i, _ in t.gaps}
    return [[*row[:-1], row[-1] if n == 0 or n - 1 in gaps else None] for n, row in enumerate(grid[:-1])]


@layout
def whole_column_hidden(t: Table) -> Grid:
    """One more column of which every count is suppressed, and not its sums: all follow from the sums of rows."""
    grid = t.wide(sign="17")
    w, (n, m) = t.world, t.shape
    out: Grid = [[w.row_name, *w.columns, "Other", w.total]]
    for i in range(n):
        own = [int(v) for v in t.counts[i]]
        out.append([w.rows[i], *own, w.sign, sum(own) + 2 + i])
    sums = [int(v) for v in t.counts.sum(axis=0)]
    more = sum(2 + i for i in range(n))
    assert grid
    return [*out, [w.total, *sums, more if m else None, sum(sums) + more]]


@layout
def whole_row_hidden(t: Table) -> Grid:
    """One more row of which every count is suppressed, its sum too: all follow from the sums of columns."""
    w, m = t.world, t.shape[1]
    sums = [int(v) for v in t.counts.sum(axis=0)]
    body: Grid = [[w.rows[i], *(int(v) for v in t.counts[i]), int(t.counts[i].sum())] for i in range(t.shape[0])]
    more = [2 + j for j in range(m)]
    gone: list[Cell] = ["Elsewhere", *[w.sign] * (m + 1)]
    last: list[Cell] = [w.total, *(a + b for a, b in zip(sums, more, strict=True)), sum(sums) + sum(more)]
    return [[w.row_name, *w.columns, w.total], *body, gone, last]


@layout
def whole_row_blank(t: Table) -> Grid:
    grid = whole_row_hidden(t)
    return [*grid[:1], ["Elsewhere"], *grid[1:-2], grid[-1]]


ONE_MARGIN = {
    "only_row_totals": ("row", "apart", "grand"), "total_printed_for_some_rows": ("row", "apart", "grand"),
    "only_column_totals": ("column", "apart", "grand"), "book_total_on_another_sheet": ("row", "apart", "grand"),
}  # fmt: skip
"""Layouts with the sums of one axis, and the kinds of gaps that follow from them."""
ALWAYS = frozenset(["whole_column_hidden", "whole_row_hidden", "whole_row_blank", "shares_of_gaps",
                    "shares_of_gaps_in_a_block", "shares_of_gaps_below", "changes_of_gaps"])  # fmt: skip
"""Layouts in which gaps follow whatever they are: no table of them is safe."""

SIGNS: dict[str, tuple[str, str]] = {
    "star": ("*", ""), "low_star": ("⁎", ""), "math_star": ("∗", ""), "wide_star": ("＊", "＊ suppressed"),
    "arabic_star": ("٭", "٭ suppressed"), "japan_star": ("※", "※ suppressed"), "cyrillic_x": ("Х", "Х confidential"),
    "times": ("×", ""), "wide_x": ("Ｘ", "Ｘ suppressed"), "three_dots": ("...", ""), "ellipsis": ("…", ""),
    "dot": (".", ""), "two_dots": ("..", ""), "spaced_dots": (". .", ". . not published"), "colon": (":", ""),
    "eurostat": (": c", ""), "na": ("#N/A", ""), "nan": ("NaN", ""), "null": ("NULL", ""),
    "np": ("np", "np not published"),
    "npp": ("n.p.", "n.p. not available for publication"), "less": ("<5", ""), "less_equal": ("≤ 4", ""),
    "less_words": ("fewer than 5", ""), "wide_less": ("＜5", ""), "range": ("1-4", ""), "range_dash": ("1 – 4", ""),
    "range_to": ("1 to 4", ""), "brackets": ("[1-4]", ""), "letter": ("(D)", ""), "word": ("Suppressed", ""),
    "secret": ("geheim", ""), "note": ("[c]", ""), "low": ("[low]", ""), "blank": ("", ""), "spaces": ("   ", ""),
    "nbsp": ("\u00a0", ""), "slash": ("/", ""), "two_slashes": ("//", ""), "bullet": ("•", ""), "box": ("■", ""),
    "hash": ("#", ""), "hashes": ("####", "#### value not shown"), "question": ("?", ""),
    "tilde": ("~", "~ small number"),
    "bar": ("―", "― confidential"), "figure_dash": ("‒", "‒ confidential"), "wide_dash": ("－", "－ confidential"),
    "sn": ("S/N", "S/N: sin datos por confidencialidad"), "own": ("zz", "zz = not shown, to protect respondents"),
    "at_most": ("max. 4", "max. 4: between 1 and 4 people"), "caps_d": ("D", "D  data not shown"),
    "under_sign": ("_", ""),
}  # fmt: skip


def signed(name: str) -> Callable[[Table], Grid]:
    """The plain table with another sign of gaps, explained below it where no office uses it."""
    sign, foot = SIGNS[name]

    def make(t: Table) -> Grid:
        return t.wide(sign=sign) if not foot else [*t.wide(sign=sign), [], [foot]]

    return make
