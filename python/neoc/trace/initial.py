"""Initial values of the parameters and states of a function of models/std, as arrays."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from .. import checks
from . import backend
from .kinds import kind_of
from .module_text import Definition, calls_stateful
from .nested import parameters_of, tree_of
from .std import option


def initial_values(d: Definition, args: Sequence[Any], options: Dict[str, Any],
                   seed: int) -> Dict[str, Any]:
    """Initial values of the parameters of a call with these shapes; see StdFunction.init."""
    if len(args) != len(d.arguments):
        names = ", ".join(a.name for a in d.arguments)
        raise TypeError(f"{d.module}.{d.name}.init takes arrays or shapes of {names}, here are "
                        f"{len(args)}")
    lines = [f"import {d.module}"]
    for k, (a, value) in enumerate(zip(d.arguments, args)):
        shape, kind = _shape_and_kind(f"neoc.{d.module}.{d.name}.init(): {a.name}", value)
        bound = ""
        if "<" in a.kind:
            kind, bound = "i32", f" < {options_bound(a.kind, options)}"
        extents = f"[{', '.join(map(str, shape))}]" if shape else ""
        lines.append(f"input a{k}{extents} : {kind}{bound}")
    given = ", ".join(f"{n} = {option(v)}" for n, v in options.items() if n not in ("V",))
    inner = ", ".join([f"a{k}" for k in range(len(args))] + ([given] if given else []))
    made = ", ".join(f"r{k}" for k in range(len(d.results)))
    lines += [f"{made} = {d.module}.{d.name}({inner})", f"output {made}"]
    owned: List[Tuple[str, ...]] = [(v.name,) for v in d.parameters + d.states]
    if calls_stateful(d):
        owned = list(parameters_of(lines, "r0"))
    keys = ["r0." + ".".join(path) for path in owned]
    values = backend.parameters_of("\n".join(lines) + "\n", keys, seed)
    return tree_of(dict(zip(owned, values)))


def options_bound(kind: str, options: Dict[str, Any]) -> int:
    """How many rows a table has: the bound of the integers that choose one."""
    name = kind.partition("<")[2].strip()
    if name not in options:
        raise TypeError(f"init needs {name}=, one more than the largest of the integers")
    return checks.number(f"init(): {name}", options[name])


def _shape_and_kind(where: str, value: Any) -> Tuple[Tuple[int, ...], str]:
    if isinstance(value, tuple) and all(isinstance(n, (int, np.integer)) for n in value):
        return tuple(checks.number(where, n) for n in value), "f32"
    if hasattr(value, "shape"):
        return tuple(int(n) for n in value.shape), kind_of(value.dtype)
    if isinstance(value, (int, float)):
        return (), "f32"
    raise checks.wrong_type(where, "an array or a shape", value)
