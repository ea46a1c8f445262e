"""@neoc.function: Python functions that are traced to text, compiled, and remembered.

What was compiled is found by one look into a dict: shapes and types of the arguments, the structure
of their trees, static arguments. A call that is not there is compared with what was traced before,
axis by axis (variants.py).
"""
from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from typing import (
    Any, Callable, Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence, Tuple)

import numpy as np

from .. import _core, checks
from ..compiler import check_explained, checked_options, thread_count, write_text
from ..errors import (
    ArgumentError, CompileError, CompileWarning, NeoError, RangeError, Unsupported)
from . import backend, scope, tree
from .given import Given, Standing, shapes_apart, standing
from .poly import Symbol
from .program import Program, Signature, trace_call
from .tensor import Tensor
from .tracebacks import short, shortened
from .variants import LARGEST_BOUND, Group, Variant, with_bounds
from .vertices import VaryingSize

SIZES = ("auto", "fixed", "dynamic")
NUMBERS = {"float": 0.0, "int": 0, "bool": False}  # an example of each in the keys of C
MOST_FIXED = 8  # programs that one line may ask for until there is a warning


class CacheInfo(NamedTuple):
    """Statistics of a traced function: calls that were found, traces that were compiled, entries."""

    hits: int
    misses: int
    compiled: int
    entries: int


class NotDirect(Exception):
    """A call that the table in C does not know."""


def _is_tuple(structure: tree.Structure) -> bool:
    """Whether the results are a plain tuple, as the program gives them."""
    return (structure[0] == "tuple" and len(structure[3]) > 1 and
            all(s == tree.LEAF for s in structure[3]))


class Direct:
    """Calls with arrays at the leaves of one structure of arguments, by a table in C.

    structure: that of the results, None where the program gives them as they are.
    """

    def __init__(self, function: "Function", given: "Given") -> None:
        self.function, self.arguments = function, given.structure
        self.count = len(given.leaves)
        self.structure: Optional[tree.Structure] = None
        self.is_known = self.is_over = False
        names = given.names()
        unique = len(set(names)) == len(names)
        self.op = backend.direct(function._called(), names if unique else [
            f"x{k}" for k in range(self.count)], self.find)

    def find(self, key: Any) -> Tuple[Any, Tuple[int, ...]]:
        """The program for a key of shapes and types: what the table in C asks for.

        Programs with sizes of the run, and those whose results are another tree, are called
        otherwise.
        """
        if self.is_over:
            raise NotDirect
        leaves = [Standing(p[2], p[1]) if p[0] == "array" else NUMBERS[p[0]]
                  for p in key]
        given = self.function._bound(tree.unflatten(self.arguments, leaves), {})
        run, structure, single = self.function._program_of(given)
        made = run.direct() if isinstance(run, backend.Plain) else None
        shown = None if single or _is_tuple(structure) else structure
        if made is None or (self.is_known and shown != self.structure):
            self._end()
            raise NotDirect
        self.structure, self.is_known = shown, True
        return made

    def _end(self) -> None:
        self.is_over = True
        self.function.direct[self.arguments] = None
        if self.function.flat is self:
            self.function.flat = None
        if self.function.recent is self:
            self.function.recent = None

    def made(self, values: Any) -> Any:
        """The tree of the results."""
        assert self.structure is not None
        leaves = values if type(values) is tuple else (values,)
        made = _core.tree_made(self.structure, leaves)
        return tree.unflatten(self.structure, leaves) if made is None else made


