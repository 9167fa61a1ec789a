"""Values as plain JSON documents: the shapes that other programs rely on (`docs/files.md`)."""

import math
from typing import Any

SCHEMA = 1
"""Version of the documents; a change of meaning raises it."""
UNNAMED_COUNT = "count"
"""Key of a group's only count where the tables have no options."""
Document = dict[str, Any]


def finite(value: float) -> float | str:
    """A number, or the word for what JSON has no number for."""
    return "infinite" if math.isinf(value) else value
