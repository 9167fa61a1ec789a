"""Tables as agencies publish them, drawn at random in the manner of named offices, each with what is behind it.

Written from the rules of reading alone, beside no code of the reader: `AGENCIES` imitate spreadsheets of statistics
offices, health services, schools and survey platforms. `draw(seed)` gives a grid, its truth (`Truth`), and which gaps
follow from the printed counts by integer programs over the counts that an office would hold (`follows`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Key = tuple[str, ...]
Leaf = tuple[Key, Key]


@dataclass(frozen=True)
class Agency:
    """How one kind of office writes: words, symbols, signs in numbers, remarks, file formats."""

    name: str
    axes: dict[str, list[str]]
    total: list[str]
    gap: list[tuple[str, str, int | None]]
    above: list[str]
    below: list[str]
    thousands: list[str]
    files: list[str]
    percent: str = "%"
    number: str = "Number"
    remarks: str = "Notes"
    zero: str = "0"
    zero_note: str = ""
    own: tuple[tuple[str, str], ...] = ()
    habits: tuple[str, ...] = ()


def _english(places: list[str]) -> dict[str, list[str]]:
    return {
        "Area": places,
        "Age group": ["16 to 24", "25 to 34", "35 to 49", "50 to 64", "65 and over"],
        "Sex": ["Male", "Female"],
        "Qualification": ["None", "School", "Vocational", "Degree"],
        "Ethnic group": ["White", "Asian", "Black", "Mixed", "Other"],
    }


UK = _english(["Hartlepool", "Darlington", "Redcar and Cleveland", "Stockton-on-Tees", "Durham", "Tyneside"])
US = _english(["Adams County", "Bell County", "Clay County", "Dade County", "Elk County"])
AU = _english(["Sydney - City", "Hunter Valley", "Illawarra", "Riverina", "New England (NSW)"])
DE = {
    "Kreis": ["Ahrweiler", "Birkenfeld", "Cochem-Zell", "Kusel", "Südliche Weinstraße", "Zweibrücken"],
    "Altersgruppe": ["unter 18", "18 - 29", "30 - 59", "60 und mehr"],
    "Geschlecht": ["männlich", "weiblich"],
    "Staatsangehörigkeit": ["Deutsche", "EU-Ausland", "Drittstaaten"],
}
FR = {
    "Département": ["Ain", "Aisne", "Ardèche", "Corrèze", "Côte-d'Or", "Creuse"],
    "Tranche d'âge": ["Moins de 20", "20 à 39", "40 à 59", "60 ou plus"],
    "Sexe": ["Hommes", "Femmes"],
    "Catégorie": ["Professeurs", "Artisans", "Cadres", "Employés", "Ouvriers"],
}
NL = {
    "Gemeente": ["Almere", "Dronten", "Lelystad", "Noordoostpolder", "Urk", "Zeewolde"],
    "Leeftijd": ["0 tot 20 jaar", "20 tot 65 jaar", "65 jaar of ouder"],
    "Geslacht": ["Mannen", "Vrouwen"],
}
ES = {
    "Provincia": ["Álava", "Ávila", "Cáceres", "Cuenca", "Soria", "Teruel"],
    "Edad": ["Menores de 25", "De 25 a 54", "55 y más"],
    "Sexo": ["Hombres", "Mujeres"],
    "Actividad": ["Ocupados", "Parados", "Inactivos"],
}
PL = {
    "Powiat": ["bytowski", "chojnicki", "człuchowski", "lęborski", "słupski"],
    "Wiek": ["0–17 lat", "18–59 lat", "60 lat i więcej"],
    "Płeć": ["mężczyźni", "kobiety"],
}
SE = {
    "Kommun": ["Arjeplog", "Boden", "Gällivare", "Kiruna", "Övertorneå"],
    "Ålder": ["-19 år", "20-64 år", "65+ år"],
    "Kön": ["män", "kvinnor"],
}
JP = {
    "市区町村": ["青葉区", "宮城野区", "若林区", "太白区", "泉区"],
    "年齢": ["15歳未満", "15～64歳", "65歳以上"],
    "男女": ["男", "女"],
}
BR = {
    "Município": ["Abaíra", "Barreiras", "Caém", "Ilhéus", "Juazeiro"],
    "Grupo de idade": ["0 a 14 anos", "15 a 64 anos", "65 anos ou mais"],
    "Sexo": ["Homens", "Mulheres"],
}
IT = {
    "Comune": ["Abano Terme", "Cittadella", "Este", "Forlì", "Monselice"],
    "Fascia di età": ["fino a 24 anni", "25-54 anni", "55 anni e più"],
    "Cittadinanza": ["Italiana", "Straniera"],
}
FI = {
    "Kunta": ["Enontekiö", "Inari", "Kemi", "Muonio", "Sodankylä"],
    "Ikä": ["0–14", "15–64", "65–"],
    "Sukupuoli": ["Miehet", "Naiset"],
}
CZ = {
    "Okres": ["Beroun", "Český Krumlov", "Děčín", "Jičín", "Žďár nad Sázavou"],
    "Vzdělání": ["základní", "střední", "vysokoškolské"],
    "Pohlaví": ["muži", "ženy"],
}
RU = {
    "Район": ["Абзелиловский", "Белорецкий", "Дуванский", "Зилаирский"],
    "Возраст": ["моложе трудоспособного", "трудоспособный", "старше трудоспособного"],
    "Пол": ["мужчины", "женщины"],
}
SCHOOL = {
    "School": ["Ashby Elementary", "Birch Middle", "Cedar High", "Dogwood Academy", "Elm Charter"],
    "Proficiency": ["Below Basic", "Basic", "Proficient", "Advanced"],
    "Student Group": ["English Learners", "Students with Disabilities", "All Other Students"],
}
HR = {
    "Department": ["Finance", "R&D", "Sales EMEA", "Legal", "Operations", "People"],
    "Response": ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    "Tenure": ["< 1 year", "1-5 years", "> 5 years"],
}

FIRST = [
    Agency(
        "nomis",
        UK,
        ["Total", "All persons", "All categories"],
        [
            ("[c]", "[c] = confidential", None),
            ("*", "* These figures are suppressed as statistically unreliable.", None),
        ],
        [
            "LC1101 - {title}",
            "ONS Crown Copyright Reserved [from Nomis on 12 November 2025]",
            "",
            "population: All usual residents",
            "units: Persons",
            "date: 2021",
        ],
        [
            "In order to protect against disclosure of personal information, records have been swapped between areas.",
            "{gap}",
        ],
        ["", ","],
        ["xlsx", "csv"],
        habits=("codes",),
    ),
    Agency(
        "genesis",
        DE,
        ["Insgesamt"],
        [(".", ". = Zahlenwert unbekannt oder geheim zu halten", None), ("x", "x = Tabellenfach gesperrt", None)],
        ["Tabelle: 12411-0018", "{title}", "Stichtag: 31.12.2024"],
        ["__________", "{gap}", "(C)opyright Statistisches Bundesamt (Destatis), 2025", "Stand: 18.11.2025 / 09:12:44"],
        ["", "", "."],
        ["csv;cp1252", "csv;", "xlsx"],
        number="Anzahl",
        remarks="Hinweis",
        zero="-",
        zero_note="- = nichts vorhanden",
    ),
    Agency(
        "insee",
        FR,
        ["Ensemble", "Total"],
        [
            ("s", "s : résultat non diffusé par respect du secret statistique", None),
            ("nd", "nd : non disponible.", None),
        ],
        ["{title} en 2023", ""],
        [
            "{gap}",
            "Lecture : au 1er janvier 2023, voir la première ligne du tableau.",
            "Champ : France hors Mayotte.",
            "Source : Insee, recensement de la population.",
        ],
        ["\u202f", "\xa0", ""],
        ["xlsx", "csv;"],
        percent="en %",
        number="Effectifs",
        remarks="Remarque",
    ),
    Agency(
        "census",
        US,
        ["Total", "Total:"],
        [
            ("(D)", "(D) Suppressed to avoid disclosing data of individual respondents", None),
            (
                "N",
                "An N entry indicates that the estimate cannot be displayed: too few sample cases.",
                None,
            ),
        ],
        ["{title}", "Universe: Population 16 years and over"],
        ["{gap}", "Source: U.S. Census Bureau, 2023 American Community Survey 1-Year Estimates"],
        [","],
        ["xlsx", "csv"],
        percent="Percent",
        number="Estimate",
        habits=("indent",),
    ),
    Agency(
        "abs",
        AU,
        ["Total"],
        [("np", "np    not available for publication but included in totals where applicable", None)],
        [
            "            Australian Bureau of Statistics",
            "Released at 11:30 am (Canberra time) Tue 4 Nov 2025",
            "Table 3. {title}",
            "",
        ],
        ["", "{gap}", "© Commonwealth of Australia 2025"],
        ["", ","],
        ["xlsx"],
        number="no.",
        own=(("Sex", "Persons"), ("Area", "Australia")),
    ),
    Agency(
        "cbs",
        NL,
        ["Totaal"],
        [(".", ". : het cijfer is onbekend, onvoldoende betrouwbaar of geheim", None)],
        ["{title}"],
        ["{gap}", "Bron: CBS"],
        ["", "."],
        ["csv;bom", "xlsx"],
        number="aantal",
        percent="%",
    ),
    Agency(
        "nhs",
        UK,
        ["All", "Grand total"],
        [("*", "* Small numbers (1 to 7) are suppressed.", 7), ("<5", "", 4)],
        ["{title}, 2024/25", "NHS England: 18 November 2025"],
        ["", "Notes", "1. Figures are provisional.", "{gap}", "Copyright © 2025 NHS England"],
        [",", ""],
        ["xlsx", "csvbom"],
        own=(("Area", "England"),),
        habits=("codes",),
    ),
    Agency(
        "school",
        SCHOOL,
        ["All Students", "Total"],
        [
            ("n<10", "n<10: fewer than 10 students", 9),
            ("--", "-- data are suppressed to protect student privacy", None),
            ("<10", "", 9),
        ],
        ["State Department of Education", "{title}, School Year 2024-25"],
        ["{gap}"],
        ["", ","],
        ["csv", "xlsx", "tsv"],
        percent="Pct",
        own=(("School", "State"),),
    ),
    Agency(
        "spain",
        ES,
        ["Total"],
        [("..", ".. Dato protegido por secreto estadístico", None)],
        ["{title}", "Unidades: Personas", ""],
        ["{gap}", "Fuente: Instituto Nacional de Estadística"],
        [".", ""],
        ["csv;cp1252", "xlsx"],
        number="Personas",
        percent="Porcentaje",
        own=(("Sexo", "Ambos sexos"), ("Edad", "Todas las edades")),
    ),
    Agency(
        "survey",
        HR,
        ["Total", "Overall", "Grand Total"],
        [("Suppressed", "", None), ("<5", "", 4), ("hidden", "hidden: fewer than 5 respondents", 4)],
        ["Engagement survey 2025", "{title}"],
        ["{gap}"],
        ["", ","],
        ["xlsx", "csv"],
        habits=("pivot",),
    ),
    Agency(
        "statcan",
        _english(["Bathurst", "Edmundston", "Fredericton", "Miramichi", "Moncton"]),
        ["Total", "Total - all"],
        [("x", "x suppressed to meet the confidentiality requirements of the Statistics Act", None)],
        ["{title}", "Frequency: Annual", "Table: 37-10-0011-01", "Geography: New Brunswick", ""],
        ["", "Symbol legend:", "{gap}", "How to cite: Statistics Canada. Table 37-10-0011-01"],
        [",", ""],
        ["csv", "xlsx"],
        habits=("round5",),
    ),
]
SECOND = [
    Agency(
        "gus",
        PL,
        ["Ogółem", "Razem"],
        [("#", "# dane nie mogą być opublikowane ze względu na tajemnicę statystyczną", None)],
        ["Tablica 12. {title}", "          Stan w dniu 31 XII"],
        ["{gap}", "Ź r ó d ł o: dane Głównego Urzędu Statystycznego."],
        [" ", "\xa0", ""],
        ["xlsx", "csv;"],
        number="w liczbach bezwzględnych",
        percent="w %",
        zero="–",
        zero_note="– zjawisko nie wystąpiło",
        habits=("numbered",),
    ),
    Agency(
        "scb",
        SE,
        ["Totalt", "samtliga"],
        [("..", ".. = Uppgift ej tillgänglig eller för osäker för att anges", None)],
        ["{title}"],
        ["", "{gap}", "Senaste uppdatering:", "20250222 08:00", "Källa:", "SCB"],
        ["", " "],
        ["xlsx", "csv;cp1252"],
        number="Antal",
    ),
    Agency(
        "japan",
        JP,
        ["総数", "計", "合計"],
        [("X", "X：秘匿", None), ("x", "「x」は秘匿した数値", None)],
        ["第３表 {title}"],
        ["{gap}", "資料：総務省統計局"],
        [",", ""],
        ["xlsx", "csvbom"],
        number="人数",
        percent="割合(%)",
    ),
    Agency(
        "ibge",
        BR,
        ["Total"],
        [("X", "X - Valor inibido para não identificar o informante", None)],
        ["Tabela 6579 - {title}", "Variável - População residente (Pessoas)"],
        ["Fonte: IBGE", "Nota: ", "{gap}"],
        ["", "."],
        ["xlsx", "csv;bom"],
        number="Pessoas",
        zero="-",
        zero_note="- Zero absoluto, não resultante de um cálculo ou arredondamento",
    ),
    Agency(
        "istat",
        IT,
        ["Totale", "TOTALE"],
        [
            ("(..)", "(..) dato oscurato per la tutela del segreto statistico", None),
            ("….", "…. dato non disponibile", None),
        ],
        ["Tavola 2.4 - {title}. Anno 2024 (valori assoluti)"],
        ["{gap}", "Fonte: Istat"],
        [".", ""],
        ["xlsx", "csv;"],
        number="v.a.",
        percent="%",
    ),
    Agency(
        "statfin",
        FI,
        ["Yhteensä"],
        [("...", "... tieto on salassapitosäännön alainen", None)],
        ["{title}"],
        ["{gap}", "Lähde: Tilastokeskus"],
        ["", "\xa0"],
        ["csv;", "xlsx", "tsv"],
        number="Lukumäärä",
    ),
    Agency(
        "csu",
        CZ,
        ["Celkem", "Úhrnem"],
        [("i. d.", "i. d. – individuální data nelze zveřejnit", None), ("D", "D – důvěrný údaj", None)],
        ["Tab. 7 {title}", "v tom"],
        ["{gap}", "Zdroj: ČSÚ"],
        [" ", "\xa0", ""],
        ["xlsx", "csv;cp1250"],
        number="osoby",
        zero="-",
        zero_note="- jev se nevyskytl",
    ),
    Agency(
        "rosstat",
        RU,
        ["Всего", "Итого"],
        [("…", "… данных не имеется", None), ("к", "к – конфиденциально", None)],
        ["{title}", "(человек)"],
        ["{gap}", "Источник: Росстат"],
        [" ", ""],
        ["xlsx", "csv;cp1251"],
        number="человек",
        percent="в процентах",
    ),
    Agency(
        "ireland",
        _english(["Carlow", "Cavan", "Clare", "Donegal", "Kerry"]),
        ["Total"],
        [("c", "c: cell contains fewer than 3 persons", 2), ("‡", "‡ Suppressed", None)],
        ["{title}", "Census of Population 2022"],
        ["{gap}", "© Central Statistics Office, Ireland"],
        [",", ""],
        ["xlsx", "csv"],
        own=(("Sex", "Both sexes"), ("Area", "State"), ("Age group", "All ages")),
        habits=("codes",),
    ),
    Agency(
        "foundation",
        HR,
        ["TOTAL", "Sum", "Everyone"],
        [
            ("n/r", "n/r: not reported because of small numbers", None),
            ("†", "† fewer than 10 people", 9),
            ("(s)", "(s) suppressed", None),
        ],
        ["DRAFT - do not cite", "{title}"],
        ["{gap}", "Contact: data@example.org"],
        ["", ",", "'"],
        ["xlsx", "csv", "tsv"],
        percent="Share",
        habits=("mean",),
    ),
    Agency(
        "nz",
        _english(["Far North", "Gore", "Hurunui", "Kaikoura", "Taupo"]),
        ["Total people", "Total"],
        [("..C", "..C Confidential", None)],
        ["{title}", "2023 Census"],
        ["{gap}", "Some data has been randomly rounded to protect confidentiality.", "Source: Stats NZ"],
        ["", ","],
        ["csv", "xlsx"],
        habits=("round3",),
    ),
]


@dataclass
class Truth:
    """What is behind a grid: true counts of leaves, what is printed of every cell, and which cells are sums."""

    agency: str
    features: list[str]
    counts: dict[Leaf, int]
    sums: dict[Leaf, tuple[Leaf, ...]]
    gaps: set[Leaf]
    most: int | None
    base: int = 1
    printed: dict[Leaf, int] = field(default_factory=dict)

    def follows(self) -> set[Leaf]:
        """Gaps with one possible value, by two integer programs each; counts are 0 or more and sums hold."""
        leaves = list(self.counts)
        place = {leaf: number for number, leaf in enumerate(leaves)}
        rows, low, high = [], [], []
        for cell, value in self.printed.items():
            row = np.zeros(len(leaves))
            for part in self.sums.get(cell, (cell,)):
                row[place[part]] += 1
            rows.append(row)
            spread = self.base - 1 if self.base > 1 else 0
            low.append(value - spread)
            high.append(value + spread)
        held = LinearConstraint(np.array(rows), low, high)
        found = set()
        for gap in self.gaps:
            cost = np.zeros(len(leaves))
            for part in self.sums.get(gap, (gap,)):
                cost[place[part]] += 1
            ends = []
            for sign in (1, -1):
                whole = np.ones(len(leaves), dtype=np.int64)
                solved = milp(sign * cost, constraints=held, bounds=Bounds(0, np.inf), integrality=whole)
                ends.append(round(float(cost @ solved.x)) if solved.x is not None else None)
            if None not in ends and ends[0] == ends[1]:
                found.add(gap)
        return found


@dataclass
class Drawn:
    """A grid of texts and numbers with merged ranges, the file it is for, and its truth."""

    rows: list[list[Any]]
    merged: list[tuple[int, int, int, int]]
    kind: str
    truth: Truth

    def write(self, folder: Path, name: str) -> Path:
        """Write the file of its kind: Excel, or text with a delimiter and an encoding."""
        if self.kind == "xlsx":
            return _excel(folder / f"{name}.xlsx", self)
        mark = ";" if ";" in self.kind else "\t" if self.kind.startswith("tsv") else ","
        rest = self.kind.split(";")[-1] if ";" in self.kind else self.kind.replace("csv", "").replace("tsv", "")
        encoding = {"": "utf-8", "bom": "utf-8-sig"}.get(rest, rest)
        path = folder / f"{name}.{'tsv' if mark == chr(9) else 'csv'}"
        lines = []
        for row in self.rows:
            texts = ["" if value is None else str(value) for value in row]
            lines.append(mark.join(f'"{t}"' if mark in t or '"' in t else t for t in texts))
        path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding, errors="replace"))
        return path


def _excel(path: Path, drawn: Drawn) -> Path:
    import openpyxl  # type: ignore[import-untyped]

    book = openpyxl.Workbook()
    sheet = book.active
    for i, row in enumerate(drawn.rows, 1):
        for j, value in enumerate(row, 1):
            if value not in (None, ""):
                sheet.cell(i, j, value)
    for top, left, bottom, right in drawn.merged:
        sheet.merge_cells(start_row=top + 1, start_column=left + 1, end_row=bottom + 1, end_column=right + 1)
    book.save(path)
    return path


@dataclass
class Side:
    """One side of a table: lines with labels, the level of each, and the lines that a sum adds up."""

    names: list[str]
    lines: list[Key]
    parts: dict[int, list[int]]
    level: list[int]

    def leaves(self) -> list[int]:
        """Lines that are no sums."""
        return [n for n in range(len(self.lines)) if n not in self.parts]


def _flat(name: str, labels: list[str], total: str | None, first: bool) -> Side:
    lines: list[Key] = [(label,) for label in labels]
    if total is None:
        return Side([name], lines, {}, [0] * len(lines))
    where = 0 if first else len(lines)
    lines.insert(where, (total,))
    return Side(
        [name],
        lines,
        {where: [n for n in range(len(lines)) if n != where]},
        [0 if n == where else 1 for n in range(len(lines))],
    )


def _nested(name: str, labels: list[str], total: str, rng: Random, groups: list[str]) -> Side:
    """Groups with their members below, or groups after their members, and a total of all."""
    cut = rng.randint(2, len(labels) - 2) if len(labels) >= 4 else len(labels)
    blocks = [labels[:cut], labels[cut:]] if cut < len(labels) else [labels]
    lines: list[Key] = [(total,)]
    level, parts, all_leaves = [0], {}, []
    for group, block in zip(groups, blocks, strict=False):
        head = len(lines)
        lines.append((group,))
        level.append(1)
        members = []
        for label in block:
            members.append(len(lines))
            lines.append((label,))
            level.append(2)
        parts[head] = members
        all_leaves += members
    parts[0] = all_leaves
    return Side([name], lines, parts, level)


def _crossed(names: list[str], axes: list[list[str]], totals: list[str | None]) -> Side:
    """Two axes one inside the other; each may have its total, last."""
    full = [labels + ([total] if total else []) for labels, total in zip(axes, totals, strict=True)]
    lines = [tuple(pair) for pair in product(*full)]
    parts = {}
    for n, line in enumerate(lines):
        spans = [
            labels if total and label == total else [label]
            for label, labels, total in zip(line, axes, totals, strict=True)
        ]
        if any(total and label == total for label, total in zip(line, totals, strict=True)):
            parts[n] = [
                m for m, other in enumerate(lines) if all(o in span for o, span in zip(other, spans, strict=True))
            ]
    return Side(names, lines, parts, [0] * len(lines))


def _number(value: int, sign: str, kind: str, rng: Random) -> Any:
    if kind == "xlsx" and (sign == "" or rng.random() < 0.6):
        return value
    text = f"{value:,}".replace(",", sign)
    return text if kind != "xlsx" or sign else value


def _sides(agency: Agency, rng: Random, features: list[str]) -> tuple[Side, Side]:
    names = list(agency.axes)
    main, others = names[0], names[1:]
    rng.shuffle(others)
    usual = rng.choice(agency.total)
    own = dict(agency.own) if rng.random() < 0.5 else {}
    shape = rng.choice(["flat", "flat", "nested", "rows2", "columns2", "years", "single", "both"])
    features.append(shape)
    first = rng.random() < 0.4
    places = agency.axes[main][: rng.randint(4, len(agency.axes[main]))]
    across = agency.axes[others[0]]
    here, there = own.get(main, usual), own.get(others[0], usual)
    if {here, there} - {usual}:
        features.append("own name of a total")
    rows = _flat(main, places, here, first)
    if shape == "nested":
        groups = {"Kreis": ["Nord", "Süd"], "Département": ["Zone A", "Zone B"]}
        pair = groups.get(main, [f"{main} group A", f"{main} group B"])
        nested = _nested(main, places, here, rng, pair)
        return nested, _flat(others[0], across, there if rng.random() < 0.8 else None, first)
    if shape == "rows2":
        crossed = _crossed([main, others[0]], [places[:4], across], [here, there])
        if len(others) == 1:
            return crossed, _flat("", [agency.number], None, False)
        return crossed, _flat(others[1], agency.axes[others[1]], own.get(others[1], usual), first)
    if shape == "columns2" and len(others) > 1:
        labels = [agency.axes[others[0]][:3], agency.axes[others[1]][:2]]
        return rows, _crossed(others[:2], labels, [there, own.get(others[1], usual)])
    if shape == "years":
        years = [str(year) for year in range(2025 - rng.randint(2, 4), 2025)]
        return rows, _crossed(["Year", others[0]], [years, across], [None, there])
    if shape == "single":
        return rows, _flat("", [agency.number], None, False)
    return rows, _flat(others[0], across, there, rng.random() < 0.4)


def draw(seed: int, agencies: list[Agency]) -> Drawn:
    """One table of a random agency."""
    rng = Random(f"agency {seed}")
    agency = rng.choice(agencies)
    features: list[str] = []
    rows, columns = _sides(agency, rng, features)
    gap, gap_note, most = rng.choice(agency.gap)
    base = (
        5
        if "round5" in agency.habits and rng.random() < 0.6
        else 3
        if "round3" in agency.habits and rng.random() < 0.7
        else 1
    )
    kind = rng.choice(agency.files)
    tidy = rng.random() < 0.15 and kind != "tsv"
    counts: dict[Leaf, int] = {}
    scale = rng.choice([30, 120, 900])
    for r in rows.leaves():
        for c in columns.leaves():
            counts[rows.lines[r], columns.lines[c]] = (
                rng.randint(1, 4) if rng.random() < 0.13 else 0 if rng.random() < 0.05 else rng.randint(5, scale)
            )
    sums = {}
    for r, c in product(range(len(rows.lines)), range(len(columns.lines))):
        if r in rows.parts or c in columns.parts:
            parts = [(rows.lines[a], columns.lines[b]) for a in _leaves(rows, r) for b in _leaves(columns, c)]
            sums[rows.lines[r], columns.lines[c]] = tuple(parts)
    limit = most or 4
    low = [leaf for leaf, value in counts.items() if 0 < value <= limit]
    gaps = set(low if low else rng.sample(sorted(counts), 1) if most is None else [])
    if most is None and rng.random() < 0.3:
        gaps |= set(rng.sample(sorted(set(counts) - gaps), min(3, len(counts) - len(gaps))))
    every = {
        **{leaf: value for leaf, value in counts.items()},
        **{cell: sum(counts[p] for p in parts) for cell, parts in sums.items()},
    }
    if base > 1:
        gaps = {g for g in gaps if rng.random() < 0.5}
        features.append(f"rounded to {base}")
    # a sum of suppressed small counts that is itself small would be printed: allowed, it is what offices do wrong
    printed = {cell: (_rounded(value, base, rng)) for cell, value in every.items() if cell not in gaps}
    truth = Truth(agency.name, features, counts, sums, gaps, most if gaps else None, base, printed)
    grid, merged = (_long if tidy else _cross)(agency, rng, rows, columns, truth, (gap, gap_note), kind, every)
    return Drawn(grid, merged, kind, truth)


def _rounded(value: int, base: int, rng: Random) -> int:
    if base == 1 or value % base == 0:
        return value
    down = value // base * base
    if base == 3:  # random rounding, unbiased
        return down + 3 * (rng.random() < (value - down) / 3)
    return down + (base if 2 * (value - down) >= base else 0)


def _leaves(side: Side, line: int) -> list[int]:
    if line not in side.parts:
        return [line]
    return [leaf for part in side.parts[line] for leaf in _leaves(side, part) if leaf not in side.parts]


def _dress(
    agency: Agency,
    rng: Random,
    body: list[list[Any]],
    merged: list[tuple[int, int, int, int]],
    gap_note: str,
    title: str,
    has_zero: bool,
) -> tuple[list[list[Any]], list[tuple[int, int, int, int]]]:
    above = [line.format(title=title) for line in agency.above] if rng.random() < 0.85 else []
    above += [""] * (rng.randint(0, 2) if above else 0)
    note = gap_note if rng.random() < 0.8 else ""
    below = [line.format(gap=note) if "{gap}" in line else line for line in agency.below]
    below = [line for line in below if line or rng.random() < 0.5] if rng.random() < 0.85 else ([note] if note else [])
    if has_zero and agency.zero_note:
        below.append(agency.zero_note)
    if below and rng.random() < 0.6:
        below.insert(0, "")
    shift = 1 if rng.random() < 0.1 else 0
    left: list[Any] = [None] * shift
    rows = (
        [[*left, line or None] for line in above]
        + [[*left, *row] for row in body]
        + [[*left, line or None] for line in below]
    )
    down = len(above)
    return rows, [(a + down, b + shift, c + down, d + shift) for a, b, c, d in merged]


def _shown(agency: Agency, truth: Truth, cell: Leaf, gap: str, sign: str, kind: str, rng: Random, zero: str) -> Any:
    if cell in truth.gaps:
        return gap
    value = truth.printed[cell]
    return zero if value == 0 and zero != "0" else _number(value, sign, kind, rng)


def _cross(
    agency: Agency,
    rng: Random,
    rows: Side,
    columns: Side,
    truth: Truth,
    symbol: tuple[str, str],
    kind: str,
    every: dict[Leaf, int],
) -> tuple[list[list[Any]], list[tuple[int, int, int, int]]]:
    gap, gap_note = symbol
    sign = rng.choice(agency.thousands)
    zero = agency.zero if rng.random() < 0.5 else "0"
    two = len(columns.names) == 2
    percent = not two and rng.random() < 0.25
    remarks = rng.random() < 0.15
    codes = "codes" in agency.habits and rng.random() < 0.5 and len(rows.names) == 1
    mean = "mean" in agency.habits and rng.random() < 0.4 and not two
    numbered = "numbered" in agency.habits and rng.random() < 0.5 and not two and not percent and not mean
    for name, has in (
        ("percent", percent),
        ("remarks", remarks),
        ("codes", codes),
        ("mean", mean),
        ("numbered", numbered),
        ("two headers", two),
    ):
        if has:
            truth.features.append(name)
    merged: list[tuple[int, int, int, int]] = []
    left: list[Any] = (["Code"] if codes else []) + [n or "" for n in rows.names]
    heads: list[list[Any]] = []
    if two:
        top: list[Any] = [None] * len(left)
        groups = [line[0] for line in columns.lines]
        for n, group in enumerate(groups):
            top.append(group if n == 0 or groups[n - 1] != group else None)
        start = 0
        for n in range(1, len(groups) + 1):
            if n == len(groups) or groups[n] != groups[start]:
                if n - start > 1:
                    merged.append((0, len(left) + start, 0, len(left) + n - 1))
                start = n
        heads = [top, left + [line[1] for line in columns.lines]]
    elif percent:
        truth.features.append("interleaved")
        if rng.random() < 0.5 and columns.names != [""]:
            top = [None] * len(left)
            for line in columns.lines:
                merged.append((0, len(top), 0, len(top) + 1))
                top += [line[0], None]
            heads = [top, left + [agency.number, agency.percent] * len(columns.lines)]
        else:
            heads = [
                left
                + [
                    text
                    for line in columns.lines
                    for text in (line[0], f"{line[0]} ({agency.percent})" if columns.names != [""] else agency.percent)
                ]
            ]
    else:
        heads = [left + [line[0] for line in columns.lines]]
        if "pivot" in agency.habits and rng.random() < 0.5 and len(rows.names) == 1 and columns.names != [""]:
            heads = [
                [f"Count of {rows.names[0]}", "Column Labels"],
                ["Row Labels"] + [line[0] for line in columns.lines],
            ]
            truth.features.append("pivot")
        elif columns.names != [""] and rng.random() < 0.3:
            heads.insert(0, [None] * len(left) + [columns.names[0]])
            merged.append((0, len(left), 0, len(left) + len(columns.lines) - 1))
            truth.features.append("spanner")
    if mean:
        heads[-1].append("Mean age")
    if remarks:
        heads[-1].append(agency.remarks)
    body = [list(head) for head in heads]
    if numbered:
        body.append([n + 1 for n in range(len(heads[-1]))])
    indent = rng.choice(["  ", "\xa0\xa0", "    ", ""]) if max(rows.level) else ""
    if indent and (max(rows.level) > 1 or "indent" in agency.habits):
        truth.features.append("indent")
    else:
        indent = ""
    blanks = len(rows.names) == 2 and rng.random() < 0.6
    before: Key = ()
    for n, line in enumerate(rows.lines):
        labels: list[Any] = [indent * rows.level[n] + text if len(line) == 1 else text for text in line]
        if blanks and before and before[0] == line[0]:
            labels[0] = None
        if blanks and before and before[0] != line[0] and rng.random() < 0.1:
            body.append([])
        before = line
        entry: list[Any] = (
            [f"E{6000000 + 37 * n}" if n not in rows.parts else f"E{9000000 + n}"] if codes else []
        ) + labels
        whole = max(every[line, column] for column in columns.lines)
        for column in columns.lines:
            cell = (line, column)
            entry.append(_shown(agency, truth, cell, gap, sign, kind, rng, zero))
            if percent:
                share = 100 * every[cell] / (whole or 1)
                comma = sign in (".", " ", "\xa0", "\u202f")
                entry.append(
                    gap
                    if cell in truth.gaps
                    else round(share, 1)
                    if kind == "xlsx"
                    else f"{share:.1f}".replace(".", "," if comma else ".")
                )
        if mean:
            entry.append(round(rng.uniform(30, 50), 1))
        if remarks:
            entry.append(rng.choice(["", "", "", "revised", "(a)", "see methodology"]))
        body.append(entry)
    title = f"{' by '.join([*filter(None, rows.names), *filter(None, columns.names)])}"
    return _dress(agency, rng, body, merged, gap_note if truth.gaps else "", title, zero != "0")


def _long(
    agency: Agency,
    rng: Random,
    rows: Side,
    columns: Side,
    truth: Truth,
    symbol: tuple[str, str],
    kind: str,
    every: dict[Leaf, int],
) -> tuple[list[list[Any]], list[tuple[int, int, int, int]]]:
    truth.features.append("long")
    gap, gap_note = symbol
    sign = rng.choice(agency.thousands)
    single = columns.names == [""]
    count = agency.number if single else rng.choice([agency.number, "Value", "OBS_VALUE", "n"])
    body: list[list[Any]] = [[*rows.names, *([] if single else columns.names), count]]
    order = list(product(rows.lines, columns.lines))
    if rng.random() < 0.2:
        rng.shuffle(order)
        truth.features.append("shuffled")
    for line, column in order:
        body.append(
            [*line, *([] if single else column), _shown(agency, truth, (line, column), gap, sign, kind, rng, "0")]
        )
    if rng.random() < 0.5:
        return body, []
    return _dress(agency, rng, body, [], gap_note if truth.gaps else "", "records", False)


def tables(first: int, count: int, agencies: list[Agency]) -> Iterator[tuple[int, Drawn]]:
    """Tables of consecutive seeds."""
    for seed in range(first, first + count):
        yield seed, draw(seed, agencies)


def single(truth: Truth) -> bool:
    """Whether a table has one column of counts, whose heading is no category."""
    return len({column for _, column in truth.counts}) == 1
