# SPDX-License-Identifier: MIT OR Apache-2.0
"""Apps that are one program of ours, in bench/apps/programs: its output and exit status must be the same each time."""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from trial import Failed

SOURCES = Path(__file__).resolve().parent / "programs"
STATUS = 7  # that each of the programs ends with


@dataclass
class Program:
    source: str
    load: str
    turns_per_s: int  # about: sets how much --seconds stands for
    command: list
    compiler: list = ()
    unit: str = "turns/s"

    def prepare(self, directory):
        """Leaves the program in this directory, built."""
        (directory / self.source).write_bytes((SOURCES / self.source).read_bytes())
        if self.compiler:
            try:
                result = subprocess.run([*self.compiler, self.source], cwd=directory, capture_output=True, text=True,
                                        check=False)
            except OSError as error:
                raise Failed(f"{self.source} could not be built: {error}") from error
            if result.returncode != 0:
                raise Failed(f"{self.source} could not be built: {result.stderr.strip()}")

    def run(self, trial):
        turns = max(1000, round(self.turns_per_s * trial.seconds) // 1000 * 1000)
        started = time.monotonic()
        trial.begin(*(word.format(built=trial.built) for word in self.command), turns)
        stdout, stderr = trial.end(status=STATUS)
        return turns / (time.monotonic() - started), {"stdout": stdout, "stderr": stderr, "status": STATUS}


std_locks = Program(
    "std_locks.cpp", "16 threads", 25000,
    compiler=["g++", "-std=c++20", "-O2", "-pthread", "-o", "std_locks"],
    command=["{built}/std_locks"])

openmp_gnu = Program(
    "openmp.c", "16 threads, gcc's libgomp", 500000,
    compiler=["gcc", "-O2", "-fopenmp", "-o", "openmp_gnu"],
    command=["{built}/openmp_gnu"])

openmp_llvm = Program(
    "openmp.c", "16 threads, clang's libomp", 20000,
    compiler=["clang-16", "-O2", "-fopenmp", "-o", "openmp_llvm"],
    command=["{built}/openmp_llvm"])

python = Program("threads.py", "16 threads", 5000, ["python3", "{built}/threads.py"])

java = Program(
    "Threads.java", "16 threads", 100000,
    compiler=["javac", "-d", "."],
    # UsePerfData would leave a file in /tmp.
    command=["java", "-XX:-UsePerfData", "-Xmx128m", "-cp", "{built}", "Threads"])

node = Program(
    "threads.js", "8 workers, pool of 16 threads", 15000,
    command=["env", "UV_THREADPOOL_SIZE=16", "node", "{built}/threads.js"])
