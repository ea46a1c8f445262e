"""tools/bench cpu --baseline: this version of neoc beside the one of another build folder.

Both compile the same rows without records. Each library runs with its own version's libneort, in a
process of its own, and the two take turns as ours and its peers do (bench.py). A row whose two
objects have the same machine code is as quick on both sides, and is measured only where that is
asked for. The time of compiling is measured in turns as well.
"""
import contextlib
import os
import re
import statistics
import struct

from measure.bench import ROW_S, Bench
from measure.build import ROOT, Builder
from measure.process import Missing, alternate
from report import stored
from report.table import mean

LEAST_MEAN, LEAST, MOST_COMPILE = 0.99, 0.95, 1.05  # of speeds, of a row's, of a row's compile time
AGAIN = 2  # times that what falls short is measured again: the machine may have had other work
COMPILE_S, LEAST_COMPILES = 20, 3  # seconds of the rounds of compiling, but for the least number
SYMTAB, FUNC, SYMBOL_BYTES = 2, 2, 24  # of ELF: SHT_SYMTAB, STT_FUNC, sizeof(Elf64_Sym)


def functions(path):
    """Machine code by the function's name, of an ELF object of 64 bits. A kernel's number is left out
    of its name, as one kernel fewer moves those of all that follow; so a name may have several."""
    with open(path, "rb") as f:
        data = f.read()
    at, size, count = struct.unpack_from("<Q10xHH", data, 40)
    sections = [struct.unpack_from("<IIQQQQII", data, at + k * size) for k in range(count)]
    found = {}
    for _, kind, _, _, first, length, names, _ in sections:
        for entry in range(first, first + length, SYMBOL_BYTES) if kind == SYMTAB else ():
            name, info, _, section, value, n = struct.unpack_from("<IBBHQQ", data, entry)
            if info & 15 == FUNC and section:
                text = sections[names][4] + name
                code = sections[section][4] + value
                key = re.sub(r"_k\d+_", "_", data[text:data.index(0, text)].decode())
                found.setdefault(key, []).append(data[code:code + n])
    return {name: sorted(codes) for name, codes in found.items()}


def compare_code(libraries):
    """How many functions the two objects have, and the names of those that differ."""
    a, b = (functions(os.path.join(os.path.dirname(path), "net.o")) for path in libraries)
    return len({**a, **b}), sorted(name for name in {**a, **b} if a.get(name) != b.get(name))


class Versions:
    """Ours and the baseline, each with a Bench: a compiler, its runner and its runtime library."""

    def __init__(self, build, baseline, work, options, kind=Bench):
        self.options, self.kind = options, kind
        self.benches = {name: self.bench(folder, os.path.join(work, name))
                        for name, folder in (("ours", build), ("baseline", baseline))}
        self.compiled = {}  # results of compiling, by the model and its options

    def bench(self, build, work):
        os.mkdir(work)
        builder = Builder(os.path.abspath(build), work, 0, emit="so,h,o")
        return self.kind(builder, {}, self.options.rounds, self.options.clock)

    def identity(self):
        return "-".join(bench.identity() for bench in self.benches.values())

    def measure(self, row):
        """The row's result, in the form of the file of results."""
        result = stored.result(row, clock=self.options.clock, peer="baseline", ratio=None,
                               compile_ratio=None, functions=None, differ=None, starts_s={})
        compiled = self.compile(row)
        result["missing"].update(compiled["missing"])
        if not result["missing"]:
            result.update(compile_ratio=compiled["ratio"], compile_s=compiled["seconds"])
            result["functions"], result["differ"] = compare_code(compiled["libraries"])
            if not result["differ"] and not self.options.all:
                result["ratio"] = 1.0
            else:
                self.measure_time(row, result)
        return result

    # ---- compiling

    def compile(self, row):
        """Both libraries, the seconds of each round and the ratio of their medians. Rows of one
        model at one size share that."""
        key = (row.model, *row.flags())
        if key not in self.compiled:
            self.compiled[key] = self.compile_in_turns(row)
        return self.compiled[key]

    def compile_in_turns(self, row):
        made = dict(libraries=[], missing={}, seconds={}, ratio=None)
        for name, bench in self.benches.items():
            try:
                first = bench.builder.library(row, "analytic")
                made["libraries"].append(first["library"])
                made["seconds"][name] = [self.seconds(first)]
            except Missing as why:
                made["missing"][name] = str(why)
        if not made["missing"]:
            self.compile_again(row, made)
        return made

    def compile_again(self, row, made):
        """More rounds; as many again, where the ratio is above what it may be."""
        ours, baseline = made["seconds"].values()
        most = self.options.compiles
        if most > LEAST_COMPILES:
            most = max(LEAST_COMPILES, min(most, int(COMPILE_S / (ours[0] + baseline[0]))))
        for _ in range(1 + AGAIN):
            for _ in range(most if made["ratio"] else most - 1):
                for name, bench in self.benches.items():
                    made["seconds"][name].append(self.compile_once(row, bench.builder))
            made["ratio"] = round(statistics.median(ours) / statistics.median(baseline), 4)
            if made["ratio"] <= MOST_COMPILE:
                break

    def compile_once(self, row, builder):
        return self.seconds(builder.compile(
            os.path.join(ROOT, row.model), [*row.flags(), "--records=none"],
            os.path.join(builder.work, "again")))

    def seconds(self, made):
        return round(made["cpu_s" if self.options.clock == "cpu" else "wall_s"], 3)

    # ---- running

    def measure_time(self, row, result):
        """A row that is short is measured again by new processes: only what repeats counts."""
        for _ in range(1 + AGAIN):
            self.measure_once(row, result)
            if result["ratio"] is None or result["ratio"] >= LEAST:
                break

    def measure_once(self, row, result):
        with contextlib.ExitStack() as stack:
            sides = [bench.start(result, stack, name,
                                 lambda b=bench, n=name: b.ours(row, "analytic", name=n))
                     for name, bench in self.benches.items()]
            bench = self.benches["ours"]
            if not all(sides) or not bench.agrees(sides[0], sides[1], result):
                return
            alternate(sides, bench.rounds, ROW_S)
            ours, baseline = (bench.median_us(side, result) for side in sides)
            result["ratio"] = round(baseline / ours, 4)


