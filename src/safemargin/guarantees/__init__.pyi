from .census import budget as budget, census as census
from .compare import beside as beside, compare as compare
from .conversion import convert as convert, loss_epsilon as loss_epsilon, published_epsilon as published_epsilon
from .exact import (
    Checked as Checked,
    Holds as Holds,
    check_laws as check_laws,
    frozen_hamming as frozen_hamming,
    hamming as hamming,
    universe_loss as universe_loss,
)
from .guarantee_file import (
    GUARANTEE_FILE as GUARANTEE_FILE,
    document as document,
    guarantee_from as guarantee_from,
    guarantee_text as guarantee_text,
    read_guarantee as read_guarantee,
)
from .noise import (
    NoiseBudget as NoiseBudget,
    check_noise as check_noise,
    choice_epsilon as choice_epsilon,
    exchange_sensitivity as exchange_sensitivity,
    is_vacuous as is_vacuous,
    noise_budget as noise_budget,
    one_count_suffices as one_count_suffices,
    partnered as partnered,
)
from .posterior import (
    GroupBelief as GroupBelief,
    chances_outside as chances_outside,
    lot_chance as lot_chance,
    noise_likelihood as noise_likelihood,
    rounded_up as rounded_up,
)
from .report import COLUMNS as COLUMNS, compose as compose, show as show, side_by_side as side_by_side
from .rules import (
    chained as chained,
    change_unit as change_unit,
    compose_parts as compose_parts,
    convert_unit as convert_unit,
    post_process as post_process,
    publish_invariants as publish_invariants,
)
from .swap_curves import (
    CAPTION as CAPTION,
    CURVE_NOTE as CURVE_NOTE,
    rate_chart as rate_chart,
    rates as rates,
    swap as swap,
)
from .swap_law import (
    VARIANTS as VARIANTS,
    Law as Law,
    Outcomes as Outcomes,
    Stratum as Stratum,
    check_work as check_work,
    nearby as nearby,
    one_swap_law as one_swap_law,
    ordered as ordered,
    outcomes as outcomes,
    stratum as stratum,
    table as table,
    universe as universe,
)
from .swap_loss import (
    Rate as Rate,
    odds_factor as odds_factor,
    odds_in_words as odds_in_words,
    rate_of as rate_of,
    rates_for as rates_for,
    response_factor as response_factor,
    short_rate as short_rate,
    swap_epsilon as swap_epsilon,
    varied_epsilon as varied_epsilon,
    visible_epsilon as visible_epsilon,
)
from .verify import verify as verify
