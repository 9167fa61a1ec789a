"""What swapped and TopDown tables disclose about people at equal error: one attack on all of them, in one picture.

    python examples/disclosure.py FOLDER

A synthetic country, swapped at several rates, and released by TopDown at several budgets. An onlooker knows the block,
the sex and the age of somebody, and states the tenure where the published table of the block leaves one.
"""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import safemargin

RATES = ("0.05", "0.2", "0.5", "0.9")
BUDGETS = (Fraction(1, 4), Fraction(1), Fraction(4), Fraction(16))
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


def main() -> None:
    """Print the table of docs/topdown_method.md; the picture is in the report of the last release."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for method in compare(Path(sys.argv[1])):
        print(json.dumps({key: method[key] for key in ("method", "error", "people", "stated", "share", "precision")}))


if __name__ == "__main__":
    main()
