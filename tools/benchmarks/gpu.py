"""tools/bench gpu: what neo's code must reach on a GPU, each row beside its peers.

    tools/bench gpu --prepare FOLDER [--target nvptx:sm_90a] [--rows REGEX]
    tools/bench gpu --from FOLDER [--part N] [--json FILE] [--rows REGEX] [--rounds N] [--resume]
    tools/bench gpu --static [FILE.md] [--rows REGEX] [--json FILE]
    tools/bench gpu --show | --list [--json FILE]

The first compiles all that the rows need, where neoc is; the second measures a part of them (1
correctness, 2 products, 3 convolutions, 4 capsules, 5 cells, 6 memory bound, 7 networks) where the
GPU is, which needs FOLDER, this folder, libcuda and Python, with torch and jax as peers. A part ends
after --minutes (7.5), and goes on with --resume. Each row is in FILE as soon as it is measured.
--static says what the kernels are made of and what bounds them, without a GPU. --check: a few rows of sizes for an emulated GPU.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import gpu_rows
import gpu_static
import peer
import report
from build import ROOT
from measure import same, same_change
from sides import Missing, Side, alternate

HERE = os.path.dirname(os.path.abspath(__file__))
VALUES_AGREE = 1e-3  # relative, in the 2-norm
OUTPUTS_AGREE = {"bf16": 0.02, "tf32": 5e-3}  # of means, by the precision of products


def options():
    o = argparse.ArgumentParser(prog="tools/bench gpu", description=__doc__.splitlines()[0],
                                epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    o.add_argument("--prepare", metavar="FOLDER")
    o.add_argument("--from", metavar="FOLDER", dest="folder")
    o.add_argument("--static", nargs="?", const="-", metavar="FILE.md")
    o.add_argument("--target", default="nvptx:sm_90a")
    o.add_argument("--part", type=int, choices=sorted(gpu_rows.PARTS))
    o.add_argument("--json", metavar="FILE")
    o.add_argument("--rows", metavar="REGEX", default="")
    o.add_argument("--rounds", type=int, default=15)
    o.add_argument("--minutes", type=float, default=7.5)
    for name in ("resume", "check", "list", "show"):
        o.add_argument("--" + name, action="store_true")
    return o.parse_args()


# ---- where neoc is


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        first = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise Missing(f"{os.path.basename(command[0])} {command[1]}: {first}")


def ours(folder, library, row, *more):
    return [os.path.join(folder, "ours_gpu"), library, "net", row.entry, *more,
            *(f"{k}={v}" for k, v in row.settings.items())]


def prepare_row(row, build, folder, target):
    """Its library; of values, what a processor's library computes, and from which parameters."""
    to = os.path.join(folder, row.folder())
    sizes = {**row.defines, **({"B": row.batch} if row.batch else {})}
    command = [os.path.join(build, "bin", "neoc"), "compile", "-q", os.path.join(ROOT, row.model),
               "--prefix=net", *row.options, *(f"--define={k}={v}" for k, v in sizes.items())]
    run([*command, f"--target={target}", "--emit=so", "-o", to])
    if row.what == "values":
        host = os.path.join(to, "host")
        run([*command, "--emit=so", "-o", host])
        run(ours(folder, os.path.join(host, "libnet.so"), row,
                 f"save={to}/params.safetensors", f"dump={to}/values.safetensors"),
            stdin=subprocess.DEVNULL)
        shutil.rmtree(host)


def prepare(o, rows, build):
    """Rows that cannot be prepared say why in FOLDER/missing.json."""
    folder = os.path.abspath(o.prepare)
    os.makedirs(folder, exist_ok=True)
    for name in ("libneort.so.0", "libneort.so"):
        if os.path.exists(os.path.join(build, "lib", name)):
            shutil.copy(os.path.join(build, "lib", name), folder)
    run(["cc", "-O2", "-I.", "-Iinclude", "-o", os.path.join(folder, "ours_gpu"),
         "tools/benchmarks/ours_gpu.c", "-L" + folder, "-lneort", "-ldl", "-lm",
         "-Wl,-rpath,$ORIGIN"], cwd=ROOT)
    missing = {}
    for row in rows:
        start = time.perf_counter()
        try:
            prepare_row(row, build, folder, o.target)
            print(f"{row.name}: {time.perf_counter() - start:.1f} s", flush=True)
        except Missing as why:
            missing[row.name] = str(why)
            print(f"{row.name}: {why}", flush=True)
    with open(os.path.join(folder, "missing.json"), "w") as f:
        json.dump(missing, f)
    return 0


