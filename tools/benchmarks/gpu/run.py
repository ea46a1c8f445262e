"""The program in a file of `tools/bench gpu --prepare`, which runs on the machine with the GPU.

    python3 FILE.pyz --json results.json [--resume] [--rows REGEX] [--part N] [--minutes 8.5] ...

First the values of all rows and our own times, correctness first; then one peer after the other, the
quick ones first; then the candidates of `neoc tune`. Each of these is a unit of work: it is noted in
the results when it begins, and what it found when it ends, so whatever ends the bench has lost one
unit. --resume goes on behind it. After --minutes the bench ends by itself, before the next unit, with
exit code 130: the same command with --resume goes on. A side that does not answer in its limit is
killed, and said so. At the end, also when it is interrupted, the results are printed as a table.
Exit codes: 0 all is measured, 1 a value differs, 2 usage, 3 files, 4 there is no GPU, 130 something
is left.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from gpu import values
from measure.bench import same, same_change
from measure.build import HERE
from measure.build import ROOT as FOLDER  # of what was unpacked
from measure.process import Missing, Side, TooLong, alternate
from report import gpu as gpu_report
from report import stored
from rows.gpu import PARTS
from rows.row import Row

ARCHIVE = os.path.basename(FOLDER)  # a name by its content
OUTPUTS_AGREE = {"bf16": 0.02, "f16": 0.02, "tf32": 5e-3}  # means, by the precision of products
OWN_S, LEAST_S = 120, 25  # limit of our side; time that is worth beginning something
GRAPH_CALLS = 50
SLOW = ("torch compile",)


class Stop(Exception):
    """Nothing more is begun."""


def options():
    o = argparse.ArgumentParser(prog="FILE.pyz", description=__doc__.splitlines()[0], epilog=__doc__,
                                formatter_class=argparse.RawTextHelpFormatter)
    o.add_argument("--json", metavar="FILE", default="gpu.json")
    o.add_argument("--rows", metavar="REGEX", default="")
    o.add_argument("--part", type=int, choices=sorted(PARTS))
    o.add_argument("--minutes", type=float, default=8.5)
    o.add_argument("--rounds", type=int, default=15)
    o.add_argument("--peer-seconds", type=float, default=180)
    o.add_argument("--tune-seconds", type=float, default=60)
    o.add_argument("--graph-below", metavar="US", type=float, default=10,
                   help="calls that are shorter are timed as a graph of them")
    for name, what in (("resume", "go on with FILE"), ("no-peers", "values and our own times"),
                       ("list", "the rows"), ("show", "the table of FILE")):
        o.add_argument("--" + name, action="store_true", help=what)
    return o.parse_args()


class Bench:

    def __init__(self, o, missing):
        self.o, self.missing = o, missing
        self.end = time.monotonic() + 60 * o.minutes
        self.python = {name: os.environ.get("NEO_BENCH_" + name.upper(), sys.executable)
                       for name in ("torch", "jax")}

    def left(self):
        return self.end - time.monotonic()

    # ---- sides

    def side(self, stack, name, command, limit_s):
        """`early`: its limit was the end of the bench, not its own."""
        env = {"LD_LIBRARY_PATH": FOLDER + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
               "TORCHINDUCTOR_CACHE_DIR": os.path.join(FOLDER, "inductor")}
        own = max(min(limit_s, self.left()), 1)
        try:
            side = Side(name, command, 1, env, all_cores=True, limit_s=own)
        except TooLong:
            if own < limit_s:
                raise Stop(f"{name} was not ready at the end") from None
            raise
        stack.callback(side.close)
        return side

    def ours(self, stack, row, *more):
        library = os.path.join(FOLDER, "rows", row.folder(), "libnet.so")
        if not os.path.exists(library):
            raise Missing(self.missing.get(row.name, "was not prepared"))
        settings = [f"{k}={v}" for k, v in row.settings.items()]
        return self.side(stack, "ours", [os.path.join(FOLDER, "ours_gpu"), library, "net", row.entries,
                                         *settings, *more], OWN_S)

    def copy(self, stack, size):
        return self.side(stack, "copy", [os.path.join(FOLDER, "ours_gpu"), "copy", str(size)], OWN_S)

    def peer(self, stack, row, name, folder):
        library, _, variant = name.partition(" ")
        spec = {**row.arguments[library], "variant": variant, "folder": folder, "threads": 1, "device": "cuda"}
        return self.side(stack, name, [self.python[library], HERE, "peers." + row.side.format(library),
                                       json.dumps(spec)],
                         self.o.peer_seconds)

    # ---- units of work

    def own(self, row, r):
        """Values, our time, and the share of the bandwidth."""
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            got = os.path.join(folder, "values")
            side = self.ours(stack, row, *values.checking(row, got))
            want = os.path.join(FOLDER, "rows", row.folder(), "values")
            r["values"] = values.verdict(got, want, row)
            if row.what != "time":
                return
            sides = [side] + ([self.copy(stack, row.bytes // 2)] if row.bytes else [])
            alternate(sides, min(self.o.rounds, 7), 10)
            r["times"]["ours"] = stored.timed(side)
            us = r["times"]["ours"]["median_us"]
            if row.bytes:
                rate = sides[1].about["bytes"] / statistics.median(sides[1].times_us)
                r["ratios"]["bandwidth"] = round(row.bytes / us / rate, 4)
                r["copy_gb_s"] = round(rate / 1e3, 1)
            side.close()
            if us < self.o.graph_below:
                self.own_in_graphs(row, r, stack)

    def own_in_graphs(self, row, r, stack):
        try:
            side = self.ours(stack, row, f"graph={GRAPH_CALLS}")
            alternate([side], min(self.o.rounds, 7), 10)
        except Missing as why:
            r["timed"] = f"call by call, which may be the host's time: {why}"
            return
        r["graph"] = GRAPH_CALLS
        r["times"]["ours call by call"] = r["times"]["ours"]
        r["times"]["ours"] = stored.timed(side)

    def agrees(self, row, side, ours):
        what = "losses" if "losses" in side.about else "outputs"
        here, there = ours.about[what], side.about[what]
        within = OUTPUTS_AGREE.get(row.arguments["torch"].get("kind"))
        if within:
            good = len(here) == len(there) and all(
                abs(a - b) <= within * max(abs(a), abs(b)) for a, b in zip(here, there))
        else:
            good = same(here, there) and (what != "losses" or same_change(here, there))
        if not good:
            raise Missing(f"computes something else: {there}, not {here}")

    def beside(self, row, r, name):
        """A peer and our side in turns."""
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            graph = [f"graph={r['graph']}"] if r.get("graph") else []
            ours = self.ours(stack, row, f"save={folder}/params.safetensors",
                             f"inputs={folder}/inputs.safetensors", *graph)
            side = self.peer(stack, row, name, folder)
            self.agrees(row, side, ours)
            alternate([ours, side], self.o.rounds, 20)
            for s, key in ((side, name), (ours, "ours beside " + name)):
                r["times"][key] = stored.timed(s)
            ratio = statistics.median(side.times_us) / statistics.median(ours.times_us)
            r["ratios"][name] = round(ratio, 4)
            r["ratios"]["best"] = min(v for k, v in r["ratios"].items() if k in row.peers)

    def tune(self, row, r):
        """neo-measure over the row's candidates; it goes on where it was."""
        here = os.path.join(FOLDER, "tune", row.folder())
        back = os.path.join(os.path.abspath(self.o.json) + ".tune", row.folder())
        os.makedirs(back, exist_ok=True)
        if os.path.exists(os.path.join(back, "results")):
            shutil.copy(os.path.join(back, "results"), here)
        seconds = int(max(1, min(self.o.tune_seconds, self.left() - 5)))
        try:
            done = subprocess.run([os.path.join(FOLDER, "neo-measure"), here, f"--time={seconds}"],
                                  capture_output=True, text=True, timeout=seconds + 60)
            said = (done.stdout + done.stderr).strip().splitlines() or [f"exit {done.returncode}"]
            r["said"] = said[-1]
        except subprocess.TimeoutExpired:
            r["said"] = f"no end in {seconds + 60} s"
        for name in ("candidates", "results"):
            if os.path.exists(os.path.join(here, name)):
                shutil.copy(os.path.join(here, name), back)


