"""The group of commands about noise on counts."""

import typer

from safemargin.noise.attack_cli import attack
from safemargin.noise.calculators_cli import (
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
from safemargin.noise.distortion_cli import distort
from safemargin.noise.programme_cli import plan, publish, redundancy
from safemargin.noise.ptable_cli import key, perturb, posterior, ptable

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
