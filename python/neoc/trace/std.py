"""neoc.nn, neoc.optim, neoc.linalg, neoc.schedule, neoc.vision: functions of models/std.

Each function of a module is one of Python's with the module's comment. In a traced function it adds
a call to the text; shapes and types of its results are asked of the compiler.
"""
from __future__ import annotations

import inspect
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import checks
from ..errors import CompileError, DTypeError, NeoError, ShapeError
from . import backend, module_text, nested, scope, tree
from .expr import Apply
from .functions import converted, pointwise
from .index import demand_from_zero
from .kinds import FLOATS, joined
from .make import lift
from .module_text import Definition, Lifted, Variable
from .poly import Poly, Symbol, at_least, greatest, poly
from .scope import Statement
from .named import told
from .size_floats import number_of
from .sizes import equal, fix
from .tensor import Tensor, TraceError
from .text import Writer, number
from .weak import weak_of

NAMES = re.compile(r"[A-Za-z_]\w*")


class Call(Statement):
    """y, i = nn.sort(x, descending = true)."""

    is_named_by_keys = True

    def __init__(self, name: str, arguments: Sequence[Tensor], options: str) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        self.name, self.arguments, self.options = name, list(arguments), options
        self.labels: Sequence[str] = ()
        for t in arguments:
            t.pinned = t.pinned or t.body is not None

    def uses(self) -> Sequence[Tensor]:
        return self.arguments

    def call_results(self, writer: Writer) -> None:
        """Results that no variable holds are called as in the function."""
        for r, label in zip(self.results, self.labels):
            r.name = r.name or label

    def write(self, writer: Writer) -> None:
        names = [writer.name(r) if id(r) in writer.live else "_" for r in self.results]
        inner = ", ".join([writer.name(t) for t in self.arguments] +
                          ([self.options] if self.options else []))
        writer.line(f"{', '.join(names)} = {self.name}({inner})", self.place)


