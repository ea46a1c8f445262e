"""tools/bench dynamic: networks over trees and sequences of any form, as vertex functions, beside peers.

    tools/bench dynamic [--json FILE] [--rows REGEX] [--threads N] [--rounds N] [--peers FOLDER]
                        [--clock wall|cpu] [--option OPTION]... [--serial OPTION]...
                        [--switch NAME=OPTION[ OPTION...]]... [--target nvptx:LEVEL]
                        [--resume] [--list] [--show]
    tools/bench dynamic --baseline BUILD [--all] ...              as of tools/bench cpu

A row is a ratio of medians, peer time over ours, of sides that run in turn after a calibration loop:
above 1 we are faster. A call of either side is a pass over some batches, with a training step for each;
behind the ratio stand figures a second. Rows whose data is not below $NEO_DATA (../shared/data) are
skipped. Rows `levels` compare with the same compiled with the options of --serial, and rows `without
NAME` with the options of --switch, which leave an optimization out; both may be given several times.
Rows `kinds` compare batches of vertices of one kind with batches of a level.
With --target both sides run on this machine's GPU.
Rows `shares` say what of a step's time is spent in finding the order of vertices, and in moving data.
"""
import argparse
import os
import re
import signal
import sys
import tempfile
import time

import baseline
import dynamic_rows
import peers
import report
from build import ROOT, Builder
from dynamic_measure import DynamicBench

SERIAL = ("--skip-pass=levels",)
SWITCHES = {"fusion": ("--no-fuse=all",), "lifted products": ("--skip-pass=distribute",),
            "lazy batching": ("--no-lazy-batching",), "streaming": ("--no-streaming",)}


def switch(text):
    name, equals, options = text.partition("=")
    if not equals or not options.startswith("--"):
        raise argparse.ArgumentTypeError(f"NAME=--OPTION..., not '{text}'")
    return name, tuple(options.split())


def options():
    o = argparse.ArgumentParser(prog="tools/bench dynamic", description=__doc__.splitlines()[0])
    o.add_argument("--json", metavar="FILE", help="results; rows that are not measured stay")
    o.add_argument("--rows", metavar="REGEX", default="", help="only rows with this in their name")
    o.add_argument("--threads", type=int, default=1, help="of all rows but `two threads` (1)")
    o.add_argument("--rounds", type=int, default=9, help="fewer, at least 3, where a row is long")
    o.add_argument("--tuned", type=int, metavar="SECONDS", default=0, help="tune each model")
    o.add_argument("--peers", metavar="FOLDER", help="a Python environment with torch; without "
                   "this option build/peers, which is made where it is missing. NEO_BENCH_TORCH "
                   "names another interpreter")
    o.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of the "
                   "processor, on a machine that others use; two threads always have the wall's")
    o.add_argument("--option", metavar="OPTION", action="append", default=[],
                   help="of neoc compile, for all rows of ours; may be repeated")
    o.add_argument("--target", metavar="nvptx:LEVEL", help="ours on this machine's GPU, and PyTorch "
                   "there too (cuda)")
    o.add_argument("--serial", metavar="OPTION", action="append", default=[],
                   help="what compiles vertex functions so that vertices run one by one (" +
                   " ".join(SERIAL) + ")")
    o.add_argument("--switch", metavar="NAME=OPTIONS", action="append", default=[], type=switch,
                   help="what leaves an optimization out (" +
                   "; ".join(f"{k}: {' '.join(v)}" for k, v in SWITCHES.items()) + ")")
    o.add_argument("--baseline", metavar="BUILD", help="compare with the neoc of this build "
                   "folder, no peers; rows of one machine code on both sides are not measured")
    o.add_argument("--all", action="store_true", help="of --baseline: measure those rows too")
    o.add_argument("--compiles", type=int, metavar="N", default=3, help="of --baseline: how often "
                   "each side compiles (3)")
    o.add_argument("--resume", action="store_true", help="leave out rows that FILE has of this "
                   "build of the compiler")
    o.add_argument("--list", action="store_true", help="print the rows' names, measure nothing")
    o.add_argument("--show", action="store_true", help="print the table of FILE, measure nothing")
    return o.parse_args()


def measured(results, row, build):
    return any(r["name"] == row.name and r.get("build") == build and r["times"] for r in results)


def sides(o, rows, work, keep):
    """What measures a row, and what tells of it."""
    build = os.environ.get("NEO_BUILD_DIR") or os.path.join(ROOT, "build", "release")
    if o.baseline:
        return baseline.Versions(build, o.baseline, work, o, DynamicBench), baseline
    more = dict(device="cuda", common=(*o.option, "--target=" + o.target)) if o.target else {}
    bench = DynamicBench(Builder(build, work, o.tuned), peers.find(o.peers, rows), o.rounds, o.clock,
                         keep, **{"common": tuple(o.option), **more})
    return bench, report


def measure_all(o, rows, results, work):
    def keep(result):
        results[:] = [r for r in results if r["name"] != result["name"]] + [result]
        if o.json:
            report.write(o.json, results)

    bench, told = sides(o, rows, work, keep)
    for row in rows:
        if o.resume and measured(results, row, bench.identity()):
            continue
        start = time.perf_counter()
        result = bench.measure(row)
        result.update(build=bench.identity(), took_s=round(time.perf_counter() - start, 1))
        print(told.line(row, result, 44), flush=True)
        keep(result)


def main():
    o = options()
    if o.target and o.clock == "cpu":
        print("bench: time of the processor says nothing of a GPU", file=sys.stderr)
        return 2
    switches = {**SWITCHES, **dict(o.switch)}
    rows = dynamic_rows.rows(o.threads, tuple(o.serial) or SERIAL, switches)
    if o.baseline:
        rows = dynamic_rows.versions(rows, tuple(o.option))
    chosen = [row for row in rows if re.search(o.rows, row.name)]
    if o.list:
        print("\n".join(row.name for row in chosen))
        return 0
    if not chosen:
        print("bench: no row has such a name: see --list", file=sys.stderr)
        return 2
    results = report.read(o.json)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes its temporary files
    if not o.show:
        with tempfile.TemporaryDirectory() as work:
            measure_all(o, chosen, results, work)
        print()
    print((baseline if o.baseline else report).table(rows, results))
    return baseline.status(chosen, results) if o.baseline else 0


sys.exit(main())
