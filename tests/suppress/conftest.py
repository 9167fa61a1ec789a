"""Limits of wall time that decide what is shown are out of reach: a busy machine shows the same as an idle one."""

import importlib

import pytest

LIMITS = {"rerun": "MAX_SECONDS", "search": "MAX_SECONDS_TO_POLISH"}


@pytest.fixture(autouse=True)
def fixture_enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in LIMITS.items():
        monkeypatch.setattr(importlib.import_module(f"safemargin.suppress.{module}"), name, 600.0)