class StdFunction:
    """A function of a module of the language."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        has_states = module_text.has_states(definition)
        self.parameters = module_text.all_parameters(definition)
        self.has_layers = not has_states and nested.needs_copy(definition)
        self.lifted = Lifted(definition, definition.name) if has_states else None
        self.__name__ = definition.name
        self.__qualname__ = f"{definition.module}.{definition.name}"
        self.__module__ = f"neoc.{definition.module}"
        self.__doc__ = documented(definition)
        self.__signature__ = signature_of(definition)

    def __repr__(self) -> str:
        return f"<function neoc.{self.__qualname__}{self.__signature__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(*args, **kwargs)
        except (TypeError, ValueError, ArithmeticError, NeoError) as problem:
            raise told(problem, f"neoc.{self.__qualname__}()", self, args, kwargs) from None

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        values = dict(self.__signature__.bind(*args, **kwargs).arguments)
        given = values.pop("params", None)
        params = dict({} if given is None else checks.mapping(
            "params", given, "a dict of parameters by name"))
        for v in self.parameters:
            if values.get(v.name) is not None:
                params[v.name] = values.pop(v.name)
            values.pop(v.name, None)
        names = self._tensors()
        if self.lifted is not None:
            values.update({n: params.pop(n) for n in names if n in params})
        missing = [n for n in names if n not in values]
        if missing:
            raise TypeError(f"needs {', '.join(missing)}; "
                            f"{self.__qualname__}.init gives initial values of parameters")
        if scope.current() is None:
            raise TraceError("there is no traced function here; use @neoc.function or neoc.eager()")
        params = {k: lift(v) if not isinstance(v, dict) else v for k, v in params.items()}
        given = [values.pop(n) for n in names]
        tensors = self._typed([v if weak_of(v) else lift(v) for v in given], params)
        if self._is_elementwise(tensors):
            return self._elementwise(tensors, values)
        if self.has_layers:
            return self._of_layers(tensors, values, params)
        return self._called(tensors, values)

    def _of_layers(self, tensors: List[Tensor], options: Dict[str, Any],
                   params: Dict[str, Any]) -> Any:
        """A call of a copy whose parameters are arguments (nested.py)."""
        d = self.definition
        training = checks.flag("training", options.pop("training", False))
        self._complete(options, params)
        results = [f"r{k}" for k in range(len(d.results))]
        for v in tree.flatten(params)[0]:
            for extent in v.extents if isinstance(v, Tensor) else ():
                fix(extent)
        shapes = _with_fewer_sizes(tensors, lambda: nested.parameters_of(call_text(
            f"{d.module}.{d.name}", tensors, _options(options), results, {d.module}, {},
            _Sizes()), "r0"))
        copy = _copy(d, shapes)
        values = self._values(copy, shapes, params)
        if copy.trains:
            options["is_training"] = bool(training)
        made = call(copy.name, [*tensors, *values], _options(options), d.results,
                    imports_of("\n".join(copy.texts.values())), copy.texts)
        return made[0] if len(d.results) == 1 else tuple(made)

    def _complete(self, options: Dict[str, Any], params: Dict[str, Any]) -> None:
        """Options that the shape of a parameter tells, as the width of a layer."""
        for o in self.definition.options:
            for v in self.parameters:
                if not o.value and o.name not in options and v.axes and o.name in v.axes \
                        and isinstance(params.get(v.name), Tensor):
                    options[o.name] = params[v.name].shape[v.axes.index(o.name)]
            if not o.value and o.name not in options:
                raise TypeError(f"needs the option {o.name}=, or the parameters")

    def _values(self, copy: nested.Copy, shapes: Dict[nested.Path, Tuple[int, ...]],
                params: Dict[str, Any]) -> List[Tensor]:
        try:
            values = [lift(v) for v in nested.values_of(params, copy.paths)]
        except (KeyError, TypeError):
            told = ", ".join(".".join(p) for p in copy.paths)
            raise TypeError(f"{self.__qualname__}() needs {told}: params= is a tree of them, as "
                            f"{self.__qualname__}.init gives it") from None
        for path, v in zip(copy.paths, values):
            if v.ndim != len(shapes[path]) or not all(
                    equal(e, poly(n)) for e, n in zip(v.extents, shapes[path])):
                raise ShapeError(f"{self.__qualname__}: {'.'.join(path)} has the shape "
                                 f"{shapes[path]}, given is {v.shape}")
        return values

    def init(self, *args: Any, seed: int = 0, **options: Any) -> Dict[str, Any]:
        """Initial values of its parameters and states as arrays, by name.

        args: arrays or shapes of the arguments; options: as of a call.
        """
        from .initial import initial_values
        where = f"neoc.{self.__qualname__}.init()"
        seed = checks.seed(f"{where}: seed", seed)
        for name, value in options.items():
            if not isinstance(value, (bool, int, float, np.generic)):
                raise checks.wrong_type(f"{where}: {name}", "a number or a bool", value)
        return initial_values(self.definition, args, options, seed)

    # ---- arguments
    def _variables(self) -> List[Variable]:
        d = self.definition
        return d.arguments + (d.parameters + d.states if self.lifted is not None else [])

    def _tensors(self) -> List[str]:
        return [v.name for v in self._variables()]

    def _is_elementwise(self, tensors: Sequence[Tensor]) -> bool:
        return any(v.axes is None and t.extents for v, t in zip(self._variables(), tensors))

    def _typed(self, tensors: List[Tensor], params: Dict[str, Any]) -> List[Tensor]:
        """Arguments in the types of the signature, with the bounds that it asks for."""
        variables = self._variables()
        given = [(v, params[v.name]) for v in self.parameters
                 if isinstance(params.get(v.name), Tensor)]
        sizes = agree_on_axes(self.__qualname__, variables, tensors, given)
        reals = [t.kind for v, t in zip(variables, tensors)
                 if v.kind == "real" and weak_of(t) is None]
        real = joined(self.__qualname__, [k for k in reals if k in FLOATS]) if any(
            k in FLOATS for k in reals) else "f32"
        return [self._one_typed(v, t, real, sizes) for v, t in zip(variables, tensors)]

    def _one_typed(self, v: Variable, t: Tensor, real: str, sizes: Dict[str, Poly]) -> Tensor:
        kind, _, bound = (p.strip() for p in v.kind.partition("<"))
        wanted = {"real": real, "wide(real)": "f32" if real in ("f16", "bf16") else real}.get(
            kind, kind)
        if weak_of(t) is not None:
            t = converted(t, wanted or t.kind)
        if wanted and wanted != t.kind:
            if wanted in FLOATS and t.kind in FLOATS:
                raise DTypeError(f"{self.__qualname__}: {v.name} is {t.kind}, it takes {wanted}")
            t = converted(t, wanted)
        if bound:
            extent = sizes.get(bound)
            if extent is not None:
                demand_from_zero(t, extent)
                _check_bound(self.__qualname__, v, t, extent)
        return t

    # ---- calls
    def _elementwise(self, tensors: Sequence[Tensor], options: Dict[str, Any]) -> Tensor:
        trace = scope.current()
        assert trace is not None
        trace.imports.add(self.definition.module)
        kind = tensors[0].kind
        name = f"{self.definition.module}.{self.definition.name}"
        text = _options(options)
        return pointwise(tensors, kind, lambda *e: Apply(name, e, kind, text))

    def _called(self, tensors: List[Tensor], options: Dict[str, Any]) -> Any:
        name = f"{self.definition.module}.{self.definition.name}"
        imports, functions = {self.definition.module}, {}
        if self.lifted is not None:
            imports |= imports_of(self.lifted.text)
            name = self.lifted.name
            functions[name] = self.lifted.text
            if self.definition.trains and "training" in options:
                options["is_training"] = options.pop("training")
        labels = self.lifted.results() if self.lifted else self.definition.results
        results = call(name, tensors, _options(options), labels, imports, functions)
        return results[0] if len(labels) == 1 else tuple(results)


def imports_of(text: str) -> Any:
    """The modules that a text reads."""
    return {m for m in ("nn", "linalg", "optim", "schedule", "vision", "recurrent")
            if re.search(rf"(?<![\w.]){m}\.\w", text)}


def agree_on_axes(name: str, variables: Sequence[Variable], tensors: Sequence[Tensor],
                  given: Sequence[Tuple[Variable, Tensor]] = ()) -> Dict[str, Poly]:
    """Make axes that a signature calls by one name one size of the run; the sizes by name.

    given: variables that are known already. ShapeError where the axes have other extents.
    """
    sizes: Dict[str, Poly] = {}
    rest: Optional[Sequence[Poly]] = None
    for v, t in given:
        for k, axis in enumerate(v.axes or []):
            if axis.isidentifier() and k < t.ndim:
                sizes.setdefault(axis, t.extents[k])
    for v, t in zip(variables, tensors):
        _check_rank(name, v, t)
        for k, axis in _axes(v, t):
            axis = axis.rpartition("<")[2].strip()
            if axis.isidentifier() and k < t.ndim:
                _agree(name, v, axis, sizes.setdefault(axis, t.extents[k]), t.extents[k])
        dots = _dots(v, t)
        if dots is not None:
            rest = dots if rest is None else rest
            _same_dots(name, v, rest, dots)
    return sizes


def _agree(name: str, v: Variable, axis: str, a: Poly, b: Poly) -> None:
    if not equal(a, b):
        raise ShapeError(f"{name}: {axis} of {v.name}[{', '.join(v.axes or [])}] is {b.value()}, "
                         f"in an argument before it {a.value()}")


def _dots(v: Variable, t: Tensor) -> Optional[Sequence[Poly]]:
    """The extents that `..` stands for."""
    axes = v.axes or []
    if ".." not in axes:
        return None
    at = axes.index("..")
    return t.extents[at:t.ndim - (len(axes) - at - 1)]


def _same_dots(name: str, v: Variable, rest: Sequence[Poly], dots: Sequence[Poly]) -> None:
    if len(rest) != len(dots) or not all(equal(a, b) for a, b in zip(rest, dots)):
        told = [tuple(e.value() for e in d) for d in (rest, dots)]
        raise ShapeError(f"{name}: '..' is {told[0]} in an argument before {v.name} and {told[1]} "
                         "in it")


def _check_rank(name: str, v: Variable, t: Tensor) -> None:
    axes = v.axes
    if axes is None:
        return
    fixed = len([a for a in axes if a != ".."])
    if t.ndim < fixed or (t.ndim > fixed and ".." not in axes):
        raise ShapeError(f"{name}: {v.name} is {v.name}[{', '.join(axes)}], here is a tensor of "
                         f"shape {t.shape}")


def _check_bound(name: str, v: Variable, t: Tensor, extent: Poly) -> None:
    bound = t.bound
    if bound is None or not (at_least(bound[0], 0) and at_least(extent, bound[1])):
        raise DTypeError(f"{name}: the elements of {v.name} must be known to lie in "
                         f"[0, {extent.value()}): an argument of the traced function is checked at "
                         "each call, and neoc.clip(i, 0, n - 1) and i % n are known to")
    t.is_index = t.is_index or not t.is_view


def _axes(v: Variable, t: Tensor) -> List[Tuple[int, str]]:
    axes = v.axes or []
    if ".." not in axes:
        return list(enumerate(axes))
    at = axes.index("..")
    return [(k, a) for k, a in enumerate(axes[:at])] + \
           [(t.ndim - len(axes) + 1 + k + at, a) for k, a in enumerate(axes[at + 1:])]


def _options(options: Dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_option(name, value)}" for name, value in options.items())


def _option(name: str, value: Any) -> str:
    try:
        return option(value)
    except TypeError as problem:
        raise TypeError(f"{name}: {problem}") from None


def option(value: Any) -> str:
    """A value that is known when the function is traced, as the language writes it."""
    value = number_of(value)
    if isinstance(value, Tensor):
        raise TypeError("options of functions are known when the function is traced, a tensor is "
                        "not")
    if isinstance(value, (bool, int, float)):
        return number(value)
    if hasattr(value, "item"):
        return number(value.item())
    raise TypeError(f"expected a number or a bool, given {checks.shown(value)}")


def call(name: str, tensors: Sequence[Tensor], options: str, labels: Sequence[str],
         imports: Any, functions: Dict[str, str]) -> List[Tensor]:
    """Add a call of a function of the language; its results, which have these names there."""
    trace = scope.current()
    assert trace is not None
    statement = Call(name, tensors, options)
    statement.labels = labels
    found = result_types(name, tensors, options, len(labels), imports, functions)
    trace.imports |= imports
    for key, text in functions.items():
        trace.functions.setdefault(key, (text, statement.place))
    statement.results = [Tensor(trace, extents, kind, source=statement, bound=bound)
                         for kind, extents, bound in found]
    return statement.results


# ---- shapes of results
def result_types(name: str, tensors: Sequence[Tensor], options: str, count: int, imports: Any,
                 functions: Dict[str, str]) -> List[Tuple[str, List[Poly], Any]]:
    """Types, extents and bounds of a call's results, by the compiler's front."""
    def ask() -> List[Tuple[str, List[Poly], Any]]:
        sizes = _Sizes()
        results = [f"r{k}" for k in range(count)]
        lines = call_text(name, tensors, options, results, imports, functions, sizes)
        found = backend.shapes_of("\n".join(lines) + "\n")
        return [(found[r].kind, [sizes.parsed(e) for e in found[r].extents],
                 sizes.bound(found[r].bound)) for r in results]

    return _with_fewer_sizes(tensors, ask)  # type: ignore[no-any-return]


def _with_fewer_sizes(tensors: Sequence[Tensor], ask: Callable[[], Any]) -> Any:
    """The compiler's description of a call of these tensors. If it refuses the call, sizes of the
    run that are equal in this trace become one, and then constants: what a text needs of the
    extents of its inputs is in its lines, which the compiler reads."""
    sizes = [e for t in tensors for e in t.extents]

    def joined_sizes() -> None:
        for k, a in enumerate(sizes):
            for b in sizes[:k]:
                if a.value() == b.value():
                    equal(a, b)

    for change in (joined_sizes, lambda: [fix(e) for e in sizes]):
        try:
            return ask()
        except CompileError:
            if all(e.constant() is not None for e in sizes):
                break
        change()
    return _at_place(ask)


def call_text(name: str, tensors: Sequence[Tensor], options: str, results: Sequence[str],
              imports: Any, functions: Dict[str, str], sizes: "_Sizes") -> List[str]:
    """A text with this call alone, of inputs of the tensors' types."""
    lines = [f"import {', '.join(sorted(imports))}"] if imports else []
    lines += list(functions.values())
    heads = [sizes.input(f"a{k}", t) for k, t in enumerate(tensors)]
    inner = ", ".join([f"a{k}" for k in range(len(tensors))] + ([options] if options else []))
    body = [f"{', '.join(results)} = {name}({inner})", f"output {', '.join(results)}"]
    return lines + sizes.lines() + heads + body


