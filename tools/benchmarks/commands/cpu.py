"""tools/bench cpu: what neo's code must reach on the processor, each row beside its peers.

    tools/bench cpu [--json FILE] [--rows REGEX] [--threads N] [--rounds N] [--tuned SECONDS]
                    [--peers FOLDER] [--clock wall|cpu] [--resume] [--list] [--show]
    tools/bench cpu --baseline BUILD [--mcpu LEVEL,...] [--compiles N] [--all] ...

A row is a ratio of medians, peer time over ours, of sides that run in turn after a calibration
loop: above 1 we are faster. Ours is compiled fresh (default), after `neoc tune` (tuned), and
without any records (analytic). Rows are written to FILE as they come; those measured again are
replaced.

With --baseline, ours stands beside another version of neoc, from its build folder: the ratio is the
baseline's time over ours, and beside it that of compiling, ours over the baseline's. Exit code 1:
what must hold (baseline.py) does not.
"""
import argparse
import os
import re
import signal
import sys
import tempfile
import time

import baseline
import peers
import report
from build import ROOT, Builder
from measure import Bench
from rows import all_rows, versions


def options():
    o = argparse.ArgumentParser(prog="tools/bench cpu", description=__doc__.splitlines()[0])
    o.add_argument("--json", metavar="FILE", help="results; rows that are not measured stay")
    o.add_argument("--rows", metavar="REGEX", default="", help="only rows with this in their name")
    o.add_argument("--threads", type=int, help="1; matrix products and LSTMs: 1 and 2")
    o.add_argument("--rounds", type=int, default=15, help="fewer, at least 3, where a row is long")
    o.add_argument("--tuned", type=int, metavar="SECONDS", default=0, help="tune each model")
    o.add_argument("--peers", metavar="FOLDER", help="a Python environment with torch, jax, numpy "
                   "and scipy, beside FOLDER-jax-0.4.31; without this option build/peers, which "
                   "is made where it is missing. NEO_BENCH_TORCH, NEO_BENCH_JAX, "
                   "NEO_BENCH_JAX_0_4_31, NEO_BENCH_NUMPY and NEO_BENCH_SCIPY name interpreters")
    o.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of the "
                   "processor, for one thread on a machine that others use")
    o.add_argument("--resume", action="store_true", help="leave out rows that FILE has of this "
                   "build of the compiler")
    o.add_argument("--list", action="store_true", help="print the rows' names, measure nothing")
    o.add_argument("--show", action="store_true", help="print the table of FILE, measure nothing")
    o.add_argument("--baseline", metavar="BUILD", help="compare with the neoc of this build "
                   "folder, no peers; rows of one machine code on both sides are not measured")
    o.add_argument("--all", action="store_true", help="of --baseline: measure those rows too")
    o.add_argument("--mcpu", metavar="LEVEL,...", default="native,x86-64-v3",
                   help="of --baseline: the processors to compile for (native,x86-64-v3)")
    o.add_argument("--compiles", type=int, metavar="N", default=5, help="of --baseline: how often "
                   "each side compiles; fewer, at least 3, where that is long (5)")
    return o.parse_args()


def sides(o, build, work, chosen, keep):
    """What measures a row."""
    if o.baseline:
        return baseline.Versions(build, o.baseline, work, o)
    pythons = peers.find(o.peers, chosen)
    return Bench(Builder(build, work, o.tuned), pythons, o.rounds, o.clock, keep)


def measured(results, row, build):
    """Is there a whole result of this row by this build? Without a single peer that ran it is none."""
    return any(r["name"] == row.name and r.get("build") == build and
               (r["peer"] or not r["missing"]) for r in results)


def main():
    o = options()
    rows = versions(o.threads or 1, o.mcpu.split(",")) if o.baseline else all_rows(o.threads)
    told = baseline if o.baseline else report
    chosen = [row for row in rows if re.search(o.rows, row.name)]
    if o.list:
        print("\n".join(row.name for row in chosen))
        return 0
    if not chosen:
        print("bench: no row has such a name: see --list", file=sys.stderr)
        return 2
    if o.baseline and not os.access(os.path.join(o.baseline, "bin", "neoc"), os.X_OK):
        print(f"bench: {o.baseline} has no bin/neoc", file=sys.stderr)
        return 2
    results = report.read(o.json)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes its temporary files
    if not o.show:
        build = os.environ.get("NEO_BUILD_DIR") or os.path.join(ROOT, "build", "release")
        with tempfile.TemporaryDirectory() as work:
            def keep(result):
                results[:] = [r for r in results if r["name"] != result["name"]] + [result]
                if o.json:
                    report.write(o.json, results)

            bench = sides(o, build, work, chosen, keep)
            build_id = bench.identity()
            for row in chosen:
                if o.resume and measured(results, row, build_id):
                    continue
                start = time.perf_counter()
                result = bench.measure(row)
                result.update(build=build_id, took_s=round(time.perf_counter() - start, 1))
                print(told.line(row, result, 44), flush=True)
                keep(result)
        print()
    print(told.table(rows, results))
    return baseline.status(chosen, results) if o.baseline else 0


sys.exit(main())
