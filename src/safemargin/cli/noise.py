"""The group of commands about noise on counts."""

import typer

from safemargin.cli.calculators import (
    average,
    budget,
    compose,
    exploit,
    reconstruct,
    reidentify,
    reveal,
    tail,
    utility,
    variance,
)
from safemargin.cli.denoising import attack
from safemargin.cli.distortions import distort
from safemargin.cli.programmes import plan, publish, redundancy
from safemargin.cli.ptables import key, perturb, posterior, ptable

noise = typer.Typer(
    help="Noise that is understood: what it risks, what it costs, and which parameters survive.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (
    *(reconstruct, compose, budget, reveal, exploit, average, variance, utility, tail, reidentify),
    *(redundancy, plan, publish, attack, distort),
    *(ptable, key, perturb, posterior),
):
    noise.command()(command)