def _at_place(ask: Callable[[], Any]) -> Any:
    """The compiler's description; its errors become exceptions at the traced line of Python."""
    try:
        return ask()
    except CompileError as e:
        trace = scope.current()
        raise backend.told_at(e, trace.place() if trace else ("", 0)) from None


class _Sizes:
    """Sizes of arguments under names of their own, and back."""

    def __init__(self) -> None:
        self.names: Dict[Poly, str] = {}
        self.known: Dict[str, Poly] = {}

    def input(self, name: str, t: Tensor) -> str:
        extents = [self._text(e) for e in t.extents]
        kind = t.kind
        if t.bound is not None:
            low, high = (b.now() for b in t.bound)
            if at_least(low, 0) and low == poly(0):
                kind = f"{t.kind} < {self._bound_text(high)}"
        return f"input {name}{'[' + ', '.join(extents) + ']' if extents else ''} : {kind}"

    def _text(self, extent: Poly) -> str:
        constant = extent.constant()
        if constant is not None:
            return str(constant)
        key = extent.now()
        if key not in self.names:
            self.names[key] = f"S{len(self.names)}"
            self.known[self.names[key]] = key
        return self.names[key]

    def _bound_text(self, high: Poly) -> str:
        constant = high.constant()
        if constant is not None:
            return str(constant)
        if high in self.names:
            return self.names[high]
        return str(high.value())

    def lines(self) -> List[str]:
        """Declarations of the sizes, after all inputs were asked for."""
        return [f"dim {_smallest(p)} <= {name} <= {_largest(p)}" for name, p in self.known.items()]

    def parsed(self, text: str) -> Poly:
        """An extent as the compiler writes it: (S0 + 2)/2 + 1."""
        code = text.replace("/", "//")
        known: Dict[str, Any] = {n: self.known[n] for n in NAMES.findall(code)}
        if not known:
            return poly(eval(code, {"__builtins__": {}}))
        return poly(eval(code, {"__builtins__": {}}, known))

    def bound(self, text: str) -> Optional[Tuple[Poly, Poly]]:
        match = re.match(r"< (.+)$", text)
        if match is None:
            return None
        try:
            return poly(0), self.parsed(match.group(1))
        except (KeyError, SyntaxError):
            return None