# ---- the order of work, and what is on the disk


def new_result(row):
    return stored.result(row, part=row.part, ratios={}, musts=row.musts, paths=list(row.paths), state={},
                         archive=ARCHIVE)


def new_tuning(name, row):
    return dict(name=name, tuned=row.name, said="", missing={}, state={}, archive=ARCHIVE)


class Results:
    """Results of units of work, by a name of the row and of what is done with it."""

    def __init__(self, path, anew):
        """`anew`: names of rows that are forgotten."""
        self.path = path
        self.all = {r["name"]: r for r in stored.read(path)
                    if r["name"] not in anew and r.get("tuned") not in anew}

    def of(self, name, make):
        """Returns the result of the unit `name`; calls `make` if it is missing or from another archive."""
        if self.all.get(name, {}).get("archive") != ARCHIVE:
            self.all[name] = make()
        return self.all[name]

    def write(self):
        stored.write(self.path, list(self.all.values()))

    def mark(self, r, what, state):
        r["state"][what] = state
        r["when"] = stored.now()
        self.write()


def units(rows, tune, o):
    """(row, what): "own", a peer, "tune"."""
    for row in rows:
        yield row, "own"
    for slow in (False, True):
        for row in rows if not o.no_peers else ():
            yield from ((row, peer) for peer in row.peers if (peer in SLOW) == slow)
    for row in rows:
        if row.name in tune:
            yield row, "tune"


