"""neoc.eager(): operations outside of traced functions, computed when they are looked at.

    with neoc.eager():
        x = neoc.array(data)
        y = (x @ w).sum()          # nothing is computed yet
        print(float(y))            # now it is

What was done since the last look is one program; programs are remembered by their text, so a loop
compiles its body once.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Set

import numpy as np

from . import backend, scope, tree
from .expr import reads
from .kinds import kind_of
from .make import as_array, lift
from .poly import poly
from .program import Argument, written
from .scope import Block, Statement, Trace
from .tensor import Tensor, TraceError

_programs: Dict[str, Callable[[Sequence[Any]], List[Any]]] = {}


class Leaf(Argument):
    """A source that gives a tensor of known elements."""


class eager:
    """`with neoc.eager():` operations on arrays and tensors are allowed anywhere in it.

    >>> import numpy as np, neoc
    >>> with neoc.eager():
    ...     y = neoc.exp(np.zeros(3, np.float32)) + 1
    >>> y.shape
    (3,)
    """

    def __init__(self) -> None:
        self.trace = Trace(eager=True)

    def __enter__(self) -> "eager":
        if scope.current() is not None:
            raise TraceError("neoc.eager() within a traced function")
        scope._local.stack.append(self.trace)
        return self

    def __exit__(self, *_: Any) -> None:
        scope._local.stack.pop()


def array(value: Any, dtype: Any = None) -> Tensor:
    """A tensor of an array or of numbers, in a traced function or in eager mode."""
    if isinstance(value, Tensor):
        return value if dtype is None else value.astype(dtype)
    if dtype is None:
        return lift(value)
    return lift(as_array(value, kind_of(dtype)))


def leaf(trace: Trace, value: Any) -> Tensor:
    """A tensor of known elements."""
    made = Tensor(trace, [poly(n) for n in value.shape], kind_of(value.dtype),
                  source=Leaf(("", 0)))
    made.value = value
    return made


def look(t: Tensor) -> Any:
    """The elements of a tensor: what it is made of is compiled and run."""
    if t.value is None:
        _compute(t)
    return t.value


def _compute(t: Tensor) -> None:
    trace = t.owner
    leaves, items = _made_of(t)
    block, top = trace.block, trace.top
    trace.top = trace.block = Block(None)
    trace.top.items = items
    names = [(x, x.name, x.pinned) for x in [*leaves, *_tensors(items), t]]
    for k, x in enumerate(leaves):
        x.name = f"x{k}"
    captured, trace.captured = trace.captured, {}
    try:
        with scope.active(trace):
            program = written(trace, leaves, [t], tree.LEAF)
        run = _programs.get(program.text)
        if run is None:
            run = _programs[program.text] = backend.build(program, {})
        value = run([x.value for x in leaves])[0]
    finally:
        trace.block, trace.top, trace.captured = block, top, captured
        for x, name, pinned in names:
            x.name, x.pinned = name, pinned
    t.value = np.asarray(value)
    t.body, t.source, t.indices, t.alias, t.read = None, Leaf(t.place), (), None, None


def _tensors(items: Sequence[Any]) -> List[Tensor]:
    return [i for i in items if isinstance(i, Tensor)]


def _made_of(t: Tensor) -> Any:
    """The tensors of known elements that t is made of, and the definitions between."""
    leaves: List[Tensor] = []
    items: List[Any] = []
    found: Set[int] = set()
    stack: List[Any] = [t]
    while stack:
        top = stack.pop()
        if id(top) in found:
            continue
        found.add(id(top))
        if isinstance(top, Tensor) and top.value is not None and top is not t:
            leaves.append(top)
            continue
        stack += _sources(top)
        if top.block is t.owner.block and (isinstance(top, Statement) or top.body is not None):
            items.append(top)
    leaves.sort(key=lambda x: x.order)
    return leaves, sorted(items, key=lambda i: i.order)


def _sources(item: Any) -> List[Any]:
    from .diff import sources
    found = sources(item)
    if isinstance(item, Tensor) and item.body is not None:
        found = [r.tensor for r in reads(item.body)]
    return found


