"""Models that others wrote, as programs to rewrite: with values from a seed, and ranges written out where that is simple."""

import os

import numpy as np

from .draw import Program
from .printer import text_of
from .sites import Scope
from .syntax import (Define, Else, Import, Path, Read, Reduce, Repeat, Train, Vertex, nodes, parse)

from evaluator import compare as values_of  # noqa: E402


def load(neoc, name, seed=1):
    """The program of a file; an ExprError where neoc does not take it."""
    info = values_of.describe(neoc, name, [])
    sizes = values_of.sizes_of(info, {})
    values = {n: (a.tolist(), list(a.shape)) for n, a in values_of.values(info, sizes, seed).items()}
    with open(name, encoding="utf-8") as file:
        statements = parse(file.read())
    written_out(statements)
    floats = "f64" if any(t["type"] == "f64" for t in info["tensors"]) else "f32"
    return Program(text_of(statements), values, sizes, floats, seed=seed)


def written_out(statements):
    """Ranges of top-level definitions get the extent of what their index subscripts alone, unguarded."""
    for k, s in enumerate(statements):
        if not isinstance(s, Define) or isinstance(s.value, Repeat):
            continue
        scope = Scope(statements[:k])
        guarded = {id(n.read) for n in nodes(s.value) if isinstance(n, Else)}
        holders = list(s.target.indices or []) + [r for n in nodes(s.value) if isinstance(n, Reduce) for r in n.ranges]
        for r in holders:
            if r.upper is not None or r.lower is not None or not isinstance(r.name, str):
                continue
            for n in nodes(s.value):
                extents = scope.extents.get(n.base.names[0]) if isinstance(n, Read) and isinstance(n.base, Path) else None
                if extents is None or id(n) in guarded or n.base.names[0] == s.target.name:
                    continue
                found = [extents[j] for j, x in enumerate(n.subscripts)
                         if isinstance(x, Path) and x.names == (r.name,) and j < len(extents)]
                if found and found[0] is not None:
                    r.upper = found[0]
                    break


def models(folders):
    """All .expr files below some folders or files."""
    for f in folders:
        if os.path.isfile(f):
            yield f
        for root, _, names in sorted(os.walk(f)):
            yield from (os.path.join(root, n) for n in sorted(names) if n.endswith(".expr"))
