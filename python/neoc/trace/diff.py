"""grad, value_and_grad, vjp, jvp: requests for gradients in the text, grad(loss, W, b).

The compiler derives the gradient. With respect to what: an argument of the differentiated function
is an alias of the tensor that was given, and the gradient counts what reads the alias, not what
reads that tensor elsewhere. Where nothing else does, alias and tensor are one in the text. What the
result does not read has a gradient of zeros.
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple, Union

from .. import checks
from ..errors import ArgumentError, GradientError, RangeError, ShapeError
from . import scope, tree
from .expr import Expr, Literal, Operator, Read, reads
from .broadcast import astype, converted, is_weak
from .functions import lift, sum as total
from .kinds import FLOATS, word
from .make import zeros_like
from .poly import poly
from .scope import Statement
from .tensor import Tensor, TraceError, define
from .text import Writer
from .weak import Weak, weak_of

Argnums = Union[int, Sequence[int]]


class Grad(Statement):
    """dW, db = grad(loss, W, b, seed = s)."""

    def __init__(self, of: Tensor, by: Sequence[Tensor], seed: Any = None) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        self.of, self.by, self.seed = of, list(by), seed
        of.pinned = True
        self.results = [Tensor(trace, b.extents, b.kind, source=self) for b in by]

    def uses(self) -> Sequence[Tensor]:
        return [self.of, *self.by] + ([] if self.seed is None else [self.seed])

    def call_results(self, writer: Writer) -> None:
        """Names for those of its results that no variable holds: dW."""
        for r, b in zip(self.results, self.by):
            r.name = r.name or "d" + writer.name(b)

    def write(self, writer: Writer) -> None:
        self.call_results(writer)
        wanted = [(r, b) for r, b in zip(self.results, self.by) if id(r) in writer.live]
        names = ", ".join(writer.name(r) for r, _ in wanted)
        by = ", ".join(writer.name(b) for _, b in wanted)
        seed = "" if self.seed is None else f", seed = {writer.name(self.seed)}"
        writer.line(f"{names} = grad({writer.name(self.of)}, {by}{seed})", self.place)


class Alias:
    """An argument of a function that is differentiated."""

    def __init__(self, x: Tensor) -> None:
        x.pinned = x.pinned or x.body is not None
        self.given = x
        self.tensor = define(x.extents, x.kind, lambda i: _copied(x, i), x.bound, name=x.name)
        self.tensor.pinned = self.tensor.is_apart = True


class WeakAlias:
    """A number of Python's by which a function is differentiated: an alias in each type, and the
    gradient is in the type in which the function uses it."""

    def __init__(self, x: Weak) -> None:
        self.forms = {kind: Alias(x.make(kind)) for kind in FLOATS}
        self.weak = Weak("f32", "f64", lambda kind: self.forms[kind].tensor if kind in FLOATS else
                         astype(self.forms["f64"].tensor, kind), [x])
        self.given = x.own
        self.tensor = self.weak.own
        self.tensor.name = x.own.name

    def joined(self, slopes: Dict[str, Tensor]) -> Tensor:
        """The gradient, of those by its forms; zeros where there are none."""
        met = [k for k in FLOATS if k in self.weak.met] or ["f32"]
        if not slopes:
            return zeros_like(self.forms[met[0]].tensor)
        parts = [converted(g, met[0]) for g in slopes.values()]
        made = parts[0]
        for g in parts[1:]:
            made = made + g
        return made


AnyAlias = Union[Alias, WeakAlias]


def parts_of(aliases: Sequence[AnyAlias]) -> List[Alias]:
    """All aliases, those of a number in each type."""
    return [p for a in aliases for p in (a.forms.values() if isinstance(a, WeakAlias) else [a])]


def slopes_by(of: Tensor, aliases: Sequence[AnyAlias], seed: Any = None) -> List[Tensor]:
    """The gradients by what is differentiated by."""
    found = iter(gradients(of, [p.tensor for p in parts_of(aliases)], seed))
    result = []
    for a in aliases:
        if isinstance(a, WeakAlias):
            own = {k: next(found) for k in a.forms}
            result.append(a.joined({k: g for k, g in own.items() if isinstance(g.source, Grad)}))
        else:
            result.append(next(found))
    return result


def _copied(x: Tensor, i: Sequence[Any]) -> Expr:
    """An element of a definition of its own: a name for a scalar would be the scalar itself."""
    element = Read(x, [poly(k) for k in i])
    return element if i else Operator("*", [Literal(1, x.kind), element], x.kind)


def settle(aliases: Sequence[Alias], results: Sequence[Tensor]) -> None:
    """Make aliases and their tensors one where the results read the tensors by them alone.

    A tensor that is read elsewhere too, that is given twice, or that another one is made of keeps
    an alias of its own.
    """
    elsewhere = reached(results, {id(a.tensor) for a in aliases})
    given = [a.given for a in aliases]
    below = reached([s for g in given for s in sources(g)], set())
    for a in aliases:
        once = sum(1 for g in given if g is a.given) == 1
        if once and id(a.given) not in elsewhere and id(a.given) not in below:
            a.given.pinned = True
            a.tensor.alias = a.given


def reached(results: Sequence[Any], without: Set[int]) -> Set[int]:
    """The identities of tensors that results depend on, by paths that avoid certain tensors."""
    seen: Set[int] = set()
    stack: List[Any] = list(results)
    while stack:
        top = stack.pop()
        if id(top) in seen or id(top) in without:
            continue
        seen.add(id(top))
        stack += sources(top)
    return seen


def sources(item: Any) -> List[Any]:
    """The operands of a tensor or a statement."""
    if isinstance(item, Statement):
        found = list(item.uses())
        for e in item.expressions():
            found += [r.tensor for r in reads(e)]
        for _, results in item.blocks():
            found += results
        return found
    if item.alias is not None:
        return [item.alias]
    if item.body is not None:
        if item.read is None:
            item.read = list({id(r.tensor): r.tensor for r in reads(item.body)}.values())
        return item.read  # type: ignore[no-any-return]
    return [item.source] if isinstance(item.source, Statement) else []


def gradients(of: Tensor, by: Sequence[Tensor], seed: Any = None) -> List[Tensor]:
    """The gradients of a scalar, or of a tensor that is multiplied with the seed."""
    if of.is_view:
        of.pinned = True
    made_of = reached([of], set())
    read = [id(b) in made_of for b in by]
    wanted = [b for b, r in zip(by, read) if r]
    iterator = iter(Grad(of, wanted, seed).results if wanted else ())
    return [next(iterator) if r else zeros_like(b) for b, r in zip(by, read)]


def _tracing(name: str) -> None:
    if scope.current() is None:
        raise TraceError(f"neoc.{name} is for traced functions: @neoc.function")


def _differentiated(name: str, f: Any, argnums: Any, has_aux: Any) -> Tuple[Any, bool]:
    """argnums and has_aux, where f, they and so on are what they should be."""
    where, wanted = f"neoc.{name}()", "a whole number or a sequence of these"
    checks.function(f"{where}: f", f)
    if isinstance(argnums, (str, bytes, dict, set)) or not hasattr(argnums, "__index__") and \
            not hasattr(argnums, "__iter__"):
        raise checks.wrong_type(f"{where}: argnums", wanted, argnums)
    numbers = [argnums] if hasattr(argnums, "__index__") else list(argnums)
    if not numbers:
        raise checks.wrong_value(f"{where}: argnums", "at least one number", argnums)
    whole = [checks.number(f"{where}: argnums", n, -1000, 1000) for n in numbers]
    made = whole[0] if hasattr(argnums, "__index__") else tuple(whole)
    return made, checks.flag(f"{where}: has_aux", has_aux)


def _argnums(argnums: Argnums, count: int) -> Tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -count <= n < count:
            raise ArgumentError(f"argnums: there are {count} arguments by position, no number {n}")
    return tuple(n % count for n in numbers)


def _aliased(value: Any, what: str) -> Tuple[Any, List[AnyAlias]]:
    leaves, structure = tree.flatten(value)
    aliases: List[AnyAlias] = []
    for leaf in leaves:
        weak = weak_of(leaf)
        if weak is not None and weak.wide == "f64":
            aliases.append(WeakAlias(weak))
            continue
        try:
            t = lift(leaf)
        except (TypeError, RangeError) as problem:
            if isinstance(problem, TraceError):
                raise
            raise type(problem)(f"neoc.{what}(): an argument: {problem}") from None
        if t.kind not in FLOATS:
            raise GradientError(f"neoc.{what}(): {what} takes floats, this is {word(t.kind)}; "
                                "argnums names the arguments to differentiate by")
        if t.is_view or isinstance(leaf, (int, float)):
            t = _own(t)
        aliases.append(Alias(t))
    return tree.unflatten(structure, [a.tensor for a in aliases]), aliases


def _own(t: Tensor) -> Tensor:
    made = define(t.extents, t.kind, lambda i: _element(t, i), t.bound, name=t.name)
    made.pinned = True
    return made


def _element(t: Tensor, i: Sequence[Any]) -> Any:
    from .tensor import read
    return read(t, i)


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives f's result, a scalar, and its gradients.

    argnums: by which arguments, a number or several; these are trees of float tensors, and so are
    the gradients. has_aux: f gives (loss, more), and the function ((loss, more), gradients).

    >>> import neoc
    >>> def loss(w, x): return ((x @ w)**2).mean()
    >>> step = neoc.function(lambda w, x: neoc.value_and_grad(loss)(w, x))
    >>> print(step.text((3,), (8, 3)), end="")
    input w[3]
    input x[8, 3]
    loss = mean[i] (sum[j] x[i, j] * w[j])^2
    dw = grad(loss, w)
    output loss, dw
    """
    return _slopes("value_and_grad", f, argnums, has_aux)


