"""Code that commands share which time entries of a library without peers: options, a folder,
compiling, the program sides/entries.c, results."""
import argparse
import os
import sys
import tempfile

from measure.build import ROOT, Builder
from measure.compare import build_folder
from measure.process import Missing, run
from report import stored


def compiled(builder, model, *options):
    """The library of a model (Builder.compile) in a folder of its own."""
    folder = os.path.join(builder.work, str(len(os.listdir(builder.work))))
    return builder.compile(os.path.join(ROOT, model), list(options), folder)


def timed(builder, threads, rounds, entries):
    """Times (library, entry) pairs in turns: median and least microseconds, and MiB that the first call touched."""
    told = run([builder.program("sides/entries"), str(threads), str(rounds),
                *(f"{made['library']}:net:{entry}" for made, entry in entries)])
    return [tuple(map(float, line.split()[1:])) for line in told.splitlines()]


def main(command, doc, rounds, work):
    """The exit code. `work`: takes options and a Builder, prints, and returns results."""
    o = argparse.ArgumentParser(prog="tools/bench " + command, description=doc.splitlines()[0])
    o.add_argument("--threads", type=int, default=1)
    o.add_argument("--rounds", type=int, default=rounds, help=f"of measuring, in turns ({rounds})")
    o.add_argument("--json", metavar="FILE", help="for the results")
    o = o.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = work(o, Builder(build_folder(), folder, 0))
    except Missing as why:
        print(f"bench {command}: {why}", file=sys.stderr)
        return 1
    if o.json:
        stored.write(o.json, results)
    return 0
