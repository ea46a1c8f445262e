"""scan, repeat, while_, case: loops and choices that are known when the program runs.

The body is traced once, in a block of its own. Carries are trees; a carry keeps its shape and type.
Tensors from outside may be read in the body.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .. import checks
from ..errors import ArgumentError, DTypeError, RangeError, ShapeError
from . import scope, sizes, tree
from .broadcast import is_weak
from .expr import Literal
from .functions import astype, clip
from .kinds import INTEGERS, word
from .make import full, lift
from .poly import Index, Poly, poly
from .scope import Block, Statement
from .size_floats import SizeFloat
from .sizes import Size, shown
from .tensor import Tensor, TraceError, define, read
from .text import Writer

Trees = Any


class Carry:
    """A source that gives a carry in the body of a loop."""

    def __init__(self, place: scope.Place) -> None:
        self.place = place


class Loop(Statement):
    """A scan, a repeat or a while: carries, a body, what is collected."""

    def __init__(self, word: str, index: Optional[Index], count: Poly, down: bool,
                 first: Sequence[Tensor]) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        trace.block.items.pop()  # it stands behind what its body needs from here
        self.word, self.index, self.count, self.down = word, index, count, down
        self.first = list(first)
        self.body: Block = trace.open()
        source = Carry(self.place)
        self.carries = [Tensor(trace, t.extents, t.kind, source=source) for t in first]
        self.next: List[Tensor] = []
        self.collected: List[Tensor] = []
        self.condition: Optional[Tensor] = None
        self.block.items.append(self)

    def uses(self) -> Sequence[Tensor]:
        return [t for t in self.first if not _is_constant(t)]

    def blocks(self) -> Sequence[Tuple[Block, Sequence[Any]]]:
        inner = [*self.next, *self.collected]
        return [(self.body, inner)]

    def finish(self, nexts: Sequence[Tensor], collected: Sequence[Tensor]) -> None:
        """The body has ended: what it gives."""
        trace = scope.current()
        assert trace is not None
        self.next, self.collected = list(nexts), list(collected)
        for t in self.collected:
            t.pinned = True
        trace.close()
        self.order = trace.next_order()
        self.results = [Tensor(trace, c.extents, c.kind, source=self) for c in self.carries]
        self.results += [Tensor(trace, [self.count, *t.extents], t.kind, source=self)
                         for t in self.collected]

    def write(self, writer: Writer) -> None:
        names = []
        for c, r in zip(self.carries, self.results):
            name = writer.fresh(c.name or r.name or c.weak_name or "carry")
            names.append(name)
            writer.names[id(c)] = name
            if not r.name or r.name == c.name:  # a block hides the name of its result
                writer.names.setdefault(id(r), name)
        for r, c in zip(self.results[len(names):], self.collected):
            r.name = r.name or (c.name and c.name + "s") or "ys"
        results = [writer.name(r) for r in self.results]
        first = ", ".join(_first(writer, c, n, f)
                          for c, n, f in zip(self.carries, names, self.first))
        writer.line(f"{', '.join(results)} = {self._head(writer)} from {first} {{", self.place)
        writer.depth += 1
        writer.block(self.body)
        writer.place = self.place
        for name, t in zip(names, self.next):
            writer.line(f"next {self._next(writer, name, t)}")
        if self.collected:
            writer.line("collect " + ", ".join(writer.name(t) for t in self.collected))
        writer.depth -= 1
        writer.line("}", self.place)

    def _head(self, writer: Writer) -> str:
        count = writer.poly(self.count)
        if self.word == "while":
            assert self.condition is not None
            return f"while {writer.name(self.condition)} limit {count}"
        assert self.index is not None
        name = writer.fresh(self.index.hint)
        writer.loop_names[self.index] = name
        return f"{self.word} {name} < {count}" + (" down" if self.down else "")

    def _next(self, writer: Writer, name: str, t: Tensor) -> str:
        if id(t) in writer.inlined and t.body is not None:
            return writer.definition_text(t, name)
        return f"{name} = {writer.name(t)}"


def _is_constant(t: Tensor) -> bool:
    return t.is_view and isinstance(t.body, Literal)


def _first(writer: Writer, carry: Tensor, name: str, first: Tensor) -> str:
    """The first value of a carry: h = h0, or h[i < 5] : f32 = 0."""
    if not _is_constant(first):
        return f"{name} = {writer.name(first)}"
    from .text import Scribe, number
    assert isinstance(first.body, Literal)
    scribe = Scribe(writer)
    left = ", ".join(f"{scribe.letter(i)} < {scribe.poly(i.extent)}" for i in first.indices)
    kind = "" if carry.kind in ("f32", "bool") else f" : {carry.kind}"
    return f"{name}{f'[{left}]' if left else ''}{kind} = {number(first.body.value)}"


_MOST_STEPS = 1 << 40


def _tracing(name: str) -> scope.Trace:
    """The trace that is active. TraceError where there is none."""
    trace = scope.current()
    if trace is None:
        raise TraceError(f"neoc.{name}() is for traced functions: @neoc.function")
    return trace


def _tensor(where: str, argument: str, leaf: Any, kind: Any = None) -> Tensor:
    """A leaf as a tensor; what is none is told with the argument."""
    try:
        return lift(leaf, kind)
    except (TypeError, ValueError, RangeError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise type(problem)(f"{where}: {argument}: {problem}") from None


def _rows(where: str, argument: str, leaf: Any) -> Tensor:
    """A leaf whose first dimension counts steps."""
    made = _tensor(where, argument, leaf)
    if not made.extents:
        raise ShapeError(f"{where}: {argument} have the steps as their first dimension, here is a "
                         "scalar")
    return made


def _firsts(word_of: str, init: Trees) -> Tuple[List[Tensor], tree.Structure]:
    leaves, structure = tree.flatten(init)
    return [_tensor(f"neoc.{word_of}()", "init", leaf) for leaf in leaves], structure


def _checked(what: str, nexts: Trees, structure: tree.Structure,
             carries: Sequence[Tensor]) -> List[Tensor]:
    """The next values of carries, of their structure, shapes and types."""
    leaves, its = tree.flatten(nexts)
    if its != structure:
        raise ValueError(f"{what}: the carry begins as {tree.show(structure)}, the body gives "
                         f"{tree.show(its)}")
    paths = tree.paths(structure)
    values = [lift(leaf, c.kind if is_number(leaf) else None) for leaf, c in zip(leaves, carries)]
    for path, value, c in zip(paths, values, carries):
        same_as(what, path, value, c)
    return [_of_body(value) for value in values]


def is_number(leaf: Any) -> bool:
    """A number of Python's, which takes the type of what it stands for."""
    return is_weak(leaf) or isinstance(leaf, (int, float, Size, SizeFloat))


