#!/usr/bin/env python3
"""neoc in Python with numpy alone: the cost of a call, of a first result, and of a second compilation.

    tools/bench python numpy [--rows REGEX] [--json FILE] [--rounds N]

Runs with a Python that has numpy; PYTHONPATH is BUILD/python. Rows, and what each must be at most:

    call              microseconds of an operator on four elements above np.add, alternating: 4
    first result      seconds from a text to its first result, compiled, in this process: 0.1
    cached result     seconds of a new process that imports neoc and calls an operator from the cache, with
                      bytecode of the sources, as an installed package has it: 0.08
    second NAME       seconds of a second compilation of a model of the zoo: capsulenet 0.1, resnet50 0.2

Times are medians; the cache is a folder of this run. Exit code 1 where a row is above what it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, List, NamedTuple

import numpy as np

from measure.build import ROOT

TEXT = "C[i, j] = sum[k] A[i, k]*B[k, j]"


class Row(NamedTuple):
    name: str
    unit: str
    must: float
    stretch: float
    measure: Callable[[int], float]


def timed(f: Callable[[], Any], calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - begin)/calls


def call(rounds: int) -> float:
    import neoc
    a, b = np.ones(4, np.float32), np.ones(4, np.float32)
    add = neoc.op("c[i] = a[i] + b[i]")
    add(a, b)
    more = [timed(lambda: add(a, b), 2000) - timed(lambda: np.add(a, b), 2000) for _ in range(rounds)]
    return statistics.median(more)*1e6


def first_result(rounds: int) -> float:
    import neoc
    times = []
    for k in range(rounds):
        x = np.ones((8 + k, 5), np.float32), np.ones((5, 3), np.float32)
        times.append(timed(lambda: neoc.op(TEXT)(*x), 1))
    return statistics.median(times)


def cached_result(rounds: int) -> float:
    text = (f"import neoc, numpy as np; mm = neoc.op({TEXT!r}); "
            "mm(np.ones((4, 5), 'f4'), np.ones((5, 3), 'f4'))")
    with tempfile.TemporaryDirectory() as bytecode:
        # An installed package has its bytecode: without, each process would compile the sources.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def seconds(program: str) -> float:
            run = [sys.executable, "-c", program]
            return timed(lambda: subprocess.run(run, check=True, env=environment), 1)
        seconds(text)  # which fills the cache and the folder of bytecode
        pairs = [(seconds("import numpy"), seconds(text)) for _ in range(rounds)]
    alone, whole = (statistics.median(times) for times in zip(*pairs))
    print(f"  a process that imports numpy alone: {alone:.3f} s")
    return whole


def second(name: str) -> Callable[[int], float]:
    def measure(rounds: int) -> float:
        neoc = os.path.join(os.path.dirname(os.environ["PYTHONPATH"].split(":")[0]), "bin", "neoc")
        with tempfile.TemporaryDirectory() as folder:
            command = [neoc, "compile", "-q", "-o", folder,
                       os.path.join(ROOT, "models", "zoo", name + ".expr")]
            first = timed(lambda: subprocess.run(command, check=True), 1)
            print(f"  {name}, first compilation: {first:.2f} s")
            return statistics.median(timed(lambda: subprocess.run(command, check=True), 1)
                                     for _ in range(rounds))
    return measure


ROWS: List[Row] = [
    Row("call", "us over np.add", 4, 1, call),
    Row("first result", "s", 0.1, 0.06, first_result),
    Row("cached result", "s", 0.08, 0.04, cached_result),
    Row("second capsulenet", "s", 0.1, 0.1, second("capsulenet")),
    Row("second resnet50", "s", 0.2, 0.2, second("resnet50")),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", default=".")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    results, missed = [], False
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for row in ROWS:
            if not re.search(options.rows, row.name):
                continue
            value = row.measure(options.rounds)
            missed = missed or not value <= row.must
            results.append({"name": row.name, "unit": row.unit, "ours": value, "must": row.must,
                            "stretch": row.stretch})
            print(f"{row.name:18} {value:8.3f} {row.unit:15} must {row.must:g}, stretch "
                  f"{row.stretch:g}{'' if value <= row.must else '  MISSED'}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
