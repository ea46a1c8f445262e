"""Figures of the models, which were measured once: docs/gallery/figures.json.

Parameters and memory are those of the model as it is. The time of a step, the losses and what a picture shows are of the sizes
that it is made small to, on one thread; the losses are those of 300 steps on the same drawn samples.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

from galleries import models
from galleries.library import Library

PATH = os.path.join(models.ROOT, "docs", "gallery", "figures.json")
BUILD = os.environ.get("NEO_BUILD_DIR", os.path.join(models.ROOT, "build", "release"))
NEOC = os.path.join(BUILD, "bin", "neoc")
STEPS = 300
EACH = 5     # of so many steps one loss is kept
ROWS = 24    # most rows and columns of a picture
POINTS = 64  # most elements of one row alone


def read():
    if not os.path.exists(PATH):
        return {}
    with open(PATH, encoding="utf-8") as f:
        return json.load(f)


def save(figures):
    """Writes the figures, one model a line, so that differences are easy to read."""
    lines = [f"{json.dumps(name)}: {json.dumps(figures[name])}" for name in sorted(figures)]
    with open(PATH, "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(lines) + "\n}\n")


def neoc(*arguments):
    return subprocess.run([NEOC, *arguments], check=True, stdout=subprocess.PIPE, cwd=models.ROOT).stdout.decode()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":")[1].strip().replace("(R)", "").replace("(TM)", "")
    return os.uname().machine


def rounded(x):
    return float(f"{x:.4g}") if math.isfinite(x) else None


def as_it_is(model):
    about = json.loads(neoc("describe", "--format=json", model.path))
    count = sum(math.prod(t["shape"]) for t in about["tensors"] if t["role"] == "parameter")
    return {"parameters": count, "memory": about["memory"]["arena_bytes"]}


def losses(library):
    library.draw_all("step")
    times, values = [], []
    for _ in range(STEPS):
        times.append(library.call("step"))
        values.append(rounded(float(library.room(library.entries["step"]["outputs"][0])[0])))
    return {"step_us": rounded(1e6*min(times)), "steps": STEPS, "loss": values[::EACH] if None not in values else None}


def rows_of(library, tensor):
    """The last two dimensions of an output, at index 0 of the others."""
    shape = library.shape(tensor)
    width = shape[-1] if shape else 1
    height = shape[-2] if len(shape) > 1 else 1
    room = library.room(tensor)
    most = ROWS if height > 1 else POINTS
    return [[rounded(float(room[r*width + c])) for c in range(min(width, most))] for r in range(min(height, ROWS))]


def result(library):
    """The result of the first entry without training. An entry that updates states is called repeatedly, for a row each."""
    entry = next(e for e in library.about["entries"] if e["kind"] == "forward")
    tensor, times, rows = entry["outputs"][0], [], []
    for _ in range(1 if entry["name"] == "forward" else ROWS):
        library.draw_all(entry["name"])
        times.append(library.call(entry["name"]))
        rows += rows_of(library, tensor)
    times += [library.call(entry["name"]) for _ in range(STEPS)]
    return {"result": tensor, "rows": rows, "call_us": rounded(1e6*min(times))}


def run_small(model):
    with tempfile.TemporaryDirectory() as folder:
        defines = [word for name, value in model.defines.items() for word in ("-D", f"{name}={value}")]
        neoc("compile", "-q", model.path, "--prefix=model", "-o", folder, *defines)
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(processors)})  # a context has one thread then
        library = Library(folder, "model", os.path.join(BUILD, "lib"), model.sizes)
        found = {}
        if model.kind == "operator":
            found.update(result(library))
        if "step" in library.entries:
            found.update(losses(library))
        elif not found:
            found.update(result(library))
        library.close()
        os.sched_setaffinity(0, processors)
    return found


def measure(wanted):
    figures = read()
    for model in wanted:
        print(model.name, file=sys.stderr, flush=True)
        figures[model.name] = {"text": model.digest, "processor": processor(), **as_it_is(model), **run_small(model)}
        save(figures)
