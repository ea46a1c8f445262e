"""Tests of the tests: what is printed is what was parsed, no relation has gone to sleep, a seed tells the program, no pass is forgotten."""

import os
import re
import subprocess
import sys

from . import draw, options, rewrites
from .model import Model
from .models import models
from .printer import text_of
from .syntax import ExprError, parse, same


def round_trips(folders):
    """Files that read otherwise when they are printed and parsed again, and how many there are."""
    wrong, count = [], 0
    for name in models(folders):
        try:
            with open(name, encoding="utf-8") as file:
                tree = parse(file.read())
        except (ExprError, UnicodeDecodeError):
            continue  # tests of errors
        count += 1
        if not same(tree, parse(text_of(tree))):
            wrong.append(name)
    return wrong, count


def asleep(seeds):
    """Relations that rewrite none of these seeds' programs, and those whose result does not parse to itself."""
    used, wrong = set(), []
    programs = [(s, draw.program(s)) for s in seeds] + [(s, draw.program(s, ["hidden"])) for s in range(4)]
    for seed, program in programs:
        if program is None:
            continue
        for relation in rewrites.TABLE:
            m = Model(program, seed, dict)
            m.renamed = {}
            if relation.rewrite(m):
                used.add(relation.name)
                if not same(m.statements, parse(m.text())):
                    wrong.append(f"{relation.name} of seed {seed}")
    return [r.name for r in rewrites.TABLE if r.name not in used and r.name != "integers_given"], wrong


def drawn(seeds, order):
    """The programs of the seeds, by a process whose sets have that order."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); from relations.draw import program, rare\n"
            f"for s in {seeds}: print([getattr(program(s, k), 'text', '') for k in (None, rare(s))])")
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run([sys.executable, "-c", code, folder], env=dict(os.environ, PYTHONHASHSEED=order), check=True,
                          capture_output=True).stdout


def passes_apart():
    """Passes that may be left out by passes.def alone, or by PASSES alone. Those of REASSOCIATE run only where they are asked for."""
    root = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
    with open(os.path.join(root, "tools", "pipeline", "passes.def"), encoding="utf-8") as file:
        rows = re.findall(r'^X\("([\w-]+)", \w+, (true|false), (\w+),', file.read(), re.M)
    return sorted({n for n, required, when in rows if required == "false" and when != "REASSOCIATE"} ^ set(options.PASSES))


def run(folders):
    wrong, count = round_trips(folders)
    idle, odd = asleep(range(70))
    print(f"{count} files printed and parsed, {len(rewrites.TABLE)} relations")
    if drawn(range(50), "1") != drawn(range(50), "2"):
        odd.append("programs of the same seed differ")
    odd += [f"{n}: a pass of passes.def alone, or of PASSES in options.py alone" for n in passes_apart()]
    for what in [f"{n}: reads otherwise when it is printed" for n in wrong] + [f"{n} rewrites nothing" for n in idle] + odd:
        print(what)
    return 1 if wrong or idle or odd or count < 300 else 0