def same_as(what: str, path: Any, value: Tensor, carry: Tensor) -> None:
    """Reject a next value that has another shape or type than the carry."""
    name = f"carry {'.'.join(map(str, path))}" if path else "the carry"
    if value.kind != carry.kind:
        raise DTypeError(f"{what}: {name} begins as {word(carry.kind)}, the body gives "
                         f"{word(value.kind)}: convert one of them with .astype")
    if value.ndim != carry.ndim or not all(sizes.equal(a, b) for a, b in
                                           zip(value.extents, carry.extents)):
        raise ShapeError(f"{what}: {name} begins with the shape {carry.shape}, the body gives "
                         f"{value.shape}")


def _of_body(value: Tensor) -> Tensor:
    """A tensor of the block that is open, also where the value was made outside."""
    trace = scope.current()
    assert trace is not None
    if value.block is trace.block and value.body is not None and not value.is_view \
            and not value.name and not value.pinned:
        return value
    made = define(value.extents, value.kind, lambda i: read(value, i), value.bound)
    return made


def scan(f: Callable[[Any, Any], Any], init: Trees, xs: Trees = None,
         length: Optional[Any] = None, reverse: bool = False) -> Tuple[Trees, Trees]:
    """carry, y = f(carry, x) for every x of xs in turn: the last carry, and all y stacked.

    init: the first carry. xs: trees of tensors whose first dimension is the steps; None: `length`
    steps, and x is None. reverse: from the last step to the first; ys stay at their steps.

    >>> import neoc
    >>> def step(h, x):
    ...     h = neoc.tanh(0.5*h + x)
    ...     return h, h
    >>> run = neoc.function(lambda xs: neoc.scan(step, neoc.zeros(4), xs))
    >>> print(run.text((10, 4)), end="")
    input xs[10, 4]
    h, hs = scan t < 10 from h[i < 4] = 0 {
      h2[i] = tanh(0.5*h[i] + xs[t, i])
      next h = h2
      collect h2
    }
    output h, hs
    """
    checks.function("neoc.scan(): f", f, "a function of carry and x")
    reverse = checks.flag("neoc.scan(): reverse", reverse)
    return _rounds("scan", f, init, xs, _length("neoc.scan(): length", length), reverse)


