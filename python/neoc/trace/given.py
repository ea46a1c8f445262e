"""The arguments of one call of a traced function: leaves, and what else is a part of the key."""
from __future__ import annotations

import copy
import dataclasses
import inspect
from collections import OrderedDict
from typing import Any, Dict, Hashable, List, Sequence, Tuple

import numpy as np

from ..errors import ArgumentError
from . import tree
from .kinds import kind_of
from .tensor import Tensor


class Given:
    """The arguments of one call: leaves, and what else tells the trace."""

    def __init__(self, function: Any, bound: inspect.BoundArguments) -> None:
        self.static: Dict[str, Any] = {}
        self.paths: List[str] = []
        dynamic: Dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if name in function.static:
                self.static[name] = value
            else:
                dynamic[name] = value
        self.bound, self.function = bound, function
        self.arguments = tuple(dynamic)
        flat, self.structure = tree.flatten(tuple(dynamic.values()))
        self.leaves: List[Any] = [_array(v, self, k) for k, v in enumerate(flat)]
        self.weak = tuple(type(v) in (int, float) for v in self.leaves)
        self.shapes = [() if w else tuple(int(n) for n in v.shape)
                       for v, w in zip(self.leaves, self.weak)]
        self.kinds = [_kind_of_number(v) if w else kind_of(v.dtype)
                      for v, w in zip(self.leaves, self.weak)]

    def without_values(self) -> "Given":
        """The same without arrays, for another trace."""
        made = copy.copy(self)
        made.leaves = []
        made.bound = inspect.BoundArguments(self.bound.signature, OrderedDict())
        return made

    def statics(self) -> Tuple[Any, ...]:
        """Static arguments as a key."""
        items = tuple(sorted(self.static.items()))
        try:
            hash(items)
        except TypeError:
            raise TypeError(f"static arguments are part of a key, so they can be hashed: {items}"
                            ) from None
        return items

    def key(self) -> Hashable:
        """The key of a program."""
        return (self.arguments, self.structure, tuple(self.shapes), tuple(self.kinds), self.weak,
                self.statics())

    def group(self) -> Hashable:
        """The same without sizes."""
        return (self.arguments, self.structure, tuple(map(len, self.shapes)), tuple(self.kinds),
                self.weak, self.statics())

    def names(self) -> List[str]:
        """Names for the leaves: those of the arguments, and of what leads to a leaf in them."""
        paths = [(self.arguments[p[0]], *p[1:]) for p in tree.paths(self.structure)]
        shorter = ["_".join(map(str, p[1:])) for p in paths]
        result = []
        for path, short in zip(paths, shorter):
            alone = short.isidentifier() and shorter.count(short) == 1
            result.append(short if alone else "_".join(map(str, path)))
        return result

    def call(self, tensors: List[Tensor]) -> Any:
        """The Python function of these tensors in place of the leaves."""
        arguments = dict(zip(self.arguments, tree.unflatten(self.structure, tensors)))
        self.bound.arguments.update({**arguments, **self.static})
        return self.function.f(*self.bound.args, **self.bound.kwargs)


def _kind_of_number(value: Any) -> str:
    """The type of a number of Python's where nothing else says one."""
    return "f32" if type(value) is float else "i32" if -2**31 <= value < 2**31 else "i64"


def _array(value: Any, given: Given, number: int) -> Any:
    """A leaf as what has a shape and a dtype, or as a number of Python's that is weak."""
    if isinstance(value, Tensor):
        return value.numpy()
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return value
    if isinstance(value, bool):
        return np.asarray(value)
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    name = given.arguments[tree.paths(given.structure)[number][0]]
    raise TypeError(f"argument '{name}' of {given.function._called()} has a {type(value).__name__} "
                    f"in it, which is no array and no number: {value!r:.60}. What is no tensor is "
                    f"named in static_argnames, and is then a part of the key")


class Standing:
    """A stand-in for an array of this shape and type in f.text."""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), dtype


class _Shape:
    """A tuple of extents, which is no tree."""

    def __init__(self, extents: Sequence[int]) -> None:
        self.extents = tuple(extents)


def shapes_apart(value: Any) -> Any:
    if isinstance(value, tuple) and all(type(v) is int for v in value):
        return _Shape(value)
    if type(value) is dict:
        return {k: shapes_apart(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(shapes_apart(v) for v in value)
    if isinstance(value, tuple):
        return type(value)(*[shapes_apart(v) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: shapes_apart(getattr(value, f.name))
                                             for f in dataclasses.fields(value)})
    return value


def standing(value: Any) -> Any:
    if isinstance(value, _Shape):
        if any(not 0 <= n < 1 << 48 for n in value.extents):
            raise ArgumentError(f"a shape has extents of 0 or more, given {value.extents}")
        return Standing(value.extents, "f32")
    if isinstance(value, str):
        kind, bracket, rest = value.partition("[")
        if not bracket and value:
            return Standing((), kind)
        found = [n.strip() for n in rest.rstrip("]").split(",") if n.strip()]
        if not all(n.isdecimal() for n in found):
            raise ArgumentError(f"'{value}' is no type; write one as \"f32[3, 4]\"")
        return Standing([int(n) for n in found], kind.strip() or "f32")
    return value
