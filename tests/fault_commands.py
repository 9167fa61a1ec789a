"""Commands that write, with the files they need: what the harness of injected faults strikes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorded import ROWS
from safemargin.aggregate import key
from test_golden import FILES

LEDGER = """
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "{cycle}"
answers = "kept"
turnover = "net"
"""
PROJECT = """
title = "Staff"
[data]
file = "staff.csv"
answer = "answer"
[axes.site]
[axes.grade]
[target]
kappa = 5
tau = 0
protect = "noise"
[outputs]
formats = ["csv"]
"""
CENSUS = """
data = { file = "census.csv" }
spine = { levels = ["state"], file = "states.csv" }
attributes = { sex = ["f", "m"] }
[budget]
rho_squared = 0.5
levels = { all = "1/2", state = "1/2" }
queries = { total = 0.5, detailed = 0.5 }
"""
PROGRAMME = """
title = "Staff"
areas = "site"
[variables]
site = ["North", "South", "West"]
grade = ["junior", "senior"]
[[tables]]
axes = ["site", "grade"]
"""
PLAN = (
    "election plan --title Vote --question Why --option yes --option no --dimension age=young,old "
    "--collector Company --other Union --other Court --box Post"
)
SAFE = {("a", "c"): (200, 80), ("a", "d"): (200, 90), ("b", "c"): (300, 150), ("b", "d"): (100, 60)}
TOWN = {"safe": SAFE, "joined": SAFE | {("b", "d"): (103, 63)}}
"""Three more people, who all said yes: beside the total of the first, the total alone discloses them."""


def _town(title: str) -> str:
    parts = PROJECT.replace("staff.csv", f"{title}.csv").replace('protect = "noise"', "").replace("kappa = 5\n", "")
    axes = parts.replace("site", "row").replace("grade", "column").replace("tau = 0\n", "")
    return axes + LEDGER.format(cycle=title)


def _people(groups: dict[tuple[str, str], tuple[int, int]]) -> str:
    rows = [
        f"{row},{column},{'yes' if number < yes else 'no'}"
        for (row, column), (count, yes) in groups.items()
        for number in range(count)
    ]
    return "\n".join(["row,column,answer", *rows, ""])


@dataclass(frozen=True)
class Struck:
    """A command, what runs before it in the same folder, and its exit code where nothing strikes."""

    command: str
    earlier: str = ""
    good: int = 0
    most: int | None = None
    """At how many operations each kind of fault strikes at most: for what is a long run of parts that others strike."""


PTABLE = "--variance 2 --bound 5"
COMMANDS = {
    "release, the first of a ledger": Struck("release 2026.toml --out out"),
    "release, a later one": Struck("release 2026.toml --out out", "release 2025.toml --out earlier"),
    "release without a ledger": Struck("release plain.toml --out out"),
    "release that is refused": Struck("release joined.toml --out out", "release safe.toml --out earlier", 1),
    "release, a draft": Struck("release plain.toml --out out --draft"),
    "demo": Struck("demo --out city", most=12),
    "init": Struck("init votes.csv --out new.toml"),
    "forecast": Struck("forecast plain.toml --draws 2 --out page.html"),
    "lock": Struck("lock 2026.toml --draws 2"),
    "compare": Struck("compare plain.toml --draws 2 --epsilon 1 --out page.html"),
    "suppress": Struck("suppress counts.csv --out out"),
    "suppress with a ledger": Struck("suppress counts.csv --out out --ledger ledger.sqlite --population p --cycle c"),
    "sign --new": Struck("sign --new --key office.key"),
    "sign": Struck("sign signed --key signer.key"),
    "ledger": Struck("ledger 2025.sqlite --out page.html"),
    "ledger --clean": Struck("ledger 2025.sqlite --clean"),
    "audit": Struck("audit site.csv grade.csv --out page.html --export cells.csv --certificate proofs.json"),
    "bound": Struck("bound site.csv --export cells.csv --out page.html", good=1),
    "verify": Struck("verify there.json site.csv grade.csv --out page.html"),
    "swap": Struck("swap staff.csv --swap site --match grade --hold answer --rate 0.2 --out out"),
    "topdown": Struck("topdown census.toml --out out"),
    "topdown --demo": Struck("topdown --demo country --people 200 --blocks 5"),
    "outcome": Struck("outcome --rule borda --candidates 3 --voters 5 --out page.html"),
    "rules": Struck("rules --candidates 3 --voters 4 --rule borda --rule plurality --out page.html"),
    "noise key": Struck("noise key new.key"),
    "noise ptable": Struck(f"noise ptable {PTABLE} --out ptable.csv"),
    "noise perturb": Struck(f"noise perturb staff.csv --by site,grade --id person --secret key {PTABLE} --out out"),
    "noise plan": Struck("noise plan programme.toml --out page.html"),
    "noise publish": Struck(
        f"noise publish programme.toml --records staff.csv --id person --secret key {PTABLE} --out out"
    ),
    "noise posterior": Struck(f"noise posterior {PTABLE} --prior counts.csv --out page.html"),
    "guarantee swap": Struck("guarantee swap --largest-stratum 10 --epsilon 3 --out page.html"),
    "guarantee compare": Struck(
        "guarantee compare swapped/published/guarantee.json signed/published/manifest.json --out page.html"
    ),
    "aggregate key": Struck("aggregate key party.key --host localhost"),
    "aggregate key --clients": Struck("aggregate key keys --clients names.csv"),
    "aggregate plan": Struck(
        f"aggregate plan --name s --questions x,y --parties parties.csv --clients clients.csv --server {'9f' * 32} "
        "--least 3 --out session.json"
    ),
    "aggregate sum": Struck("aggregate sum bits.csv --tally tally.csv --ledger sums.sqlite --out page.html"),
    "aggregate rehearse": Struck("aggregate rehearse --clients 3 --bits 1 --one-process --out page.html"),
    "election plan": Struck(f"{PLAN} --out plan.toml"),
    "election init": Struck("election init plan-there.toml box --out box"),
    "election init --self-signed": Struck("election init plan-there.toml box --out box --self-signed localhost"),
    "election join": Struck("election join party --into drop"),
    "election backup": Struck("election backup party --out new.backup --passphrase-file pass"),
    "election restore": Struck("election restore party.backup --out restored --passphrase-file pass"),
}
"""Commands that write, by what is special about the run; those of an election that has begun are in another list."""


def write_inputs(folder: Path, run: Any) -> None:
    """Every input, and what earlier runs left: a ledger with a release, keys, a release to be signed."""
    people = [f"p{n},{row['site']},{row['grade']},{row['answer']}" for n, row in enumerate(ROWS)]
    counts = [f"{a},{b},{2 if a + b == 'xu' else 9}" for a in "xyz" for b in "uvw"]
    for name, text in {
        **{name: FILES[name] for name in ("votes.csv", "site.csv", "grade.csv")},
        "staff.csv": "\n".join(["person,site,grade,answer", *people, ""]),
        "counts.csv": "\n".join(["a,b,count", *counts, ""]),
        "census.csv": "state,sex\nN,f\nN,m\nS,m\n",
        "states.csv": "state\nN\nS\n",
        "census.toml": CENSUS,
        "plain.toml": PROJECT,
        **{f"{cycle}.toml": PROJECT + LEDGER.format(cycle=cycle) for cycle in ("2025", "2026")},
        "other.toml": PROJECT
        + LEDGER.format(cycle="2025")
        .replace("ledger", "2025")
        .replace("[2025]", "[ledger]")
        .replace('"staff"', '"visitors"'),
        "key": "0123456789abcdef\n",
        "pass": "a long phrase that nobody guesses\n",
        "programme.toml": PROGRAMME,
        "bits.csv": "client,x: yes,x: no\na,1,0\nb,0,1\nc,1,0\nd,0,1\n",
        "names.csv": "client\na\nb\n",
        **{f"{title}.toml": _town(title) for title in TOWN},
        **{f"{title}.csv": _people(people) for title, people in TOWN.items()},
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("key", "pass"):
        (folder / name).chmod(0o600)
    rows = ["role,address,key,certificate"]
    for place, role in enumerate(("aggregator 1", "aggregator 2")):
        made = key(folder / f"{place}.key", host="localhost")
        rows.append(f"{role},https://localhost:{8001 + place},{made.public},{place}.crt")
    clients = ["client,key", *(f"{name},{key(folder / f'{name}.key').public}" for name in "abc")]
    for name, lines in (("parties.csv", rows), ("clients.csv", clients)):
        (folder / name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    for command in (
        "release plain.toml --out signed",
        "release other.toml --out listed",
        "swap staff.csv --swap site --match grade --hold answer --rate 0.2 --out swapped",
        "sign --new --key signer.key",
        f"{PLAN} --out plan-there.toml",
        "audit site.csv grade.csv --certificate there.json",
        "election init plan-there.toml box --out party",
        "election backup party --out party.backup --passphrase-file pass",
    ):
        ran = run(command)
        assert ran["code"] == 0, (command, ran)