def _length(where: str, given: Any) -> Any:
    """A number of steps: None, a size, or a number."""
    return given if given is None or isinstance(given, Size) else checks.number(
        where, given, 0, _MOST_STEPS)


def repeat(f: Callable[[Any, Any], Any], init: Trees, xs: Trees = None,
           length: Optional[int] = None) -> Tuple[Trees, Trees]:
    """scan with a number of steps that is known when the function is traced: layers of a network.

    xs: parameters of all layers, stacked along their first dimension. Steps are compiled one by
    one, or as a loop where they are many (unroll= of neoc.function).
    """
    where = "neoc.repeat()"
    checks.function(f"{where}: f", f, "a function of carry and x")
    leaves = tree.flatten(xs)[0]
    count = _length(f"{where}: length", length)
    if count is None and leaves:
        count = len(_rows(where, "xs", leaves[0]))
    if count is None:
        raise ArgumentError(f"{where}: expected xs or length, given neither")
    return _rounds("repeat", f, init, xs, int(count), False)


def _rounds(word_of: str, f: Callable[[Any, Any], Any], init: Trees, xs: Trees,
            length: Optional[Any], reverse: bool) -> Tuple[Trees, Trees]:
    trace = _tracing(word_of)
    first, structure = _firsts(word_of, init)
    slices, slices_structure, count = _steps(word_of, xs, length)
    dummy = not first
    if dummy:
        first = [full((), 0, "i32")]
    index = Index(count, "t" if word_of == "scan" else "layer")
    loop = Loop(word_of, index, count, reverse, first)
    x = tree.unflatten(slices_structure, [_slice(s, index) for s in slices])
    carry = tree.unflatten(structure, [] if dummy else loop.carries)
    result = f(carry, x)
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{word_of}: the body gives a pair (carry, y); y may be None")
    trace.place()
    nexts = [loop.carries[0] + 1] if dummy else _checked(word_of, result[0], structure,
                                                       loop.carries)
    ys, ys_structure = tree.flatten(result[1])
    loop.finish(nexts, [collectable(lift(y)) for y in ys])
    made = loop.results
    carries = tree.unflatten(structure, [] if dummy else made[:len(first)])
    return carries, tree.unflatten(ys_structure, made[len(first):])


def collectable(y: Tensor) -> Tensor:
    """A tensor of the block that is open, with a name there."""
    trace = scope.current()
    assert trace is not None
    if y.block is trace.block and not y.is_view and not (y.body is None and
                                                         isinstance(y.source, Carry)):
        return y
    made = define(y.extents, y.kind, lambda i: read(y, i), y.bound, name=y.name)
    made.pinned = True
    return made


def _steps(word_of: str, xs: Trees, length: Optional[Any]) -> Tuple[
        List[Tensor], tree.Structure, Poly]:
    leaves, structure = tree.flatten(xs)
    tensors = [_rows(f"neoc.{word_of}()", "xs", x) for x in leaves]
    count = None if length is None else poly(length)
    for t in tensors:
        if count is None:
            count = t.extents[0]
        elif not sizes.equal(count, t.extents[0]):
            raise ShapeError(f"{word_of}: {count.value()} steps, but xs of {t.extents[0].value()}")
    if count is None:
        raise ArgumentError(f"neoc.{word_of}(): expected xs or length, given neither")
    return tensors, structure, count.now()


def _slice(t: Tensor, index: Index) -> Tensor:
    return define(t.extents[1:], t.kind, lambda i: read(t, [poly(index), *i]), t.bound,
                  name="")


