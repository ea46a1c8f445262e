#!/usr/bin/python3
"""Metamorphic tests: programs rewritten into others that must give the same values and gradients."""

import argparse
import multiprocessing
import os
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from relations.harness import RARE, Examiner, Tally  # noqa: E402
from relations import models, selftest  # noqa: E402
from relations.syntax import ExprError  # noqa: E402
from relations.run import argument  # noqa: E402
from relations.shrink import cures, shrink  # noqa: E402

_examiner = None


def _start(arguments):
    global _examiner
    o = RARE if arguments.rare else {"wanted": arguments.relations, "share": arguments.share, "each": arguments.each,
                                     "compiled": arguments.compiled, "only": arguments.only}
    _examiner = Examiner(arguments.neoc, server=arguments.server, **o)


def _one(seed):
    try:
        if isinstance(seed, tuple):
            try:
                program = models.load(_examiner.run.neoc, *seed)
            except ExprError:
                return seed[0], Tally(), [], None
            return seed[0], *_examiner.program(program, seed[1]), None
        return seed, *_examiner.seed(seed), None
    except Exception:
        return seed, Tally(), [], traceback.format_exc()


def write(folder, seed, f, limit, tell_cures):
    """The pair, shrunk, with what runs it."""
    os.makedirs(folder, exist_ok=True)
    e = Examiner(_arguments.neoc, server=_arguments.server)
    program, s, model, what = shrink(e, f, limit)
    cured = cures(e, program, f.relation, s, f.mode, f.options) if tell_cures else []
    name = os.path.join(folder, f"{f.relation.replace('=', '-')}-{os.path.basename(str(seed))}.txt")
    modes = {"interp": "--interp", "code": ""}[f.mode]
    with open(name, "w", encoding="utf-8") as file:
        file.write(f"# seed {seed}: {f.relation}, {f.mode}, {s}: {what}\n# options {modes} {' '.join(f.options)}\n"
                   f"# agree with {' '.join(cured)}\n"
                   f"# run {' '.join(argument(n, *v) for n, v in program.values.items())} "
                   f"{' '.join(f'--size={n}={v}' for n, v in program.sizes.items())}\n\n{program.text}")
        if model:
            more = {n: v for n, v in model.values.items() if program.values.get(n) != v}
            file.write(f"\n# ---- and\n# {' '.join(argument(n, *v) for n, v in more.items())}\n{model.text()}")
        if program.text != f.base:
            file.write(f"\n# ---- drawn as\n" + "".join(f"# {line}\n" for line in f.base.splitlines()))
    return name


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc")
    p.add_argument("--only", type=lambda s: s.split(","), help="kinds of definitions: running,carries ...")
    p.add_argument("--rare", action="store_true", help="kinds of definitions that programs seldom have, in turn")
    p.add_argument("--server", help="the library made of server.c: runs cost a third")
    p.add_argument("--selftest", action="store_true", help="test the printer and the relations themselves")
    p.add_argument("--models", nargs="*", help="files or folders of models to rewrite instead of drawn programs")
    p.add_argument("--seeds", default="0..100")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--relations", type=lambda s: s.split(","))
    p.add_argument("--share", type=float, default=0.3, help="of rewritings that are run as machine code")
    p.add_argument("--compiled", type=float, default=0.15, help="of programs that are run as machine code at all")
    p.add_argument("--each", type=int, default=5, help="rewritings of a program")
    p.add_argument("--shrink", type=int, default=150, help="runs that shrinking a pair may take")
    p.add_argument("--cures", action="store_true", help="say with which passes left out a pair agrees")
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "relations"))
    a = p.parse_args()
    global _arguments
    _arguments = a
    if a.selftest:
        return selftest.run(a.models or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")])
    if not a.neoc:
        p.error("--neoc is missing")
    low, high = map(int, a.seeds.split(".."))
    work = [(f, s) for f in models.models(a.models) for s in range(low, high)] if a.models else range(low, high)
    tally, bad = Tally(), 0
    with multiprocessing.Pool(a.jobs, _start, (a,)) as pool:
        for seed, t, findings, error in pool.imap_unordered(_one, work, 4):
            tally.merge(t)
            if error:
                bad += 1
                print(f"seed {seed}: {error}")
            for f in findings:
                print(f"seed {seed}: {f.relation} ({f.mode} {' '.join(f.options)}): {f.what}", flush=True)
                write(a.out, seed, f, a.shrink, a.cures)
    print("\n".join(tally.lines()))
    return 1 if bad or tally.total("differ") else 0


if __name__ == "__main__":
    sys.exit(main())
