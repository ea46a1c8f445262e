"""Gradients, derivatives and batches of operators, as text: Op.grad, vjp, jvp and vmap.

A gradient is a line `g = grad(y, x, seed = d)`. A forward derivative is one of gradients: with
g = grad(y, a, seed = z) for some z of y's shape, s = sum g*t is linear in z, and grad(s, z) is the
derivative of y in the direction t. It reads nothing of z, which so costs nothing. A batch is a
function of the text that is called with an index.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Iterable, Mapping, Sequence

from . import checks
from .errors import ArgumentError, GradientError
from .text import AMBIGUOUS, Argument, functions_of, inner_of, renamed

if TYPE_CHECKING:
    from .op import Axes, Op


class _Writer:
    """A text that grows by lines, with names that it does not have yet.

    Lines that are added subscript and call, where a scalar of the name `mean`, or a tensor `grad`
    would not be what is meant: these have other names in the text, and arguments and results know
    them (text.inner_of)."""

    def __init__(self, op: Op) -> None:
        self.names = set(re.findall(r"[A-Za-z_]\w*", op._text)) | set(op.arguments)
        self.names |= {e for a in op._arguments for e in a.extents} | AMBIGUOUS
        others = {name: self.fresh(name) for name in sorted(_ambiguous(op))}
        self.text = renamed(op._text, others).rstrip("\n") if others else op._text.rstrip("\n")
        self.lines = self.text.split("\n")
        self.arguments, self.results = ([_renamed(a, others) for a in tensors]
                                        for tensors in (op._arguments, op._results))
        self.fallbacks = {k: (others.get(name, name), others.get(like, like), lenient)
                          for k, (name, like, lenient) in op._fallbacks.items()}
        self.reads = [(others.get(index, index), others.get(of, of), d)
                      for index, of, d in op._index_reads]

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

    def find_fallbacks(self) -> None:
        """Finds the lines that ask for gradients where lines have moved."""
        asked, self.fallbacks = self.fallbacks.values(), {}
        for name, like, lenient in asked:
            for k, line in enumerate(self.lines):
                if line.lstrip().startswith(f"{name} = grad("):
                    self.fallbacks[k] = (name, like, lenient)

    def done(self, op: Op, arguments: Sequence[Argument], results: Sequence[Argument]) -> Op:
        made = type(op)._derived("\n".join(self.lines), arguments, results, op._types,
                                 op._options, op._threads, self.fallbacks, self.reads)
        made._written = op._written
        return made


def _ambiguous(op: Op) -> set[str]:
    """Names of tensors of the text that are names of reducers and functions, too."""
    found = {inner_of(a) for a in (*op._arguments, *op._results)} | functions_of(op._text)
    found &= AMBIGUOUS
    left = r"(?:^|[;{}])[ \t]*(?:\w+[ \t]*,[ \t]*)*%s[ \t]*(?:[,:\[][^\n=]*)?=(?!=)"
    return found | {name for name in AMBIGUOUS - found
                    if name in op._text and re.search(left % name, op._text, re.MULTILINE)}


def _renamed(a: Argument, others: Mapping[str, str]) -> Argument:
    name = inner_of(a)
    return a._replace(inner=others[name]) if name in others else a


_ARGNUMS = "a number or name of an argument, or a sequence of these"


def _chosen(w: _Writer, op: Op, where: str, argnums: Axes | None) -> list[Argument]:
    """The arguments that argnums means; those that are not static if it is None."""
    if argnums is None:
        return [a for a in w.arguments if not a.static]
    where = f"{op.__name__}.{where}(): argnums"
    if isinstance(argnums, (bytes, dict)):
        raise checks.wrong_type(where, _ARGNUMS, argnums)
    many = list(argnums) if isinstance(argnums, Iterable) and not isinstance(argnums, str) \
        else [argnums]
    chosen = [w.arguments[_argument(op, where, k)] for k in many]
    if not chosen:
        raise checks.wrong_value(where, "at least one argument", argnums)
    return chosen


def _argument(op: Op, where: str, which: int | str) -> int:
    names = op.arguments
    if isinstance(which, str) and which in names:
        which = names.index(which)
    if isinstance(which, bool) or not (isinstance(which, str) or hasattr(which, "__index__")):
        raise checks.wrong_type(where, _ARGNUMS, which)
    if isinstance(which, str) or not -len(names) <= which < len(names):
        raise GradientError(f"{where}: {which!r} is no argument of {op!r}")
    place = operator.index(which)
    if op._arguments[place].static:
        raise GradientError(f"{where}: '{names[place]}' is static, so it has no gradient")
    return place


def _at(rank: int | None) -> str:
    return "" if rank == 0 else "[..]"


def _like(a: Argument, name: str) -> Argument:
    """An argument or result of the same shape under another name."""
    return Argument(name, a.rank, False, name + a.form[len(a.name):])


def grad(op: Op, argnums: Axes) -> Op:
    """See Op.grad."""
    w = _Writer(op)
    chosen = _chosen(w, op, "grad", argnums)
    if len(op._results) != 1 or op._results[0].rank not in (0, None):
        raise GradientError(f"grad needs one result that is a scalar, {op!r} has others; "
                            "use vjp, or sum the result")
    results = []
    for a in chosen:
        name = w.fresh(f"grad_{a.name}")
        w.gradient(name, inner_of(w.results[0]), inner_of(a), None, False)
        results.append(_like(a, name))
    return w.done(op, w.arguments, results)


def _sum_of(w: _Writer, name: str, parts: Sequence[str], rank: int | None) -> None:
    """name = the sum of parts, which are tensors of one shape."""
    w.add(f"{name}{_at(rank)} = " + " + ".join(f"{p}{_at(rank)}" for p in parts))


def _inner(w: _Writer, x: str, y: str, rank: int | None) -> str:
    """The name of the sum of the products of two tensors' elements."""
    name = w.fresh(f"s_{x}")
    w.add(f"{name} = {'' if rank == 0 else 'sum[..] '}{x}{_at(rank)}*{y}{_at(rank)}")
    return name


