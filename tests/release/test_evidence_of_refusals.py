"""Certificates why a table is not published: others check them with nothing but the files beside them."""

from pathlib import Path

import safemargin
from cases import Town
from safemargin.core import Publication, Target, as_published, exact_margins
from safemargin.release.explain import explain
from safemargin.release.plan import Certificate, Evidence, Plan, Refusal, Rejected

PEOPLE = {("x", "u"): 40, ("x", "v"): 60, ("y", "u"): 50, ("y", "v"): 70}
VOTES = {("x", "u"): (40, 0), ("x", "v"): (20, 40), ("y", "u"): (20, 30), ("y", "v"): (30, 40)}
PLACE = Town(("a", "b"), (("x", "y"), ("u", "v")), ("yes", "no"), PEOPLE, VOTES)
GROUPS = tuple(tuple(frozenset([name]) for name in names) for names in PLACE.categories)


def plan(cell: dict[str, str], proved: bool = True) -> Plan:
    refusal = Refusal("Publishing a x b", cell, "yes", 40, 40, 40, proved)
    certificate = Certificate(True, "It is safe.", "integer", "", {})
    return Plan(
        Target(kappa=10, tau=0), (), (), (), certificate, rejected={"a x b": Rejected(("a", "b"), GROUPS, refusal)}
    )


def test_a_refused_table_comes_with_a_certificate_that_holds(tmp_path: Path) -> None:
    table = PLACE.table()
    publication = Publication(exact_margins(table), Target(kappa=10, tau=0))
    fact = as_published(table.margin(("a",)), table.schema, "a")  # a file of its own, though a table has its name
    evidence = explain(plan({"a": "x", "b": "u"}), publication, table, [fact])
    assert evidence.certificates == {"a x b": "a_x_b/certificate.json"}
    for name, content in evidence.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert {path.name for path in (tmp_path / "a_x_b").iterdir()} == {
        "total.csv",
        "a.csv",
        "b.csv",
        "a_x_b.csv",
        "roll.csv",
        "fact_a.csv",
        "certificate.json",
    }
    checked = safemargin.verify(tmp_path / "a_x_b/certificate.json", tmp_path / "a_x_b")
    assert checked.holds and checked.cells
    (tmp_path / "a_x_b/b.csv").write_text((tmp_path / "a_x_b/b.csv").read_text().replace("60", "61"))
    assert not safemargin.verify(tmp_path / "a_x_b/certificate.json", tmp_path / "a_x_b").holds


def test_what_is_not_proved_or_has_no_name_comes_without() -> None:
    table = PLACE.table()
    publication = Publication(exact_margins(table), Target(kappa=10, tau=0))
    assert explain(plan({"a": "x", "b": "u"}, proved=False), publication, table) == Evidence()
    assert explain(plan({"a": "x | y", "b": "u"}), publication, table) == Evidence()
