"""Charts as plain Vega-Lite specifications, and their rendering to SVG without a network.

The specifications are dictionaries: importing Altair would add half a second to every start of the program. The tests
check them against the Vega-Lite schema that Altair ships.
"""

import atexit
import json
import os
import re
import select
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from safemargin.core import python_command, safe_environment
from safemargin.ui import draw
from safemargin.ui.blocks import Spec

FAMILY_COLOURS = ["#888888", "#e69f00", "#cc79a7", "#56b4e9", "#8f86c9", "#009e73"]
FAMILY_SHAPES = ["cross", "circle", "triangle-down", "square", "diamond", "triangle-up"]
"""Of the ways to publish, in the order in which they are compared; from Okabe and Ito's set of colours."""
WIDTH = 900
"""Width of a picture with its labels, in pixels."""
STACK_WIDTH = 500
"""Width of a picture that is to fit a phone."""
LETTER = 7.0
"""Width reserved for a letter of a label in any reader's font: the renderer measures with another one."""
CONFIG: Spec = {
    "font": "system-ui, sans-serif",
    "background": "transparent",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": "#8884",
        "ticks": False,
    },
    "axisY": {"domain": False, "grid": False, "labelLimit": 0, "title": None, "labelPadding": 8},
    "axisX": {"domain": False, "tickCount": 3},
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "title": None, "labelAnchor": "start"},
    "text": {"fontSize": 11, "fill": "#000"},
}
TICK_MARK: Spec = {"type": "tick", "color": "#888", "thickness": 1.5}
TEXT_MARK: Spec = {"type": "text", "align": "left", "dx": 6}
GAP = 20
ORDER_DIGITS = 4
"""Digits before every row label, which keep the order of the rows."""
LONGEST_LABEL = 52
"""Letters of a label that are shown."""
PATIENCE = 60.0
"""Seconds for one picture; a library that has not drawn it by then hangs, and the page comes without it."""
TAG, ROLES = re.compile(r"<[^>]*>"), re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
SIZE = re.compile(r'<svg([^>]*?) width="(\d+)" height="(\d+)"')


def to_svg(spec: Spec) -> str:
    """The chart as an SVG element that takes the width of the page; empty where the drawing library does not start."""
    svg = _drawer(os.getpid()).draw(_printable({"config": CONFIG, **spec}))
    # The page describes the picture as a whole; roles of its parts, without names, would only confuse a screen reader.
    svg = TAG.sub(lambda tag: ROLES.sub("", tag[0]), svg)
    return SIZE.sub(r'<svg\1 style="--natural: \2px"', svg, count=1)


def row_positions(values: Sequence[Spec]) -> tuple[int, Spec]:
    """Width of the labels, and the channel that positions every row.

    Rows are keyed by position and label, so that they keep their order and equal labels stay distinct.
    """
    room = int(LETTER * max(len(value["row"]) - ORDER_DIGITS for value in values)) + 12
    axis = {"labelExpr": f"substring(datum.label, {ORDER_DIGITS})", "minExtent": room, "maxExtent": room}
    return room, {"field": "row", "type": "nominal", "axis": axis}


def row_label(position: int, text: str) -> str:
    """The key of a row for `row_positions`."""
    cut = text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
    return f"{position:0{ORDER_DIGITS}d}{cut}"


def _printable(value: Any) -> Any:
    """The specification without control characters: they end the drawing process."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value)
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


class _Drawer:
    """The drawing process, started for the first picture and ended with this one."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        try:
            self._process = subprocess.Popen(
                python_command(draw.__file__),
                env=safe_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for us; the drawing process ends when its input does
            )
        except OSError:
            pass
        atexit.register(self.close)

    def draw(self, spec: Spec) -> str:
        """The SVG, or nothing if the process does not answer."""
        with self._lock:
            process = self._process
            if process is None or process.stdin is None or process.stdout is None:
                return ""
            try:
                print(json.dumps(spec), file=process.stdin, flush=True)
                if os.name == "posix" and not select.select([process.stdout], [], [], PATIENCE)[0]:
                    process.kill()
                return str(json.loads(process.stdout.readline()))
            except (OSError, ValueError):  # the process has ended, at worst in the middle of a line
                return ""

    def close(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()


@cache
def _drawer(process: int) -> _Drawer:
    """The drawing process of this process: two that share its pipes, after a fork, would read each other's pictures."""
    return _Drawer(process)