# ---- what it says


def line(row, r, width):
    return "| {:{}} | {} | {} |".format(r["name"], width, speed(r), compiling(r))


def speed(r):
    if r["missing"]:
        return "; ".join(f"{name}: {why}" for name, why in r["missing"].items())
    if not r["differ"]:
        return f"{r['ratio']:.3f} (same code)"
    return f"{r['ratio']:.3f} ({len(r['differ'])} of {r['functions']} functions differ)"


def compiling(r):
    return "-" if r["compile_ratio"] is None else f"{r['compile_ratio']:.3f}"


def results_of(rows, results):
    """In the order of rows."""
    by_name = {r["name"]: r for r in results}
    return [by_name[row.name] for row in rows if row.name in by_name]


def table(rows, results):
    """Markdown: rows, then what holds for all."""
    results = results_of(rows, results)
    width = max([len(r["name"]) for r in results] + [20])
    lines = [f"| {'row':{width}} | speed | compile time |", "|---|---|---|"]
    lines += [line(None, r, width) for r in results]
    counted = [r for r in results if r["ratio"] is not None]
    if counted:
        slowest = min(counted, key=lambda r: r["ratio"])
        longest = max(counted, key=lambda r: r["compile_ratio"])
        speed_mean, compile_mean = (mean_of(counted, key) for key in ("ratio", "compile_ratio"))
        lines += ["", f"{len(counted)} rows; geometric mean {speed_mean:.3f} of speed, "
                  f"{compile_mean:.3f} of compile time",
                  f"smallest speed {slowest['ratio']:.3f}: {slowest['name']}",
                  f"largest compile time {longest['compile_ratio']:.3f}: {longest['name']}"]
    return "\n".join(lines + [f"short: {what}" for what in short(results)])


def mean_of(results, key):
    return mean([r[key] for r in results])


def short(results):
    """The conditions that do not hold."""
    found = [f"{r['name']}: ours {r['missing']['ours']}" for r in results if "ours" in r["missing"]]
    counted = [r for r in results if r["ratio"] is not None]
    if counted and mean_of(counted, "ratio") < LEAST_MEAN:
        found.append(f"the geometric mean of speed is under {LEAST_MEAN}")
    found += [f"{r['name']}: speed {r['ratio']:.3f}, at least {LEAST}"
              for r in counted if r["ratio"] < LEAST]
    return found + [f"{r['name']}: compile time {r['compile_ratio']:.3f}, at most {MOST_COMPILE}"
                    for r in counted if r["compile_ratio"] > MOST_COMPILE]


def status(rows, results):
    """The exit code: 1 where something is short, or nothing was compared."""
    results = results_of(rows, results)
    return 1 if not any(r["ratio"] is not None for r in results) or short(results) else 0
