#!/usr/bin/python3
"""Metamorphic tests: programs rewritten into others that must give the same values and gradients."""

import argparse
import multiprocessing
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from relations.harness import Examiner, Tally  # noqa: E402

_examiner = None


def _start(arguments):
    global _examiner
    _examiner = Examiner(arguments.neoc, arguments.relations, arguments.share, arguments.each)


def _one(seed):
    try:
        return seed, *_examiner.seed(seed), None
    except Exception:
        return seed, Tally(), [], traceback.format_exc()


def write(folder, seed, f):
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, f"{f.relation}-{seed}")
    with open(name + ".txt", "w", encoding="utf-8") as file:
        file.write(f"# {f.relation}, {f.mode}, seed {f.seed}: {f.what}\n# options {f.options}\n# sizes {f.program.sizes} {f.sizes}\n"
                   f"# values {f.program.values}\n{f.base}\n# ---- and\n{f.other if f.other != f.base else ''}")
    return name


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc", required=True)
    p.add_argument("--seeds", default="0..100")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--relations", type=lambda s: s.split(","))
    p.add_argument("--share", type=float, default=0.3, help="of rewritings that are run as machine code")
    p.add_argument("--each", type=int, default=5, help="rewritings of a program")
    p.add_argument("--out", default="relations-out")
    a = p.parse_args()
    low, high = map(int, a.seeds.split(".."))
    tally, bad = Tally(), 0
    with multiprocessing.Pool(a.jobs, _start, (a,)) as pool:
        for seed, t, findings, error in pool.imap_unordered(_one, range(low, high), 4):
            tally.merge(t)
            if error:
                bad += 1
                print(f"seed {seed}: {error}")
            for f in findings:
                print(f"seed {seed}: {f.relation} ({f.mode} {' '.join(f.options)}): {f.what}", flush=True)
                write(a.out, seed, f)
    print("\n".join(tally.lines()))
    return 1 if bad or tally.total("differ") else 0


if __name__ == "__main__":
    sys.exit(main())
