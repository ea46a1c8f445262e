#!/usr/bin/python3
"""Derivatives of programs: dual numbers over their syntax against reverse mode and differences.

A program without its entries gets a loss of some of its tensors, the loss's gradients, a derivative along a direction made
of these, and its gradients (derivatives/task.py). Compared are, in derivatives/check.py,

    duals against the evaluator's tape             first derivatives; second ones by duals of duals and by duals of the tape
    the tape against neoc                          each element, interpreted, compiled and with other options
    duals against central differences              at places nearby, where no values are equal by accident
    duals of what neoc says nothing depends on     these are 0

Programs are drawn (tests/relations), or files, cases of the zoo, examples of the manual, programs of tests/pairs. With
respect to what a loop collects nothing is asked: whether what moves it moves the carry, the language does not say.
"""

import argparse
import collections
import multiprocessing
import os
import re
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from derivatives import selftest, sources  # noqa: E402
from derivatives.check import check  # noqa: E402
from evaluator import ExprError  # noqa: E402
from derivatives.shrink import shrink  # noqa: E402
from relations.run import Runner, argument  # noqa: E402

_a = _run = None


def _start(arguments):
    global _a, _run
    _a, _run = arguments, Runner(arguments.neoc)


def _one(job):
    tally = collections.Counter()
    try:
        case, seed = sources.case(job, _a.neoc, _a.floats), job[-1]
        if case is None:
            tally["not drawn"] += 1
            return job, tally, [], None
        tally[f"programs in {case.floats}"] += 1
        modes = sources.modes(_a, seed)
        found = check(case, seed, _run, modes, tally, _a.second, sources.chosen(seed, _a.differences))
        return job, tally, [(f.kind, f.what) for f in found], write(job, case, seed, found[0], modes) if found else None
    except ExprError as problem:
        return job, tally, [("refused", str(problem))], None
    except Exception:
        return job, tally, [("broken", traceback.format_exc())], None


def write(job, case, seed, finding, modes):
    """The program, shrunk, with what runs it; the file's name."""
    if _a.shrink:
        case, finding = shrink(case, seed, finding, _run, modes, _a.shrink, _a.second)
    os.makedirs(_a.out, exist_ok=True)
    name = os.path.join(_a.out, re.sub(r"\W+", "-", sources.label(job)).strip("-") + ".expr")
    values = " ".join(argument(n, v.tolist(), v.shape) for n, v in case.values.items())
    with open(name, "w", encoding="utf-8") as file:
        file.write(f"# {finding.kind}: {finding.what}\n# options {modes}\n# run --entry=dz {values} "
                   f"{' '.join(f'--size={n}={v}' for n, v in case.sizes.items())}\n\n{finding.task.text()}")
    return name


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc")
    p.add_argument("--selftest", action="store_true", help="test the rules of dual numbers")
    p.add_argument("--seeds", default="0..100")
    p.add_argument("--models", nargs="*", default=[], help="files in place of drawn programs")
    p.add_argument("--zoo", help="cases of tests/zoo, or all")
    p.add_argument("--examples", action="store_true", help="those of docs/language.md")
    p.add_argument("--programs", help="a file of test_pairs_random --json")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--floats", choices=("f64", "mixed", "drawn"), default="f64", help="of drawn programs")
    p.add_argument("--compiled", type=float, default=0.3, help="of programs that are run as machine code")
    p.add_argument("--options", type=float, default=0.3, help="of programs that are run with other options, too")
    p.add_argument("--no-second", dest="second", action="store_false")
    p.add_argument("--differences", type=float, default=0.25, help="of programs that are held against differences")
    p.add_argument("--shrink", type=int, default=100, help="programs that shrinking one may try")
    p.add_argument("--out", default="derivatives-out", help="folder of programs that differ")
    a = p.parse_args()
    if a.selftest:
        return 1 if selftest.run() else 0
    if not a.neoc:
        p.error("--neoc is missing")
    tally, bad = collections.Counter(), 0
    with multiprocessing.Pool(a.jobs, _start, (a,)) as pool:
        for job, t, findings, name in pool.imap_unordered(_one, sources.jobs(a)):
            tally.update(t)
            for kind, what in findings:
                bad += 1
                print(f"{sources.label(job)}: {kind}: {what}", flush=True)
            if name:
                print(f"{sources.label(job)}: {name}", flush=True)
    for what, n in sorted(tally.items()):
        print(f"{n:8} {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
