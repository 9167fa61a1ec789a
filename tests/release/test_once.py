"""What a release does once: it reads its data, builds and proves its system of constraints, and renders its pages."""

import importlib
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import safemargin
from safemargin.io.duck import DuckSource

CELLS = {("a", "c"): (200, 80), ("a", "d"): (200, 90), ("b", "c"): (300, 150), ("b", "d"): (100, 60)}


def counting(monkeypatch: pytest.MonkeyPatch, seen: Counter[str], module: str, name: str) -> None:
    """Count the calls of a function, under whichever names it was imported."""
    real: Callable[..., Any] = getattr(importlib.import_module(module), name)

    def counted(*given: Any, **named: Any) -> Any:
        seen[name] += 1
        return real(*given, **named)

    for loaded in [loaded for key, loaded in sys.modules.items() if key.startswith("safemargin")]:
        if vars(loaded).get(name) is real:
            monkeypatch.setattr(loaded, name, counted)


def test_a_release_reads_builds_proves_and_renders_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{a},{b},{'yes' if n < yes else 'no'}" for (a, b), (people, yes) in CELLS.items() for n in range(people)]
    (tmp_path / "voters.csv").write_text("\n".join(["row,column,vote", *lines]) + "\n")
    asked = {"answer": "vote", "by": ["row", "column"]}
    safemargin.release(tmp_path / "voters.csv", **asked)  # loads every module
    seen: Counter[str] = Counter()
    for module, name in (("bounds.build", "build_system"), ("bounds.certify", "certify"), ("ui.page", "render_report")):
        counting(monkeypatch, seen, f"safemargin.{module}", name)
    real = DuckSource.profiles
    monkeypatch.setattr(DuckSource, "profiles", lambda *given: (seen.update(["profiles"]), real(*given))[1])
    made = safemargin.release(tmp_path / "voters.csv", **asked)
    # The proof looks at the margins alone and at all that is published; the audit builds and proves its own, twice; the
    # witnesses for auditors take a system that has the groups of the rule too.
    assert seen["build_system"] <= 6 and seen["certify"] <= 3
    assert seen["profiles"] == 1 and seen["render_report"] == 1, "the public page"
    made.write(tmp_path / "out")
    assert seen["render_report"] == 3, "the report and the decision record"
    assert seen["build_system"] <= 6 and seen["profiles"] == 1
