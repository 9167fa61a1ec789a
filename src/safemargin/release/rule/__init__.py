"""The rule: from margins, roll and project to the next candidate of a release; what `verify --rerun` has to trust.

    make.py         the rule for a table: trees of blocks and limits, from everything but the answers
    candidates.py   `ReleaseRule`: the first candidate, and coarser ones for an exposed cell
    steps.py        one step by closed forms, and whether votes lead to a release
    split.py        one axis: its groups and the tree in which they cover each other
    coarsen.py      which categories to merge so that every group is large enough
    protect.py      cuts through the tree: merged, suppressed or noised groups
    hide.py         which single groups are suppressed, and their covers
    lot.py          which groups are noised, by lot
    earlier.py      what differences from earlier releases disclose
    questions.py    the same for several questions that share their groups

Nothing here searches for a proof or for words (`release/decide` does), and nothing reads a file.
"""
