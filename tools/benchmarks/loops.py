"""Loops in loops: what they need today, beside what they need where memory and time follow the iterations that run.

    loops.py [--threads N] [--rounds N] [--json FILE]

The first table has the memory that calls of recurrences/nested.expr need by plan, for 5, 20 and 50 iterations of the
innermost loop, and how many kernels copy a carry; the second one the time of recurrences/early_exit*.expr, whose solvers
leave after a few iterations, for limits of 10, 50 and 500. The column "bound" says what is aimed at: memory of three
vectors of 4 MiB and no copies at any depth; the time and the memory of limit 10 at every limit. What is over its bound is
marked, and is no failure: rows are here to be read.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COPIES = os.path.join(ROOT, "tests", "carry_copies.py")
ITERATIONS, LIMITS = (5, 20, 50), (10, 50, 500)
VECTORS_MIB = 12  # two carries, and one that is being written
SLACK = 1.1  # of times and memory


class Missing(Exception):
    """A model is not compiled, or a program does not run."""


def output_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise Missing(f"{command[0]}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def planned_mib(told, entry):
    """Memory of a call of the entry beside its arguments, of what neoc says of a library."""
    frame = next(e["frame_bytes"] for e in told["entries"] if e["name"] == entry)
    return (told["scratch_bytes"] + told["cached_bytes"] + frame) / 2**20


class Models:
    """Compiles into the folder `work`."""

    def __init__(self, build, work):
        self.neoc, self.build, self.work = os.path.join(build, "bin", "neoc"), build, work

    def path(self, name):
        return os.path.join(HERE, "recurrences", name + ".expr")

    def compiled(self, name, **defines):
        """The library, and what neoc says of it."""
        folder = os.path.join(self.work, name + "".join(f"_{k}{v}" for k, v in defines.items()))
        options = [f"--define={k}={v}" for k, v in defines.items()]
        told = output_of([self.neoc, "compile", self.path(name), *options, "-o", folder, "--prefix=net",
                          "--emit=so,h", "--format=json"])
        return os.path.join(folder, "libnet.so"), json.loads(told)

    def copies(self, name):
        """Kernels that store a carry, as it is, in another."""
        kernels = output_of([self.neoc, "explain", "--kernels", self.path(name)])
        return int(output_of([sys.executable, COPIES], input=kernels))

    def timer(self):
        program, lib = os.path.join(self.work, "entries"), os.path.join(self.build, "lib")
        output_of(["cc", "-O2", "-o", program, "-I" + ROOT, "-I" + os.path.join(ROOT, "include"),
                   os.path.join(HERE, "entries.c"), "-L" + lib, "-lneort", "-lm", "-ldl", "-Wl,-rpath," + lib])
        return program


def row(name, unit, values, bound):
    return {"name": name, "unit": unit, "values": values, "bound": bound, "within": max(values) <= bound}


def memory_rows(models):
    told = [models.compiled("nested", R=n)[1] for n in ITERATIONS]
    for entry in ("one", "two", "three"):
        yield row(f"{entry} deep", "MiB", [planned_mib(t, entry) for t in told], VECTORS_MIB)
    yield row("copies of carries", "kernels", [models.copies("nested")], 0)


def exit_rows(models, name, threads, rounds):
    made = [models.compiled(name, L=n) for n in LIMITS]
    entries = [e["name"] for e in made[0][1]["entries"] if e["name"] != "forward"]
    timed = output_of([models.timer(), str(threads), str(rounds),
                       *(f"{library}:net:{e}" for e in entries for library, _ in made)])
    least = [float(line.split()[2]) for line in timed.splitlines()]
    for k, entry in enumerate(entries):
        times = least[len(LIMITS) * k:len(LIMITS) * (k + 1)]
        memory = [planned_mib(told, entry) for _, told in made]
        yield row(entry.replace("_", " "), "us", times, SLACK * times[0])
        yield row(entry.replace("_", " "), "MiB", memory, SLACK * memory[0])


def show(title, columns, rows):
    print(f"{title:20} {'':8}" + "".join(f"{c:>12}" for c in columns) + f"{'bound':>12}")
    for r in rows:
        cells = [f"{v:12.4g}" for v in r["values"]] + [" " * 12] * (len(columns) - len(r["values"]))
        print(f"{r['name']:20} {r['unit']:8}{''.join(cells)}{r['bound']:12.4g}{'' if r['within'] else '  over'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7, help="of measuring, in turns")
    parser.add_argument("--json", help="a file for the rows")
    given = parser.parse_args()
    build = os.environ.get("NEO_BUILD_DIR", os.path.join(ROOT, "build", "release"))
    try:
        with tempfile.TemporaryDirectory() as work:
            models = Models(build, work)
            memory = list(memory_rows(models))
            show("1M elements", [f"R = {n}" for n in ITERATIONS], memory)
            exits = [r for name in ("early_exit", "early_exit_matrix")
                     for r in exit_rows(models, name, given.threads, given.rounds)]
    except Missing as problem:
        print(f"bench loops: {problem}", file=sys.stderr)
        return 1
    print()
    show("early exit", [f"limit {n}" for n in LIMITS], exits)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as f:
            json.dump(memory + exits, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
