"""Parties of a session as processes of this machine, each started by the command that an organisation would use.

Processes are isolated (`core.processes`): nothing in the current folder can replace a module.
"""

import contextlib
import signal
import subprocess
import time
from pathlib import Path

from safemargin.aggregate.session_file import Session
from safemargin.aggregate.submission import PATIENCE, Connections
from safemargin.core import OutputError, ProcessFamily, python_command, safe_environment

COMMAND = python_command("-m", "safemargin", "aggregate")


class Parties:
    """The processes of all roles; each keeps its messages in a file, so that it can be killed and started again."""

    def __init__(self, session: Session, folder: Path, file: Path) -> None:
        self.session, self.folder, self.file = session, folder, file
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.family = ProcessFamily()

    def place(self, role: str, ending: str) -> Path:
        """A file of one role, in a folder of its own."""
        folder = self.folder / role.replace(" ", "_")
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / f"party.{ending}"

    def launch(self, role: str) -> None:
        """Start the process of a role."""
        port = self.session.file.parties[role].rsplit(":", 1)[1]
        options = {"role": role, "key": self.place(role, "key"), "database": self.place(role, "sqlite"), "port": port}
        if role in self.session.file.certificates:
            options |= {"certificate": self.place(role, "crt"), "certificate-key": self.place(role, "tls")}
        arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        self.processes[role] = subprocess.Popen(
            [*COMMAND, "serve", str(self.file), *arguments],
            env=safe_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=self.family.group,
        )

    def wait(self, role: str) -> None:
        """Wait until a role answers."""
        deadline = time.monotonic() + PATIENCE
        connections = Connections(self.session)
        try:
            while time.monotonic() < deadline and self.processes[role].poll() is None:
                with contextlib.suppress(OSError):
                    connections.post(role, "/v1/nothing", b"", {})
                    return
                time.sleep(0.05)
        finally:
            connections.close()
        raise OutputError(f"{role}: the process did not start")

    def restart(self, role: str) -> None:
        """Kill a role at once, as a power failure would, and start it again."""
        self.kill(role)
        self.launch(role)
        self.wait(role)

    def kill(self, role: str) -> None:
        """Stop a role at once."""
        self.processes[role].send_signal(signal.SIGKILL)
        self.processes[role].wait()

    def stop(self) -> None:
        """Stop all of them."""
        for role in self.processes:
            with contextlib.suppress(ProcessLookupError):
                self.kill(role)
        self.family.end()

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run another command of `aggregate` to its end, and give what it prints."""
        command, safe = [*COMMAND, *arguments], safe_environment()
        ran = subprocess.run(command, env=safe, capture_output=True, text=True, check=False)
        if ran.returncode not in codes:
            raise OutputError(f"aggregate {arguments[0]}: {ran.stderr.strip() or ran.stdout.strip()}")
        return ran.stdout
