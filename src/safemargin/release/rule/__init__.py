"""The rule: the deterministic map from margins, roll and limits to a release, apart from proofs and explanations."""
