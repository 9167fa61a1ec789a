"""Privacy guarantees: state, convert, compose, compare and check them. One function per subcommand of `guarantee`."""

from safemargin.guarantees import beside, budget, census, compare, compose, convert, rates, show, swap, verify
from safemargin.swap.check import check

__all__ = ["beside", "budget", "census", "check", "compare", "compose", "convert", "rates", "show", "swap", "verify"]
