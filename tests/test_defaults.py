"""One set of default limits, stated in `Target`: everything that states no limit has these."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import safemargin
from commands import Run, in_process
from safemargin import Target
from safemargin.core import Publication
from safemargin.election.setup import parse_plan, plan_text
from safemargin.history.file import open_ledger
from safemargin.io import parse_toml, read_tidy
from safemargin.release.project import Project, schema
from safemargin.web.screens.limits import PRESETS

ROOT = Path(__file__).parent.parent
LEAST = '[data]\nfile = "votes.csv"\nanswer = "vote"\n[axes.site]\n'
VOTES = [{"site": site, "vote": vote} for site in "ab" for vote in ("yes", "no") for _ in range(50)]
TABLE = [
    {"site": "a", "option": "yes", "count": 38},
    {"site": "a", "option": "no", "count": 2},
    {"site": "b", "option": "yes", "count": 25},
    {"site": "b", "option": "no", "count": 25},
]
ROLL = [{"site": "a", "people": 40}, {"site": "b", "people": 50}]


def three(target: Target) -> tuple[float, int, int]:
    return target.beta, target.kappa, target.tau


def test_one_set_of_default_limits() -> None:
    """The library, a project without [target], the JSON schema, the workbench and elections: 5 %, 30 people, 3 wide."""
    stated: dict[str, Any] = schema()["$defs"]["TargetSection"]["properties"]
    preset = next(preset for preset in PRESETS if preset.name == "Proposed")
    parties: Any = {"collector": "Club", "others": ["Town hall", "Court"], "box": "Post"}
    plan = parse_plan(plan_text("t", "q?", ["yes", "no"], {"age": ["18-34", "35+"]}, **parties))
    sets = {
        "library": three(Target()),
        "project": three(Project.parse(LEAST).target),
        "schema": tuple(stated[key]["default"] for key in ("beta", "kappa", "tau")),
        "release": three(safemargin.release(VOTES, answer="vote", by=["site"]).draft.plan.target),
        "workbench": (round(1 - preset.share / 100, 12), preset.people, preset.known),
        "election": (plan.release["target"]["beta"], plan.kappa, plan.release["target"]["tau"]),
    }
    assert sets == dict.fromkeys(sets, (0.05, 30, 3))


def test_init_writes_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("site,vote\n" + "".join(f"{row['site']},{row['vote']}\n" for row in VOTES))
    written: dict[str, Any] = parse_toml(safemargin.init(tmp_path / "votes.csv").text, "project")
    assert {key: written["target"][key] for key in ("beta", "kappa", "tau")} == {"beta": 0.05, "kappa": 30, "tau": 3}


@pytest.mark.slow
def test_no_other_module_states_a_default_limit() -> None:
    """No parameter or field called beta, kappa or tau has a number of its own, but the width of `suppress`."""
    own = []
    for path in sorted((ROOT / "src/safemargin").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            given: list[tuple[str, ast.expr | None]] = []
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                given = [(node.target.id, node.value)]
            elif isinstance(node, ast.arguments):
                plain = [*node.posonlyargs, *node.args]
                given = [(arg.arg, value) for arg, value in zip(plain[::-1], node.defaults[::-1], strict=False)]
                given += [(arg.arg, value) for arg, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
            for name, value in given:
                if name in ("beta", "kappa", "tau") and isinstance(value, ast.Constant) and value.value is not None:
                    own.append((path.relative_to(ROOT / "src/safemargin").parts[:2], name))
    assert {place for place, _ in own if place[0] != "suppress"} == {("core", "target.py")}
    assert {name for place, name in own if place[0] == "suppress"} <= {"tau"}


def test_help_and_pages_state_the_defaults(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = in_process(monkeypatch, capsys)
    for command in ("audit", "bound", "release"):
        words = re.sub(r"[\s│]+", " ", run(command, "--help").out)
        assert "states, else 0.05." in words and re.search("states, else 30[.;]", words), command
        assert "states, else 3; in audit and bound, 0 for tables without a roll." in words, command
    page = (ROOT / "docs/target.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(beta|kappa|tau)` \| (\S+) \|", page, re.M)) == {
        "beta": str(Target.beta),
        "kappa": str(Target.kappa),
        "tau": str(Target.tau),
    }
    how = (ROOT / "docs/howto/choose_limits.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(beta|kappa|tau)` \| .+ \| ([0-9.]+)", how, re.M)) == {
        "beta": str(Target.beta),
        "kappa": str(Target.kappa),
        "tau": str(Target.tau),
    }


def test_tau_of_tables_without_a_roll_is_zero_unless_it_is_stated(tmp_path: Path) -> None:
    """A suppressed count between 0 and 3 is no finding where nobody knows of how many people; an exact one is."""
    for call in (safemargin.audit, safemargin.bound):
        assert three(call(TABLE).target) == (0.05, 30, 0)
        assert three(call(TABLE, roll=ROLL).target) == (0.05, 30, 3)
        assert call(TABLE, tau=2).target.tau == call(TABLE, roll=ROLL, tau=2).target.tau == 2
        assert call(TABLE, roll=ROLL, tau=0).target.tau == 0
    assert safemargin.bound(TABLE, aim=Target(tau=1)).target.tau == 1, "a target that is given is stated"
    (tmp_path / "t.csv").write_text(
        "site,option,count\n" + "".join(f"{','.join(map(str, r.values()))}\n" for r in TABLE)
    )
    given = Publication((read_tidy(tmp_path / "t.csv"),), Target(kappa=7, tau=2))
    assert three(safemargin.audit(given).target) == (0.05, 7, 2), "so is that of a publication"


def test_suppression_of_small_counts_leaves_no_finding_by_default() -> None:
    """Two suppressed counts that sum to 3: each is 0 to 3, which is a finding only if tau is stated."""
    sites: list[dict[str, object]] = [{"site": "a", "count": None}, {"site": "b", "count": None}]
    tables = [[*sites, {"site": "c", "count": 40}], [{"count": 43}]]
    assert safemargin.audit(tables).is_safe and safemargin.bound(tables).disclosed == 1, "the printed count"
    assert not safemargin.audit(tables, tau=3).is_safe and safemargin.bound(tables, tau=3).disclosed == 3


def test_a_release_states_every_limit_so_that_other_defaults_change_nothing(tmp_path: Path) -> None:
    """Manifest, certificate and ledger of a release with the former defaults are read with these, not with today's."""
    former = Target(kappa=10, tau=0)
    ledger: Any = {"file": str(tmp_path / "ledger.sqlite"), "population": "town", "cycle": "1", "answers": "kept"}
    ledger |= {"turnover": "net"}
    made = safemargin.release(VOTES, answer="vote", by=["site"], target=former, ledger=ledger)
    published = made.write(tmp_path / "out") / "published"
    stated = json.loads((published / "manifest.json").read_text())["target"]
    absent = {"sensitive", "secrets", "allow", "posterior_max"}  # none, choice, every cell proved in integers, no limit
    assert set(stated) == {field.name for field in fields(Target)} - absent
    assert three(Target(**stated)) == (0.05, 10, 0)
    exact = json.loads((published / "certificate.json").read_text())["target"]
    assert exact == {"beta": "1/20", "kappa": 10, "tau": 0, "sensitive": {}}
    tables = [published / "site.csv", published / "total.csv"]
    found = safemargin.audit(
        tables, roll=[{"site": "a", "people": 100}, {"site": "b", "people": 100}], manifest=published / "manifest.json"
    )
    assert three(found.target) == (0.05, 10, 0) and found.is_safe
    assert not safemargin.verify(published).failures
    (entry,) = open_ledger(tmp_path / "ledger.sqlite").entries
    assert three(entry.target) == (0.05, 10, 0)
