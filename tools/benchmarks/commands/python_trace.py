#!/usr/bin/env python3
"""Traced functions against jax.jit: a training step of a perceptron, and of an LSTM.

    tools/bench python trace [--rows REGEX] [--json FILE] [--rounds N]

Runs with the Python that has JAX; PYTHONPATH is BUILD/python. Both sides get numpy arrays of the same
values, and their results are compared first. Steps alternate within one run, and a row is the median of
its ratios, jax.jit over ours: must 2, stretch 4. The first call is traced and compiled without the cache
of compiled code: it must take no longer than jax.jit's. A second batch size may compile once more, a
third must not. Memory: what a process grows by whose steps have two batch sizes, over what one grows by
that has the second size alone, 1.3 at most. Exit code 1 where one of these is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

os.environ["NEO_CODE_CACHE"] = "none"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import neoc  # noqa: E402

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of tools/benchmarks
Params = Dict[str, np.ndarray]
rng = np.random.default_rng(0)


def f(*shape: int) -> np.ndarray:
    return (0.2*rng.standard_normal(shape)).astype(np.float32)


# ---------------------------------------------------------------- losses, for both sides

def mlp(xp: Any, p: Any, x: Any, y: Any) -> Any:
    h = xp.tanh(x @ p["W1"] + p["b1"])
    return ((h @ p["W2"] + p["b2"] - y)**2).mean()


def mlp_given(batch: int) -> Tuple[Params, np.ndarray, np.ndarray]:
    return ({"W1": f(64, 128), "b1": f(128), "W2": f(128, 10), "b2": f(10)}, f(batch, 64), f(batch, 10))


def lstm(scan: Callable[..., Any], xp: Any, sigmoid: Callable[[Any], Any], p: Any, x: Any, y: Any) -> Any:
    def step(carry: Any, now: Any) -> Any:
        h, c = carry
        g = now @ p["W"] + h @ p["U"] + p["b"]
        c = sigmoid(g[:, :32])*c + sigmoid(g[:, 32:64])*xp.tanh(g[:, 64:96])
        h = sigmoid(g[:, 96:])*xp.tanh(c)
        return (h, c), h
    zeros = xp.zeros((x.shape[1], 32), "float32")
    (h, _), _ = scan(step, (zeros, zeros), x)
    return ((h - y)**2).mean()


def lstm_given(batch: int) -> Tuple[Params, np.ndarray, np.ndarray]:
    return ({"W": f(16, 128), "U": f(32, 128), "b": f(128)}, f(20, batch, 16), f(batch, 32))


Given = Callable[[int], Tuple[Params, np.ndarray, np.ndarray]]
ROWS: List[Tuple[str, Callable[..., Any], Callable[..., Any], Given, int]] = [
    ("mlp 64-128-10 batch 32", lambda *a: mlp(np, *a), lambda *a: mlp(jnp, *a), mlp_given, 32),
    ("lstm 20 steps batch 8 units 32",
     lambda *a: lstm(neoc.scan, neoc, neoc.sigmoid, *a),
     lambda *a: lstm(jax.lax.scan, jnp, jax.nn.sigmoid, *a), lstm_given, 8),
]


def our_step(loss: Callable[..., Any]) -> Any:
    def step(p: Any, x: Any, y: Any) -> Any:
        value, slopes = neoc.value_and_grad(loss)(p, x, y)
        return {k: p[k] - 0.1*slopes[k] for k in p}, value
    return neoc.function(step)


def their_step(loss: Callable[..., Any]) -> Any:
    def step(p: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(p, x, y)
        return {k: p[k] - 0.1*slopes[k] for k in p}, value
    return jax.jit(step)


def seconds(run: Callable[[], Any], calls: int = 1) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        result = run()
    jax.block_until_ready(result)
    return (time.perf_counter() - begin)/calls


def measure(name: str, ours: Any, theirs: Any, given: Given, batch: int, rounds: int) -> Dict[str, Any]:
    neoc_step, jax_step = our_step(ours), their_step(theirs)
    p, x, y = given(batch)
    first = seconds(lambda: neoc_step(p, x, y)), seconds(lambda: jax_step(p, x, y))
    for a, b in zip(jax.tree.leaves(neoc_step(p, x, y)), jax.tree.leaves(jax_step(p, x, y))):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)
    q = {k: jnp.asarray(v) for k, v in p.items()}
    u, v = jnp.asarray(x), jnp.asarray(y)  # each side gets the arrays that it takes at no cost
    both = [(seconds(lambda: neoc_step(p, x, y), 100), seconds(lambda: jax_step(q, u, v), 100))
            for _ in range(rounds)]
    compiled = []
    for other in (batch*3//2, batch*2):
        neoc_step(*given(other))
        compiled.append(neoc_step.cache_info().compiled)
    return {"name": name, "ratio": statistics.median(b/a for a, b in both), "must": 2, "stretch": 4,
            "ours_us": statistics.median(a for a, _ in both)*1e6,
            "peer_us": statistics.median(b for _, b in both)*1e6,
            "first_s": first[0], "peer_first_s": first[1], "compiled": compiled,
            "memory": memory_ratio(name, 900*batch)}


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1])*os.sysconf("SC_PAGESIZE")


def growth(row: str, batches: List[int]) -> int:
    """Bytes that this process grows by in steps of these sizes; the arguments are not counted."""
    _, ours, _, given, _ = next(r for r in ROWS if r[0] == row)
    step = our_step(ours)
    cases = [given(n) for n in batches]
    for _, x, y in cases:
        x.sum(), y.sum()  # touches their pages
    before = resident()
    for case in cases:
        step(*case)
    return resident() - before


def memory_ratio(row: str, batch: int) -> float:
    """The growth of a process with two sizes over that of one with the second alone."""
    def grown(batches: List[int]) -> int:
        words = [sys.executable, FOLDER, "python_trace", "--growth", row, *map(str, batches)]
        return int(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    return grown([batch*2//3, batch])/grown([batch])


def main() -> int:
    if sys.argv[1:2] == ["--growth"]:
        print(growth(sys.argv[2], [int(n) for n in sys.argv[3:]]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", default=".")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    results, missed = [], False
    neoc.set_threads(1)
    for row in ROWS:
        if not re.search(options.rows, row[0]):
            continue
        r = measure(*row, options.rounds)
        results.append(r)
        good = (r["ratio"] >= r["must"] and r["first_s"] <= r["peer_first_s"] and
                r["memory"] <= 1.3 and r["compiled"][0] <= 2 and r["compiled"][1] == r["compiled"][0])
        missed = missed or not good
        print(f"{r['name']:32} {r['ours_us']:8.1f} us, jax.jit {r['peer_us']:8.1f}: {r['ratio']:.2f} "
              f"(must {r['must']}); first call {r['first_s']:.3f} s, {r['peer_first_s']:.3f}; programs "
              f"after sizes 2 and 3: {r['compiled']}; memory {r['memory']:.2f}{'' if good else '  MISSED'}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