def _smallest(p: Poly) -> int:
    return 1 if at_least(p, 1) else 0


def _largest(p: Poly) -> int:
    high = greatest(p)
    value = 1 << 30 if high is None else high.map(_upper).constant()
    return max(1, min(value or 1, 1 << 40))


def _upper(atom: Any) -> Optional[Poly]:
    return poly(atom.high) if isinstance(atom, Symbol) else None


# ---- comments and signatures
def signature_of(d: Definition) -> inspect.Signature:
    """The signature in Python: tensors by position, then options by name."""
    kinds = inspect.Parameter
    known = {a.name for a in d.arguments}
    own = [v.name for v in module_text.all_parameters(d) + d.states if v.name not in known]
    parameters = [kinds(a.name, kinds.POSITIONAL_OR_KEYWORD) for a in d.arguments]
    parameters += [kinds(n, kinds.POSITIONAL_OR_KEYWORD, default=None) for n in own]
    told = {a for v in module_text.all_parameters(d) for a in v.axes or []}
    for o in d.options:
        default = _value(o.value) if o.value else None if o.name in told else kinds.empty
        parameters.append(kinds(o.name, kinds.KEYWORD_ONLY, default=default))
    if nested.needs_copy(d) and not d.is_optimizer:
        parameters.append(kinds("params", kinds.KEYWORD_ONLY, default=None))
        parameters.append(kinds("training", kinds.KEYWORD_ONLY, default=False))
    return inspect.Signature(parameters)


