"""Published and recomputed numbers about swapping and census budgets, from `vectors/swapping.json`."""

import json
import math
from pathlib import Path
from typing import Any

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "swapping.json").read_text(encoding="utf-8"))

RATES: list[str] = VECTORS["rates"]
EXACT: dict[str, tuple[int, tuple[float, ...]]] = {
    margins: (size, tuple(math.inf if loss == "infinite" else loss for loss in losses))
    for margins, (size, losses) in VECTORS["exact"].items()
}
TABLE_1: dict[str, list[int]] = VECTORS["table_1"]
TABLE_2: dict[str, float] = VECTORS["table_2"]
TABLE_2_LARGEST: int = VECTORS["table_2_largest"]
TABLE_3 = {(product, unit): tuple(numbers) for product, unit, *numbers in VECTORS["table_3"]}
TABLE_5: dict[int, tuple[float, float]] = {largest: (low, high) for largest, low, high in VECTORS["table_5"]}
PERSON_ATTRIBUTES: dict[str, float] = VECTORS["person_attributes"]
PERSON_WITHIN: dict[str, float] = VECTORS["person_within"]
PUERTO_RICO_ATTRIBUTES: dict[str, float] = VECTORS["puerto_rico_attributes"]
PUERTO_RICO_WITHIN: dict[str, float] = VECTORS["puerto_rico_within"]
UNIT_WITHIN: dict[str, float] = VECTORS["unit_within"]
UNIT_TEST_WITHIN: dict[str, list[float]] = VECTORS["unit_test_within"]
SIGMAS = {(level, query): sigma for level, query, sigma in VECTORS["sigmas"]}
MASSACHUSETTS_ERRORS: dict[str, list[float]] = VECTORS["massachusetts_errors"]
