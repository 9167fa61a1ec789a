"""TopDown: noisy margins of a tree of areas, an unbiased estimate of every count, and tables of whole people."""
