"""One small table in the forms in which offices and programs print it; three counts are suppressed, and all follow.

Every count that is printed is 4 or more, so that an audit that succeeds has subtracted. `forms(folder)` writes files
and yields a name, the path and what an audit may answer: `found` where it must find the counts, `any` where it may also
refuse the file, or call the reading doubtful. No answer may be an all-clear.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROWS = ["Nordland", "Suedland", "Ostmark", "Westend"]
COLS = ["married", "single", "widowed"]
COUNTS = [[41, 52, 2], [3, 61, 19], [28, 44, 15], [18, 3, 21]]
GAPS = {(0, 2), (1, 0), (3, 1)}
Grid = list[list[object]]


@dataclass(frozen=True)
class Form:
    """One file, with what an audit of it may answer."""

    name: str
    path: Path
    wanted: str = "found"


def cell(i: int, j: int, symbol: object) -> object:
    """What the table prints."""
    return symbol if (i, j) in GAPS else COUNTS[i][j]


def wide(symbol: object = "", total: str = "Total", corner: str = "Region", rows=ROWS, cols=COLS) -> Grid:
    """A cross table with totals last."""
    body = [[rows[i], *(cell(i, j, symbol) for j in range(3)), sum(COUNTS[i])] for i in range(4)]
    sums = [sum(row[j] for row in COUNTS) for j in range(3)]
    return [[corner, *cols, total], *body, [total, *sums, sum(sums)]]


def totals_first(grid: Grid) -> Grid:
    """The same with both totals first."""
    turned = [[row[0], row[-1], *row[1:-1]] for row in grid]
    return [turned[0], turned[-1], *turned[1:-1]]


def total_row_first(grid: Grid) -> Grid:
    return [grid[0], grid[-1], *grid[1:-1]]


def transposed(grid: Grid) -> Grid:
    return [list(row) for row in zip(*grid, strict=True)]


def long(grid: Grid, names=("region", "status of family", "persons")) -> Grid:
    """One row per cell."""
    return [
        list(names),
        *([row[0], head, value] for row in grid[1:] for head, value in zip(grid[0][1:], row[1:], strict=True)),
    ]


def long_backwards(grid: Grid) -> Grid:
    return [row[::-1] for row in long(grid)]


def percent_columns(grid: Grid) -> Grid:
    """After every count its share of the row, where the count is printed."""
    out: Grid = [[grid[0][0], *(x for name in grid[0][1:] for x in (name, f"{name} %"))]]
    for row in grid[1:]:
        out.append(
            [row[0], *(x for v in row[1:] for x in (v, f"{100 * v / row[-1]:.1f}" if isinstance(v, int) else v))]
        )
    return out


def percent_rows(grid: Grid) -> Grid:
    """Below every row of counts its shares."""
    out: Grid = [["", "", *grid[0][1:]]]
    for row in grid[1:]:
        out.append([row[0], "Count", *row[1:]])
        out.append(["", "% within", *(f"{100 * v / row[-1]:.1f}%" if isinstance(v, int) else v for v in row[1:])])
    return out


def two_headers(grid: Grid) -> Grid:
    return [["", "Family", "", "", ""], [grid[0][0], *grid[0][1:]], *grid[1:]]


def with_titles(grid: Grid) -> Grid:
    return [
        ["Table A.3  Population by region and family, 2023"],
        ["Reference date: 31.12.2023"],
        [],
        *grid,
        [],
        ["Source: register of residents"],
        ["Figures may be revised"],
    ]


def code_and_name(grid: Grid) -> Grid:
    return [["code", *grid[0]], *([f"R{n:02}", *row] for n, row in enumerate(grid[1:], 1))]


def numbered(grid: Grid) -> Grid:
    return [["", *grid[0]], *([n, *row] for n, row in enumerate(grid[1:]))]


def blank_lines(grid: Grid) -> Grid:
    return [row for line in grid for row in (line, [])]


def units_row(grid: Grid) -> Grid:
    return [grid[0], ["", *["persons"] * (len(grid[0]) - 1)], *grid[1:]]


def notes_column(grid: Grid) -> Grid:
    return [[*grid[0], "Notes"], *([*row, "provisional" if n == 1 else ""] for n, row in enumerate(grid[1:]))]


def page_break(grid: Grid) -> Grid:
    return [*grid[:3], grid[0], *grid[3:]]


def sections(grid: Grid) -> Grid:
    """Every region a heading, its families below."""
    out: Grid = [["", "persons"]]
    for row in grid[1:]:
        out.append([row[0], ""])
        out += [[f"  {head}", value] for head, value in zip(grid[0][1:], row[1:], strict=True)]
    return out


def indented(grid: Grid) -> Grid:
    """Every region with its total, and its families indented below."""
    out: Grid = [["Region / family", "persons"]]
    for row in grid[1:]:
        out.append([row[0], row[-1]])
        out += [[f"   {head}", value] for head, value in zip(grid[0][1:-1], row[1:-1], strict=True)]
    return out


def merged_blanks(grid: Grid) -> Grid:
    """A long table in which a label stands once, in the first of its rows."""
    rows = long(grid)
    return [rows[0], *([r[0] if r[0] != rows[n][0] or n == 0 else "", *r[1:]] for n, r in enumerate(rows[1:]))]


def pandas_columns(grid: Grid) -> Grid:
    """What `to_csv` writes of columns with two levels and names."""
    return [
        ["sex", *["all"] * (len(grid[0]) - 1)],
        ["family", *grid[0][1:]],
        [grid[0][0], *[""] * (len(grid[0]) - 1)],
        *grid[1:],
    ]


def row_totals_only(grid: Grid) -> Grid:
    return grid[:-1]


def both_codes(grid: Grid) -> Grid:
    return [["year", *grid[0]], *([2023, *row] for row in grid[1:])]


LAYOUTS: dict[str, tuple[Callable[[Grid], Grid], str]] = {
    "wide": (lambda g: g, "found"),
    "first": (totals_first, "found"),
    "top": (total_row_first, "found"),
    "turned": (transposed, "found"),
    "long": (long, "found"),
    "backwards": (long_backwards, "any"),
    "percent_columns": (percent_columns, "any"),
    "percent_rows": (percent_rows, "any"),
    "headers": (two_headers, "any"),
    "titles": (with_titles, "found"),
    "codes": (code_and_name, "any"),
    "numbered": (numbered, "found"),
    "blank_lines": (blank_lines, "any"),
    "units": (units_row, "any"),
    "notes": (notes_column, "any"),
    "pages": (page_break, "any"),
    "sections": (sections, "any"),
    "indented": (indented, "any"),
    "merged": (merged_blanks, "any"),
    "pandas": (pandas_columns, "any"),
    "row_totals": (row_totals_only, "found"),
    "year": (both_codes, "any"),
}
SYMBOLS = {
    "empty": "",
    "star": "*",
    "stars": "**",
    "x": "x",
    "cap_x": "X",
    "c": "c",
    "cap_s": "S",
    "dash": "-",
    "en": "–",
    "dot": ".",
    "dots": "..",
    "colon": ":",
    "na": "n/a",
    "lt5": "<5",
    "le10": "≤10",
    "range": "1-4",
    "d": "(D)",
    "c2": "[c]",
}
ODD_SYMBOLS = [
    "#",
    "s",
    "suppressed",
    "NA",
    "NULL",
    "…",
    "•",
    "z",
    "†",
    "***",
    "?",
    "k.A.",
    "^",
    "Z",
    "1–4",
    "<=4",
    "0-4",
    "under 5",
    "(x)",
    "<5*",
    "nil",
    "—",
    "_",
    "N<5",
    "-99",
    "-1",
    "sup.",
    "conf",
    "ns",
    "F",
    "E",
    ":c",
    "/",
    "//",
    "x)",
    "< 5",
    "fewer than 5",
    "moins de 5",
    "weniger als 5",
    "1 bis 4",
    "1 to 4",
    "(*)",
    "[x]",
    "*)",
    "n.d.",
    "geheim",
    "█",
    "+",
    "=",
    "~",
    "1..4",
    "t/m 4",
    "S*",
    "c*",
    "xx",
    "D",
    "w",
    "...",
    "NaN",
    "nan",
    "none",
    "#N/A",
    "confidential",
    "not shown",
    "0*",
    "too few",
    "<3",
    "<10",
    "less than 5",
    "unter 5",
    "mniej niż 5",
    "méně než 5",
    "menos de 5",
    "5未満",
    "X",
    "χ",
    "秘",
    "&lt;5",
    "≤4",
    "1-4 persons",
]
LANGUAGES = {
    "de": ("Region", ["verheiratet", "ledig", "verwitwet"], "Insgesamt", "."),
    "fr": ("Région", ["marié·e", "célibataire", "veuf·ve"], "Ensemble", "s"),
    "es": ("Región", ["casado", "soltero", "viudo"], "Total general", ".."),
    "cs": ("Kraj", ["ženatý", "svobodný", "ovdovělý"], "Celkem", "i.d."),
    "pl": ("Województwo", ["żonaci", "kawalerowie", "wdowcy"], "Ogółem", "#"),
    "ja": ("地域", ["有配偶", "未婚", "死別"], "総数", "x"),
    "ar": ("المنطقة", ["متزوج", "أعزب", "أرمل"], "المجموع", "*"),
    "fi": ("Kunta", ["naimisissa", "naimaton", "leski"], "Yhteensä", ".."),
    "nl": ("Streek", ["gehuwd", "ongehuwd", "verweduwd"], "Totaal", "."),
    "it": ("Regione", ["coniugati", "celibi", "vedovi"], "Totale", ".."),
    "hu": ("Régió", ["házas", "nőtlen", "özvegy"], "Összesen", "*"),
    "unnamed": ("Bezirk", ["a", "b", "c"], "Kanton", "*"),
}


def write_csv(path: Path, grid: Grid, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(grid)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def write_xlsx(path: Path, grid: Grid, texts: bool = False, more: Callable[[object], None] | None = None) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    for r, row in enumerate(grid, 1):
        for c, value in enumerate(row, 1):
            if value != "":
                book.active.cell(r, c, str(value) if texts else value).data_type = (
                    "s" if texts or isinstance(value, str) else "n"
                )
    if more is not None:
        more(book)
    book.save(path)
    return path


def systematic(folder: Path) -> Iterator[Form]:
    """All layouts with all symbols, in one format each in turn."""
    number = 0
    for layout, (build, wanted) in LAYOUTS.items():
        for name, symbol in SYMBOLS.items():
            grid = build(wide(symbol))
            number += 1
            path = folder / f"{layout}-{name}"
            kind = ("csv", "semicolon", "tsv", "xlsx")[number % 4]
            if kind == "xlsx":
                made = write_xlsx(path.with_suffix(".xlsx"), grid)
            else:
                made = write_csv(
                    path.with_suffix(".tsv" if kind == "tsv" else ".csv"),
                    grid,
                    {"csv": ",", "semicolon": ";", "tsv": "\t"}[kind],
                )
            yield Form(
                f"{layout} {name} {kind}", made, wanted if name != "empty" or layout not in ("sections",) else "any"
            )


def symbols(folder: Path) -> Iterator[Form]:
    """Symbols that nobody has listed, wide and long."""
    for number, symbol in enumerate(ODD_SYMBOLS):
        yield Form(f"odd {symbol}", write_csv(folder / f"odd{number}.csv", wide(symbol)), "any")
        yield Form(f"odd long {symbol}", write_csv(folder / f"oddl{number}.csv", long(wide(symbol))), "any")


def languages(folder: Path) -> Iterator[Form]:
    """Names of totals and symbols of eleven languages, and digits of two more."""
    for code, (corner, cols, total, symbol) in LANGUAGES.items():
        grid = wide(symbol, total, corner, cols=cols)
        yield Form(f"{code} csv", write_csv(folder / f"{code}.csv", grid, ";"), "any")
        yield Form(f"{code} xlsx", write_xlsx(folder / f"{code}.xlsx", with_titles(grid)), "any")
        yield Form(f"{code} long", write_csv(folder / f"{code}_long.csv", long(grid)), "any")
        yield Form(f"{code} first", write_csv(folder / f"{code}_first.tsv", totals_first(grid), "\t"), "any")
    arabic, full = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"), str.maketrans("0123456789", "０１２３４５６７８９")
    for name, digits in (("arabic", arabic), ("fullwidth", full)):
        grid = [[str(v).translate(digits) if isinstance(v, int) else v for v in row] for row in wide("*")]
        yield Form(f"digits {name}", write_csv(folder / f"{name}.csv", grid), "any")
        yield Form(f"digits {name} xlsx", write_xlsx(folder / f"{name}.xlsx", grid), "any")


def _pad(values: list[object], widths: list[int], sep: str = " ") -> str:
    return sep.join(
        str(v).rjust(w) if n else str(v).ljust(w) for n, (v, w) in enumerate(zip(values, widths, strict=True))
    )


def programs(folder: Path) -> Iterator[Form]:
    """What statistical programs and offices print."""

    def text(name: str, lines: list[str], wanted: str = "any", encoding: str = "utf-8") -> Form:
        path = folder / name
        path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
        return Form(name, path, wanted)

    grid, widths = wide("*"), [12, 9, 9, 9, 9]
    bar = "-" * 13 + "+" + "-" * 40
    stata = [
        _pad(grid[0], widths),
        bar,
        *(f"{_pad(row[:1], [12])} |{_pad(row[1:], widths[1:])}" for row in grid[1:-1]),
        bar,
        f"{_pad(grid[-1][:1], [12])} |{_pad(grid[-1][1:], widths[1:])}",
    ]
    yield text("stata_tabulate.txt", ["           |         family", *stata])
    yield text(
        "r_print.txt",
        ["            family", _pad(["Region", *grid[0][1:]], widths), *(_pad(row, widths) for row in grid[1:])],
    )
    yield text(
        "r_ftable.txt",
        [
            _pad(["", "family", *grid[0][1:]], [10, 8, 9, 9, 9, 9]),
            "Region",
            *(_pad([row[0], "", *row[1:]], [10, 8, 9, 9, 9, 9]) for row in grid[1:]),
        ],
    )
    yield text("fixed_width.txt", [_pad(row, widths) for row in grid])
    yield text(
        "markdown.txt",
        [
            "| " + " | ".join(map(str, grid[0])) + " |",
            "|---|---|---|---|---|",
            *("| " + " | ".join(map(str, row)) + " |" for row in grid[1:]),
        ],
    )
    sas = [
        "Frequency|",
        "Percent  |",
        *(
            line
            for row in grid
            for line in (
                "|".join(str(v).rjust(9) for v in row) + "|",
                "|".join("".rjust(9) if not isinstance(v, int) else f"{v / 3.07:.2f}".rjust(9) for v in row) + "|",
                "-" * 50,
            )
        ),
    ]
    yield text("sas_freq.lst", sas)
    yield text("sas_freq.txt", sas)
    sas_long = [["Table", "region", "family", "_TYPE_", "_TABLE_", "Frequency", "Percent"]]
    for row in grid[1:]:
        for head, value in zip(grid[0][1:], row[1:], strict=True):
            kind = f"{int(row[0] != 'Total')}{int(head != 'Total')}"
            sas_long.append(
                [
                    "Table region * family",
                    "" if row[0] == "Total" else row[0],
                    "" if head == "Total" else head,
                    kind,
                    1,
                    value if isinstance(value, int) else ".",
                    f"{value / 3.07:.4f}" if isinstance(value, int) else ".",
                ]
            )
    yield Form("sas ods csv", write_csv(folder / "sas_ods.csv", sas_long), "any")
    spss: Grid = [
        ["region * family Crosstabulation"],
        ["Count"],
        ["", "", "family", "", "", "Total"],
        ["", "", *grid[0][1:]],
    ]
    spss += [["region" if n == 0 else "", *row] for n, row in enumerate(grid[1:-1])]
    spss += [["Total", "", *grid[-1][1:]]]
    yield Form("spss xlsx", write_xlsx(folder / "spss.xlsx", spss), "any")
    yield Form("spss csv", write_csv(folder / "spss.csv", spss), "any")
    pivot: Grid = [
        ["Count of id", "Column Labels"],
        ["Row Labels", *grid[0][1:-1], "Grand Total"],
        *grid[1:-1],
        ["Grand Total", *grid[-1][1:]],
    ]
    yield Form("pivot xlsx", write_xlsx(folder / "pivot.xlsx", [[], [], *pivot]), "any")
    yield Form("pivot csv", write_csv(folder / "pivot.csv", pivot), "any")
    flagged = {"*": ": c"}
    euro = [
        "family,unit,geo\\time\t2023 ",
        *(
            f"{h},NR,{row[0]}\t{flagged.get(str(v), f'{v} ')}"
            for row in grid[1:]
            for h, v in zip(grid[0][1:], row[1:], strict=True)
        ),
    ]
    yield text("eurostat.tsv", euro)
    euro2 = [
        "geo\\family\t" + "\t".join(map(str, grid[0][1:])),
        *(
            f"{row[0]}\t"
            + "\t".join(":c" if v == "*" else f"{v} bp" if n == 1 else f"{v} " for n, v in enumerate(row[1:]))
            for row in grid[1:]
        ),
    ]
    yield text("eurostat2.tsv", euro2)
    ons = wide("[c]")
    yield Form(
        "ons",
        write_xlsx(
            folder / "ons.xlsx",
            [
                ["Table 1: Population by region and family [note 1]"],
                ["This worksheet contains one table."],
                ["Some shorthand is used in this table, [c] = confidential."],
                [f"{ons[0][0]} [note 2]", *ons[0][1:]],
                *ons[1:],
            ],
        ),
        "any",
    )
    census: Grid = [
        ["GEO_ID", "NAME", *(x for h in grid[0][1:] for x in (f"Estimate!!{h}", f"Annotation of Estimate!!{h}"))]
    ]
    census += [
        [f"0500000US{n}", row[0], *(x for v in row[1:] for x in ((v, "") if isinstance(v, int) else ("", "(D)")))]
        for n, row in enumerate(grid[1:], 1)
    ]
    yield Form("census", write_csv(folder / "census.csv", census), "any")
    canada: Grid = [
        [
            "REF_DATE",
            "GEO",
            "DGUID",
            "Family",
            "UOM",
            "UOM_ID",
            "SCALAR_FACTOR",
            "SCALAR_ID",
            "VECTOR",
            "COORDINATE",
            "VALUE",
            "STATUS",
            "SYMBOL",
            "TERMINATED",
            "DECIMALS",
        ]
    ]
    canada += [
        [
            2023,
            row[0],
            f"2021A{n}",
            h,
            "Persons",
            249,
            "units",
            0,
            f"v{n}{k}",
            f"{n}.{k}",
            v if isinstance(v, int) else "",
            "" if isinstance(v, int) else "x",
            "",
            "",
            0,
        ]
        for n, row in enumerate(grid[1:], 1)
        for k, (h, v) in enumerate(zip(grid[0][1:], row[1:], strict=True), 1)
    ]
    yield Form("statcan", write_csv(folder / "statcan.csv", canada), "any")
    for sign in ("x", "..", "F", "E"):
        yield Form(
            f"statcan wide {sign}",
            write_csv(
                folder / f"statcan{ord(sign[0])}.csv",
                [
                    ["Table: 17-10-0005-01"],
                    [],
                    *wide(sign),
                    [],
                    ["Symbol legend:"],
                    [f"{sign}  suppressed to meet the confidentiality requirements"],
                ],
            ),
            "any",
        )
    for sign, words in (
        (".", "Zahlenwert unbekannt oder geheim zu halten"),
        ("/", "keine Angaben, da Zahlenwert nicht sicher genug"),
        ("x", "Tabellenfach gesperrt"),
        ("-", "nichts vorhanden"),
    ):
        destatis: Grid = [
            ["Tabelle: 12411-0018"],
            ["Bevölkerung: Kreise"],
            ["Stichtag: 31.12.2023"],
            *wide(sign, "Insgesamt"),
            ["__________"],
            [f"{sign} = {words}"],
            ["(C)opyright Statistisches Bundesamt (Destatis), 2024"],
        ]
        yield Form(f"destatis {sign}", write_csv(folder / f"destatis{ord(sign)}.csv", destatis, ";", "cp1252"), "any")
    for sign in ("ns", "s", "nd"):
        yield Form(
            f"insee {sign}",
            write_csv(
                folder / f"insee_{sign}.csv",
                [
                    *wide(sign, "Ensemble"),
                    [],
                    [f"{sign} : résultat couvert par le secret statistique"],
                    ["Champ : France métropolitaine"],
                ],
                ";",
            ),
            "any",
        )
    for name, mark in (
        ("paren", "(1)"),
        ("star", "*"),
        ("super", "¹"),
        ("letter", "r"),
        ("bracket", "[2]"),
        ("spaced", " p"),
    ):
        marked = [
            [f"{v}{mark}" if isinstance(v, int) and n == 2 and c == 1 else v for c, v in enumerate(row)]
            for n, row in enumerate(wide("x"))
        ]
        yield Form(f"marker {name}", write_csv(folder / f"marker_{name}.csv", marked), "any")
    marked = [
        [f"{row[0]}{k})" if n else row[0], *row[1:]] for (n, row), k in zip(enumerate(wide("x")), "012345", strict=True)
    ]
    yield Form("marked labels", write_csv(folder / "marked_labels.csv", marked), "any")
    yield from _books(folder)
    yield from _documents(folder)


def _books(folder: Path) -> Iterator[Form]:
    """Workbooks: hidden columns, two tables on a sheet, several sheets, merged cells, texts for numbers."""
    yield Form(
        "hidden column",
        write_xlsx(
            folder / "hidden.xlsx",
            wide("x"),
            more=lambda b: b.active.column_dimensions.__getitem__("C").__setattr__("hidden", True),
        ),
        "any",
    )
    yield Form("texts", write_xlsx(folder / "texts.xlsx", wide("x"), texts=True), "found")
    other = [
        [row[0], *(v + 7 if isinstance(v, int) else v for v in row[1:])] if n else row for n, row in enumerate(wide(11))
    ]
    below = [["2022"], *wide("x"), [], ["2023"], *wide("x")]
    yield Form("two below", write_xlsx(folder / "below.xlsx", below), "any")
    yield Form("two below csv", write_csv(folder / "below.csv", below), "any")
    yield Form("two below same head", write_csv(folder / "below2.csv", [*wide("x"), [], *other]), "any")
    beside = [[*a, "", *b] for a, b in zip(wide("x"), other, strict=True)]
    yield Form("two beside", write_xlsx(folder / "beside.xlsx", beside), "any")
    yield Form("two beside csv", write_csv(folder / "beside.csv", beside), "any")

    def second(book) -> None:
        sheet = book.create_sheet("Notes")
        sheet["A1"] = "All data are provisional"

    def cover(book) -> None:
        sheet = book.create_sheet("Cover", 0)
        sheet["A1"], sheet["A2"], sheet["B2"] = "Contents", "Table 1", 4

    def chart(book) -> None:
        book.create_sheet("Empty")

    for name, more in (("notes", second), ("cover", cover), ("empty", chart)):
        yield Form(
            f"sheets {name}", write_xlsx(folder / f"sheets_{name}.xlsx", with_titles(wide("x")), more=more), "any"
        )
    yield Form(
        "offset", write_xlsx(folder / "offset.xlsx", [[], [], *([["", "", *row] for row in wide("x")])]), "found"
    )
    merged = [["Region", "Family", "", "", "Total"], ["", *COLS, ""], *wide("x")[1:]]
    yield Form(
        "merged",
        write_xlsx(
            folder / "merged.xlsx",
            merged,
            more=lambda b: [b.active.merge_cells(r) for r in ("A1:A2", "B1:D1", "E1:E2")],
        ),
        "any",
    )
    yield Form("spaces", write_csv(folder / "spaces.csv", [[f" {v} " for v in row] for row in wide("x")]), "found")
    yield Form("nbsp", write_csv(folder / "nbsp.csv", [[f"\u00a0{v}\u00a0" for v in row] for row in wide("x")]), "any")
    yield Form("utf16", write_csv(folder / "utf16.csv", wide("x"), "\t", "utf-16"), "found")
    yield Form("bom", write_csv(folder / "bom.csv", wide("x"), ";", "utf-8-sig"), "found")
    yield Form("pipe", write_csv(folder / "pipe.csv", wide("x"), "|"), "found")
    quoted = "\n".join(",".join(f'"{v}"' for v in row) for row in wide("x"))
    (folder / "quoted.csv").write_text(quoted)
    yield Form("quoted", folder / "quoted.csv", "found")
    big = [[v * 1000 + 1 if False else v for v in row] for row in wide("x")]
    yield Form(
        "decimals",
        write_csv(folder / "decimals.csv", [[f"{v}.0" if isinstance(v, int) else v for v in row] for row in big]),
        "any",
    )
    yield Form(
        "decimal commas",
        write_csv(
            folder / "decimal_commas.csv", [[f"{v},0" if isinstance(v, int) else v for v in row] for row in big], ";"
        ),
        "any",
    )


def _documents(folder: Path) -> Iterator[Form]:
    """Formats of programs: JSON, Parquet, Arrow, SQLite, SDMX."""
    import sqlite3

    import pandas as pd

    grid = wide(None)
    records = [dict(zip(("region", "family", "n"), row, strict=True)) for row in long(grid)[1:]]
    for name, value in (
        ("records", records),
        ("lists", wide(None)),
        ("wide", [dict(zip(grid[0], row, strict=True)) for row in grid[1:]]),
        ("columns", {h: [row[c] for row in grid[1:]] for c, h in enumerate(grid[0])}),
        ("nested", {row[0]: dict(zip(grid[0][1:], row[1:], strict=True)) for row in grid[1:]}),
        ("wrapped", {"title": "t", "data": records}),
        (
            "stat",
            {
                "class": "dataset",
                "id": ["region", "family"],
                "size": [5, 4],
                "value": [v for row in grid[1:] for v in row[1:]],
                "dimension": {
                    "region": {"category": {"index": [row[0] for row in grid[1:]]}},
                    "family": {"category": {"index": grid[0][1:]}},
                },
            },
        ),
    ):
        path = folder / f"json_{name}.json"
        path.write_text(json.dumps(value))
        yield Form(f"json {name}", path, "any")
    frame = pd.DataFrame(records)
    frame["n"] = frame["n"].astype("Int64")
    for name, made in (
        ("int", frame),
        ("float", frame.assign(n=frame["n"].astype("float64"))),
        ("text", frame.assign(n=frame["n"].astype("string").fillna("x"))),
        ("category", frame.assign(region=frame["region"].astype("category"))),
        ("pivot", frame.assign(n=frame["n"].astype("float64")).pivot(index="region", columns="family", values="n")),
    ):
        made.to_parquet(folder / f"{name}.parquet")
        yield Form(f"parquet {name}", folder / f"{name}.parquet", "any")
        made.reset_index().to_feather(folder / f"{name}.feather")
        yield Form(f"feather {name}", folder / f"{name}.feather", "any")
        made.to_csv(folder / f"pandas_{name}.csv")
        yield Form(f"to_csv {name}", folder / f"pandas_{name}.csv", "any")
        made.to_excel(folder / f"pandas_{name}.xlsx")
        yield Form(f"to_excel {name}", folder / f"pandas_{name}.xlsx", "any")
    tree = frame.assign(year=2023).set_index(["year", "region", "family"])["n"].unstack("family")
    tree.to_csv(folder / "multi.csv")
    yield Form("to_csv multiindex", folder / "multi.csv", "any")
    wider = frame.assign(year=2023).set_index(["region", "year", "family"])["n"].unstack(["year", "family"])
    wider.to_csv(folder / "multi2.csv")
    yield Form("to_csv multiindex columns", folder / "multi2.csv", "any")
    wider.to_excel(folder / "multi2.xlsx")
    yield Form("to_excel multiindex columns", folder / "multi2.xlsx", "any")
    with sqlite3.connect(folder / "t.sqlite") as base:
        frame.astype({"n": object}).where(frame.notna(), None).to_sql("t", base, index=False)
    base.close()
    yield Form("sqlite", folder / "t.sqlite", "any")
    sdmx: Grid = [
        ["DATAFLOW", "FREQ", "REGION", "FAMILY", "TIME_PERIOD", "OBS_VALUE", "OBS_STATUS", "UNIT_MULT", "UNIT_MEASURE"]
    ]
    for status in ("Q", "C", ""):
        rows = [
            [
                "X:Y(1.0)",
                "A",
                "_T" if r["region"] == "Total" else r["region"],
                "_T" if r["family"] == "Total" else r["family"],
                2023,
                r["n"] if r["n"] is not None else "",
                "A" if r["n"] is not None else status,
                0,
                "PS",
            ]
            for r in records
        ]
        yield Form(f"sdmx {status}", write_csv(folder / f"sdmx{status}.csv", [*sdmx, *rows]), "any")


def forms(folder: Path) -> Iterator[Form]:
    """All of them."""
    for part in (systematic, symbols, languages, programs):
        inside = folder / part.__name__
        inside.mkdir(parents=True)
        yield from part(inside)