def _joined(w: _Writer, results: Sequence[Argument], seeds: Sequence[str]) -> str:
    """The sum of the products of float results with their seeds, a scalar: its gradient is that of
    all results at once. Conversions, as results may have different types."""
    parts = [_inner(w, inner_of(r), d, r.rank) for r, d in zip(results, seeds)]
    name = w.fresh("joined")
    w.add(f"{name} = " + " + ".join(f"f64({p})" for p in parts))
    return name


def vjp(op: Op, argnums: Axes | None, floats: bool = False) -> Op:
    """See Op.vjp. floats: whether all results are known to be floats; then there is one gradient
    for each argument instead of one for each pair."""
    w = _Writer(op)
    seeds = [_like(r, w.fresh(f"d_{r.name}")) for r in w.results]
    pairs = [(inner_of(r), d.name) for r, d in zip(w.results, seeds)]
    if floats and len(pairs) > 1:
        pairs = [(_joined(w, w.results, [d.name for d in seeds]), "")]
    results = []
    for a in _chosen(w, op, "vjp", argnums):
        name = w.fresh(f"grad_{a.name}")
        parts = [name] if len(pairs) == 1 else [w.fresh(f"{name}_{r.name}") for r in op._results]
        for part, (of, seed) in zip(parts, pairs):
            w.gradient(part, of, inner_of(a), seed, argnums is None)
        if len(parts) > 1:
            _sum_of(w, name, parts, a.rank)
        results.append(_like(a, name))
    return w.done(op, (*w.arguments, *seeds), results)


def jvp(op: Op, argnums: Axes | None, floats: bool = False) -> Op:
    """See Op.jvp; floats: as of vjp."""
    w = _Writer(op)
    chosen = _chosen(w, op, "jvp", argnums)
    tangents = [_like(a, w.fresh(f"t_{a.name}")) for a in chosen]
    zeros = [w.fresh(f"z_{r.name}") for r in w.results]
    for r, zero in zip(w.results, zeros):
        w.add(f"{zero}{_at(r.rank)} = stop(0*{inner_of(r)}{_at(r.rank)})")
    if floats and len(zeros) > 1:
        along = _along(w, _joined(w, w.results, zeros), "", chosen, tangents, argnums is None)
        sums = [along]*len(zeros)
    else:
        sums = [_along(w, inner_of(r), zero, chosen, tangents, argnums is None)
                for r, zero in zip(w.results, zeros)]
    results = []
    for r, zero, along in zip(w.results, zeros, sums):
        name = w.fresh(f"t_{r.name}")
        w.gradient(name, along, zero, None, argnums is None)
        results.append(_like(r, name))
    return w.done(op, (*w.arguments, *tangents), results)


