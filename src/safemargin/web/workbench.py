"""Open the workbench: the function behind the command `open`. What the extra `web` installs is loaded with the call."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from safemargin.core import InputError

IDLE = 30.0
"""Minutes without a window after which the workbench ends."""
SERVER = "safemargin.web.app"
"""Where the pages are served; it needs the extra."""


def open_workbench(
    place: Path | str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    idle: float = IDLE,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the pages of a project, a folder or a data file to this machine alone, until nobody uses them.

    `ready` is called with the address, which works once. `port` 0 is any free one. Without a window for `idle` minutes,
    and without a command at work, the function returns; an interrupt ends it too.
    """
    if not 0 < idle <= 24 * 60:
        raise InputError(f"idle = {idle}: must be above 0 and at most {24 * 60} minutes")
    try:
        server: Any = import_module(SERVER)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("safemargin"):
            raise
        raise InputError(f"{error.name} is not installed; run: pip install 'safemargin[web]'") from None
    server.serve(None if place is None else Path(place), port, browser, idle, ready)