def _slopes(name: str, f: Callable[..., Any], argnums: Argnums,
            has_aux: bool) -> Callable[..., Any]:
    """value_and_grad, for a caller of another name."""
    argnums, has_aux = _differentiated(name, f, argnums, has_aux)

    def of(*args: Any, **kwargs: Any) -> Any:
        _tracing(name)
        numbers = _argnums(argnums, len(args))
        given, aliases = list(args), []
        structures = []
        for n in numbers:
            given[n], found = _aliased(args[n], name)
            aliases.append(found)
            structures.append(tree.flatten(args[n])[1])
        if not any(aliases):
            raise GradientError(f"neoc.{name}(): argnums: the arguments that are differentiated by "
                                "have no tensors in them")
        value, aux = _of_two(name, f(*given, **kwargs), has_aux)
        loss = _loss(value)
        flat = [a for found in aliases for a in found]
        settle(parts_of(flat), [loss, *[t for t in tree.flatten(aux)[0] if isinstance(t, Tensor)]])
        found_gradients = iter(slopes_by(loss, flat))
        trees = [tree.unflatten(s, [next(found_gradients) for _ in a])
                 for s, a in zip(structures, aliases)]
        slopes = trees[0] if isinstance(argnums, int) else tuple(trees)
        return ((loss, aux) if has_aux else loss), slopes

    return _like(of, f, "value_and_grad")


