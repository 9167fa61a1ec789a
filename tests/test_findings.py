"""The table of what an office asked for: every test that it names exists."""

import re
from pathlib import Path

import pytest

from safemargin.release.init import CLOSING

ROOT = Path(__file__).parent.parent


def rows() -> list[tuple[str, str]]:
    lines = (ROOT / "docs/coverage_office.md").read_text(encoding="utf-8").splitlines()
    return [(found[1], found[2]) for line in lines if (found := re.fullmatch(r"\| (.+) \| `(.+::.+)` \|", line))]


@pytest.mark.parametrize(("finding", "test"), rows(), ids=lambda text: text.rpartition("::")[2][:40])
def test_every_finding_has_a_test(finding: str, test: str) -> None:
    path, _, name = test.partition("::")
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), finding


def test_the_table_lists_all_findings() -> None:
    assert len(rows()) > 70


def test_limits_have_a_reason_and_sources() -> None:
    """The defaults, which `init` writes, are what the page about limits explains, beside what others use."""
    page = (ROOT / "docs/target.md").read_text(encoding="utf-8")
    section = page.partition("## Which limits to choose")[2].partition("\n## ")[0]
    assert "The defaults are 5 %, 30 people and a width of 3: `init` writes them" in section
    assert "beta = 0.05 " in CLOSING and "kappa = 30 " in CLOSING and "tau = 3 " in CLOSING
    sources = [line.split("|")[3] for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(sources) >= 4 and all("](http" in source or "section" in source for source in sources)
