"""What can be inferred from published tables: intervals, certificates and their proofs, all consistent tables."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
