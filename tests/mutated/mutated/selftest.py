"""Tests of the tests: no mutation has gone to sleep, a planted fault is found and shrunk, and a size bounds what runs."""

import os
import pickle
import random
import stat
import tempfile

from relations.run import Result
from relations.syntax import same

from . import corpus, work
from .examine import Examiner
from .mutations import TABLE
from .peers import LIMIT
from .shrink import shrink

ASLEEP_AFTER = 400  # programs
_FAULT = """#!/bin/sh
# A compiler of which the machine code takes another value outside of a tensor.
case " $* " in
  *" run "*" --interp "*) ;;
  *" run "*) for f in "$@"; do case $f in *p.expr) sed -i 's/ else 0\\.5)/ else 0.75)/g' "$f" ;; esac; done ;;
esac
exec "{neoc}" "$@"
"""
_MODEL = """dim N = 5
input x[N]
param w[3] = 1
y[i < N] = tanh(sum[-1 <= d < 2] (x[i + d] else 0.5)*w[d + 1]) + 0.25*x[i]
z[i < N] = exp(-y[i]) + sin(x[i])
s = sum[i < N] y[i]*z[i]
output s, z
"""


def asleep():
    """Mutations that change none of many programs."""
    sleeping, r = dict(TABLE), random.Random(0)
    found = list(corpus.sources(("tests/golden", "tests/library", "tests/values", "models", "docs")))
    for k in range(ASLEEP_AFTER):
        statements = corpus.statements_of(r.choice(found))
        kept = pickle.dumps(statements)
        for one in list(sleeping) if statements else []:
            copied = pickle.loads(kept)
            if one(r, copied) and not same(copied, statements):
                del sleeping[one]
    return [f"{one.__name__} changes nothing" for one in sleeping]


def planted(neoc):
    """The mistakes in finding the fault of a broken compiler."""
    with tempfile.TemporaryDirectory() as folder:
        broken = os.path.join(folder, "neoc")
        with open(broken, "w", encoding="utf-8") as file:
            file.write(_FAULT.format(neoc=os.path.abspath(neoc)))
        os.chmod(broken, os.stat(broken).st_mode | stat.S_IXUSR)
        e = Examiner(broken, share={"facts": 0, "evaluator": 0, "relations": 0, "compiled": 1})
        source = corpus.Source("planted", _MODEL, {}, {})
        for seed in range(8):
            mutant = e.mutant(source, seed)
            found = [f for f in mutant.findings if f.kind == "differ"] if mutant else []
            if found:
                case, _ = shrink(e, mutant, found[0], 150)
                small = "else 0.5)" in case.text and len(case.text) < 0.6*len(_MODEL)
                return [] if small else [f"a planted fault is not shrunk: {case.text}"]
    return ["a planted fault is not found"]


def bounded(neoc):
    """The mistakes in the estimate of a program's work."""
    ir = ("size N 0..10\ninput x : f32 [N, 3]\ninput l : i32 [N] < 5\ntemp y : f32 [N]\n"
          "def @1 y[i: N] =\n    sum[k: i..i + l[i], j: 3] x[k, j]\n")
    found = work.estimate(ir, {"N": 4})
    wrong = [] if found[:2] == (1, 20) and 4*3*4 <= found.iterations <= 1000 else [f"a small program is {found}"]
    e = Examiner(neoc)
    for text in ("s = sum[i < 3000, j < 3000, k < 3000] i*j % (k + 1)\noutput s\n",
                 "x[i < 1000, j < 1000] = 0.5*f32(i)\noutput x\n"):
        case = e.peers.case(text, 0, {}, {})
        if not isinstance(case, Result) or case.kind != "large":
            wrong.append(f"not too large for {LIMIT}: {text}")
    return wrong


def run(neoc):
    wrong = asleep() + planted(neoc) + bounded(neoc)
    print(f"{len(TABLE)} mutations")
    print("\n".join(wrong), end="\n" * bool(wrong))
    return 1 if wrong else 0
