# List the recipes
default:
    @just --list

# Linter, formatter, types, prose
check:
    scripts/check

# First tier: every feature, quick cases
test *args:
    python -m pytest -n auto --dist worksteal -m "not full and not slow and not statistical and not browser" {{ args }}

# Second tier: the full suite, five and a half minutes on two cores
test-full *args:
    python -m pytest -n auto --dist loadfile -m "not slow and not statistical and not browser" {{ args }}

# Third tier: slow cases, samples against their laws, pages in a browser
evidence *args:
    python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "slow or statistical or browser" {{ args }}

# Branch coverage of the full suite, and the goal for the parts that proofs rest on
coverage:
    python -m pytest -n auto --dist loadfile -m "not slow and not statistical and not browser" --cov --cov-report=
    coverage report --include='src/safemargin/core/*,src/safemargin/bounds/*,src/safemargin/release/*' --fail-under=95

# The documentation as a site, in the folder site; `python -m http.server --directory site` shows it with its search
docs:
    NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict

# Everything the documentation shows
test-docs:
    python -m pytest tests/test_docs.py tests/test_surface.py tests/test_api.py

# Write again what is made from the code: the API page, terminal outputs, the lock file
rewrite:
    scripts/api
    python -m pytest tests/test_golden.py --rewrite-golden
    scripts/lock

# Lines, import chains, comments
house:
    scripts/house

# Timings; nothing is written into the tree
bench:
    for bench in benchmarks/bench_*.py; do python "$bench"; done

# What a clean clone must pass, in a fresh environment
ci:
    .ci/run
