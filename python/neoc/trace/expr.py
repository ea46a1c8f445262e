"""Expressions of a trace: what the elements of a tensor are.

They are what the language has: literals, reads of tensors at subscripts (poly.Poly), functions and
operators of elements, reducers. An expression does not change after it is made; `substitute` writes
other subscripts for loops, which is how a view of a view becomes one read.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .poly import Atom, Element, Index, Poly, poly

FLOATS = ("f64", "f32", "f16", "bf16")
NARROW = ("f16", "bf16", "i8", "u8")


class Expr:
    """Base of all; dtype is a type of the language."""

    dtype: str = "f32"

    def children(self) -> Sequence["Expr"]:
        return ()

    def polys(self) -> Sequence[Poly]:
        return ()

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> "Expr":
        return self

    def is_literal(self) -> bool:
        """Whether it is made of literals alone, so that its type follows from where it stands."""
        kids = self.children()
        return bool(kids) and all(kid.is_literal() for kid in kids)


class Literal(Expr):
    """A number or a bool."""

    def __init__(self, value: Any, dtype: str) -> None:
        self.value, self.dtype = value, dtype

    def is_literal(self) -> bool:
        return True


class Number(Expr):
    """A size or a subscript as an element: i32(i + 1)."""

    def __init__(self, value: Poly, dtype: str) -> None:
        self.value, self.dtype = value, dtype

    def polys(self) -> Sequence[Poly]:
        return (self.value,)

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        value = self.value.map(change)
        constant = value.constant()
        if constant is not None:
            return Literal(constant, self.dtype)
        return Number(value, self.dtype)


class Condition(Expr):
    """A comparison of subscripts: i < 3."""

    dtype = "bool"

    def __init__(self, sign: str, a: Poly, b: Poly) -> None:
        self.sign, self.a, self.b = sign, a, b

    def polys(self) -> Sequence[Poly]:
        return self.a, self.b

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        return Condition(self.sign, self.a.map(change), self.b.map(change))


class Read(Expr):
    """An element of a tensor; `other` is the value where there is none."""

    def __init__(self, tensor: Any, subscripts: Sequence[Poly], other: Optional[Expr] = None):
        self.tensor, self.subscripts, self.other = tensor, tuple(subscripts), other
        self.dtype = tensor.kind

    def children(self) -> Sequence[Expr]:
        return () if self.other is None else (self.other,)

    def is_literal(self) -> bool:
        return False

    def polys(self) -> Sequence[Poly]:
        return self.subscripts

    def with_subscripts(self, subscripts: Sequence[Poly]) -> "Read":
        return Read(self.tensor, subscripts, self.other)

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        other = None if self.other is None else self.other.substitute(change)
        return Read(self.tensor, [s.map(change) for s in self.subscripts], other)


class Apply(Expr):
    """A function of elements, a conversion (its name is a type), select.

    options: what stands behind the arguments of a function of a module.
    """

    def __init__(self, name: str, arguments: Sequence[Expr], dtype: str,
                 options: str = "") -> None:
        self.name, self.arguments, self.dtype = name, tuple(arguments), dtype
        self.options = options

    def children(self) -> Sequence[Expr]:
        return self.arguments

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        return Apply(self.name, [a.substitute(change) for a in self.arguments], self.dtype,
                     self.options)

    def is_literal(self) -> bool:
        if self.name == "select":  # its type is that of its values
            return all(a.is_literal() for a in self.arguments[1:])
        return self.name not in ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8",
                                 "rand") and super().is_literal()


class Operator(Expr):
    """An operator of the language: + - * / % ^ and or not, comparisons; one operand: - and not."""

    def __init__(self, sign: str, operands: Sequence[Expr], dtype: str) -> None:
        self.sign, self.operands, self.dtype = sign, tuple(operands), dtype

    def children(self) -> Sequence[Expr]:
        return self.operands

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        return Operator(self.sign, [a.substitute(change) for a in self.operands], self.dtype)


class Reduce(Expr):
    """A reducer with its loops. `upper` gives a loop another end than its extent: k < i + 1."""

    def __init__(self, name: str, indices: Sequence[Index], body: Expr, dtype: str,
                 where: Optional[Expr] = None, upper: Optional[Dict[Index, Poly]] = None) -> None:
        self.name, self.indices, self.body, self.dtype = name, tuple(indices), body, dtype
        self.where, self.upper = where, upper or {}

    def children(self) -> Sequence[Expr]:
        return (self.body,) if self.where is None else (self.body, self.where)

    def polys(self) -> Sequence[Poly]:
        return tuple(self.upper.values())

    def is_literal(self) -> bool:
        return False

    def substitute(self, change: Callable[[Atom], Optional[Poly]]) -> Expr:
        fresh = {i: Index(i.extent.map(change), i.hint) for i in self.indices}

        def both(atom: Atom) -> Optional[Poly]:
            return poly(fresh[atom]) if isinstance(atom, Index) and atom in fresh else change(
                atom)

        upper = {fresh[i]: p.map(both) for i, p in self.upper.items()}
        where = None if self.where is None else self.where.substitute(both)
        return Reduce(self.name, list(fresh.values()), self.body.substitute(both), self.dtype,
                      where, upper)


def replaced(body: Expr, indices: Sequence[Index], subscripts: Sequence[Poly]) -> Expr:
    """The body of a definition at these subscripts."""
    table: Dict[Atom, Poly] = dict(zip(indices, subscripts))
    return body.substitute(table.get)


def walk(expr: Expr) -> Iterator[Expr]:
    """All expressions in it, and those in its subscripts."""
    stack: List[Expr] = [expr]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(top.children()))
        for p in top.polys():
            stack.extend(a.read for a in p.atoms() if isinstance(a, Element))


def reads(expr: Expr) -> Iterator[Read]:
    """All reads in it."""
    return (e for e in walk(expr) if isinstance(e, Read))


def weight(expr: Expr) -> int:
    """How many operations, reads and literals there are in it."""
    return sum(1 for _ in walk(expr))


Key = Tuple[Any, ...]