def do_unit(bench, row, what, r):
    try:
        if what == "own":
            bench.own(row, r)
        elif what == "tune":
            bench.tune(row, r)
        else:
            bench.beside(row, r, what)
    except Missing as why:
        r["missing"]["ours" if what == "own" else what] = str(why)


def say(row, what, r):
    if what == "tune":
        print(f"{row.name:36}  tuned: {r['said']}", flush=True)
    elif what == "own":
        print(gpu_report.line(r), flush=True)
    else:
        said = r["missing"].get(what) or f"{r['ratios'][what]:.2f}"
        print(f"{row.name:36}  {what}: {said}", flush=True)


def work(bench, results, rows, tune, o):
    for row, what in units(rows, tune, o):
        name = "tuning of " + row.name if what == "tune" else row.name
        r = results.of(name, lambda: new_tuning(name, row) if what == "tune" else new_result(row))
        state = r["state"].get(what)
        if state == "done":
            continue
        if state == "begun":
            r["said"] = "was begun, and not finished: --resume leaves it out"
            r["missing"].setdefault("ours" if what == "own" else what, r["said"])
            results.mark(r, what, "done")
            continue
        if what not in ("own", "tune") and "ours" in r["missing"]:
            continue
        least = o.peer_seconds + LEAST_S if what in SLOW else LEAST_S
        if bench.left() < min(least, 50 * o.minutes):
            raise Stop(f"{o.minutes:g} minutes are over")
        results.mark(r, what, "begun")
        try:
            do_unit(bench, row, what, r)
        except Stop:
            results.mark(r, what, "")  # is tried again
            raise
        results.mark(r, what, "done")
        say(row, what, r)


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    o = options()
    with open(os.path.join(FOLDER, "rows.json")) as f:
        made = json.load(f)
    rows = [Row(**row) for row in made["rows"]]
    rows = [row for row in rows if re.search(o.rows, row.name) and o.part in (None, row.part)]
    if o.list:
        print("\n".join(f"{row.part} {row.name}" for row in rows))
        return 0
    if o.show:
        print(gpu_report.table(stored.read(o.json)))
        return 0
    bench = Bench(o, made["missing"])
    results = Results(o.json, set() if o.resume else {row.name for row in rows})
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    why = None
    try:
        with contextlib.ExitStack() as stack:
            bench.copy(stack, 1 << 20)
        work(bench, results, rows, made["tune"], o)
    except Missing as e:
        print(f"bench: {e}", file=sys.stderr)
        return 4
    except OSError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 3
    except Stop as e:
        why = str(e)
    except KeyboardInterrupt:
        why = "interrupted"
    print(gpu_report.table(list(results.all.values())))
    if why:
        print(f"bench: {why}: go on with --resume")
        return 130
    return 1 if any(map(gpu_report.differs, results.all.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
