"""Operators of neoc.jax against jax.jit: the cost of a call, and ten operators that frameworks
lack.

    tools/bench python jax [--json FILE] [--rows REGEX] [--rounds N] [--threads=1]

Needs jax. Both sides alternate in one run; a figure is the least of the rounds' means, in
microseconds, and a ratio is jax's time over ours. Calls: of four elements, outside of jit, within
it, and what one call more costs within one compiled program. Rows: python/tests/jax_rows.py with
sizes of use, forward, and gradients of all arguments.
"""

import argparse
import json
import os
import re
import sys
import time

if "--threads=1" in sys.argv: # XLA has no other way, and reads it when it is loaded
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import numpy as np
from jax import numpy as jnp

import jax_rows
import neoc.jax

LIMIT_US = 0.5  # of a call within jit, over jnp.add


def mean_us(f, args, seconds):
    n, spent = 0, 0.0
    result = jax.block_until_ready(f(*args))
    while spent < seconds:
        count = max(1, n)
        begin = time.perf_counter()
        for _ in range(count):
            result = f(*args)
        jax.block_until_ready(result)
        spent += time.perf_counter() - begin
        n += count
    return spent/n*1e6


def alternate(ours, theirs, args, rounds, seconds=0.02):
    """The least mean of each, in turns."""
    best = [float("inf")]*2
    for _ in range(rounds):
        for k, f in enumerate((ours, theirs)):
            best[k] = min(best[k], mean_us(f, args, seconds))
    return best


def chain(f, n):
    """n calls of f, each of what the one before gave."""
    def run(a, b):
        for _ in range(n):
            a = f(a, b)
        return a
    return jax.jit(run)


def calls(rounds):
    add, a = neoc.jax.op("c[i] = a[i] + b[i]"), jnp.ones(4)
    short = lambda f, g: alternate(f, g, (a, a), 10*rounds, 0.002)
    yield ("call", *short(add, jnp.add))
    ours, theirs = short(jax.jit(add), jax.jit(jnp.add))
    yield "call within jit", ours, theirs
    # XLA makes one loop of a chain of sums, so the rest of such a program is all that it costs.
    many, few = (short(chain(add, n), chain(jnp.add, n)) for n in (101, 1))
    yield "one more call within a program", (many[0] - few[0])/100, (many[1] - few[1])/100


def gradients(f, n, weights):
    return jax.jit(jax.value_and_grad(lambda *a: (f(*a)*weights).sum(), tuple(range(n))))


def check(name, got, wanted):
    for x, y in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(wanted)):
        scale = max(1.0, float(np.abs(y).max()))
        off = float(np.abs(np.asarray(x) - np.asarray(y)).max())/scale
        if not off < 1e-3:
            raise SystemExit(f"{name}: results differ by {off}")


def operators(rounds, pattern):
    for row in jax_rows.ROWS:
        if not re.search(pattern, row.name):
            continue
        args = [jnp.asarray(a) for a in row.make(np.random.default_rng(1), True)]
        statics = jax_rows.statics_of(row, args)
        op = neoc.jax.op(row.text)
        names = [n for n in op.op.arguments if n not in statics]
        f = lambda *a: op(**dict(zip(names, a)), **statics)
        weights = jnp.asarray(np.random.default_rng(2).standard_normal(
            jax.eval_shape(row.reference, *args).shape), "float32")
        pairs = ((row.name, jax.jit(f), jax.jit(row.reference)),
                 (row.name + ", gradients", gradients(f, len(args), weights),
                  gradients(row.reference, len(args), weights)))
        for name, ours, theirs in pairs:
            check(name, ours(*args), theirs(*args))
            yield (name, *alternate(ours, theirs, args, rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--rows", default="")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    neoc.set_threads(options.threads)
    rows = []
    print(f"jax {jax.__version__}; microseconds\n{'':36} {'neoc':>10} {'jax.jit':>10} {'ratio':>7}")
    sources = (calls(options.rounds), operators(options.rounds, options.rows))
    for name, ours, theirs in (r for source in sources for r in source):
        if options.rows and not re.search(options.rows, name):
            continue
        rows.append({"name": name, "ours_us": ours, "jax_us": theirs})
        print(f"{name:36} {ours:10.2f} {theirs:10.2f} {theirs/ours:7.2f}", flush=True)
    for row in rows:
        if row["name"] == "call within jit" and row["ours_us"] - row["jax_us"] > LIMIT_US:
            print(f"over the limit: a call costs {row['ours_us'] - row['jax_us']:.2f} us more than "
                  f"jnp.add, {LIMIT_US} are allowed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"jax": jax.__version__, "rows": rows}, file, indent=1)


main()
