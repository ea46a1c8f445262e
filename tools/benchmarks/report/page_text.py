"""The words and tables of docs/benchmarks.md."""
import re
import textwrap

from report import ratios
from report.table import mean as mean_of

FIGURES = "benchmarks"  # the folder of figures, beside the page
GROUPS = {  # groups with peers, and the unit of work of a row of each
    "gemm f32": "a product of f32 matrices, rows x columns x terms; the second one is a weight",
    "gemm bf16": "the same with operands rounded to bf16",
    "gemm forms": "products with one operand transposed, as in gradients",
    "convolution": "a convolution of ResNet's layers, or its gradient to images or filters",
    "memory bound": "a memory-bound layer with its gradient",
    "cells": "a training step of an unrolled recurrent cell over 100 iterations",
    "capsules": "a training step of a capsule network",
    "small networks": "a training step of a network of small convolutions",
    "residual networks": "a training step of a residual network",
    "encoder": "a training step of a layer of BERT's encoder",
    "LSTM": "a training step of an LSTM of 128 iterations against PyTorch's own layer",
    "recurrent cells": "a training step of a recurrent cell as a loop of 100 iterations",
    "small scan": "1000 iterations of a small loop",
    "small scan gradient": "the same, with its gradient",
    "selective scan": "a selective scan of 1024 iterations with its gradient",
    "selective scan forward": "a selective scan of 1024 iterations",
    "CTC": "the CTC loss with its gradient",
    "CRF and soft-DTW": "losses of sequences with their gradients",
    "wave equation": "500 steps of a wave on a grid; with the gradient",
    "IIR filter": "a filter of second order over 64 channels",
    "Cholesky": "the factor of a matrix",
    "triangular solve": "the solution of a triangular system",
    "log-determinant": "a log-determinant with its gradient",
    "Tree-LSTM": "training over the parse trees of sentences",
    "child-sum Tree-LSTM": "the same with sums over the children of a vertex",
    "Tree-FC": "training over complete trees of 256 leaves",
    "Tree-FC leaves": "training over complete trees of other sizes",
    "Var-LSTM": "training over sentences of any length",
    "Fixed-LSTM": "training over pieces of text of one length",
    "compile time": "the wall time until a model has compiled; for peers, until the end of their "
                    "first step",
    "peak memory": "the peak memory of a training process",
}
UNITS = ((1e6, "s"), (1e3, "ms"), (1, "µs"))


def name(result):
    """The name of a row without the ending that all rows share."""
    return result["name"].removesuffix(" threads 1")


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def file(group):
    return slug(group) + ".svg"


def mean(rows):
    return mean_of([of[0].value for _, _, of in rows])


def span(rows):
    found = [of[0].value for _, _, of in rows]
    return min(found), max(found)


def number(v):
    return f"{v:.2f}" if v < 10 else f"{v:.1f}" if v < 100 else f"{v:.0f}"


def amount(result, value):
    """A time, or a memory."""
    if result["group"] == "peak memory":
        return f"{value / 1024:.0f} MiB"
    factor, unit = next((u for u in UNITS if value >= u[0]), UNITS[-1])
    text = f"{value / factor:.3g}" if value < 999 * factor else f"{value / factor:.0f}"
    return f"{text} {unit}"


def with_range(r):
    return number(r.value) + (f" ({number(r.low)} to {number(r.high)})" if r.high > r.low else "")


def table(head, rows):
    return ["", *("| " + " | ".join(cells) + " |" for cells in
                  [head, ["---"] * len(head), *rows]), ""]


