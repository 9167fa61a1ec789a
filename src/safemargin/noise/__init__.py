"""Plan, apply and attack noise on counts: one function per subcommand of `safemargin noise`, and a few more figures.

Three things are kept apart: how risk is measured (epsilon, delta), how noise is distributed, and the mechanism that
spreads it over many tables. Equation numbers are those of Bach, "Differential privacy and noisy confidentiality
concepts for European population statistics" (2020). Each function is loaded when it is first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