def _copy(d: Definition, shapes: Dict[nested.Path, Tuple[int, ...]]) -> nested.Copy:
    """A copy under a name of its own: two calls may have other parameters."""
    trace = scope.current()
    assert trace is not None
    number = 1
    while True:
        copy = nested.Copy(d, d.name + (str(number) if number > 1 else ""), shapes)
        if all(trace.functions.get(k, (t,))[0] == t for k, t in copy.texts.items()):
            return copy
        number += 1


class Written:
    """A default that is an expression of the language."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _value(text: str) -> Any:
    try:
        return {"true": True, "false": False, "inf": float("inf"), "-inf": float("-inf")}.get(
            text) if text in ("true", "false", "inf", "-inf") else (
                int(text) if re.fullmatch(r"-?\d+", text) else float(text))
    except ValueError:
        return Written(text)


def documented(d: Definition) -> str:
    """The docstring: the module's comment, and what is an argument here."""
    told = d.comment.strip() or f"A part of {d.module}."
    told = re.sub(r"(?m)^  (\S)", r"    \1", told)
    told += f"\n\nArguments: {_axes_of(d.arguments)}."
    own = module_text.all_parameters(d)
    if own and not d.is_optimizer:
        told += (f"\nParameters, which follow them: {_axes_of(own)}; {d.name}.init gives initial "
                 "values.")
    elif module_text.calls_stateful(d):
        told += f"\nParameters: params=, a tree; {d.name}.init gives initial values."
    if d.states and not d.is_optimizer:
        told += (f"\nStates, behind those: {_axes_of(d.states)}; their next values are further "
                 "results.")
    return told


def _axes_of(variables: Sequence[Variable]) -> str:
    return ", ".join(f"{v.name}[{', '.join(v.axes)}]" if v.axes is not None else v.name
                     for v in variables)


def functions_of(name: str) -> Dict[str, Any]:
    """All documented functions of a module."""
    found = module_text.module(name)
    return {d.name: StdFunction(d) for d in found.definitions.values()
            if d.comment and not d.is_optimizer}

