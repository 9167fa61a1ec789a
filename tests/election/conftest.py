"""A PostgreSQL server for the tests that need one."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server from Debian's package, on a socket in a temporary folder."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").exists() else []
    if not places:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(f"/tmp/safemargin-postgres-{os.getpid()}")
    folder.mkdir(mode=0o777)
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user, "cwd": folder}
    data = folder / "data"
    subprocess.run([places[-1] / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], check=True, **quiet)
    command = [places[-1] / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    server = subprocess.Popen(command, **quiet)
    try:
        for _ in range(200):
            ready = subprocess.run([places[-1] / "pg_isready", "-h", folder, "-U", "postgres"], **quiet)
            if ready.returncode == 0:
                break
            time.sleep(0.05)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)
