"""Sums over real sockets against bare posts of the same size, and without sockets against plain sums, in one run."""

import argparse
import time

import numpy as np

from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.rehearsal import run_session, simulate


def main() -> None:
    """Print one line per backend."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--bits", type=int, default=100)
    parser.add_argument("--matrix-clients", type=int, default=200)
    options = parser.parse_args()
    first = None
    for backend in ("prio3", "shares", "polyveil-compressed", "shamir", "polyveil"):
        clients = options.matrix_clients if backend == "polyveil" else options.clients
        run = run_session(
            clients,
            options.bits,
            backend=backend,
            dropouts=0.05,
            compare_bare=True,
            malicious=0.02 * (backend == "prio3"),
        )
        per_client = run.seconds / clients
        first = first or per_client
        values = np.random.default_rng(0).integers(0, 2, size=(clients, options.bits))
        made = make_backend(backend, options.bits, clients)
        started = time.perf_counter()
        values.sum(axis=0)
        plain = time.perf_counter() - started
        inside = simulate(clients, options.bits, backend=backend).seconds
        print(
            f"{backend}: {clients:,} clients x {options.bits}, exact {run.exact}, "
            f"lost {run.lost}, doubled {run.doubled}, "
            f"{run.seconds:.1f} s, {run.seconds / (run.bare_seconds or 1):.2f} of bare posts, "
            f"{per_client / first:.2f} of prio3 per client, {made.bytes_per_client:,} bytes, "
            f"without sockets {inside / plain:,.0f} times a plain sum"
        )


if __name__ == "__main__":
    main()
