"""Measures the rows of rows/dynamic.py: as bench.py does, over batches in a file, with figures a
second; and of a step the shares of what finds the order of the vertices and of what only moves data.
"""
import collections
import contextlib
import dataclasses
import hashlib
import json
import os
import re
import subprocess

from measure.bench import Bench
from measure.build import ROOT
from measure.process import Missing, Side
from rows import data, dynamic

SHARES = ("construction", "moves", "arithmetic", "between steps")


@contextlib.contextmanager
def environment(more):
    """With these variables, for processes that start within."""
    before = {k: os.environ.get(k) for k in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for k, v in before.items():
            os.environ.pop(k) if v is None else os.environ.update({k: v})


class DynamicBench(Bench):
    """`common`: options of neoc for all rows; `device`: where PyTorch computes."""

    def __init__(self, *arguments, common=(), device="cpu"):
        super().__init__(*arguments)
        self.common, self.device = common, device

    # ---- sides

    def batches(self, row):
        """The file of the row's batches, made once."""
        key = hashlib.sha256(repr(row.workload).encode()).hexdigest()[:12]
        file = os.path.join(self.builder.work, key + ".batches")
        if not os.path.exists(file):
            data.make(row.workload, file)
        return file

    def command(self, row, library):
        return [self.builder.program("sides/ours_batches"), library, "net", row.entries,
                str(row.threads), self.batches(row)]

    def python(self, *arguments):
        """PyTorch is quicker where what it frees stays with the process."""
        side = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}
        with environment(side):
            return super().python(*arguments)

    def spec(self, row, first):
        return {**super().spec(row, first), "batches": self.batches(row), "device": self.device}

    def peer(self, row, name, folder, cold=False):
        if name == "one thread":
            return self.ours(dataclasses.replace(row, threads=1), "default", name=name)
        if name == "dynet":
            return self.dynet(row, folder)
        return super().peer(row, name, folder, cold)

    def dynet(self, row, folder):
        """DyNet computes on one processor, of which a row of two threads says nothing."""
        if self.device != "cpu" or row.threads > 1:
            raise Missing("DyNet runs on one thread of the processor here")
        model, lr = row.arguments["dynet"]
        command = [self.builder.program("peers/dynamic_dynet"), model, self.batches(row),
                   os.path.join(folder, "params.safetensors"), str(lr)]
        return Side("dynet", command, row.threads)

    # ---- rows

    def measure(self, row):
        """The row's result; without its data, it says so."""
        why = None
        try:
            known = dynamic.known(row, self.common)
            self.batches(known)
        except Missing as missing:
            known, why = dataclasses.replace(row, what="nothing"), str(missing)
        clock, self.clock = self.clock, "wall" if row.threads > 1 else self.clock
        result = super().measure(known)
        self.clock = clock
        if why:
            result["missing"]["ours default"] = why
        self.note(row, result)
        return result

    def measure_nothing(self, row, result, folder, stack):
        pass

    def note(self, row, result):
        """Figures a second, and how they compare with DyNet's."""
        us = {k: t["median_us"] for k, t in result["times"].items() if t.get("median_us")}
        count = row.count or (data.vertices(self.batches(row)) if us else 0)
        result["per_s"] = {k: round(1e6 * count / t, 1) for k, t in us.items()}
        shown = {k.removesuffix(" default"): v for k, v in result["per_s"].items()
                 if k not in ("ours tuned", "ours analytic")}
        notes = [", ".join(f"{k} {v:,.0f}" for k, v in shown.items()) + f" {row.of}/s"] if us else []
        if "dynet" in us and row.name in dynamic.DYNET:
            must, stretch = dynamic.DYNET[row.name]
            times = result["by_hand"]["dynet"]
            result["dynet"] = dict(must=must, stretch=stretch, ratio=times)
            wants = f"must {must:g}" + (f", stretch {stretch:g}" if stretch else "")
            notes.append(f"{times:.2f} of DyNet ({wants})")
        if "shares" in result:
            notes += [f"{share} {result['shares'][share]:.1%}" for share in SHARES]
        result["notes"] = notes

    # ---- shares of a step

    def measure_shares(self, row, result, folder, stack):
        """By a trace of one pass, on each worker's own time."""
        trace = os.path.join(folder, "trace")
        traced = dataclasses.replace(row, settings={**row.settings, "trace": trace})
        side = self.start(result, stack, "ours default", lambda: self.ours(traced, "default"))
        if not side:
            return
        side.close()
        kinds = self.kinds(row)
        with open(trace) as f:
            events = json.load(f)
        events = events["traceEvents"] if isinstance(events, dict) else events
        us, whole = collections.Counter(), 0
        for e in events:
            if e.get("ph") != "X":
                continue
            if e["cat"] == "entry":
                whole += e["dur"] * row.threads
            elif e["cat"] in ("copy", "kernel"):
                kind = "moves" if e["cat"] == "copy" else kinds.get(e["name"], "arithmetic")
                us[kind] += e["args"].get("busy", e["dur"])
        us["between steps"] = max(whole - sum(us.values()), 0)
        result["shares"] = {k: us[k] / whole for k in SHARES}
        result["times"]["ours default"] = dict(median_us=whole / row.threads, traced=True)

    def kinds(self, row):
        """The kinds of kernels without arithmetic, by the kernels' names."""
        done = subprocess.run([self.builder.neoc, "explain", os.path.join(ROOT, row.model),
                               *row.flags(), "--prefix=net", "--kernels"],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("neoc explain: " + done.stderr[-300:])
        found = {}
        for text in re.split(r"^# ", done.stdout, flags=re.M)[1:]:
            name, _, code = text.partition("\n")
            found[re.sub(r"^net_k\d+_", "", name.strip())] = kind_of(code)
        return found


def kind_of(code):
    """The kind of a kernel, from its loop IR: `construction` writes integers alone, `moves` writes elements that it
    reads, or sums of it, under conditions at most."""
    head = re.search(r"^kernel .*?\((.*)\) sizes", code, re.M)
    written = re.findall(r": (\w+) (?:read )?write", head[1]) if head else []
    if written and not {"f64", "f32", "f16", "bf16"} & set(written):
        return "construction"
    values = re.findall(r"^ *([\w.]+)@ = (.*)$", without_subscripts(code), re.M)
    return "moves" if values and not any(computes(*v) for v in values) else "arithmetic"


def without_subscripts(code):
    before = None
    while before != code:
        before, code = code, re.sub(r"\[[^\[\]\n]*\]", "@", code)
    return code


def without_conditions(value):
    """The values that select() chooses from."""
    while "select(" in value:
        start = value.index("select(")
        depth, k = 0, start + len("select(")
        while value[k] != "," or depth:
            depth += (value[k] == "(") - (value[k] == ")")
            k += 1
        value = value[:start] + "(" + value[k + 1:]
    return value


def computes(to, value):
    """Is there arithmetic, or a function, but for what stands in a condition, and sums?"""
    value = without_conditions(re.sub(r" if .*?( else |$)", r"\1", value))
    value = re.sub(rf"\b{re.escape(to)}@ \+ ", "", value)
    return re.search(r" [-+*/%] |\w\(", value) is not None
