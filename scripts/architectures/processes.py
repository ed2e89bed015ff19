# SPDX-License-Identifier: BSD-3-Clause
"""Programs run with a time limit, and the processor time that they took."""
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import threading


@dataclasses.dataclass(frozen=True)
class Finished:
    status: int
    output: str
    errors: str


class Stopwatch:
    """Adds up the seconds of processor time of what it runs: other work on the machine does not change them much."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def run(self, command: list[str], cwd: pathlib.Path, limit: float = 1800, env: dict[str, str] | None = None) -> Finished:
        with subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=None if env is None else {**os.environ, **env}) as process:
            timer = threading.Timer(limit, process.kill)
            timer.start()
            with concurrent.futures.ThreadPoolExecutor(2) as readers:
                output, errors = readers.map(lambda stream: stream.read().decode("utf-8", "replace").replace("\r\n", "\n"),
                                             (process.stdout, process.stderr))
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        with self._lock:
            self.seconds += usage.ru_utime + usage.ru_stime
        return Finished(process.returncode, output, errors)
