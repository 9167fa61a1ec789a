"""All cells of an exposure as one CSV text, for a spreadsheet."""

import csv
import io

from safemargin.bounds.exposure import Exposure
from safemargin.bounds.report import exposure_document
from safemargin.core import Target


def cells_csv(exposure: Exposure, target: Target) -> str:
    """One line per cell and option, in the order they were computed."""
    rows = []
    for entry in exposure_document(exposure, target)["cells"]:
        low, high = entry["interval"] or (None, None)
        plain = {name: value for name, value in entry.items() if name not in ("cell", "interval", "attained")}
        rows.append({**entry["cell"], **plain, "share_low": low, "share_high": high})
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