class Function:
    """A traced function; see neoc.function."""

    def __init__(self, f: Callable[..., Any], static_argnames: Sequence[str], sizes: str,
                 options: Dict[str, Any]) -> None:
        where = "neoc.function()"
        checks.function(f"{where}: f", f, "a Python function")
        checks.choice(f"{where}: sizes", sizes, SIZES)
        static_argnames = checks.names(f"{where}: static_argnames", static_argnames)
        thread_count(f"{where}: threads", options.get("threads"))
        checked_options(where, {k: v for k, v in options.items() if k != "threads"})
        functools.update_wrapper(self, f)
        self.f, self.sizes, self.options = f, sizes, options
        self.static = static_argnames
        self.signature = _signature_of(f)
        for name in self.static:
            if name not in self.signature.parameters:
                raise ArgumentError(f"{where}: static_argnames: {self._called()} has no argument "
                                    f"'{name}'")
        self.memo: Dict[Hashable, Tuple[backend.Runner, tree.Structure, bool]] = {}
        self.groups: Dict[Hashable, Group] = {}
        self.lock = threading.RLock()
        self.hits = self.misses = self.compiled = 0
        self.direct: Dict[tree.Structure, Optional[Direct]] = {}
        self.flat: Optional[Direct] = None
        self.recent: Optional[Direct] = None  # of the last call that was found by its structure
        self.quick: Dict[Hashable, Tuple[backend.Runner, tree.Structure, bool]] = {}
        self.last: Optional[Program] = None
        self.again: Optional[Callable[[Dict[str, int]], Program]] = None
        self.fixed: Dict[scope.Place, int] = {}

    def _called(self) -> str:
        """The name of the Python function."""
        return str(getattr(self.f, "__name__", "the function"))

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Function":
        """A function of its own, which compiles anew; the Python function is shared."""
        return Function(self.f, self.static, self.sizes, dict(self.options))

    def __reduce__(self) -> Any:
        """By name where the decorated function has it; else by the Python function."""
        found: Any = sys.modules.get(str(getattr(self, "__module__", "")))
        name = str(getattr(self, "__qualname__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (
            Function, (self.f, self.static, self.sizes, dict(self.options)))

    def __repr__(self) -> str:
        return f"<neoc.function {self._called()}{self.signature}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    # ---- calls
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or self.static or scope.is_tracing():
                return self._call(args, kwargs)
            known, leaves = self.flat, args
            if known is None or len(args) != known.count:
                known = self.recent
                found = _core.tree_leaves(known.arguments, args) if known is not None else None
                if found is None:
                    flat, structure = tree.flatten(args)
                    known, found = self.direct.get(structure), tuple(flat)
                    if known is None:
                        return self._looked_up(structure, flat, args)
                    self.recent = known
                leaves = found
            assert known is not None
            values = known.op(*leaves)
            self.hits += 1
            return values if known.structure is None else known.made(values)
        except NotDirect:
            pass
        except RangeError as problem:
            if scope.is_tracing() or not _any_large(args):
                raise shortened(problem)
        except Exception as problem:
            raise shortened(problem)
        return self._call_short(args, kwargs)

    @short
    def _call_short(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        return self._call(args, kwargs)

    def _looked_up(self, structure: tree.Structure, leaves: List[Any],
                   args: Tuple[Any, ...]) -> Any:
        """A call of arrays that a table of Python's knows: of programs with sizes of the run."""
        try:
            key = structure, tuple([(x.shape, x.dtype) for x in leaves])
            found = self.quick.get(key)
        except (AttributeError, TypeError):
            return self._call(args, {})
        if found is None:
            result = self._call(args, {})
            if not any(isinstance(x, Tensor) for x in leaves):
                self.quick[key] = self._program_of(self._bound(args, {}))
            return result
        self.hits += 1
        return _result(found, leaves)

    def _call(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        if scope.current() is not None and _any_symbolic((args, kwargs)):
            return self.f(*args, **kwargs)
        given = self._bound(args, kwargs)
        key = given.key()
        found = self.memo.get(key)
        if found is None:
            with self.lock:
                found = self.memo.get(key) or self._found(given, key)
            if not kwargs and not self.static and self.sizes != "dynamic":
                self._become_direct(given)
        else:
            self.hits += 1
        return _result(found, given.leaves)

    def _become_direct(self, given: "Given") -> None:
        """After the first call: where all arguments are arrays, later ones are looked up in C."""
        kinds = {p.kind for p in self.signature.parameters.values()}
        if given.structure in self.direct or not given.leaves or not kinds <= {
                inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}:
            return
        made = self.direct[given.structure] = Direct(self, given)
        if made.op is None:
            self.direct[given.structure] = None
        elif all(s == tree.LEAF for s in given.structure[3]):
            self.flat = made

    def _program_of(self, given: "Given") -> Tuple[backend.Runner, tree.Structure, bool]:
        """The program that is compiled for these arguments."""
        key = given.key()
        with self.lock:
            return self.memo.get(key) or self._found(given, key)

    def _bound(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> "Given":
        bound = self.signature.bind(*args, **kwargs)
        if self.static or kwargs:
            bound.apply_defaults()
        return Given(self, bound)

    def _found(self, given: "Given", key: Hashable) -> Tuple[backend.Runner, tree.Structure, bool]:
        self.misses += 1
        group = self.groups.setdefault(given.group(), Group())
        variant = next((v for v in group.variants if v.fits(given.shapes)), None)
        if variant is None:
            variant = self._compiled(given, group)
            for v in group.variants:
                v.program.release()
            group.variants.append(variant)
        group.shapes.append(tuple(map(tuple, given.shapes)))
        structure = variant.program.structure
        found = variant.run, structure, structure == tree.LEAF
        self.memo[key] = found
        return found

    def _compiled(self, given: "Given", group: Group) -> Variant:
        varying = group.varying(given.shapes, self.sizes)
        try:
            program = self._traced(given, group, varying)
            run = backend.build(program, self.options)
        except CompileError:
            if not varying or self.sizes == "dynamic":
                raise
            group.only_fixed = True
            program = self._traced(given, group, [])
            run = backend.build(program, self.options)
        self.compiled += 1
        self._remember(program, given)
        return Variant(program, run)

    def _remember(self, program: Program, given: "Given") -> None:
        """Notes the last trace, and how often a line made a size a number."""
        self.last = program
        self.again = functools.partial(
            with_bounds, self._called(), self._trace_with, program, given.without_values())
        for place in program.fixed:
            count = self.fixed[place] = self.fixed.get(place, 0) + 1
            if count == MOST_FIXED and place[0]:
                warnings.warn_explicit(
                    f"{self._called()} was compiled {count} times because of this line: it needs a "
                    "size as a number, so that each other size is another program. neoc.arange(n) "
                    "in place of np.arange(n), neoc.zeros(n) and arithmetic of sizes do not",
                    CompileWarning, *place)

    def _traced(self, given: "Given", group: Group, varying: List[Tuple[int, int]]) -> Program:
        try:
            return self._trace(given, group, varying)
        except VaryingSize as e:
            more = {(k, a) for k, shape in enumerate(given.shapes) for a, n in enumerate(shape)
                    if n == e.value}
            return self._trace(given, group, sorted(more | set(varying)))

    def _trace(self, given: "Given", group: Group, varying: List[Tuple[int, int]]) -> Program:
        return self._trace_with(given, {at: group.symbol(given.shapes, at) for at in varying})

    def _trace_with(self, given: "Given", symbols: Dict[Tuple[int, int], Symbol]) -> Program:
        """The text for arguments some axes of which are these sizes of the run."""
        extents = [[symbols.get((k, a), n) for a, n in enumerate(shape)]
                   for k, shape in enumerate(given.shapes)]
        signature = Signature(extents, given.kinds, given.names(), given.weak)
        code = getattr(self.f, "__code__", None)
        place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
        return trace_call(given.call, signature, list(symbols.values()), place)

    # ---- what was made
    @short
    def text(self, *args: Any, **kwargs: Any) -> str:
        """The text of the language for these arguments; without any, that of the last trace.

        An argument is an array, or stands for one: a tuple of extents (float32), a string such as
        "i32[8, 16]", or what has `shape` and `dtype`.

        >>> import neoc
        >>> print(neoc.function(lambda x: 2*x).text((3,)), end="")
        input x[3]
        y[i] = 2*x[i]
        output y
        """
        if not args and not kwargs and self.signature.parameters:
            if self.last is None:
                raise NeoError(f"{self._called()} was not called yet: give shapes, as in "
                               "f.text((32, 64), (64, 10))")
            return self.last.text
        given = self._of_shapes(args, kwargs)
        group = Group()
        return self._traced(given, group, group.varying(given.shapes, self.sizes)).text

    def _of_shapes(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Given:
        """Arguments that stand for arrays; static ones are as they are."""
        names = list(self.signature.parameters)
        leaves = [a if k < len(names) and names[k] in self.static else
                  tree.map(standing, shapes_apart(a)) for k, a in enumerate(args)]
        named = {k: v if k in self.static else tree.map(standing, shapes_apart(v))
                 for k, v in kwargs.items()}
        return self._bound(tuple(leaves), named)

    @short
    def compile(self, *args: Any, **kwargs: Any) -> "Function":
        """Compile now for arguments of these shapes (as of text), and return itself.

        >>> import neoc
        >>> f = neoc.function(lambda x: 2*x).compile((3,))
        >>> f.cache_info().compiled
        1
        """
        self._program_of(self._of_shapes(args, kwargs))
        return self

    def explain(self, what: str = "groups") -> str:
        """The compiler's result for the text of the last trace, as `neoc explain`.

        what: "groups", "schedule", "kernels", "memory", "after=PASS".
        """
        where = f"{self._called()}.explain(): what"
        check_explained(where, what)
        if self.last is None:
            raise NeoError(f"{self._called()} was not called yet, so there is nothing to explain: "
                           "f.compile((32, 64), (64, 10)) compiles it for these shapes")
        return backend.explained(self.last.text, what, self.options)

    @short
    def save(self, path: str, bounds: Optional[Mapping[str, int]] = None) -> None:
        """Write the text of the last trace to a file, which `neoc compile` makes a library of.

        bounds: the greatest values of sizes of the run, by their names in the text ({"N": 4096});
        the function is traced again with them. Results are outputs in the order of the tree: dicts
        by key. Constant arrays that are too large to be written in it are inputs there, and are
        written beside it as PATH.NAME.npy.
        """
        where = f"{self._called()}.save(): path"
        place = checks.path(where, path)
        if self.last is None:
            raise NeoError(f"{self._called()} was not called yet, so there is nothing to save: "
                           "f.compile((32, 64), (64, 10)) compiles it for these shapes")
        program = self.last
        if bounds is not None:
            assert self.again is not None
            told = f"{self._called()}.save(): bounds"
            wanted = checks.mapping(told, bounds, "a dict from names of sizes to numbers")
            program = self.again({name: checks.number(f"{told}['{name}']", n, 1, LARGEST_BOUND)
                                  for name, n in wanted.items()})
        write_text(where, place, program.text)
        for name, value in program.inputs:
            if not isinstance(value, int):
                np.save(f"{place}.{name}.npy", value)

    def cache_info(self) -> CacheInfo:
        """How many calls were found, how many were looked for, programs compiled, entries."""
        return CacheInfo(self.hits, self.misses, self.compiled, len(self.memo))

    def cache_clear(self) -> None:
        """Forget all that was compiled."""
        with self.lock:
            self.memo.clear()
            self.groups.clear()
            self.direct.clear()
            self.quick.clear()
            self.flat = self.recent = None


def _signature_of(f: Any) -> inspect.Signature:
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        raise checks.wrong_type("neoc.function(): f", "a Python function, whose arguments have "
                                "names", f) from None


def _any_large(args: Any) -> bool:
    """Whether there are integers of Python's that an int32 does not hold."""
    return any(type(v) is int and not -2**31 <= v < 2**31 for v in tree.flatten(args)[0])


def _any_symbolic(args: Any) -> bool:
    return any(isinstance(v, Tensor) and not v.owner.eager for v in tree.flatten(args)[0])


def _result(found: Tuple[backend.Runner, tree.Structure, bool], leaves: Sequence[Any]) -> Any:
    run, structure, single = found
    values = run(leaves)
    return values[0] if single else tree.unflatten(structure, values)


def function(f: Optional[Callable[..., Any]] = None, *, static_argnames: Sequence[str] = (),
             sizes: str = "auto", **options: Any) -> Any:
    """Make a Python function over tensors one that is compiled.

    The function is called with symbolic tensors once for each kind of arguments, and what it does
    with them becomes a text of the language, which is compiled and remembered. Arguments and
    results are arrays, numbers, and dicts, lists, tuples, namedtuples and dataclasses of them.

    static_argnames: arguments that are no tensors; other values are other programs.
    sizes: "auto": an axis that changes its size becomes a size of the run; "fixed": each shape is
    compiled by itself; "dynamic": all axes are sizes of the run from the start.
    options: of neoc.compile (math="bf16", threads=...).

    >>> import numpy as np, neoc
    >>> @neoc.function
    ... def scaled(x, y):
    ...     return {"product": x * y, "total": (x * y).sum()}
    >>> print(scaled.text((4,), (4,)), end="")
    input x[4]
    input y[4]
    product[i] = x[i]*y[i]
    total = sum[i] x[i]*y[i]
    output product, total
    """
    if f is None:
        where = "neoc.function()"  # what can be told before there is a function
        checks.choice(f"{where}: sizes", sizes, SIZES)
        checks.names(f"{where}: static_argnames", static_argnames)
        return lambda g: Function(g, static_argnames, sizes, options)
    return Function(f, static_argnames, sizes, options)


__all__ = ["CacheInfo", "Function", "Unsupported", "function"]
