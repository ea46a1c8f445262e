"""Op.verify: compiled code against the reference interpreter (`neoc run --interp`)."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Sequence

from . import arrays, checks
from .compiler import run_command
from .errors import NeoError, Unsupported
from .text import inner_of

if TYPE_CHECKING:
    from .op import Op

_RTOL = {"f64": 1e-9, "f32": 1e-3}


def _as_f32(array: Any) -> Any:
    """Files have no bf16; f32 has all of its numbers."""
    import numpy as np
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _interpret(op: Op, given: dict[str, Any], folder: str) -> dict[str, Any]:
    import numpy as np
    model, out = os.path.join(folder, "op.expr"), os.path.join(folder, "out.npz")
    with open(model, "w", encoding="utf-8") as file:
        file.write(op._last_module().text)
    words = ["run", "--interp", "-o", out, *op._options, model]
    for name, array in given.items():
        path = os.path.join(folder, f"{name}.npy")
        np.save(path, array)
        words.append(f"{name}=@{path}")
    code, _, why = run_command(words)
    if code:
        raise NeoError(f"verify: the interpreter does not run this: {why}")
    with np.load(out) as found:
        return {name: found[name] for name in found.files}


def _difference(name: str, made: Any, expected: Any, rtol: float | None) -> float:
    """Relative to the largest element; what is not finite must be the same."""
    import numpy as np
    word = arrays.word_of(name, made.dtype)
    a, b = _as_f32(made).astype(np.float64), np.asarray(expected).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.where(np.isfinite(b), np.abs(b), 0)
    scale = max(float(finite.max(initial=0.0)), 1e-30)
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(a - b)/scale)
    off = np.where(np.isnan(off), np.inf, off)
    worst = float(off.max(initial=0.0))
    allowed = rtol if rtol is not None else _RTOL.get(word, 0.05 if word in arrays.FLOATS else 0.0)
    if worst > allowed:
        at = np.unravel_index(int(off.argmax()), off.shape)
        place = f"{name}[{', '.join(map(str, at))}]" if off.shape else name
        raise NeoError(f"verify: {place} is {a[at]}, the interpreter has {b[at]}")
    return worst


def verify(op: Op, args: Sequence[Any], rtol: float | None) -> float:
    """See Op.verify."""
    import numpy as np
    if len(args) != len(op._arguments):
        raise TypeError(f"{op.__name__}() takes {len(op._arguments)} arguments, "
                        f"{len(args)} were given")
    if rtol is not None:
        rtol = checks.real(f"{op.__name__}.verify(): rtol", rtol, "a number, 0 or more",
                           lambda x: x >= 0)
    made = op(*args)
    many = made if isinstance(made, tuple) else (made,)
    program, _ = op._specialize(op._key(args))
    taken = {program.tensors[k][0]: program.tensors[k][3] for k in program.entries[0][2]}
    if "bf16" in taken.values():
        raise Unsupported("verify: arguments of bfloat16 cannot be written to files; convert "
                          "them to float32 in the text")
    given = {}
    for a, value in zip(op._arguments, args):
        name = inner_of(a)
        if name in taken:
            dtype = arrays.dtype_of(taken[name])
            given[name] = np.ascontiguousarray(np.asarray(value, dtype)).reshape(
                np.shape(value))
    with tempfile.TemporaryDirectory(prefix="neoc-") as folder:
        expected = _interpret(op, given, folder)
    return max(_difference(r.name, np.asarray(m), expected[inner_of(r)], rtol)
               for r, m in zip(op._results, many))