def _of_two(name: str, result: Any, has_aux: bool) -> Tuple[Any, Any]:
    """The result of f, and its auxiliary result."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"neoc.{name}(): has_aux: expected f to give a pair, given "
                        f"{checks.shown(result)}")
    return result[0], result[1]


def _like(of: Callable[..., Any], f: Callable[..., Any], word: str) -> Callable[..., Any]:
    of.__name__ = f"{word}({getattr(f, '__name__', 'f')})"
    of.__doc__ = f"{word} of {getattr(f, '__name__', 'a function')}."
    try:
        of.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return of


def _loss(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        leaves = tree.flatten(value)[0]
        if len(leaves) != 1 or leaves[0] is not value:
            raise GradientError("grad is of a function that gives one scalar; with has_aux=True it "
                                "gives (scalar, more)")
    loss = lift(value)
    if loss.kind not in FLOATS:
        raise GradientError(f"grad is of a float, the function gives {word(loss.kind)}")
    if loss.extents:
        raise GradientError(f"grad is of a scalar, the function gives a tensor of shape "
                            f"{loss.shape}: sum it, or use neoc.vjp with a seed")
    loss.weak_name = loss.weak_name or "loss"
    loss.pinned = True
    return loss if loss.body is None or not isinstance(loss.body, Read) else _own(loss)


def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradients of f's result, a scalar; see value_and_grad.

    >>> import neoc
    >>> print(neoc.function(neoc.grad(lambda x: (x**3).sum())).text((3,)), end="")
    input x[3]
    loss = sum[i] x[i]^3
    dx = grad(loss, x)
    output dx
    """
    both = _slopes("grad", f, argnums, has_aux)

    def of(*args: Any, **kwargs: Any) -> Any:
        value, slopes = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return _like(of, f, "grad")


def vjp(f: Callable[..., Any], *args: Any, has_aux: bool = False) -> Any:
    """f's results, and a function from seeds of their structure to gradients of the arguments.

    y, pull = neoc.vjp(f, x, w);  dx, dw = pull(dy). With has_aux f gives (y, more), and so
    (y, pull, more) is the result.
    """
    checks.function("neoc.vjp(): f", f)
    has_aux = checks.flag("neoc.vjp(): has_aux", has_aux)
    _tracing("vjp")
    given, aliases, structures = [], [], []
    for a in args:
        value, found = _aliased(a, "vjp")
        given.append(value)
        aliases.append(found)
        structures.append(tree.flatten(a)[1])
    value, aux = _of_two("vjp", f(*given), has_aux)
    leaves, structure = tree.flatten(value)
    outputs = [_own(lift(y)) if lift(y).is_view else lift(y) for y in leaves]
    flat = [a for found in aliases for a in found]
    settle(parts_of(flat), outputs)

    def pull(seeds: Any) -> Any:
        sums = _pulled(outputs, _seeds(seeds, structure, outputs), flat)
        iterator = iter(sums)
        return tuple(tree.unflatten(s, [next(iterator) for _ in a])
                     for s, a in zip(structures, aliases))

    made = tree.unflatten(structure, outputs)
    return (made, pull, aux) if has_aux else (made, pull)