# ---- where the GPU is


def floats(path):
    """The f32 and f64 tensors of a file, as lists."""
    return {name: memoryview(bytes(data)).cast({"F32": "f", "F64": "d"}[kind])
            for name, (kind, _, data) in peer.tensors(path).items() if kind in ("F32", "F64")}


def differences(got, want):
    """Of each tensor, |got - want| over |want|, in the 2-norm; those near 0 count absolutely."""
    for name, w in want.items():
        g = got[name]
        norm = sum(x * x for x in w)**0.5
        far = sum((x - y)**2 for x, y in zip(g, w))**0.5
        yield name, far / max(norm, 1e-2) if len(g) == len(w) else float("inf")


class Bench:

    def __init__(self, o):
        self.o, self.folder = o, os.path.abspath(o.folder)
        self.python = {name: os.environ.get("NEO_BENCH_" + name.upper(), sys.executable)
                       for name in ("torch", "jax")}
        with open(os.path.join(self.folder, "missing.json")) as f:
            self.missing = json.load(f)

    def side(self, name, command):
        env = {"LD_LIBRARY_PATH": self.folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
        return Side(name, command, 1, env, all_cores=True)

    def ours(self, row, *more):
        library = os.path.join(self.folder, row.folder(), "libnet.so")
        if not os.path.exists(library):
            raise Missing(self.missing.get(row.name, "was not prepared"))
        return self.side("ours", ours(self.folder, library, row, *more))

    def peer(self, row, name, folder):
        library, _, variant = name.partition(" ")
        spec = {**row.torch, "variant": variant, "folder": folder, "threads": 1, "device": "cuda"}
        return self.side(name, [self.python[library], os.path.join(HERE, library + "_side.py"),
                                json.dumps(spec)])

    def measure(self, row):
        result = dict(name=row.name, part=row.part, group=row.group, unit=row.unit, ratios={},
                      times={}, missing={}, musts={k: list(v) for k, v in row.musts.items()},
                      when=time.strftime("%Y-%m-%d %H:%M", time.gmtime()))
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            try:
                getattr(self, "measure_" + row.what)(row, result, folder, stack)
            except Missing as why:
                result["missing"].setdefault("ours", str(why))
        return result

    def measure_values(self, row, result, folder, stack):
        """Loss and gradients beside those of a processor's library, from the same parameters."""
        own, got = os.path.join(self.folder, row.folder()), os.path.join(folder, "got.safetensors")
        side = self.ours(row, f"load={own}/params.safetensors", f"dump={got}")
        stack.callback(side.close)
        far = dict(differences(floats(got), floats(os.path.join(own, "values.safetensors"))))
        name = max(far, key=far.get)
        result["values"] = dict(tensors=len(far), farthest=name, apart=far[name],
                                equal=far[name] <= VALUES_AGREE)

    def agrees(self, row, side, ours, result):
        what = "losses" if "losses" in side.about else "outputs"
        here, there = ours.about[what], side.about[what]
        within = OUTPUTS_AGREE.get(row.torch.get("kind"))
        if within:
            good = all(abs(a - b) <= within * max(abs(a), abs(b)) for a, b in zip(here, there))
        else:
            good = same(here, there) and (what != "losses" or same_change(here, there))
        if not good:
            result["missing"][side.name] = f"computes something else: {there}, not {here}"
        return good

    def measure_time(self, row, result, folder, stack):
        first = self.ours(row, f"save={folder}/params.safetensors",
                          f"inputs={folder}/inputs.safetensors")
        stack.callback(first.close)
        sides = [first]
        for name in row.peers:
            try:
                side = self.peer(row, name, folder)
                stack.callback(side.close)
                if self.agrees(row, side, first, result):
                    sides.append(side)
            except Missing as why:
                result["missing"][name] = str(why)
        if row.bytes:
            sides.append(self.side("copy", [os.path.join(self.folder, "ours_gpu"), "copy",
                                            str(row.bytes // 2)]))
            stack.callback(sides[-1].close)
        alternate(sides, self.o.rounds, 60)
        us = {side.name: statistics.median(side.times_us) for side in sides}
        result["times"] = {side.name: [round(t, 3) for t in side.times_us] for side in sides}
        copy = us.pop("copy", None)
        if copy:
            rate = sides[-1].about["bytes"] / copy
            result["ratios"]["bandwidth"] = round(row.bytes / us["ours"] / rate, 4)
            result["copy_gb_s"] = round(rate / 1e3, 1)
        theirs = {k: t for k, t in us.items() if k != "ours"}
        result["ratios"].update({k: round(t / us["ours"], 4) for k, t in theirs.items()})
        if theirs:
            result["ratios"]["best"] = round(min(theirs.values()) / us["ours"], 4)


# ---- what it says


def line(r):
    said = []
    if "values" in r:
        v = r["values"]
        said.append(f"{'equal' if v['equal'] else 'DIFFER'}: {v['farthest']} {v['apart']:.1e} apart "
                    f"of {v['tensors']}")
    if r["times"].get("ours"):
        said.append(f"{statistics.median(r['times']['ours']):.1f} us")
    for name, ratio in r["ratios"].items():
        must = r["musts"].get(name)
        said.append(f"{name} {ratio:.2f}" + (f" (must {must[0]:g}: {report.held(ratio >= must[0])},"
                                             f" stretch {must[1]:g})" if must else ""))
    said += [f"{name}: {why}" for name, why in r["missing"].items()]
    return f"{r['name']:36}  " + "; ".join(said)


def show(results):
    for part, name in gpu_rows.PARTS.items():
        of = [r for r in results if r["part"] == part]
        print(f"\n{part} {name}: {len(of)} rows" if of else f"\n{part} {name}: nothing measured")
        print("".join(line(r) + "\n" for r in of), end="")
        for group in dict.fromkeys(r["group"] for r in of):
            for key in ("best", "torch eager", "torch compile", "jax", "bandwidth"):
                ratios = [r["ratios"][key] for r in of if r["group"] == group and key in r["ratios"]]
                if len(ratios) > 1:
                    print(f"{group}: {key} {report.mean(ratios):.2f}, the geometric mean of "
                          f"{len(ratios)}, worst {min(ratios):.2f}")


def main():
    o = options()
    rows = [row for row in gpu_rows.all_rows(o.check)
            if re.search(o.rows, row.name) and o.part in (None, row.part)]
    if o.list:
        print("\n".join(f"{row.part} {row.name}" for row in rows))
        return 0
    if o.static:
        return gpu_static.main(o, rows, os.environ.get("NEO_BUILD_DIR") or
                               os.path.join(ROOT, "build", "release"))
    if o.show:
        show(report.read(o.json))
        return 0
    if bool(o.prepare) == bool(o.folder) or not rows:
        print("bench: --prepare FOLDER or --from FOLDER, and rows that exist: see --help",
              file=sys.stderr)
        return 2
    if o.prepare:
        build = os.environ.get("NEO_BUILD_DIR") or os.path.join(ROOT, "build", "release")
        return prepare(o, rows, build)
    results, bench, begun = report.read(o.json), Bench(o), time.monotonic()
    done = {r["name"] for r in results} if o.resume else set()
    for row in rows:
        if row.name in done:
            continue
        if time.monotonic() - begun > 60 * o.minutes:
            print(f"bench: {o.minutes:g} minutes are over: go on with --resume")
            return 3
        result = bench.measure(row)
        print(line(result), flush=True)
        results[:] = [r for r in results if r["name"] != row.name] + [result]
        if o.json:
            report.write(o.json, results)
    return 0 if all(r.get("values", {}).get("equal", True) for r in results) else 1


sys.exit(main())
