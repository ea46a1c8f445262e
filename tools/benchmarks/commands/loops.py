"""tools/bench loops: loops in loops, what they need beside what they need by the iterations that run.

    tools/bench loops [--threads N] [--rounds N] [--json FILE]

The first table has the memory that calls of models/recurrences/nested.expr need by plan, for 5, 20
and 50 iterations of the innermost loop, and how many kernels copy a carry; the second one the time of
models/recurrences/early_exit*.expr, whose solvers end after a few iterations, and the memory that a
call touches, for limits of 10, 50 and 500. The column "bound" says what is aimed at: memory of three vectors of 4 MiB and no copies at
any depth; the time and the memory of limit 10 at every limit. What is over its bound is marked, and
is no failure: rows are here to be read.
"""
import os
import sys

from measure import entries
from measure.bench import planned_bytes
from measure.build import ROOT
from measure.process import run
from report import stored
from rows.row import MODELS, Row

COPIES = os.path.join(ROOT, "tests", "carry_copies.py")
ITERATIONS, LIMITS = (5, 20, 50), (10, 50, 500)
VECTORS_MIB = 12  # two carries, and one that is being written
SLACK = 1.1  # of times and memory
PAGES_MIB = 0.0625  # of code and stacks, which a call touches besides


def model(name):
    return f"{MODELS}recurrences/{name}.expr"


def result(name, unit, of, values, bound):
    row = Row(name, "loops", unit, model(of), "", what="loops")
    return stored.result(row, values=values, bound=bound, within=max(values) <= bound)


def planned_mib(made, entry):
    return planned_bytes(made["told"], entry) / 2**20


def copies(builder):
    """Kernels that store a carry, as it is, in another."""
    kernels = run([builder.neoc, "explain", "--kernels", os.path.join(ROOT, model("nested"))])
    return int(run([sys.executable, COPIES], input=kernels))


def memory_rows(builder):
    made = [entries.compiled(builder, model("nested"), f"--define=R={n}") for n in ITERATIONS]
    for entry in ("one", "two", "three"):
        memory = [planned_mib(m, entry) for m in made]
        yield result(f"{entry} deep", "MiB", "nested", memory, VECTORS_MIB)
    yield result("copies of carries", "kernels", "nested", [copies(builder)], 0)


def exit_rows(builder, stem, threads, rounds):
    made = [entries.compiled(builder, model(stem), f"--define=L={n}") for n in LIMITS]
    names = [e["name"] for e in made[0]["told"]["entries"] if e["name"] != "forward"]
    times = entries.timed(builder, threads, rounds, [(m, name) for name in names for m in made])
    for k, name in enumerate(names):
        of = times[len(LIMITS) * k:len(LIMITS) * (k + 1)]
        us = [least for _, least, _ in of]
        memory = [touched + PAGES_MIB for _, _, touched in of]
        for unit, values in (("us", us), ("MiB", memory)):
            yield result(name.replace("_", " "), unit, stem, values, SLACK * values[0])


def show(title, columns, rows):
    print(f"{title:20} {'':8}" + "".join(f"{c:>12}" for c in columns) + f"{'bound':>12}")
    for r in rows:
        cells = [f"{v:12.4g}" for v in r["values"]] + [" " * 12] * (len(columns) - len(r["values"]))
        print(f"{r['name']:20} {r['unit']:8}{''.join(cells)}{r['bound']:12.4g}"
              f"{'' if r['within'] else '  over'}")


def work(o, builder):
    memory = list(memory_rows(builder))
    show("1M elements", [f"R = {n}" for n in ITERATIONS], memory)
    exits = [row for stem in ("early_exit", "early_exit_matrix", "early_exit_vertices")
             for row in exit_rows(builder, stem, o.threads, o.rounds)]
    print()
    show("early exit", [f"limit {n}" for n in LIMITS], exits)
    return memory + exits


sys.exit(entries.main("loops", __doc__, 7, work))
