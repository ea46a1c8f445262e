"""tools/bench async: asynchronous training by networks, in virtual and in real time, beside the paper and peers.

    tools/bench async [--rows REGEX] [--json FILE] [--rounds N] [--epochs N] [--flops F] [--latency S]
                      [--bandwidth BYTES] [--gantt FOLDER] [--list]

Rows `virtual` run on simulated devices, one for each actor: real kernels, in the order and the time of
these devices, by the median times that the kernels take on one thread here. A ratio is that of the
throughputs with so many keys. `one key` and `two threads` are in real time, in turn; `predicted` is the
time that the simulator predicts for two threads over the one that they take; `choice` is the fewest
keys within 3 per cent of the best throughput. A peer's row has our throughput on two threads over
PyTorch's (torch.distributed.pipelining and DDP, two processes over gloo, $NEO_BENCH_TORCH). Rows `task`
print a table beside the paper's: throughput in virtual time, and figures of tests by epoch. With --flops
products cost what they do in the paper's appendix C (1e12), all else what it takes here.
Rows whose data is not below $NEO_DATA (../shared/data) are skipped, and say so.
"""
import argparse
import os
import re
import sys
import tempfile

from measure.asynchronous import AsyncBench
from measure.build import Builder
from measure.compare import build_folder
from measure.gantt import draw
from peers import pythons
from report import stored
from rows import asynchronous


def options():
    o = argparse.ArgumentParser(prog="tools/bench async", description=__doc__.splitlines()[0])
    o.add_argument("--rows", metavar="REGEX", default="", help="only rows with this in their name")
    o.add_argument("--json", metavar="FILE", help="results; rows that are not measured stay")
    o.add_argument("--rounds", type=int, default=7, help="of rows in real time (7)")
    o.add_argument("--epochs", type=int, help="of tasks")
    o.add_argument("--flops", type=float, help="of a device, for the paper's prices of products")
    o.add_argument("--latency", type=float, help="of messages between devices, in seconds (0)")
    o.add_argument("--bandwidth", type=float, help="of messages, in bytes a second (no limit)")
    o.add_argument("--gantt", metavar="FOLDER", help="for rows `virtual`: a chart (SVG) of what each "
                   "device does, for each number of keys")
    o.add_argument("--list", action="store_true", help="print the rows' names, measure nothing")
    return o.parse_args()


def verdict(row, ratio):
    """Says what it must reach, and whether it does."""
    bounds = [(row.must, "at least", lambda b: ratio >= b), (row.most, "at most", lambda b: ratio <= b)]
    said = [f"must {word} {b:g}: {'holds' if holds(b) else 'short'}"
            for b, word, holds in bounds if b is not None and ratio is not None]
    return said + ([f"stretch {row.stretch:g}"] if row.stretch else [])


def show(row, result):
    ratio = result["ratio"]
    said = [*verdict(row, ratio), *result["missing"].values()]
    notes = result["notes"]
    if row.what != "epochs":
        said, notes = said + notes, []
    text = "" if ratio is None else f"{ratio:.2f}"
    print(f"{row.name:52} {text:>8}  {'; '.join(said)}".rstrip())
    for line in notes:
        print("  " + line)
    sys.stdout.flush()


def charts(bench, row, folder):
    os.makedirs(folder, exist_ok=True)
    for keys in row.keys:
        spans = os.path.join(bench.builder.work, "spans")
        bench.per_second(row, keys, spans=spans)
        draw(spans, os.path.join(folder, f"{row.task}-{keys}.svg"), f"{row.task}, keys: {keys}")


def main():
    o = options()
    rows = [row for row in asynchronous.rows() if re.search(o.rows, row.name)]
    if o.list:
        print("\n".join(row.name for row in rows))
        return 0
    if not rows:
        print("bench: no row has such a name: see --list", file=sys.stderr)
        return 2
    o.torch = os.environ.get("NEO_BENCH_TORCH")
    o.torch = o.torch if o.torch and pythons.works(o.torch, "torch") else None
    settings = {k: v for k in ("flops", "latency", "bandwidth") if (v := getattr(o, k)) is not None}
    results = stored.read(o.json)
    with tempfile.TemporaryDirectory() as work:
        bench = AsyncBench(Builder(build_folder(), work, 0), o, settings)
        for row in rows:
            result = bench.measure(row)
            show(row, result)
            if o.gantt and row.what == "keys" and not result["missing"]:
                charts(bench, row, o.gantt)
            results = [r for r in results if r["name"] != row.name] + [result]
            if o.json:
                stored.write(o.json, results)
    return 0


sys.exit(main())
