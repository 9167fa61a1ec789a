# List the recipes
default:
    @just --list

# Linter, formatter, types
check:
    scripts/check

# Tests of the current environment, without the slow ones
test *args:
    python -m pytest -m "not slow and not statistical and not browser" {{ args }}

# Everything the documentation shows
docs:
    python -m pytest tests/test_docs.py tests/test_surface.py

# Timings; nothing is written into the tree
bench:
    for bench in benchmarks/bench_*.py; do python "$bench"; done

# What a clean clone must pass, in a fresh environment
ci:
    .ci/run
