#!/usr/bin/python3
"""Derivatives of programs: dual numbers over their syntax against reverse mode and differences."""

import argparse
import collections
import multiprocessing
import os
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from derivatives import sources  # noqa: E402
from derivatives.check import check  # noqa: E402
from relations.run import Runner  # noqa: E402

MODES = {"interp": ["--interp"], "code": []}
_a = _run = None


def _start(arguments):
    global _a, _run
    _a, _run = arguments, Runner(arguments.neoc)


def _one(job):
    tally = collections.Counter()
    try:
        case, seed, floats = sources.case(job, _a.neoc, _a.floats)
        if case is None:
            tally["not drawn"] += 1
            return job, tally, [], None
        tally[f"programs in {floats}"] += 1
        return job, tally, check(case, seed, _run, sources.modes(_a, seed), tally, _a.second, _a.differences), None
    except Exception:
        return job, tally, [], traceback.format_exc()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc", required=True)
    p.add_argument("--seeds", default="0..100")
    p.add_argument("--models", nargs="*", default=[], help="files in place of drawn programs")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--floats", choices=("f64", "f32", "drawn"), default="f64")
    p.add_argument("--compiled", type=float, default=0.3, help="of programs that are run as machine code")
    p.add_argument("--options", type=float, default=0.3, help="of programs that are run with other options, too")
    p.add_argument("--no-second", dest="second", action="store_false")
    p.add_argument("--no-differences", dest="differences", action="store_false")
    a = p.parse_args()
    tally, bad = collections.Counter(), 0
    with multiprocessing.Pool(a.jobs, _start, (a,)) as pool:
        for job, t, findings, error in pool.imap_unordered(_one, sources.jobs(a)):
            tally.update(t)
            if error:
                bad += 1
                print(f"{job}: {error}", flush=True)
            for f in findings:
                bad += 1
                print(f"{job}: {f.kind}: {f.what}", flush=True)
    for what, n in sorted(tally.items()):
        print(f"{n:8} {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
