"""Gradients, derivatives and batches of operators, as text: Op.grad, vjp, jvp and vmap.

A gradient is a line `g = grad(y, x, seed = d)`. A forward derivative is one of gradients: with
g = grad(y, a, seed = z) for some z of y's shape, s = sum g*t is linear in z, and grad(s, z) is the
derivative of y in the direction t. It reads nothing of z, which so costs nothing. A batch is a
function of the text that is called with an index.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Sequence

from .errors import GradientError, NeoError
from .text import Argument

if TYPE_CHECKING:
    from .op import Axes, Op


class _Writer:
    """A text that grows by lines, with names that it does not have yet."""

    def __init__(self, op: Op) -> None:
        self.lines = op._text.rstrip("\n").split("\n")
        self.names = set(re.findall(r"[A-Za-z_]\w*", op._text)) | set(op.arguments)
        self.fallbacks = dict(op._fallbacks)
        self.reads = op._index_reads

    def fresh(self, name: str) -> str:
        name = re.sub(r"\W", "_", name)
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def add(self, line: str) -> None:
        self.lines.append(line)

    def gradient(self, name: str, of: str, wrt: str, seed: str | None, lenient: bool) -> None:
        """name = grad(of, wrt, seed): zeros like `wrt` where nothing flows; where `wrt` is no
        float, too, if lenient."""
        self.fallbacks[len(self.lines)] = (name, wrt, lenient)
        self.add(f"{name} = grad({of}, {wrt}{f', seed = {seed}' if seed else ''})")

    def done(self, op: Op, arguments: Sequence[Argument], results: Sequence[Argument]) -> Op:
        return type(op)._derived("\n".join(self.lines), arguments, results, op._types,
                                 op._options, op._threads, self.fallbacks, self.reads)


def _chosen(op: Op, argnums: Axes | None) -> list[Argument]:
    """The arguments that argnums means; those that are not static if it is None."""
    if argnums is None:
        return [a for a in op._arguments if not a.static]
    many = [argnums] if isinstance(argnums, (int, str)) else list(argnums)
    return [_argument(op, k) for k in many]


def _argument(op: Op, which: int | str) -> Argument:
    names = op.arguments
    if isinstance(which, str) and which in names:
        which = names.index(which)
    if isinstance(which, str) or not -len(names) <= which < len(names):
        raise GradientError(f"argnums: {which!r} is no argument of {op!r}")
    chosen = op._arguments[which]
    if chosen.static:
        raise GradientError(f"argnums: '{chosen.name}' is static, so it has no gradient")
    return chosen


def _at(rank: int | None) -> str:
    return "" if rank == 0 else "[..]"


def _like(a: Argument, name: str) -> Argument:
    """An argument or result of the same shape under another name."""
    return Argument(name, a.rank, False, name + a.form[len(a.name):])


def grad(op: Op, argnums: Axes) -> Op:
    """See Op.grad."""
    if len(op._results) != 1 or op._results[0].rank not in (0, None):
        raise GradientError(f"grad needs one result that is a scalar, {op!r} has others; "
                            "use vjp, or sum the result")
    w = _Writer(op)
    results = []
    for a in _chosen(op, argnums):
        name = w.fresh(f"grad_{a.name}")
        w.gradient(name, op.results[0], a.name, None, False)
        results.append(_like(a, name))
    return w.done(op, op._arguments, results)


def _sum_of(w: _Writer, name: str, parts: Sequence[str], rank: int | None) -> None:
    """name = the sum of parts, which are tensors of one shape."""
    w.add(f"{name}{_at(rank)} = " + " + ".join(f"{p}{_at(rank)}" for p in parts))


def vjp(op: Op, argnums: Axes | None) -> Op:
    """See Op.vjp."""
    w = _Writer(op)
    seeds = [_like(r, w.fresh(f"d_{r.name}")) for r in op._results]
    results = []
    for a in _chosen(op, argnums):
        name = w.fresh(f"grad_{a.name}")
        parts = [name] if len(seeds) == 1 else [w.fresh(f"{name}_{r.name}") for r in op._results]
        for part, r, seed in zip(parts, op._results, seeds):
            w.gradient(part, r.name, a.name, seed.name, argnums is None)
        if len(parts) > 1:
            _sum_of(w, name, parts, a.rank)
        results.append(_like(a, name))
    return w.done(op, (*op._arguments, *seeds), results)


def jvp(op: Op, argnums: Axes | None) -> Op:
    """See Op.jvp."""
    w = _Writer(op)
    chosen = _chosen(op, argnums)
    tangents = [_like(a, w.fresh(f"t_{a.name}")) for a in chosen]
    results = []
    for r in op._results:
        name, zero = w.fresh(f"t_{r.name}"), w.fresh(f"z_{r.name}")
        w.add(f"{zero}{_at(r.rank)} = 0*{r.name}{_at(r.rank)}")
        parts = [_direction(w, r, zero, a, t, argnums is None) for a, t in zip(chosen, tangents)]
        _sum_of(w, name, parts, r.rank)
        results.append(_like(r, name))
    return w.done(op, (*op._arguments, *tangents), results)


def _direction(w: _Writer, r: Argument, zero: str, a: Argument, t: Argument,
               lenient: bool) -> str:
    """The derivative of result r where argument a moves along t."""
    g, s = w.fresh(f"g_{r.name}_{a.name}"), w.fresh(f"s_{r.name}_{a.name}")
    part = w.fresh(f"t_{r.name}_{a.name}")
    w.gradient(g, r.name, a.name, zero, lenient)
    reducer = "" if a.rank == 0 else "sum[..] "
    w.add(f"{s} = {reducer}{g}{_at(a.rank)}*{t.name}{_at(a.rank)}")
    w.gradient(part, s, zero, None, lenient)
    return part


# ---------------------------------------------------------------- batches

_TOP = re.compile(r"(import|fn|optimizer|vertex|graph)\s+[A-Za-z_]")


def _statements(text: str) -> list[str]:
    """Statements of a text in canonical form: each begins in the first column."""
    made: list[str] = []
    for line in text.split("\n"):
        if line[:1] not in ("", " ", "}", "#") or not made:
            made.append(line)
        else:
            made[-1] += "\n" + line
    return [s for s in made if s.strip()]


def _axes_of(op: Op, in_axes: int | None | Sequence[int | None]) -> list[int | None]:
    arrays = [a for a in op._arguments if not a.static]
    if in_axes is None or isinstance(in_axes, int):
        axes: list[int | None] = [in_axes] * len(arrays)
    else:
        axes = list(in_axes)
    if len(axes) != len(arrays):
        raise NeoError(f"in_axes: {len(axes)} were given, {op!r} has {len(arrays)} arguments")
    if all(axis is None for axis in axes):
        raise NeoError("in_axes: at least one argument has an axis for the batch")
    named = iter(axes)
    return [None if a.static else next(named) for a in op._arguments]


def _place(name: str, rank: int | None, axis: int) -> int:
    """Where the axis is among rank + 1 of them."""
    if rank is None and axis in (0, -1):
        return axis
    if rank is None or not -rank - 1 <= axis <= rank:
        raise NeoError(f"in_axes: {axis} is no axis of '{name}'")
    return axis % (rank + 1)


def _index(name: str, rank: int) -> list[str]:
    return [f"{name}_{d}" for d in range(rank)]


def _moved(w: _Writer, a: Argument, axis: int) -> str:
    """The batched argument with its axis in front."""
    if axis == 0:
        return a.name
    front, batch = w.fresh(f"{a.name}_b"), w.fresh("b")
    if a.rank is None:  # the axis is the last one
        w.add(f"{front}[{batch}, ..] = {a.name}[.., {batch}]")
        return front
    rest = _index(w.fresh(f"{a.name}_i"), a.rank)
    at = rest[:axis] + [batch] + rest[axis:]
    w.add(f"{front}[{', '.join([batch] + rest)}] = {a.name}[{', '.join(at)}]")
    return front


def _parameter(a: Argument, w: _Writer) -> str:
    if a.rank == 0:
        return f"{a.name}_element"
    inside = ".." if a.rank is None else ", ".join(_index(w.fresh(f"{a.name}_n"), a.rank))
    return f"{a.name}[{inside}]"


def _lifted(w: _Writer, r: Argument, call: str, batch: str, axis: int) -> str:
    """The line that calls the function at each index of the batch."""
    if r.rank is None:
        if axis not in (0, -1):
            raise NeoError(f"out_axes: {axis} is no axis of '{r.name}', whose rank is not known")
        at = f"{batch}, .." if axis == 0 else f".., {batch}"
        return f"{r.name}[{at}] = {call}[..]"
    rest = _index(w.fresh(f"{r.name}_i"), r.rank)
    place = _place(r.name, r.rank, axis)
    left = ", ".join(rest[:place] + [batch] + rest[place:])
    return f"{r.name}[{left}] = {call}" + (f"[{', '.join(rest)}]" if rest else "")


def _calls(w: _Writer, op: Op, axes: Sequence[int | None], batch: str) -> str:
    """The arguments of the calls: slices of those that have the batch."""
    made = []
    for a, axis in zip(op._arguments, axes):
        if a.static:
            continue
        if axis is None:
            made.append(a.name)
            continue
        front = _moved(w, a, _place(a.name, a.rank, axis))
        made.append(f"{front}[{batch}]" if a.rank == 0 else f"{front}[{batch}, ..]")
    return ", ".join(made)


def vmap(op: Op, in_axes: int | None | Sequence[int | None], out_axes: int) -> Op:
    """See Op.vmap."""
    from .compiler import format
    axes = _axes_of(op, in_axes)
    text = format(op._text)
    w = _Writer(op)
    w.lines, w.fallbacks = [], {}
    parts = _statements(text)
    body = "\n".join(s for s in parts if not _TOP.match(s))
    w.lines += "\n".join(s for s in parts if _TOP.match(s)).split("\n")
    # An element is no tensor, of which there are gradients, until it has a name.
    named = [f"{a.name} = {a.name}_element" for a in op._arguments if a.rank == 0 and not a.static]
    body = "\n".join(named + [body])
    parameters = ", ".join(_parameter(a, w) for a in op._arguments if not a.static)
    batch = w.fresh("b")
    functions = [w.fresh(f"each_{r.name}") for r in op._results]
    for f, r in zip(functions, op._results):
        w.lines += f"fn {f}({parameters}) -> {r.name} {{\n{body}\n}}".split("\n")
    call = _calls(w, op, axes, batch)
    for f, r in zip(functions, op._results):
        w.add(_lifted(w, r, f"{f}({call})", batch, out_axes))
    _find_fallbacks(w, op)
    w.reads = tuple((index, of, _moved_dimension(op, axes, of, d))
                    for index, of, d in op._index_reads)
    grown = [_grown(a, axis, batch) for a, axis in zip(op._arguments, axes)]
    return w.done(op, grown, [_grown(r, out_axes, batch) for r in op._results])


def _find_fallbacks(w: _Writer, op: Op) -> None:
    """The lines that ask for gradients, which are in the functions now."""
    for name, like, lenient in op._fallbacks.values():
        for k, line in enumerate(w.lines):
            if line.startswith(f"{name} = grad("):
                w.fallbacks[k] = (name, like, lenient)


def _moved_dimension(op: Op, axes: Sequence[int | None], name: str, d: int) -> int:
    """Where dimension d of an argument is once the batch has its axis."""
    k = op.arguments.index(name)
    axis = axes[k]
    if axis is None:
        return d
    place = _place(name, op._arguments[k].rank, axis)
    return d + 1 if 0 <= place <= d else d


def _grown(a: Argument, axis: int | None, batch: str) -> Argument:
    """With the batch's axis."""
    if axis is None:
        return a
    inside = a.form[len(a.name) + 1:-1]
    parts = [p for p in inside.split(", ") if p]
    at = len(parts) + 1 + axis if axis < 0 else axis
    form = f"{a.name}[{', '.join(parts[:at] + [batch] + parts[at:])}]"
    return Argument(a.name, None if a.rank is None else a.rank + 1, a.static, form)
