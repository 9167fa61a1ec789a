"""Collecting answers without knowing who gave them. One function per subcommand of `election`."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.election.api import keys, manifest, plan, rehearse, serve, step, verify, vote

lazy_face(__name__)