# ---- while
def while_(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Trees, *,
           limit: int) -> Trees:
    """carry = body(carry) as long as cond(carry) holds, at most `limit` times: the last carry.

    The limit bounds what a gradient has to keep; it is a number or a size.

    >>> import neoc
    >>> def root(y):
    ...     return neoc.while_(lambda s: abs(s*s - y) > 1e-4, lambda s: 0.5*(s + y/s), 1.0,
    ...                        limit=50)
    """
    where = "neoc.while_()"
    checks.function(f"{where}: cond", cond, "a function of the carry")
    checks.function(f"{where}: body", body, "a function of the carry")
    if limit is None:
        raise checks.wrong_type(f"{where}: limit", "a whole number or a size", limit)
    limit = _length(f"{where}: limit", limit)
    _tracing("while_")
    first, structure = _firsts("while_", init)
    if not first:
        raise ArgumentError(f"{where}: init: expected a carry, given {checks.shown(init)}")
    go = _condition(cond(tree.unflatten(structure, first)))
    go = define((), "bool", lambda i: read(go, i), name="go") if go.is_view else go
    go.pinned = True
    loop = Loop("while", None, poly(limit), False, [*first, go])
    loop.carries[-1].name = "go"
    loop.condition = loop.carries[-1]
    nexts = _checked("while_", body(tree.unflatten(structure, loop.carries[:-1])), structure,
                     loop.carries)
    named = []
    for t in nexts:
        t.pinned = True
        named.append(t)
    again = _condition(cond(tree.unflatten(structure, named)))
    loop.finish([*named, _of_body(again)], [])
    return tree.unflatten(structure, loop.results[:-1])


def _condition(value: Any) -> Tensor:
    t = lift(value)
    if t.extents:
        raise ShapeError(f"while_: the condition is a scalar, here is a tensor of shape {t.shape}")
    return astype(t, "bool")


# ---- case
class Case(Statement):
    """y = case k { 0 { ... } 1 { ... } else { ... } }."""

    def __init__(self, on: Tensor) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        trace.block.items.pop()
        self.on = on
        self.labels: List[str] = []
        self.bodies: List[Block] = []
        self.values: List[List[Tensor]] = []

    def uses(self) -> Sequence[Tensor]:
        return [self.on]

    def blocks(self) -> Sequence[Tuple[Block, Sequence[Any]]]:
        return list(zip(self.bodies, self.values))

    def finish(self) -> None:
        """All branches are traced."""
        trace = scope.current()
        assert trace is not None
        self.block.items.append(self)
        self.order = trace.next_order()
        self.results = [Tensor(trace, t.extents, t.kind, source=self) for t in self.values[0]]

    def write(self, writer: Writer) -> None:
        wanted = [k for k, r in enumerate(self.results) if id(r) in writer.live]
        names = [writer.name(self.results[k]) for k in wanted]
        writer.line(f"{', '.join(names)} = case {writer.name(self.on)} {{", self.place)
        writer.depth += 1
        for label, body, values in zip(self.labels, self.bodies, self.values):
            writer.line(f"{label} {{", self.place)
            writer.depth += 1
            writer.block(body)
            for name, k in zip(names, wanted):
                t = values[k]
                inner = id(t) in writer.inlined
                writer.line(writer.definition_text(t, name) if inner
                            else f"{name} = {writer.name(t)}", t.place)
            writer.depth -= 1
            writer.line("}", self.place)
        writer.depth -= 1
        writer.line("}", self.place)


Branches = Union[Sequence[Callable[..., Any]], Dict[Any, Callable[..., Any]]]


