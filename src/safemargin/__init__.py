"""Decides, cell by cell, how group counts may be published: exact where that is provably safe."""