def _seeds(seeds: Any, structure: tree.Structure, outputs: Sequence[Tensor]) -> List[Tensor]:
    leaves, its = tree.flatten(seeds)
    if its != structure:
        raise ValueError(f"the seed has the structure {tree.show(its)}, the result "
                         f"{tree.show(structure)}")
    result = []
    for leaf, y in zip(leaves, outputs):
        seed = lift(leaf, y.kind if isinstance(leaf, (int, float)) or is_weak(leaf) else None)
        if seed.shape != y.shape or seed.kind != y.kind:
            raise ShapeError(f"the seed is {word(seed.kind)}{list(seed.shape)}, the result "
                             f"{word(y.kind)}{list(y.shape)}")
        result.append(_own(seed) if seed.is_view or seed.body is not None else seed)
    return result


def _pulled(outputs: Sequence[Tensor], seeds: Sequence[Tensor],
            flat: Sequence[AnyAlias]) -> List[Tensor]:
    sums: Dict[int, Tensor] = {}
    for y, seed in zip(outputs, seeds):
        if y.kind not in FLOATS:
            continue
        y.pinned = True
        for k, g in enumerate(slopes_by(y, flat, seed)):
            if not _is_zero(g):
                sums[k] = sums[k] + g if k in sums else g
    return [sums[k] if k in sums else zeros_like(a.tensor) for k, a in enumerate(flat)]


def _is_zero(g: Tensor) -> bool:
    """Whether it is the gradient of what the result does not read."""
    return isinstance(g.body, Literal) and g.body.value == 0


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """f's results, and how they change along the tangents: (y, dy), of the same structure.

    In the text it is the gradient of a gradient: da = grad(y, a, seed = g) is linear in g, and
    grad(sum(da*ta), g) is the derivative along ta. The compiler finds that g is not read.
    """
    checks.function("neoc.jvp(): f", f)
    for name, values in (("primals", primals), ("tangents", tangents)):
        if not isinstance(values, (list, tuple)):
            raise checks.wrong_type(f"neoc.jvp(): {name}",
                                    "a tuple with a value for each argument of f", values)
    _tracing("jvp")
    flat_t, structure_t = tree.flatten(tuple(tangents))
    if tree.flatten(tuple(primals))[1] != structure_t:
        raise ValueError("tangents have the structure of primals: "
                         f"{tree.show(tree.flatten(tuple(primals))[1])}, here is "
                         f"{tree.show(structure_t)}")
    given, aliases = _aliased(tuple(primals), "jvp")
    result = f(*given)
    leaves, structure = tree.flatten(result)
    outputs = [_own(lift(y)) if lift(y).is_view else lift(y) for y in leaves]
    parts = parts_of(aliases)
    settle(parts, outputs)
    made = [_tangent(t, p) for t, a in zip(flat_t, aliases) for p in parts_of([a])]
    for t, a in zip(made, parts):
        if t.shape != a.tensor.shape:
            raise ShapeError(f"a tangent has the shape {t.shape}, its primal {a.tensor.shape}")
    slopes = [_pushed(y, parts, made) for y in outputs]
    return tree.unflatten(structure, outputs), tree.unflatten(structure, slopes)


def _tangent(t: Any, a: Alias) -> Tensor:
    try:
        if isinstance(t, (int, float)) or is_weak(t):
            return lift(t, a.tensor.kind)
        return lift(t)
    except (TypeError, RangeError) as problem:
        raise type(problem)(f"neoc.jvp(): tangents: {problem}") from None


def _pushed(y: Tensor, aliases: Sequence[Alias], tangents: Sequence[Tensor]) -> Tensor:
    if y.kind not in FLOATS:
        return zeros_like(y)
    y.pinned = True
    seed = _own(zeros_like(y))
    seed.name = "seed"
    pulled = gradients(y, [a.tensor for a in aliases], seed)
    terms = [total(g * t) for g, t in zip(pulled, tangents) if isinstance(g.source, Grad)]
    if not terms:
        return zeros_like(y)
    along = terms[0]
    for term in terms[1:]:
        along = along + term
    along = _own(along) if along.is_view else along
    along.name = along.name or "along"
    return gradients(along, [seed])[0]


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f itself: what the backward pass keeps and what it computes again is not a function's to say.

    The compiler prices both for every tensor. `neoc.function(g, memory="small")`, or a number of
    bytes, bounds what is kept, so that code with checkpoints of other systems needs no other form.
    """
    made: Callable[..., Any] = checks.function("neoc.checkpoint(): f", f)
    return made
