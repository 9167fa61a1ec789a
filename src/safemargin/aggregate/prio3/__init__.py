"""Prio3: sums of reports whose validity is proved. See `scheme.py`."""
