"""Whether a picture is one that Vega-Lite knows how to draw."""

from typing import Any

import altair

from safemargin.ui import CONFIG

ROWS = 20


def validate(spec: Any) -> None:
    """Hold a specification against the schema of Vega-Lite; of data, whose rows the schema leaves free, the first."""
    altair.Chart.from_dict({"config": CONFIG, **_shortened(spec)}, validate=True)


def _shortened(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            name: value[:ROWS] if name == "values" and isinstance(value, list) else _shortened(value)
            for name, value in part.items()
        }
    return [_shortened(each) for each in part] if isinstance(part, list) else part
