"""Privacy guarantees: state, convert, compose, compare and check them. One function per subcommand of `guarantee`."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
