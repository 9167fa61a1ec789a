from .census import budget as budget
from .census import census as census
from .compare import beside as beside
from .compare import compare as compare
from .conversion import convert as convert
from .conversion import loss_epsilon as loss_epsilon
from .conversion import published_epsilon as published_epsilon
from .exact import (
    Checked as Checked,
)
from .exact import (
    Holds as Holds,
)
from .exact import (
    check_laws as check_laws,
)
from .exact import (
    frozen_hamming as frozen_hamming,
)
from .exact import (
    hamming as hamming,
)
from .exact import (
    universe_loss as universe_loss,
)
from .guarantee_file import (
    GUARANTEE_FILE as GUARANTEE_FILE,
)
from .guarantee_file import (
    document as document,
)
from .guarantee_file import (
    guarantee_from as guarantee_from,
)
from .guarantee_file import (
    guarantee_text as guarantee_text,
)
from .guarantee_file import (
    read_guarantee as read_guarantee,
)
from .noise import (
    NoiseBudget as NoiseBudget,
)
from .noise import (
    check_noise as check_noise,
)
from .noise import (
    choice_epsilon as choice_epsilon,
)
from .noise import (
    exchange_sensitivity as exchange_sensitivity,
)
from .noise import (
    is_vacuous as is_vacuous,
)
from .noise import (
    noise_budget as noise_budget,
)
from .noise import (
    one_count_suffices as one_count_suffices,
)
from .noise import (
    partnered as partnered,
)
from .posterior import (
    GroupBelief as GroupBelief,
)
from .posterior import (
    chances_outside as chances_outside,
)
from .posterior import (
    lot_chance as lot_chance,
)
from .posterior import (
    noise_likelihood as noise_likelihood,
)
from .posterior import (
    rounded_up as rounded_up,
)
from .report import COLUMNS as COLUMNS
from .report import compose as compose
from .report import show as show
from .report import side_by_side as side_by_side
from .rules import (
    chained as chained,
)
from .rules import (
    change_unit as change_unit,
)
from .rules import (
    compose_parts as compose_parts,
)
from .rules import (
    convert_unit as convert_unit,
)
from .rules import (
    post_process as post_process,
)
from .rules import (
    publish_invariants as publish_invariants,
)
from .swap_curves import (
    CAPTION as CAPTION,
)
from .swap_curves import (
    CURVE_NOTE as CURVE_NOTE,
)
from .swap_curves import (
    rate_chart as rate_chart,
)
from .swap_curves import (
    rates as rates,
)
from .swap_curves import (
    swap as swap,
)
from .swap_law import (
    VARIANTS as VARIANTS,
)
from .swap_law import (
    Law as Law,
)
from .swap_law import (
    Outcomes as Outcomes,
)
from .swap_law import (
    Stratum as Stratum,
)
from .swap_law import (
    check_work as check_work,
)
from .swap_law import (
    nearby as nearby,
)
from .swap_law import (
    one_swap_law as one_swap_law,
)
from .swap_law import (
    ordered as ordered,
)
from .swap_law import (
    outcomes as outcomes,
)
from .swap_law import (
    stratum as stratum,
)
from .swap_law import (
    table as table,
)
from .swap_law import (
    universe as universe,
)
from .swap_loss import (
    Rate as Rate,
)
from .swap_loss import (
    odds_factor as odds_factor,
)
from .swap_loss import (
    odds_in_words as odds_in_words,
)
from .swap_loss import (
    rate_of as rate_of,
)
from .swap_loss import (
    rates_for as rates_for,
)
from .swap_loss import (
    response_factor as response_factor,
)
from .swap_loss import (
    short_rate as short_rate,
)
from .swap_loss import (
    swap_epsilon as swap_epsilon,
)
from .swap_loss import (
    varied_epsilon as varied_epsilon,
)
from .swap_loss import (
    visible_epsilon as visible_epsilon,
)
from .verify import verify as verify