def case(i: Any, branches: Branches, *operands: Any) -> Trees:
    """The result of branches[i](*operands): what is computed is chosen, not only what is taken.

    i: an integer or bool scalar; False is 0. branches: functions in a list, of which the last is
    for all other values of i, or a dict from values, with `else` under None. All branches give the
    same structure, shapes and types.

    >>> import neoc
    >>> f = neoc.function(lambda x: neoc.case(x.sum() > 0, [lambda: -x, lambda: 2*x]))
    >>> print(f.text((3,)), end="")
    input x[3]
    t1 = sum[i] x[i] > 0
    y = case t1 {
      false {
        y[i] = -x[i]
      }
      true {
        y[i] = 2*x[i]
      }
    }
    output y
    """
    _tracing("case")
    is_whole = isinstance(i, (int, Size)) and not isinstance(i, bool)
    on = _tensor("neoc.case()", "i", i, "i32" if is_whole else None)
    if on.extents or on.kind not in (*INTEGERS, "bool"):
        raise DTypeError(f"case: the choice is an integer or bool scalar, this is "
                         f"{word(on.kind)}{list(on.shape)}")
    if on.is_view:
        on = define((), on.kind, lambda j: read(on_view(on), j), on.bound)
    on.pinned = True
    labelled = _labels(on, branches)
    statement = Case(on)
    structure: Optional[tree.Structure] = None
    for label, branch in labelled:
        structure = _branch(statement, label, branch, operands, structure)
    statement.finish()
    assert structure is not None
    return tree.unflatten(structure, statement.results)


def on_view(t: Tensor) -> Tensor:
    """t; a view is read as what it shows."""
    return t


def _labels(on: Tensor, branches: Branches) -> List[Tuple[str, Callable[..., Any]]]:
    where, wanted = "neoc.case(): branches", "functions, in a list or in a dict by values of i"
    if not isinstance(branches, (dict, list, tuple)):
        raise checks.wrong_type(where, wanted, branches)
    given: Dict[Any, Callable[..., Any]] = dict(
        branches.items() if isinstance(branches, dict) else enumerate(branches))
    if not given:
        raise checks.wrong_value(where, wanted, branches)
    for key, f in given.items():
        if not callable(f):
            raise TypeError(f"{where}: expected {wanted}, given {checks.shown(f)} in it")
        if key is not None and not hasattr(key, "__index__"):
            raise TypeError(f"{where}: expected {wanted}, given the value {checks.shown(key)}")
    otherwise = given.pop(None, None)
    if on.kind == "bool":
        return _bool_labels(given, otherwise)
    pairs = [(str(int(k)), f) for k, f in given.items()]
    if otherwise is None:
        if isinstance(branches, dict):
            raise ValueError("case: a dict of integers has a branch for all others under None")
        pairs[-1] = ("else", pairs[-1][1])
    else:
        pairs.append(("else", otherwise))
    return pairs


def _bool_labels(given: Dict[Any, Any], otherwise: Any) -> List[Tuple[str, Callable[..., Any]]]:
    both = {bool(k): f for k, f in given.items()}
    for value in (False, True):
        both.setdefault(value, otherwise)
    if len(given) > 2 or any(f is None for f in both.values()):
        raise ValueError("case on a bool has two branches: [if_false, if_true]")
    return [("false", both[False]), ("true", both[True])]


def _branch(statement: Case, label: str, branch: Callable[..., Any], operands: Sequence[Any],
            structure: Optional[tree.Structure]) -> tree.Structure:
    trace = scope.current()
    assert trace is not None
    body = trace.open()
    leaves, its = tree.flatten(branch(*operands))
    if structure is not None and its != structure:
        raise ValueError(f"case: the first branch gives {tree.show(structure)}, another one "
                         f"{tree.show(its)}")
    like = statement.values[0] if statement.values else None
    values = []
    for k, leaf in enumerate(leaves):
        t = lift(leaf, like[k].kind if like and is_number(leaf) else None)
        if like is not None:
            t = _branch_value(t, like[k])
        values.append(_of_body(t))
    trace.close()
    statement.labels.append(label)
    statement.bodies.append(body)
    statement.values.append(values)
    return its


def _branch_value(t: Tensor, like: Tensor) -> Tensor:
    if t.kind != like.kind:
        raise DTypeError(f"case: the first branch gives {word(like.kind)}, another one "
                         f"{word(t.kind)}")
    if t.ndim != like.ndim or not all(sizes.equal(a, b) for a, b in zip(t.extents, like.extents)):
        raise ShapeError(f"case: the first branch gives the shape {like.shape}, another one "
                         f"{t.shape}")
    return t


def index_in(n: Any, i: Any) -> Tensor:
    """i limited to [0, n)."""
    return clip(i, 0, shown(poly(n) - 1))