def _along(w: _Writer, of: str, seed: str, chosen: Sequence[Argument],
           tangents: Sequence[Argument], lenient: bool) -> str:
    """How much `of`, times its seed, grows where the arguments move along their tangents."""
    parts = []
    for a, t in zip(chosen, tangents):
        g = w.fresh(f"g_{of}_{a.name}")
        w.gradient(g, of, inner_of(a), seed, lenient)
        parts.append(_inner(w, g, t.name, a.rank))
    name = w.fresh(f"along_{of}")
    w.add(f"{name} = " + (" + ".join(f"f64({p})" for p in parts) if len(parts) > 1 else parts[0]))
    return name


# ---------------------------------------------------------------- batches

_TOP = re.compile(r"(import|dim|fn|optimizer|vertex|graph)\s+[A-Za-z_]")


def _statements(text: str) -> list[str]:
    """Statements of a text in canonical form: each begins in the first column."""
    made: list[str] = []
    for line in text.split("\n"):
        if line[:1] not in ("", " ", "}", "#") or not made:
            made.append(line)
        else:
            made[-1] += "\n" + line
    return [s for s in made if s.strip()]


_IN_AXES = "a number or None, or a sequence of these, one for each argument"


def _axes_of(op: Op, in_axes: int | None | Sequence[int | None]) -> list[int | None]:
    arrays = [a for a in op._arguments if not a.static]
    where = f"{op.__name__}.vmap(): in_axes"
    if isinstance(in_axes, (str, bytes, dict)):
        raise checks.wrong_type(where, _IN_AXES, in_axes)
    axes = list(in_axes) if isinstance(in_axes, Iterable) else [in_axes] * len(arrays)
    for axis in axes:
        if axis is not None and (isinstance(axis, bool) or not hasattr(axis, "__index__")):
            raise checks.wrong_type(where, _IN_AXES, in_axes)
    if len(axes) != len(arrays):
        raise ArgumentError(f"{where}: {len(axes)} were given, {op!r} has {len(arrays)} arguments")
    if all(axis is None for axis in axes):
        raise ArgumentError(f"{where}: at least one argument has an axis for the batch")
    named = iter(axes)
    return [None if a.static else next(named) for a in op._arguments]


def _out_axis(op: Op, axis: int) -> int:
    """out_axes, which is one number for all results."""
    where = f"{op.__name__}.vmap(): out_axes"
    if isinstance(axis, bool) or not hasattr(type(axis), "__index__"):
        raise checks.wrong_type(where, "a number, the same for all results", axis)
    for r in op._results:
        _place(where, r.name, r.rank, axis)
    return axis


def _place(where: str, name: str, rank: int | None, axis: int) -> int:
    """The position of the axis among rank + 1 of them; unchanged if the rank is not known."""
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ArgumentError(f"{where}: {axis} is no axis of '{name}' with the batch: expected "
                            f"{-rank - 1} to {rank}")
    return axis if rank is None else axis % (rank + 1)


def _index(w: _Writer, name: str, rank: int) -> list[str]:
    return [w.fresh(f"{name}_{d}") for d in range(rank)]


def _around(w: _Writer, name: str, rank: int | None, axis: int) -> tuple[list[str], list[str]]:
    """The other subscripts of a tensor, those before the axis and those behind it."""
    if rank is not None:
        rest = _index(w, f"{name}_i", rank)
        return rest[:axis], rest[axis:]
    if axis >= 0:
        return _index(w, f"{name}_i", axis), [".."]
    return [".."], _index(w, f"{name}_i", -axis - 1)


def _moved(w: _Writer, a: Argument, axis: int) -> str:
    """The batched argument with its axis in front."""
    name = inner_of(a)
    if axis == 0:
        return name
    front, batch = w.fresh(f"{a.name}_b"), w.fresh("b")
    before, behind = _around(w, a.name, a.rank, axis)
    w.add(f"{front}[{', '.join([batch] + before + behind)}] = "
          f"{name}[{', '.join(before + [batch] + behind)}]")
    return front


