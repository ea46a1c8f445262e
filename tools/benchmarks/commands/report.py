"""tools/bench report: the page docs/benchmarks.md and its figures, from stored results.

    tools/bench report [--results FOLDER] [--out FOLDER]     writes the page
    tools/bench report --measure [--minutes N] [--rows REGEX] [--rounds N] [--clock wall|cpu]
                       [--peers FOLDER] [--again]            measures, then writes it

Results are those of `tools/bench cpu` and `tools/bench dynamic`, cpu.json and dynamic.json in
FOLDER (tools/benchmarks/results). --measure adds the rows of the suite to them, one process after
the other, for N minutes at most (15); rows that are there of this build of neoc stay, but with
--again. The same command goes on where it was stopped.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

from measure.build import HERE, ROOT
from report import page_text, plot, ratios, stored
from rows.cpu import GROUPS

FILES = ("cpu.json", "dynamic.json")
# Rows against peers, in the order in which --measure takes them: part, pattern. A few of each group
# come first, so that a short run has something of all.
SUITE = (
    ("cpu", r"^gemm (f32|bf16) (64x64x64|512x512x512|1x4096x1024|16x1024x1024) threads 1$"),
    ("cpu", r"^conv f32 n1 (64x56x64|512x7x512) |^(softmax|layer_norm) "),
    ("cpu", r"^(small scan|selective scan|IIR|Cholesky|triangular|log-det|CTC|wave equation g)"),
    ("dynamic", r"^(Tree-LSTM batch 16|Tree-FC 256 leaves hidden (64|512)|Fixed-LSTM .* of 256)"),
    ("cpu", r"^(resnet18|mobilenet|capsule_conv) batch 1$|^bert layer sequence 128$"),
    ("cpu", r"^(milstm|sublstm) 100 rounds batch (1|16)$|^LSTM 256 batch 16 threads 1$"),
    ("cpu", r"^(CRF|soft-DTW|milstm batch 1|compile mlp)$"),
    ("cpu", "^gemm (f32|bf16).* threads 1$"),
    ("cpu", "batch (1|16)$|^bert layer sequence 128$"),
    ("cpu", "^(small|selective|CTC|CRF|soft-DTW|wave|IIR|Cholesky|triangular|log-det)"),
    ("cpu", "^LSTM 256 .* threads 1$"),
    ("cpu", "forward and backward$"),
    ("cpu", "^conv f32 n1 "),
    ("dynamic", "^(child-sum Tree-LSTM|Tree-LSTM|Tree-FC 256|Var-LSTM|Fixed-LSTM)"),
    ("cpu", "^compile |^memory "),
)


def options():
    o = argparse.ArgumentParser(prog="tools/bench report", description=__doc__.splitlines()[0])
    o.add_argument("--results", metavar="FOLDER", default=os.path.join(HERE, "results"),
                   help="of cpu.json and dynamic.json (tools/benchmarks/results)")
    o.add_argument("--out", metavar="FOLDER", default=os.path.join(ROOT, "docs"),
                   help="where benchmarks.md and its figures go (docs)")
    o.add_argument("--measure", action="store_true", help="measure the suite's rows first")
    o.add_argument("--minutes", type=float, default=15, help="of --measure: the most (15)")
    o.add_argument("--rows", metavar="REGEX", help="of --measure: these rows, not the suite's")
    o.add_argument("--rounds", type=int, default=9, help="of --measure (9)")
    o.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="of --measure (wall)")
    o.add_argument("--peers", metavar="FOLDER", help="of --measure: as of tools/bench cpu")
    o.add_argument("--again", action="store_true", help="of --measure: also rows that are there")
    return o.parse_args()


# ---- measuring


def measure(o):
    """Each part by its own command, which ends by itself or is ended when the time is over."""
    end = time.monotonic() + 60 * o.minutes
    os.makedirs(o.results, exist_ok=True)
    suite = [(part, o.rows) for part in ("cpu", "dynamic")] if o.rows else SUITE
    for part, pattern in suite:
        left = end - time.monotonic()
        if left > 0:
            run_part(o, part, pattern, left)


def run_part(o, part, pattern, seconds):
    command = [os.path.join(ROOT, "tools", "bench"), part, "--rows", pattern, "--threads", "1",
               "--rounds", str(o.rounds), "--clock", o.clock, "--json",
               os.path.join(o.results, part + ".json")]
    command += ([] if o.again else ["--resume"]) + (["--peers", o.peers] if o.peers else [])
    process = subprocess.Popen(command)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # it removes its temporary files
        process.wait()


# ---- the page


def results_of(folder):
    """All results of peers, by groups in the order of the suite."""
    found = [r for name in FILES for r in stored.read(os.path.join(folder, name))]
    order = {group: k for k, group in enumerate(GROUPS)}
    found = [r for r in found if r["group"] in page_text.GROUPS and r["group"] in order]
    return sorted(found, key=lambda r: order[r["group"]])


def groups(results):
    """Group -> rows with at least one ratio, as (name, result, ratios)."""
    found = {}
    for result in results:
        if of := ratios.all_of(result):
            found.setdefault(result["group"], []).append((page_text.name(result), result, of))
    return found


def figures(found):
    """File name -> SVG."""
    means = [(group, [ratios.Ratio("", page_text.mean(rows), *page_text.span(rows))])
             for group, rows in found.items()]
    made = {"groups.svg": plot.svg("Each group: geometric mean, least and largest ratio", means)}
    for group, rows in found.items():
        title = f"{group}: time of the fastest peer over ours"
        made[page_text.file(group)] = plot.svg(title, [(name, of) for name, _, of in rows])
    return made


def write(folder, results):
    found = groups(results)
    if not found:
        raise SystemExit("bench report: no stored result has a ratio")
    pictures = os.path.join(folder, page_text.FIGURES)
    os.makedirs(pictures, exist_ok=True)
    made = figures(found)
    for name in set(os.listdir(pictures)) - set(made):
        os.remove(os.path.join(pictures, name))
    for name, text in made.items():
        with open(os.path.join(pictures, name), "w") as f:
            f.write(text)
    with open(os.path.join(folder, "benchmarks.md"), "w") as f:
        f.write(page_text.page(results, found))


def main():
    o = options()
    if o.measure:
        measure(o)
    write(o.out, results_of(o.results))
    return 0


sys.exit(main())
