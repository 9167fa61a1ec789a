"""The command `open`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.ui import note
from safemargin.web.workbench import IDLE, open_workbench


def open_command(
    place: Annotated[
        Path | None, typer.Argument(help="Project file, folder or data file. Default: the current folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    idle: Annotated[float, typer.Option(help="Minutes without a window after which it ends.")] = IDLE,
) -> None:
    """Open the workbench in your browser: check a table, or plan and publish a release, step by step.

    Only this machine reaches it, and nothing leaves it. Every page shows the command that does the same.

    Example: safemargin open project.toml
    """
    open_workbench(place, port=port, browser=browser, idle=idle, ready=_announce)
    note("the workbench has ended")


def _announce(address: str) -> None:
    note(f"the workbench is at {address} (the link works once; Ctrl-C ends it)")