def _parameter(w: _Writer, a: Argument) -> tuple[str, str]:
    """A parameter, and the line that names an element: that is no tensor, of which there are
    gradients, until it has a name."""
    if a.rank == 0:
        element = w.fresh(f"{a.name}_element")
        return element, f"{inner_of(a)} = {element}\n"
    inside = ".." if a.rank is None else ", ".join(_index(w, f"{a.name}_n", a.rank))
    return f"{inner_of(a)}[{inside}]", ""


def _lifted(w: _Writer, r: Argument, call: str, batch: str, axis: int) -> list[str]:
    """The lines that call the function at each index of the batch. A rank that is not known is
    that of the call's result, which decides what `..` is where that comes last."""
    place = _place("vmap(): out_axes", r.name, r.rank, axis)
    before, behind = _around(w, r.name, r.rank, place)
    name, left = inner_of(r), ", ".join(before + [batch] + behind)
    if r.rank is not None:
        rest = before + behind
        return [f"{name}[{left}] = {call}" + (f"[{', '.join(rest)}]" if rest else "")]
    if place == 0:
        return [f"{name}[{left}] = {call}[..]"]
    front = w.fresh(f"{r.name}_b")
    return [f"{front}[{batch}, ..] = {call}[..]",
            f"{name}[{left}] = {front}[{', '.join([batch] + before + behind)}]"]


def _calls(w: _Writer, op: Op, axes: Sequence[int | None], batch: str) -> str:
    """The arguments of the calls: slices of those that have the batch."""
    made = []
    for a, axis in zip(w.arguments, axes):
        if a.static:
            continue
        if axis is None:
            made.append(inner_of(a))
            continue
        front = _moved(w, a, _place(f"{op.__name__}.vmap(): in_axes", a.name, a.rank, axis))
        made.append(f"{front}[{batch}]" if a.rank == 0 else f"{front}[{batch}, ..]")
    return ", ".join(made)


def vmap(op: Op, in_axes: int | None | Sequence[int | None], out_axes: int) -> Op:
    """See Op.vmap."""
    from .compiler import format
    axes, out_axes = _axes_of(op, in_axes), _out_axis(op, out_axes)
    w = _Writer(op)
    parts = _statements(format(w.text))
    w.lines = "\n".join(s for s in parts if _TOP.match(s)).split("\n")
    parameters = [_parameter(w, a) for a in w.arguments if not a.static]
    body = "".join(named for _, named in parameters) + "\n".join(
        s for s in parts if not _TOP.match(s))
    batch = w.fresh("b")
    functions = [w.fresh(f"each_{r.name}") for r in w.results]
    for f, r in zip(functions, w.results):
        head = f"fn {f}({', '.join(p for p, _ in parameters)}) -> {inner_of(r)} {{"
        w.lines += f"{head}\n{body}\n}}".split("\n")
    call = _calls(w, op, axes, batch)
    for f, r in zip(functions, w.results):
        for line in _lifted(w, r, f"{f}({call})", batch, out_axes):
            w.add(line)
    w.find_fallbacks()
    w.reads = [(index, of, _moved_dimension(w, axes, of, d)) for index, of, d in w.reads]
    grown = [_grown(a, axis, batch) for a, axis in zip(w.arguments, axes)]
    return w.done(op, grown, [_grown(r, out_axes, batch) for r in w.results])


def _moved_dimension(w: _Writer, axes: Sequence[int | None], name: str, d: int) -> int:
    """The position of an argument's dimension d after the batch axis was inserted."""
    k = [inner_of(a) for a in w.arguments].index(name)
    axis = axes[k]
    if axis is None:
        return d
    place = _place("vmap(): in_axes", name, w.arguments[k].rank, axis)
    return d + 1 if 0 <= place <= d else d


def _grown(a: Argument, axis: int | None, batch: str) -> Argument:
    """With the batch's axis."""
    if axis is None:
        return a
    inside = a.form[len(a.name) + 1:-1]
    parts = [p for p in inside.split(", ") if p]
    at = len(parts) + 1 + axis if axis < 0 else axis
    form = f"{a.name}[{', '.join(parts[:at] + [batch] + parts[at:])}]"
    extents = (*a.extents[:at], "", *a.extents[at:]) if a.extents else ()
    return a._replace(rank=None if a.rank is None else a.rank + 1, form=form, extents=extents)
