"""Limits before the count: lock them in the ledger, with what they are forecast to keep. The function of `lock`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from safemargin.core import Progress, SafemarginError, no_progress
from safemargin.release.forecast import forecast
from safemargin.release.ledger.locks import Lock, lock_limits, read_forecast, record_forecast
from safemargin.release.project import Project
from safemargin.release.report.forecast import Forecast

KEPT = ("certain", "tables", "people_exact", "published", "draws", "assumed", "waves")
"""Parts of the document of a forecast that the ledger keeps."""


def lock(project: Project | Path | str, *, draws: int | None = None, progress: Progress = no_progress) -> Lock:
    """Write the limits of a project into its ledger, before the count, with a forecast of what they will keep.

    A lock of the same cycle is never replaced. The forecast reads the roll and no answer; where there is no roll yet,
    the reason is written down instead. `draws` is how often answers are drawn for it (0: only what is certain).
    """
    loaded = project if isinstance(project, Project) else Project.load(project)
    made = lock_limits(loaded)
    assert loaded.ledger is not None
    said = read_forecast(loaded.ledger)
    if not said:
        said = _forecast(loaded, draws, progress)
        record_forecast(loaded.ledger, said)
    return replace(made, forecast=said)


def _forecast(project: Project, draws: int | None, progress: Progress) -> dict[str, Any]:
    try:
        seen: Forecast = forecast(project, draws=draws, progress=progress)
    except SafemarginError as error:
        return {"missing": f"There is no forecast: {error}"}
    document = seen.to_json()
    kept = {name: document[name] for name in KEPT if name in document}
    # As a ledger keeps it: what is read again is equal to what was made.
    copied: dict[str, Any] = json.loads(json.dumps({"sentence": seen.sentence, **kept}))
    return copied
