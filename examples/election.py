"""An election: party registration by precinct and race in eight counties of North Carolina (eiPack, `senc`).

python examples/election.py DATA FOLDER [--compare]

Precincts lie in counties: where precincts must be merged, they are merged within theirs.
"""

from pathlib import Path

import duckdb
from figures import main

FILE = "nc_party_registration_by_race_precinct.parquet"
RACES = {"wh": "white", "bl": "black", "natam": "Native American"}
PARTIES = {"dem": "Democratic", "rep": "Republican", "non": "none"}
PROJECT = """title = "Party registration"

[data]
file = "counts.csv"
answer = "party"
options = ["Democratic", "Republican", "none"]
count = "number"

[axes.precinct]
levels = ["county"]
[axes.race]

[target]
beta = {beta}
kappa = {kappa}
tau = {tau}
secrets = "{secrets}"
"""


def build(data: Path, folder: Path, beta: float = 0.02, kappa: int = 20, tau: int = 2, secrets: str = "choice") -> Path:
    """Tidy counts from one column per race and party, and the project. Two names of precincts occur in two counties."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f"select county, county || ': ' || precinct as precinct, '{race}' as race, '{party}' as party, "
        f"{short}{kind} as number from '{data / FILE}'"
        for short, race in RACES.items()
        for kind, party in PARTIES.items()
    ]
    tidy = " union all ".join(parts)
    duckdb.sql(f"copy (from ({tidy}) where number > 0 order by all) to '{folder / 'counts.csv'}' (header)")
    project = folder / "project.toml"
    project.write_text(PROJECT.format(beta=beta, kappa=kappa, tau=tau, secrets=secrets), encoding="utf-8")
    return project


if __name__ == "__main__":
    main(__doc__, build)
