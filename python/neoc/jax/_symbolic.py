"""Types and shapes of results where sizes are symbols of jax.export.

Each extent that is an expression of symbols becomes a size of the text, `dim`; the compiler writes
the extents of results as formulas of these, which are computed with jax's symbols. No code is made
of the text: that happens where the sizes are numbers.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Mapping, Tuple

import jax

from .. import _core
from ..compiler import diagnostics_of
from ..retell import retold
from ..text import PATH, Module, Plan, inner_of
from ._operators import Operator, Parts, Type
from ._versions import is_known

# Bounds of a size whose value is not known. If tensors of that size have too many elements for the
# compiler, the next one is taken.
_HIGHEST = (2**40, 2**20, 2**13, 2**10, 2**8)
_TOO_MANY = frozenset(("E0911",))


def results_of(f: Operator, parts: Parts) -> Tuple[Type, ...]:
    """As Operator.results, for extents that may be symbols."""
    if all(is_known(shape) for _, _, shape in parts):
        return f.results(parts)
    if f.infer is not None:
        return f.infer(parts, results_of)
    sizes = {n: f"NEOC_{k}" for k, n in enumerate(_unknown(parts))}
    named = tuple((kind, word, tuple(sizes.get(n, n) for n in shape))
                  for kind, word, shape in parts)
    lowest = tuple((name, _lowest(n)) for n, name in sizes.items())
    values = {name: n for n, name in sizes.items()}
    return tuple((word, tuple(_value(e, values) for e in shape))
                 for word, shape in _formulas(f, named, lowest))


def _unknown(parts: Parts) -> list[Any]:
    return list(dict.fromkeys(n for _, _, shape in parts for n in shape
                              if not isinstance(n, int)))


def _lowest(n: Any) -> int:
    """A bound that jax knows of a symbol, up to 2^12: it has 1 without any."""
    bound = 0
    for step in (2**k for k in range(12, -1, -1)):
        if _is_at_least(n, bound + step):
            bound += step
    return bound


def _is_at_least(n: Any, bound: int) -> bool:
    try:
        return bool(n >= bound)
    except Exception:  # jax's class for what it cannot decide is not public
        return False


def _value(formula: Any, values: Mapping[str, Any]) -> Any:
    """"(N - 1)/2 + max(N, 7)" with jax's symbols for N; / is a floor division."""
    if isinstance(formula, int):
        return formula
    names = {"max": _max, "min": _min, "__builtins__": {}}
    return eval(formula.replace("/", "//"), {**names, **values})


def _max(a: Any, b: Any) -> Any:
    return jax.core.max_dim(a, b) if hasattr(jax.core, "max_dim") else a + _above(b - a)


def _min(a: Any, b: Any) -> Any:
    return jax.core.min_dim(a, b) if hasattr(jax.core, "min_dim") else a - _above(a - b)


def _above(d: Any) -> Any:
    from jax._src import core  # max(d, 0) of symbols; public before 0.4.36 only
    return core.max_dim(d, 0)


@lru_cache(maxsize=1024)
def _formulas(f: Operator, parts: Parts, lowest: Tuple[Tuple[str, int], ...]) -> Tuple[Type, ...]:
    for highest in _HIGHEST:
        dims = "".join(f"dim {low} <= {name} <= {max(highest, 2*low)}\n" for name, low in lowest)
        build, found = _checked(f, parts, dims)
        if build.status == 0:
            break
        if not any(d.code in _TOO_MANY for d in found if d.is_error):
            break
    if build.status:
        raise _problem(f, parts, build, found)
    tensors = {t["name"]: t for t in json.loads(build.output("json") or b"{}")["tensors"]}
    rows = [tensors[inner_of(r)] for r in f.op._results]
    return tuple((row["type"], tuple(row["shape"])) for row in rows)


def _checked(f: Operator, parts: Parts, dims: str) -> Any:
    plan, key = Plan(), f.key(parts)
    while True:
        module = f.op._module(key, plan)
        module = Module(dims + module.text, module.head + dims.count("\n"),
                        module.written)
        build = _core.Build(PATH, module.text, f.op._options, (), (), "none", None, None, "json")
        found = diagnostics_of(build)
        if not build.status or not f.op._retry(found, module, key, plan):
            return build, found


def _problem(f: Operator, parts: Parts, build: Any, found: Any) -> BaseException:
    key = f.key(parts)
    return retold(build, found, f.op._text, f.op._module(key), key, f.op._arguments)
