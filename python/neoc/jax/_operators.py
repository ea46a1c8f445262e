"""Operators as parameters of primitives: what jax compares and hashes, and how their derivatives
and batches are made.

    Operator     a neoc.Op and the values of its static arguments
    Linear       derivatives of an operator in directions, in a batch or not: linear in these

Both are equal where their texts are. `Operator.spec` is the operator as JSON, which is an attribute
of compiled programs. The shapes of results of what is derived follow from those of what it is
derived from, so that only the operator that a user wrote is compiled to learn them.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, Callable, Sequence, Tuple

from .. import _core, arrays
from ..op import Op
from ..text import Argument, inner_of
from ._model_text import ModelOp, class_of_lists

Part = Tuple[str, str, Tuple[Any, ...]]  # ("array", "f32", (3, 4))
Parts = Tuple[Part, ...]
Type = Tuple[str, Tuple[Any, ...]]  # of a result: "f32", (3, 4)
Axes = Tuple["int | None", ...]
Results = Callable[["Operator", Parts], Tuple[Type, ...]]
Infer = Callable[[Parts, Results], Tuple[Type, ...]]


class Operator:
    """An operator: hashable, independent of the process.

    ``infer``: the types and shapes of its results by those of the operator that it is derived
    from, which the function that it is given tells; None: it is compiled for them.
    """

    def __init__(self, op: Op, statics: dict[str, Any],
                 infer: Infer | None = None) -> None:
        self.op = op
        self.statics = statics
        self.arguments = tuple(a for a in op._arguments if not a.static)
        self.spec = _spec_of(op, statics)
        self.hash = hashlib.sha256(self.spec.encode()).hexdigest()[:32]
        self.infer = infer
        self._number = int(self.hash[:15], 16)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Operator) and self.hash == other.hash)

    def __hash__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return self.op.signature

    @staticmethod
    def of_spec(spec: str) -> Operator:
        """The operator that has this spec."""
        d = json.loads(spec)
        kind = class_of_lists(*d["model"]) if "model" in d else Op
        op = kind._derived(d["text"], [_argument(a) for a in d["arguments"]],
                         [_argument(r) for r in d["results"]], d["types"], tuple(d["options"]),
                         d["threads"], {int(k): tuple(v) for k, v in d["fallbacks"].items()},
                           [tuple(r) for r in d["reads"]])
        return Operator(op, d["statics"])

    # ---- compiling

    def key(self, parts: Parts) -> Any:
        """The key of the neoc.Op, which also has the values of static arguments."""
        given = iter(parts)
        return tuple(("static", self.statics[a.name]) if a.static else next(given)
                     for a in self.op._arguments)

    def compiled(self, parts: Parts) -> tuple[_core.Program, tuple[int, ...]]:
        """The program for these types and shapes, and which of the arguments it takes."""
        program, inputs = self.op._specialize(self.key(parts))
        places = [k for k, a in enumerate(self.op._arguments) if not a.static]
        return program, tuple(places.index(k) for k in inputs)

    def results(self, parts: Parts) -> Tuple[Type, ...]:
        """Types and shapes of the results. Raises what is wrong with the text for these parts."""
        if self.infer is not None:
            return self.infer(parts, Operator.results)
        return _results(self, parts)

    # ---- what is derived

    def only(self, results: Tuple[int, ...]) -> Operator:
        """With some of its results."""
        return self if len(results) == len(self.op._results) else _only(self, results)

    def jvp(self, wrt: Tuple[int, ...]) -> Operator:
        """The operator of arguments and tangents of some of them that gives tangents."""
        return _jvp(self, wrt)

    def vjp(self, wrt: Tuple[int, ...]) -> Operator:
        """The operator of arguments and cotangents of the results that gives gradients."""
        return _vjp(self, wrt)

    def vmap(self, axes: Axes) -> Operator:
        """The operator on batches, which lie along these axes; in front, in the results."""
        return _vmap(self, axes)

    @property
    def takes_batches(self) -> bool:
        """Whether `vmap` can write its text: that of a model declares what it reads."""
        return not isinstance(self.op, ModelOp)

    def ranked(self, ranks: Tuple[int, ...], results: Tuple[int, ...]) -> Operator:
        """The operator for these ranks of arguments and results, if the text takes any rank: then a batch has
        a place among the axes."""
        known = all(a.rank is not None for a in (*self.arguments, *self.op._results))
        return self if known else _ranked(self, ranks, results)

    def narrow(self, words: Tuple[str, ...]) -> Operator:
        """With results of these types, to which they are converted."""
        return _narrow(self, words)


def _argument(row: Sequence[Any]) -> Argument:
    """An argument as a spec has it; specs of before have no extents."""
    name, rank, static, form, *more = row
    return Argument(name, rank, static, form, tuple(*more[:1]), *more[1:])


def _spec_of(op: Op, statics: dict[str, Any]) -> str:
    fallbacks = {str(k): list(v) for k, v in sorted(op._fallbacks.items())}
    more = {"model": list(op.info)} if isinstance(op, ModelOp) else {}
    return json.dumps({**more, "text": op._text, "arguments": [list(a) for a in op._arguments],
                       "results": [list(r) for r in op._results], "types": op._types,
                       "options": list(op._options), "threads": op._threads,
                       "fallbacks": fallbacks, "statics": statics,
                       "reads": list(op._index_reads)},
                      sort_keys=True, separators=(",", ":"))


def _like(op: Op, arguments: Sequence[Argument], results: Sequence[Argument]) -> Op:
    """The same text with other arguments and results."""
    return type(op)._derived(op._text, arguments, results, op._types, op._options, op._threads,
                             op._fallbacks, op._index_reads)


@lru_cache(maxsize=4096)
def _results(f: Operator, parts: Parts) -> Tuple[Type, ...]:
    program, _ = f.compiled(parts)
    tensors = program.tensors
    return tuple((tensors[t][3], tensors[t][6]) for t in program.entries[0][3])


@lru_cache(maxsize=4096)
def _only(f: Operator, results: Tuple[int, ...]) -> Operator:
    op = _like(f.op, f.op._arguments, [f.op._results[k] for k in results])
    return Operator(op, f.statics, lambda parts, of: _picked(of(f, parts), results))


def _picked(of: Sequence[Any], which: Sequence[int]) -> Tuple[Any, ...]:
    return tuple(of[k] for k in which)


def _names(f: Operator, which: Sequence[int]) -> list[str]:
    return [f.arguments[k].name for k in which]


@lru_cache(maxsize=4096)
def _jvp(f: Operator, wrt: Tuple[int, ...]) -> Operator:
    n = len(f.arguments)
    return Operator(f.op.jvp(_names(f, wrt)), f.statics, lambda parts, of: of(f, parts[:n]))


@lru_cache(maxsize=4096)
def _vjp(f: Operator, wrt: Tuple[int, ...]) -> Operator:
    def infer(parts: Parts, of: Results) -> Tuple[Type, ...]:
        return tuple((parts[k][1], parts[k][2]) for k in wrt)
    return Operator(f.op.vjp(_names(f, wrt)), f.statics, infer)


@lru_cache(maxsize=4096)
def _vmap(f: Operator, axes: Axes) -> Operator:
    def infer(parts: Parts, of: Results) -> Tuple[Type, ...]:
        count = next(p[2][axis] for p, axis in zip(parts, axes) if axis is not None)
        each = tuple(_without(p, axis) for p, axis in zip(parts, axes))
        return tuple((word, (count, *shape)) for word, shape in of(f, each))
    return Operator(f.op.vmap(axes), f.statics, infer)


def _without(part: Part, axis: int | None) -> Part:
    if axis is None:
        return part
    kind, word, shape = part
    axis %= len(shape)
    return kind, word, shape[:axis] + shape[axis + 1:]


@lru_cache(maxsize=4096)
def _ranked(f: Operator, ranks: Tuple[int, ...], results: Tuple[int, ...]) -> Operator:
    given = iter(ranks)
    arguments = [a if a.static else _of_rank(a, next(given)) for a in f.op._arguments]
    op = _like(f.op, arguments, list(map(_of_rank, f.op._results, results)))
    return Operator(op, f.statics, lambda parts, of: of(f, parts))


def _of_rank(a: Argument, rank: int) -> Argument:
    form = f"{a.name}[{', '.join('_'*rank)}]" if rank else a.name
    return a if a.rank is not None else a._replace(rank=rank, form=form)


@lru_cache(maxsize=4096)
def _narrow(f: Operator, words: Tuple[str, ...]) -> Operator:
    from ..derive import _Writer, _at
    w = _Writer(f.op)
    results = []
    for r, word in zip(w.results, words):
        made = Argument(w.fresh(f"{r.name}_{word}"), r.rank)
        w.add(f"{made.name}{_at(r.rank)} = {word}({inner_of(r)}{_at(r.rank)})")
        results.append(made)
    return Operator(w.done(f.op, w.arguments, results), f.statics, lambda parts, of: tuple(
        (word, shape) for word, (_, shape) in zip(words, of(f, parts))))


class Linear:
    """Tangents of results of an operator, given those of some arguments: linear in these.

    f: the operator; all its results are floats.
    wrt: the arguments that have tangents.
    batches: for each vmap, from the inside out, the axes of f's arguments and whether a tangent has
        an axis, in front.
    """

    def __init__(self, f: Operator, wrt: Tuple[int, ...],
                 batches: Tuple[Tuple[Axes, Tuple[bool, ...]], ...] = ()) -> None:
        self.f = f
        self.wrt = wrt
        self.batches = batches
        self._key = (f, wrt, batches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"{self.f} wrt {', '.join(_names(self.f, self.wrt))}"

    @property
    def count(self) -> int:
        """How many arguments of the operator come before the tangents."""
        return len(self.f.arguments)

    def forward(self) -> Operator:
        """The operator of arguments and tangents that gives the tangents of the results."""
        made = self.f.jvp(self.wrt)
        for axes, tangents in self.batches:
            made = made.vmap(axes + tuple(0 if t else None for t in tangents))
        return made

    def backward(self, wrt: Tuple[int, ...], results: Tuple[int, ...]) -> Operator:
        """The operator of arguments and cotangents of some results that gives cotangents for the
        arguments `wrt`, each with all batches in front."""
        made = self.f.only(results).vjp(wrt)
        for axes, _ in self.batches:
            made = made.vmap(axes + (0,)*len(results))
        return made

    def sums(self, place: int) -> Tuple[int, ...]:
        """Axes of a result of `backward` over which it is summed: the tangent at this place of
        `wrt` is the same in all of these batches."""
        n = len(self.batches)
        return tuple(n - 1 - level for level, (_, tangents) in enumerate(self.batches)
                     if not tangents[place])

    def of(self, places: Tuple[int, ...]) -> Linear:
        """Only some of the tangents, by their places in `wrt`."""
        if len(places) == len(self.wrt):
            return self
        batches = tuple((axes, _picked(t, places)) for axes, t in self.batches)
        return Linear(self.f, _picked(self.wrt, places), batches)

    def vmap(self, axes: Axes, tangents: Tuple[bool, ...]) -> Linear:
        """In one more batch."""
        return Linear(self.f, self.wrt, self.batches + ((axes, tangents),))


def parts_of(avals: Sequence[Any]) -> Parts:
    """Types and shapes of arrays, or of abstract values."""
    return tuple(("array", arrays.word_of(f"argument {k}", a.dtype), tuple(a.shape))
                 for k, a in enumerate(avals))
