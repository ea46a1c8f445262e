"""Runs a model: the verdict, and models made smaller that have it still."""

import json
import os
import re
import subprocess
import tempfile

from .model import Definition, Model
from .tree import children, is_typed_inside


class Found:
    def __init__(self, verdict, what="", code=""):
        self.verdict, self.what, self.code = verdict, what, code

    @property
    def differs(self):
        return self.verdict == "differs"


def examine(neoc, model, compiled):
    for way in [["--interp"], []] if compiled else [["--interp"]]:
        found = _run(neoc, model, way)
        if found.verdict != "equal":
            return found
    return found


def _run(neoc, model, way):
    name = "interpreted" if way else "as machine code"
    with tempfile.NamedTemporaryFile("w", suffix=".expr", delete=False) as file:
        file.write(model.text())
    try:
        done = subprocess.run([neoc, "run", *way, "--format=json", file.name, *model.arguments()],
                              capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return Found("differs", f"{name}: 60 s are not enough")
    finally:
        os.unlink(file.name)
    if done.returncode != 0:
        return _refused(model, done, name)
    if model.wrong:
        return Found("differs", f"{name}: taken, and {model.wrong}")
    return _compared(model, json.loads(done.stdout)["outputs"], name)


def _refused(model, done, name):
    codes = re.findall(r'"code": "(E\d{4})"', done.stdout)
    if codes and codes[0] != "E0000" and done.returncode == 1:
        return Found("refused", code=codes[0])
    return Found("differs", f"{name}: status {done.returncode} {' '.join(codes)} {(done.stdout + done.stderr)[-300:]}")


def _compared(model, outputs, name):
    for tensor, right in model.results.items():
        have = outputs[tensor]["values"]
        if have != right:
            return Found("differs", f"{name}: {tensor} is {have}, right {right}")
    return Found("equal")


def shrink(neoc, model, found, compiled):
    """Smaller models with the same finding: fewer definitions, then parts of their bodies in place of them."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(model):
            if _same(examine(neoc, candidate, compiled), found):
                model, smaller = candidate, True
                break
    return model


def _same(a, b):
    return a.differs and a.what.split(" ")[:3] == b.what.split(" ")[:3]


def _smaller(model):
    for k in range(len(model.inputs), len(model.definitions)):
        rest = model.definitions[:k] + model.definitions[k + 1:]
        if not any(f"{model.definitions[k].name}[" in d.line() for d in rest):
            yield Model(model.size, model.runtime, model.inputs, rest)
    for k, d in list(enumerate(model.definitions))[len(model.inputs):]:
        for body in _smaller_body(d.body):
            if not is_typed_inside(body):
                continue
            changed = Definition(d.name, d.kind, d.index, d.extent, d.bounds, body)
            yield Model(model.size, model.runtime, model.inputs,
                        model.definitions[:k] + [changed] + model.definitions[k + 1:])


def _smaller_body(e):
    for part in children(e):
        if part[1] == e[1] and e[0] != "reduce":
            yield part
    for at, part in enumerate(e):
        if isinstance(part, tuple):
            for smaller in _smaller_body(part):
                yield e[:at] + (smaller,) + e[at + 1:]
