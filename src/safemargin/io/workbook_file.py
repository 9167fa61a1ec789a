"""The program that reads workbooks other than `.xlsx`: one file in, its sheets as JSON out.

`.xls`, `.xlsb` and `.ods` can state a cell at the far end of a sheet in a few bytes, and the library then asks for the
whole rectangle and ends the process. So it runs in a process of its own with little memory and time. What it prints
holds texts and numbers only.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path

from safemargin.io.plain import TOO_LARGE
from safemargin.io.workbook import cell_text

MOST_MEMORY, MOST_SECONDS = 2**30, 20
DENIED = 9
"""The exit code for a workbook with a password."""


def main(path: str, most: int) -> None:
    """Print the sheets of a workbook: name, rows, merged ranges. A number with decimals is a list of its one text."""
    _limit()
    import python_calamine

    sheets = []
    try:
        with python_calamine.CalamineWorkbook.from_path(path) as book:
            for name in book.sheet_names:
                found = book.get_sheet_by_name(name)
                if found.total_height * found.total_width > most:
                    sys.exit(TOO_LARGE)
                rows = [[_cell(value) for value in row] for row in found.to_python(skip_empty_area=False)]
                merged = [[*first, *last] for first, last in found.merged_cell_ranges or ()]
                sheets.append([name, rows, merged])
    except python_calamine.PasswordError:
        sys.exit(DENIED)
    except python_calamine.CalamineError as error:
        sys.exit(str(error))
    json.dump(sheets, sys.stdout)


def _limit() -> None:
    """Little memory beyond what Python holds, and little time, where the system has limits."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MOST_MEMORY, held + MOST_MEMORY))


def _cell(value: object) -> int | str | Sequence[str] | None:
    """A cell: whole numbers as they are, others as the list of their text, days as a sheet shows them.

    >>> _cell(12.0), _cell(12.5), _cell(""), _cell(" x")
    (12, ['12.5'], None, ' x')
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else [repr(value)]
    if isinstance(value, date | datetime | time | timedelta):
        return cell_text(value)
    return str(value)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
