"""The commands about noise."""

import typer

from safemargin.cli.ptables import key, perturb, posterior, ptable

noise = typer.Typer(
    help="Noise on counts: p-tables, cell keys, and what they leave to be known.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (ptable, perturb, posterior, key):
    noise.command()(command)
