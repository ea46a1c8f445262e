"""One run of neoc: what it computes, or why it does not."""

import json
import os
import re
import subprocess
import tempfile
from typing import NamedTuple

_UNKNOWN = re.compile(r"does not read ([\w.]+)|has no input '([\w.]+)'|no size '([\w.]+)'|size '?([\w.]+)'? ")


class Result(NamedTuple):
    kind: str  # computed; refused: the front end says why; failed: nothing but a bug explains it
    outputs: dict  # name -> (type, shape, values)
    why: str
    line: int = 0  # of the text, at which the front end refuses it


def _text(value):
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return "1" if value else "0"
    return repr(value)


def _shape(value):
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return shape


def argument(name, value, shape):
    """How a value stands on the command line; empty ones by their shape."""
    if 0 in shape:
        return f"{name}=zeros:[{','.join(map(str, shape))}]"
    return f"{name}={_text(value)}"


class Runner:
    """Runs programs in a folder of its own."""

    def __init__(self, neoc, seconds=60):
        self.neoc, self.seconds = neoc, seconds
        self.folder = tempfile.mkdtemp(prefix="relations-")
        self.runs = 0
        self.environment = dict(os.environ, TMPDIR=self.folder, XDG_CACHE_HOME=self.folder)

    def __call__(self, text, values, sizes, options=()):
        """`values`: name -> (nested list, shape)."""
        name = os.path.join(self.folder, "p.expr")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        given = {n: argument(n, v, shape) for n, (v, shape) in values.items()}
        given.update({f"size {n}": f"--size={n}={v}" for n, v in sizes.items()})
        for _ in range(len(given) + 1):
            self.runs += 1
            command = [self.neoc, "run", "--format=json", name, *options, *given.values()]
            try:
                done = subprocess.run(command, capture_output=True, timeout=self.seconds, env=self.environment)
            except subprocess.TimeoutExpired:
                return Result("failed", {}, "takes too long")
            if done.returncode != 2:
                return _result(done)
            said = done.stderr.decode(errors="replace")
            match = _UNKNOWN.search(said)
            unknown = match and next(g for g in match.groups() if g)
            if unknown in given:
                del given[unknown]
            elif f"size {unknown}" in given:
                del given[f"size {unknown}"]
            else:
                return Result("refused", {}, "usage: " + said.split("\n")[0])
        return Result("refused", {}, "usage")


def _number(value):
    return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}.get(value, value)


def _result(done):
    said = done.stderr.decode(errors="replace").strip()
    try:
        found = json.loads(done.stdout) if done.stdout.strip() else {}
    except ValueError:
        return Result("failed", {}, "no JSON")
    if done.returncode == 0:
        return Result("computed", {n: (o["type"], o["shape"], [_number(v) for v in o["values"]])
                                   for n, o in found["outputs"].items()}, "")
    errors = [d for d in found.get("diagnostics", []) if d["severity"] == "error"]
    if done.returncode == 1 and errors and errors[0]["code"] != "E0000":
        return Result("refused", {}, errors[0]["code"], errors[0].get("line", 0))
    why = errors[0]["message"] if errors else said.split("\n")[0]
    return Result("failed", {}, f"exit {done.returncode}: {why}")
