"""Privacy guarantees: state, convert, compose, compare and check them. One function per subcommand of `guarantee`."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.guarantees.census import budget, census
    from safemargin.guarantees.compare import beside, compare
    from safemargin.guarantees.conversion import convert, loss_epsilon, published_epsilon
    from safemargin.guarantees.exact import Checked, Holds, check_laws, frozen_hamming, hamming, universe_loss
    from safemargin.guarantees.guarantee_file import (
        GUARANTEE_FILE,
        document,
        guarantee_from,
        guarantee_text,
        read_guarantee,
    )
    from safemargin.guarantees.noise import (
        NoiseBudget,
        check_noise,
        choice_epsilon,
        exchange_sensitivity,
        is_vacuous,
        noise_budget,
        one_count_suffices,
        partnered,
    )
    from safemargin.guarantees.posterior import (
        GroupBelief,
        chances_outside,
        lot_chance,
        noise_likelihood,
        rounded_up,
    )
    from safemargin.guarantees.report import COLUMNS, compose, show, side_by_side
    from safemargin.guarantees.rules import (
        chained,
        change_unit,
        compose_parts,
        convert_unit,
        post_process,
        publish_invariants,
    )
    from safemargin.guarantees.swap_curves import CAPTION, CURVE_NOTE, rate_chart, rates, swap
    from safemargin.guarantees.swap_law import (
        VARIANTS,
        Law,
        Outcomes,
        Stratum,
        check_work,
        nearby,
        one_swap_law,
        ordered,
        outcomes,
        stratum,
        table,
        universe,
    )
    from safemargin.guarantees.swap_loss import (
        Rate,
        odds_factor,
        odds_in_words,
        rate_of,
        rates_for,
        response_factor,
        short_rate,
        swap_epsilon,
        varied_epsilon,
        visible_epsilon,
    )
    from safemargin.guarantees.verify import verify

__all__ = ["beside", "budget", "census", "check", "compare", "compose", "convert", "rates", "show", "swap", "verify"]
"""The functions of the subcommands; everything else above is for features."""

lazy_face(__name__, check="safemargin.swap.check")  # a part of swapping, as in the menu
