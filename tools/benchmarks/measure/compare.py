"""Code that commands share which compare rows with peers or another version of neoc: options,
the choice of rows, measuring one after the other, and the table."""
import argparse
import os
import re
import signal
import sys
import tempfile
import time

from measure import baseline
from measure.bench import Bench
from measure.build import ROOT, Builder
from peers import pythons
from report import stored, table


def options(command, doc, rounds, compiles):
    o = argparse.ArgumentParser(prog="tools/bench " + command, description=doc.splitlines()[0])
    o.add_argument("--json", metavar="FILE", help="results; rows that are not measured stay")
    o.add_argument("--rows", metavar="REGEX", default="", help="only rows with this in their name")
    o.add_argument("--rounds", type=int, default=rounds,
                   help=f"fewer, at least 3, where a row is long ({rounds})")
    o.add_argument("--tuned", type=int, metavar="SECONDS", default=0, help="tune each model")
    o.add_argument("--peers", metavar="FOLDER", help="a Python environment with torch, jax, numpy "
                   "and scipy, beside FOLDER-jax-0.4.31; without this option build/peers, which "
                   "is made where it is missing. NEO_BENCH_TORCH, NEO_BENCH_JAX, "
                   "NEO_BENCH_JAX_0_4_31, NEO_BENCH_NUMPY and NEO_BENCH_SCIPY name interpreters")
    o.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of the "
                   "processor, for one thread on a machine that others use; two threads of "
                   "tools/bench dynamic always have the wall's")
    o.add_argument("--resume", action="store_true", help="leave out rows that FILE has of this "
                   "build of the compiler")
    o.add_argument("--list", action="store_true", help="print the rows' names, measure nothing")
    o.add_argument("--show", action="store_true", help="print the table of FILE, measure nothing")
    o.add_argument("--baseline", metavar="BUILD", help="compare with the neoc of this build "
                   "folder, no peers; rows of one machine code on both sides are not measured")
    o.add_argument("--all", action="store_true", help="of --baseline: measure those rows too")
    o.add_argument("--compiles", type=int, metavar="N", default=compiles, help="of --baseline: how "
                   f"often each side compiles; fewer, at least 3, where that is long ({compiles})")
    return o


def build_folder():
    return os.environ.get("NEO_BUILD_DIR") or os.path.join(ROOT, "build", "release")


def bench_of(o, work, rows, keep, kind, more):
    """The object that measures a row."""
    if o.baseline:
        return baseline.Versions(build_folder(), o.baseline, work, o, kind)
    builder = Builder(build_folder(), work, o.tuned)
    return kind(builder, pythons.find(o.peers, rows), o.rounds, o.clock, keep, **more)


def measured(results, row, build):
    """Is there a whole result of this row by this build? Without a peer that ran it is none."""
    return any(r["name"] == row.name and r.get("build") == build and
               (r["peer"] or not r["missing"]) for r in results)


def measure_all(o, rows, results, told, kind, more):
    def keep(result):
        results[:] = [r for r in results if r["name"] != result["name"]] + [result]
        if o.json:
            stored.write(o.json, results)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes its temporary files
    with tempfile.TemporaryDirectory() as work:
        bench = bench_of(o, work, rows, keep, kind, more)
        build = bench.identity()
        for row in rows:
            if o.resume and measured(results, row, build):
                continue
            start = time.perf_counter()
            result = bench.measure(row)
            result.update(build=build, took_s=round(time.perf_counter() - start, 1))
            print(told.line(row, result, 44), flush=True)
            keep(result)
    print()


def main(o, rows, kind=Bench, **more):
    """The exit code. `kind`: a Bench that takes `more`."""
    told = baseline if o.baseline else table
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
    results = stored.read(o.json)
    if not o.show:
        measure_all(o, chosen, results, told, kind, more)
    print(told.table(rows, results))
    return baseline.status(chosen, results) if o.baseline else 0
