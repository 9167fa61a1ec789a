"""What swapped, noised and TopDown tables disclose about people at equal error: one attack on all, in one picture.

    python examples/disclosure.py FOLDER

A synthetic country, swapped at several rates, with geometric noise on every count, and released by TopDown at
several budgets. An onlooker knows the block, the sex and the age of somebody, and states the tenure where the published
table of the block leaves one. With a file of names, the same records are given a name.
"""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd

import safemargin

RATES = ("0.05", "0.2", "0.5", "0.9")
BUDGETS = (Fraction(1, 4), Fraction(1), Fraction(4), Fraction(16))
EPSILONS = (0.5, 1.0, 2.0, 4.0)
KEYS = ("method", "error", "stated", "share", "precision", "rebuilt_share", "matched_share", "named_share")
ATTACK = (("sex", "age"), "tenure")


def compare(folder: Path, people: int = 20_000, blocks: int = 400) -> list[dict[str, float | str]]:
    """The attack on every method: its error, and the share of people who are not typical that it states rightly."""
    size = ["--people", str(people), "--blocks", str(blocks)]
    command = [sys.executable, "-m", "safemargin", "topdown", "--demo", str(folder / "country"), *size]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    config = folder / "country" / "topdown.toml"
    text = config.read_text(encoding="utf-8")
    methods: dict[str, Path | str] = {}
    for rate in RATES:
        swapped = safemargin.swap(
            config.with_name("people.parquet"),
            swapped=["tract", "block"],
            match=["region", "district"],
            hold=["sex", "age", "tenure"],
            rate=rate,
            form="records",
        )
        methods[f"swapping {float(rate):.0%}"] = swapped.write(folder / f"swapped-{rate}") / "published" / swapped.file
    for epsilon in EPSILONS:
        methods[f"noise {epsilon:g}"] = noised(config.with_name("people.parquet"), folder, epsilon)
    for rho in BUDGETS[:-1]:
        other = config.with_name(f"rho-{rho.denominator}-{rho.numerator}.toml")
        budget = text.replace("rho_squared = 1\n", f'rho_squared = "{rho}"\n')
        other.write_text(budget + "\n[tables]\nmicrodata = true\n", "utf-8")
        safemargin.topdown(other, folder / other.stem)
        methods[f"TopDown rho² = {rho}"] = folder / other.stem / "published" / "microdata.parquet"
    last = config.with_name("last.toml")
    last.write_text(text.replace("rho_squared = 1\n", f'rho_squared = "{BUDGETS[-1]}"\n'), "utf-8")
    release = safemargin.topdown(last, folder / "last", beside=methods, attack=ATTACK)
    return list(release.to_json()["risk"]["methods"])


def noised(people: Path, folder: Path, epsilon: float) -> Path:
    """Records as the noisy table of all blocks shows them: as many as are printed, none where that is below 0."""
    data = pd.read_parquet(people)
    areas, kinds = ["region", "district", "tract", "block"], ["sex", "age", "tenure"]
    lists = {name: sorted(data[name].unique()) for name in ["block", *kinds]}
    text = "".join(f"{name.upper()} = {json.dumps(values)}\n" for name, values in lists.items())
    axes = json.dumps([name.upper() for name in lists])
    programme = folder / "programme.toml"
    programme.write_text(f"[variables]\n{text}\n[[tables]]\naxes = {axes}\n", encoding="utf-8")
    named = data.rename(columns={name: name.upper() for name in lists})
    printed = safemargin.noise.publish(programme, named, law="geometric", epsilon=epsilon)
    target = printed.write(folder / f"noise-{epsilon:g}") / "published"
    table = pd.read_csv(next(target.glob("BLOCK_x_SEX_x_AGE_x_TENURE.csv")))
    table.columns = [name.lower() for name in table.columns]
    records = table.loc[table.index.repeat(table["count"].clip(lower=0))]
    merged = records.merge(data[areas].drop_duplicates(), on="block")[[*areas, *kinds]]
    merged.to_parquet(folder / f"noise-{epsilon:g}.parquet")
    return folder / f"noise-{epsilon:g}.parquet"


def main() -> None:
    """Print the table of docs/topdown_method.md; the picture is in the report of the last release."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for method in compare(Path(sys.argv[1])):
        print(json.dumps({key: method[key] for key in KEYS}))


if __name__ == "__main__":
    main()