def wrapped(text, indent=""):
    return textwrap.wrap(text, 130, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def plural(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


# ---- parts of the page


CLOCKS = {"wall": "wall time", "cpu": "the processor time of a process"}


def from_to(values, between=" to "):
    """The least and the largest of the values, or the only one."""
    least, most = min(values), max(values)
    return f"{least}" if least == most else f"{least}{between}{most}"


def method(measured):
    rounds = [len(t["us"]) for r in measured for t in r["times"].values() if "us" in t]
    clocks = sorted({CLOCKS[r["clock"]] for r in measured})
    return (
        "A ratio on this page is a peer's time over ours: above 1 we are faster. All sides of a "
        "row run on one thread of one machine, each in a process of its own, and alternate in "
        f"{from_to(rounds or [0])} rounds of at least 5 ms. The ratio is that of the medians. The "
        "brackets give its uncertainty: the peer's lower quartile over our upper one, and the "
        f"reverse. The clock is {' or '.join(clocks)}. Peers with another result than ours do not "
        "count. [Measuring](measuring.md) says what a row is, and how to repeat it.")


def noise(measured):
    """The days of the measurements, and the load of the machine."""
    days = from_to([r["when"][:10] for r in measured])
    loads = [r["load"] for r in measured if "load" in r]
    if not loads:
        return f"Measured on {days}."
    return (f"Measured on {days}, while the system's load was {from_to(loads)}. A load above the "
            "number of processors means that other programs ran at the same time, and small "
            "differences mean nothing. A row whose brackets contain 1 is called even.")


def head(results):
    measured = [r for r in results if r["times"]]
    note = "<!-- `tools/bench report` writes this page from stored results. -->"
    texts = [*wrapped(method(measured)), "", *wrapped(noise(measured))]
    return ["# Benchmarks", "", note, "", *texts, ""]


def machines(results):
    lines = []
    for m in {str(r["machine"]): r["machine"] for r in results if "machine" in r}.values():
        kind = f" (family {m['family']}, model {m['model']})" if m["family"] else ""
        where = "virtual machine" if m["virtual"] else "machine"
        lines.append([m["processor"] + kind, ", ".join(m["vectors"]),
                      f"{where}, {plural(m['processors'], 'processor')}, {m['memory_gib']} GiB",
                      m["system"] or ""])
    return table(["Processor", "Vectors", "Machine", "System"], lines)


def versions(results):
    found = {}
    for r in results:
        for side, text in r.get("versions", {}).items():
            found.setdefault(side.split()[0], set()).add(text)
    order = sorted(found, key=lambda side: (side != "ours", side))
    return table(["Side", "Version"], [[s, "<br>".join(sorted(found[s]))] for s in order])


def summary(found):
    rows = []
    for group, of in found.items():
        verdicts = [o[0].verdict() for _, _, o in of]
        least, most = span(of)
        rows.append([f"[{group}](#{slug(group)})", str(len(of)), number(mean(of)), number(least),
                     number(most), *(str(verdicts.count(v)) for v in ("faster", "even", "slower"))])
    return ["## All groups", "", f"![Geometric means of groups]({FIGURES}/groups.svg)", "",
            *wrapped("A bar is the geometric mean over a group's rows, each against its fastest "
                     "peer; the line goes from the least to the largest ratio. In the figures of "
                     "single groups a bar is a row's ratio to its fastest peer, the line shows "
                     "its brackets, and a circle is the ratio to another peer."),
            *table(["Group", "Rows", "Mean", "Least", "Largest", "Faster", "Even", "Slower"], rows)]


def losses(found):
    """The rows whose fastest peer is faster, worst first; and the rows that are even."""
    all_rows = [(n, result, of) for rows in found.values() for n, result, of in rows]
    lost = sorted((of[0].value, n, of) for n, _, of in all_rows if of[0].verdict() == "slower")
    even = [n for n, _, of in all_rows if of[0].verdict() == "even"]
    lines = ["## Where we lose", ""]
    if lost:
        lines += wrapped(f"Of {plural(len(all_rows), 'row')}, {len(lost)} "
                         f"{'is' if len(lost) == 1 else 'are'} slower than the fastest peer, the "
                         f"worst first.")
        lines += table(["Row", "Ratio", "Peer"],
                       [[n, with_range(of[0]), of[0].peer] for _, n, of in lost])
    else:
        lines += [f"Of {plural(len(all_rows), 'row')}, none is slower than its fastest peer.", ""]
    if even:
        lines += [*wrapped("Even, within the precision of these rounds: " + ", ".join(even) + "."),
                  ""]
    return lines


def group_part(group, rows):
    shown = []
    for n, result, of in rows:
        others = ", ".join(f"{r.peer} {number(r.value)}" for r in of[1:])
        shown.append([n, amount(result, ratios.median(result)), with_range(of[0]), of[0].peer,
                      others])
    return [f"## {group}", "", *wrapped("A row is " + GROUPS[group] + "."), "",
            f"![{group}: ratios]({FIGURES}/{file(group)})",
            *table(["Row", "Ours", "Ratio", "Fastest peer", "Other peers"], shown)]


def reason(why):
    """A reason as one line that is short enough for a list."""
    text = " ".join(why.split())
    return text if len(text) <= 160 else text[:157] + "..."


def missing(results, found):
    reasons = {}
    for r in results:
        for side, why in r["missing"].items():
            if side not in ("ours tuned", "ours analytic"):
                reasons.setdefault((side, reason(why)), []).append(name(r))
    lines = ["## What is missing", ""]
    absent = [g for g in GROUPS if g not in found]
    if absent:
        lines += [*wrapped("These groups have no measured rows: " + ", ".join(absent) + "."), ""]
    for (side, why), of in sorted(reasons.items()):
        lines += wrapped(f"- {side}, in {', '.join(of)}: {why}", "  ")
    return lines


def page(results, found):
    lines = head(results) + machines(results) + versions(results) + summary(found) + losses(found)
    for group, rows in found.items():
        lines += group_part(group, rows)
    lines += missing(results, found)
    text = "\n".join(lines).rstrip() + "\n"
    return re.sub(r"\n{3,}", "\n\n", text)
