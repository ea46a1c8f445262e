"""Numbers of Python among the arguments of a traced function: weak, as numpy has them (NEP 50).

Such a number has no type of its own: beside a float64 tensor it is a float64, beside a float32
tensor a float32. Its tensor has a `Weak`, which makes it in any type: an argument is an input of
the text for each type in which it is used, and the value of each call is converted to that. What
is computed of such numbers alone is computed in float64 or int64, as Python does, and is weak
again. A function that knows nothing of them takes them as float32 or int32.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from . import scope
from .broadcast import convert, is_scalar
from .expr import Operator
from .kinds import FLOATS
from .make import lift
from .tensor import Tensor, define, read


class Source:
    """A source of a number: an input for each type in which it is used."""

    may_be_bounded = False

    def __init__(self, place: scope.Place) -> None:
        self.place = place


class Weak:
    """A number of Python's. make(kind) is its tensor in that type.

    kind: the type where nothing else says one; wide: "f64" or "i64". met: in which types it was
    used, and so were the numbers that it is computed of (roots).
    """

    def __init__(self, kind: str, wide: str, make: Callable[[str], Tensor],
                 roots: Sequence["Weak"] = ()) -> None:
        self.kind, self.wide, self.make, self.roots = kind, wide, make, list(roots)
        self.met: Set[str] = set()
        trace = scope.current()
        assert trace is not None
        self.own = Tensor(trace, (), kind, source=Source(trace.place()))
        self.own.alias, self.own.weak = make(kind), self

    @property
    def example(self) -> Any:
        """A number that takes its part where the type of a result is found."""
        return 0.0 if self.wide == "f64" else 0

    def form(self, kind: str = "") -> Tensor:
        """The number in a type; the default type if none is given."""
        self._meet(kind or self.kind)
        return self.make(kind or self.kind)

    def _meet(self, kind: str) -> None:
        self.met.add(kind)
        for root in self.roots:
            root._meet(kind)


def weak_of(value: Any) -> Optional[Weak]:
    """The number of Python's that a tensor holds, which has other types, too; None: no such number."""
    return value.weak if isinstance(value, Tensor) else None


def argument(trace: scope.Trace, kind: str, name: str, source: Any) -> Tensor:
    """A number among the arguments. Its inputs are what `inputs_of` finds."""
    forms: Dict[str, Tensor] = {}

    def make(wanted: str) -> Tensor:
        if wanted == "bool":
            return _nonzero(make("f64" if kind in FLOATS else "i64"))
        if kind in FLOATS and wanted not in FLOATS:
            return _converted(make("f64"), wanted)
        if wanted not in forms:
            made = forms[wanted] = Tensor(trace, (), wanted, source=source, name=name)
            made.block = trace.top
        return forms[wanted]

    weak = Weak(kind, "f64" if kind in FLOATS else "i64", make)
    weak.own.name = name
    weak.own.inputs = forms
    return weak.own


def inputs_of(t: Tensor) -> List[Tensor]:
    """The inputs of a text that an argument is: itself, or one for each type of a number."""
    return [t] if t.weak is None else list(t.inputs.values())


def computed(wide: Tensor, roots: Sequence[Weak]) -> Tensor:
    """The number that was computed of others, in float64 or int64."""
    kind = "f32" if wide.kind == "f64" else "i64"
    return Weak(kind, wide.kind, lambda wanted: _converted(wide, wanted), roots).own


def _converted(t: Tensor, kind: str) -> Tensor:
    return t if t.kind == kind else define((), kind, lambda i: convert(read(t, i), kind))


def _nonzero(t: Tensor) -> Tensor:
    return define((), "bool", lambda i: Operator("!=", [read(t, i), read(lift(0, t.kind), i)],
                                                 "bool"))


def weakly(operation: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The operation, whose result of numbers of Python alone is one."""
    @functools.wraps(operation)
    def call(*args: Any, **named: Any) -> Tensor:
        if named:
            bound = inspect.signature(operation).bind(*args, **named)
            bound.apply_defaults()
            args = bound.args
        weak = [w for w in map(weak_of, args) if w is not None]
        if not weak or not all(weak_of(a) is not None or is_scalar(a) for a in args):
            return operation(*args)
        made = operation(*[w.make(w.wide) if (w := weak_of(a)) else a for a in args])
        return computed(made, weak) if made.kind in ("f64", "i64") else made

    return call


__all__ = ["Weak", "argument", "computed", "inputs_of", "weak_of", "weakly"]
