"""TopDown beside swapping: people of the Adult extract (UCI; Becker and Kohavi 1996) by country of birth.

python examples/birthplaces.py DATA FOLDER

Swaps group and country within each sex at 5 % and at 50 %, runs TopDown on the same people, and writes a page with the
errors of all by level in one picture.
"""

import shutil
import sys
from fractions import Fraction
from pathlib import Path

import duckdb

import safemargin

FILE = "adult_uci.parquet"
RATES = {"swapping 5 %": Fraction(1, 20), "swapping 50 %": Fraction(1, 2)}
PROJECT = """title = "Adult by country of birth"

[data]
file = "people.parquet"

[spine]
levels = ["group", "country"]

[attributes]
sex = ["Female", "Male"]
race = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]
income = ["<=50K", ">50K"]

[budget]
rho_squared = 1
levels = { all = "1/4", group = "1/4", country = "1/2" }
queries = { total = "1/4", "sex*income" = "1/4", detailed = "1/2" }
at.all = { "sex*income" = "1/3", detailed = "2/3" }

[[invariants]]
level = "group"
query = "sex"
"""


def build(data: Path, folder: Path) -> Path:
    """People with their country and one of three groups of countries, and the TopDown file."""
    folder.mkdir(parents=True, exist_ok=True)
    home = "country in ('United-States', 'Canada', 'Outlying-US(Guam-USVI-etc)', 'Puerto-Rico')"
    group = f"case when {home} then 'north' when country < 'I' then 'A-H' else 'I-Z' end"
    people = f"select native_country as country, sex, race, income from '{data / FILE}'"
    source = f'select {group} as "group", * from ({people}) order by all'
    duckdb.sql(f"copy ({source}) to '{folder / 'people.parquet'}' (format parquet)")
    config = folder / "topdown.toml"
    config.write_text(PROJECT, encoding="utf-8")
    return config


def compare(data: Path, folder: Path) -> tuple[safemargin.Result, dict[str, float]]:
    """The release beside two swapped files of the same people, and the epsilon of each of these."""
    config = build(data, folder)
    files, epsilons = {}, {}
    for name, rate in RATES.items():
        swapped = safemargin.swap(
            folder / "people.parquet",
            swapped=["group", "country"],
            match=["sex"],
            hold=["race", "income"],
            rate=rate,
            form="records",
        )
        target = folder / f"swapped-{rate.denominator}"
        shutil.rmtree(target, ignore_errors=True)
        files[name] = swapped.write(target) / "published" / swapped.file
        epsilons[name] = swapped.guarantee.epsilon or 0.0
    return safemargin.topdown(config, folder / "release", beside=files), epsilons


def main() -> None:
    """Print what the page docs/topdown_method.md shows as a picture, and write the page."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    found, epsilons = compare(Path(sys.argv[1]), folder)
    for each in found.accuracy.levels:
        print(f"{each.counts}, {each.level} ({each.areas}): {each.method} {each.rmse:.3g}")
    for name, epsilon in epsilons.items():
        print(f"{name}: epsilon {epsilon:.2f}")
    page = folder / "release/confidential/report.html"
    page.write_text(found.to_html(), encoding="utf-8")
    print(f"Written: {page}")


if __name__ == "__main__":
    main()
