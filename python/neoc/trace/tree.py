"""Trees of values: arguments and results of traced functions.

A tree is a value, or a dict, list, tuple, namedtuple or dataclass of trees; None is a tree without
values. `flatten` gives the values in a fixed order (dicts by key) and a structure that can be
compared and hashed; `unflatten` puts values into it.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Hashable, List, Sequence, Tuple, Type

from .. import checks
from ..errors import ArgumentError

Structure = Tuple[Any, ...]
LEAF: Structure = ("leaf",)
NOTHING: Structure = ("none",)
_WORDS = ("leaf", "none", "dict", "list", "tuple", "named", "own", "data")

_registered: Dict[Type[Any], Tuple[Callable[[Any], Tuple[Sequence[Any], Hashable]],
                                   Callable[[Hashable, Sequence[Any]], Any]]] = {}


def register(kind: Type[Any], flatten_one: Callable[[Any], Tuple[Sequence[Any], Hashable]],
             unflatten_one: Callable[[Hashable, Sequence[Any]], Any]) -> None:
    """Make a class of yours a tree.

    flatten_one(value) gives the trees in it and what else tells the value, which can be hashed;
    unflatten_one(that, trees) makes the value again. Where that is a tuple of strings, one for
    each tree, these are their names in texts and messages.
    """
    if not isinstance(kind, type):
        raise checks.wrong_type("tree.register(): kind", "a class", kind)
    checks.function("tree.register(): flatten_one", flatten_one)
    checks.function("tree.register(): unflatten_one", unflatten_one)
    _registered[kind] = flatten_one, unflatten_one


def flatten(tree: Any) -> Tuple[List[Any], Structure]:
    """Its values and its structure.

    >>> flatten({"b": (1, 2), "a": None})[0]
    [1, 2]
    """
    leaves: List[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: List[Any]) -> Structure:
    kind = type(tree)
    if tree is None:
        return NOTHING
    if kind is dict or isinstance(tree, dict):
        keys = tuple(_sorted(tree))
        return ("dict", kind, keys, tuple(_flatten(tree[k], leaves) for k in keys))
    if kind is list or kind is tuple:
        return ("list" if kind is list else "tuple", kind, None,
                tuple(_flatten(t, leaves) for t in tree))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return ("named", kind, tree._fields, tuple(_flatten(t, leaves) for t in tree))
    if kind in _registered:
        parts, rest = _registered[kind][0](tree)
        return ("own", kind, rest, tuple(_flatten(t, leaves) for t in parts))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = tuple(f.name for f in dataclasses.fields(tree))
        return ("data", kind, fields, tuple(_flatten(getattr(tree, f), leaves) for f in fields))
    leaves.append(tree)
    return LEAF


def _sorted(keys: Any) -> List[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda k: (type(k).__name__, repr(k)))


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with these values."""
    if not isinstance(structure, tuple) or not structure or structure[0] not in _WORDS:
        raise checks.wrong_type("tree.unflatten(): structure", "a structure of tree.flatten",
                                structure)
    if not hasattr(leaves, "__iter__"):
        raise checks.wrong_type("tree.unflatten(): leaves", "a sequence of values", leaves)
    values = list(leaves)
    if len(values) != _count(structure):
        raise ArgumentError(f"tree.unflatten(): leaves: expected {_count(structure)} values, given "
                            f"{len(values)}")
    return _unflatten(structure, iter(values))


def _count(structure: Structure) -> int:
    """How many values a tree of this structure has."""
    if structure in (LEAF, NOTHING):
        return int(structure == LEAF)
    return sum(_count(part) for part in structure[3])


def _unflatten(structure: Structure, leaves: Any) -> Any:
    if structure is LEAF or structure == LEAF:
        return next(leaves)
    if structure == NOTHING:
        return None
    word, kind, rest, parts = structure
    values = [_unflatten(part, leaves) for part in parts]
    if word == "dict":
        made = dict(zip(rest, values))
        return made if kind is dict else kind(made)
    if word in ("list", "tuple"):
        return kind(values)
    if word == "named":
        return kind(*values)
    if word == "own":
        return _registered[kind][1](rest, values)
    return kind(**dict(zip(rest, values)))


def map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:  # noqa: A001
    """f of every value of the tree, and of those at the same place of others.

    >>> map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}])
    [11, {'x': 22}]
    """
    checks.function("tree.map(): f", f)
    leaves, structure = flatten(tree)
    columns = [leaves]
    for other in others:
        values, its = flatten(other)
        if its != structure:
            raise ArgumentError("tree.map(): others: trees have different structures: "
                                f"{show(structure)} and {show(its)}")
        columns.append(values)
    return unflatten(structure, [f(*row) for row in zip(*columns)])


def show(structure: Structure) -> str:
    """The structure in words: {'W': *, 'b': *}."""
    if structure == LEAF:
        return "*"
    if structure == NOTHING:
        return "None"
    word, kind, rest, parts = structure
    inner = [show(p) for p in parts]
    if word == "dict":
        return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(rest, inner)) + "}"
    if word == "list":
        return "[" + ", ".join(inner) + "]"
    if word == "tuple":
        return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"
    names = rest if isinstance(rest, tuple) and len(rest) == len(inner) else [""] * len(inner)
    return f"{kind.__name__}(" + ", ".join(f"{n}={p}" for n, p in zip(names, inner)) + ")"


def paths(structure: Structure, prefix: Tuple[Any, ...] = ()) -> List[Tuple[Any, ...]]:
    """For each value the keys, fields and positions that lead to it."""
    if structure == LEAF:
        return [prefix]
    if structure == NOTHING:
        return []
    word, _, rest, parts = structure
    is_named = word == "own" and isinstance(rest, tuple) and len(rest) == len(parts) and \
        all(isinstance(name, str) for name in rest)
    keys = rest if word in ("dict", "named", "data") or is_named else range(len(parts))
    result: List[Tuple[Any, ...]] = []
    for key, part in zip(keys, parts):
        result += paths(part, prefix + (key,))
    return result
