"""What noise on counts risks and costs: calculators, programmes of tables, a planner, distortion.

Three things are kept apart: how risk is measured (epsilon, delta), how noise is distributed, and the mechanism that
spreads it over many tables. Equation numbers are those of Bach, "Differential privacy and noisy confidentiality
concepts for European population statistics" (2020).
"""
