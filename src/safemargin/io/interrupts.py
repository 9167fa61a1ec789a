"""Ctrl-C while DuckDB works ends as `KeyboardInterrupt`, always.

DuckDB looks at signals in the thread that waits for a query. It then cancels the query, but a thread of its own that
holds the work of the query never looks at that: a long scan ran on, and the process with it, deaf to further signals.
It looks at the flag that `interrupt()` sets. So the handler sets the flag before the exception is raised.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

INTERRUPTED = "Query interrupted"
"""What the `RuntimeError` says that version 2 of DuckDB makes of Ctrl-C."""


@contextmanager
def interruptible(database: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose queries end at once with `KeyboardInterrupt` when a signal asks for it.

    Whatever DuckDB raises once a signal came is that interrupt, of any class and in any words.
    """
    heard: list[int] = []

    def stopping(handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        def stop(number: int, frame: Any) -> Any:
            try:
                return handler(number, frame)
            except KeyboardInterrupt:
                heard.append(number)
                database.interrupt()
                raise

        return stop

    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():  # Python runs handlers in this thread only
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                before[number] = signal.signal(number, stopping(handler))
    try:
        yield database
    except Exception as error:
        if heard or isinstance(error, duckdb.InterruptException) or _is_interrupt(error):
            raise KeyboardInterrupt from None
        raise
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)


def _is_interrupt(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and INTERRUPTED in str(error)
