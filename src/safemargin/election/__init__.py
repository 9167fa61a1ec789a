"""Collecting answers without knowing who gave them. One function per subcommand of `election`."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.election.api import (
        approve,
        audit,
        backup,
        catch_up,
        close,
        complaint,
        enrolled,
        init,
        join,
        letters,
        manifest,
        plan,
        publish,
        rehearse,
        restore,
        serve,
        simulate,
        status,
        step,
        tally,
        verify,
        vote,
    )

lazy_face(__name__)
