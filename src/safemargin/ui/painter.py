"""Pictures drawn in a process of their own, while this one goes on computing.

The drawing library starts a JavaScript engine, which takes half a second, and holds the interpreter while it draws.
"""

import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from safemargin.ui import easel
from safemargin.ui.charts import Spec, framed, to_svg


class Painter:
    """Give orders early and collect the pictures late; a picture that the process does not deliver is drawn here."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(easel.__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,  # ctrl-C is for us; it ends when its input does
            )
        except OSError:
            pass
        self._queue = ThreadPoolExecutor(max_workers=1)
        self._ordered: dict[str, Future[str]] = {}

    def __enter__(self) -> "Painter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
        self._queue.shutdown(cancel_futures=True)
        if self._process is not None:
            self._process.communicate()

    def order(self, spec: Spec) -> str:
        """Have a picture drawn; there is nothing to show yet."""
        text = json.dumps(spec)
        if text not in self._ordered:
            self._ordered[text] = self._queue.submit(self._deliver, spec)
        return ""

    def draw(self, spec: Spec) -> str:
        """The picture as an SVG element, ordered earlier or now."""
        self.order(spec)
        return self._ordered[json.dumps(spec)].result()

    def _deliver(self, spec: Spec) -> str:
        process = self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            try:
                print(json.dumps(framed(spec)), file=process.stdin, flush=True)
                answer = process.stdout.readline()
                if answer:
                    return to_svg(spec, drawn=json.loads(answer))
            except (OSError, ValueError):
                pass
        return to_svg(spec)
