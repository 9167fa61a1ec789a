"""A standalone cluster of Spark on this machine, of which workers can be killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cluster:
    """A master and two workers, each a process group of its own with its executors."""

    master: str
    start: Callable[[], "subprocess.Popen[bytes]"]
    workers: list["subprocess.Popen[bytes]"]

    def kill(self, worker: int) -> None:
        """End a worker and its executors at once."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)
        self.workers[worker].wait()

    def replace(self, worker: int) -> None:
        """Start another worker in the place of one that was killed; it comes when it is ready."""
        self.workers[worker] = self.start()


@contextmanager
def started_cluster(folder: Path, settings: Mapping[str, str], memory: str, options: str = "") -> Iterator[Cluster]:
    """A master and two workers of one core; Spark in this process has the same `settings` and `options` of Java."""
    import pyspark

    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    places = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
    places["SPARK_LOCAL_DIRS"] = str(folder / "local")  # a worker that is killed does not remove its files
    places["JAVA_TOOL_OPTIONS"] = options
    places["PYSPARK_PYTHON"] = sys.executable
    before = {name: os.environ.get(name) for name in places}
    os.environ.update(places)
    gateway = pyspark.SparkContext._gateway
    if (
        gateway is not None
    ):  # Java that runs already has read other settings, and asks for more memory than workers have
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(Path(pyspark.__path__[0], "bin", "spark-class")), f"org.apache.spark.deploy.{name}"]
        command += ["--webui-port", "0", "--host", "127.0.0.1", *arguments]
        environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m"}
        with (folder / f"log{len(started)}").open("wb") as log:
            started.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=folder)
            )
        return started[-1]

    try:
        start("master.Master", "--port", str(port))
        master = f"spark://127.0.0.1:{port}"

        def start_worker() -> subprocess.Popen[bytes]:
            return start("worker.Worker", "--cores", "1", "--memory", memory, master)

        workers = [start_worker() for _ in range(2)]  # a worker waits for its master
        for _ in range(1200):
            if (folder / "log0").read_bytes().count(b"Registering worker") == 2:
                break
            time.sleep(0.1)
        yield Cluster(master, start_worker, workers)
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def killing(cluster: Cluster, when: Callable[[int, int], bool]) -> Iterator[list[int]]:
    """Kill the first worker `when` so many tasks of a stage are done; gives how many were, and of how many."""
    import pyspark

    ended, killed = threading.Event(), list[int]()

    def watch() -> None:
        while not ended.is_set():
            with suppress(Exception):  # while Spark starts, and when it has ended, it knows of no stages
                tracker = pyspark.SparkContext._active_spark_context.statusTracker()
                for info in map(tracker.getStageInfo, tracker.getActiveStageIds()):
                    if when(info.numCompletedTasks, info.numTasks):
                        killed.extend([info.numCompletedTasks, info.numTasks])
                        return cluster.kill(0)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield killed
    finally:
        ended.set()
        watcher.join()
