"""Numbers of the R packages ptable and cellKey, from `vectors/cell_key.json`."""

import json
from pathlib import Path
from typing import Any

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "cell_key.json").read_text(encoding="utf-8"))

Setting = tuple[int, str, int]
"""Bound, variance and js."""

PTABLES: dict[Setting, dict[int, dict[int, float]]] = {
    (given["bound"], given["variance"], given["js"]): {row["count"]: dict(row["law"]) for row in given["rows"]}
    for given in VECTORS["ptables"]
}
PERTURBED: dict[Setting, list[tuple[str, str, int, int]]] = {
    (given["bound"], given["variance"], given["js"]): [tuple(cell) for cell in given["cells"]]
    for given in VECTORS["perturbed"]
}
CELLS: list[tuple[str, str, int, int, str]] = [tuple(cell) for cell in VECTORS["cells"]]
WEIGHTED: list[tuple[str, str, float, float]] = [tuple(cell) for cell in VECTORS["weighted"]]
