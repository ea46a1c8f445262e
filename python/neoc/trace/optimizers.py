"""neoc.optim and neoc.train_step: the optimizers of models/std/optim.expr as pure functions.

An optimizer of the language has states and updates the tensor that it trains. Here both are
arguments and results: opt.init(params) gives the states, opt.update(gradients, states, params) the
next parameters and states, all as trees. The learning rate and the number of the step are states,
so that changing them compiles nothing.
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from .. import checks
from ..errors import ArgumentError, NameError_, RangeError, Unsupported
from . import tree
from .diff import value_and_grad
from .function import Function
from .broadcast import is_weak
from .functions import converted, sqrt, square, sum as total
from .kinds import FLOATS, dtype_of, kind_of
from .make import full, lift
from .module_text import Definition, Lifted, Variable, module
from .std import Written, _options, _value, agree_on_axes, call, documented, imports_of
from .tensor import Tensor

Tree = Any


class Optimizer:
    """An optimizer with its options; neoc.optim.adam(lr=1e-3) is one.

    States are a dict: for each state of the optimizer a tree like the parameters, "step" (int64,
    how many updates there were) where the optimizer counts, and a scalar for each option that may
    change while training runs, as "lr".
    """

    def __init__(self, definition: Definition, options: Dict[str, Any]) -> None:
        self.definition = definition
        self.lifted = Lifted(definition, definition.name)
        self.rates = {s.name: options.pop(s.name, _value(s.value)) for s in self.lifted.settings}
        self.options = options
        for name, value in {**self.rates, **options}.items():
            if not (callable(value) and name in self.rates) and not _is_number(value):
                more = ", or a function from the step" if name in self.rates else ""
                raise checks.wrong_type(f"neoc.optim.{definition.name}(): {name}",
                                        f"a number{more}", value)
        self._check()

    def _check(self) -> None:
        nested = "state " in "".join(self.definition.body).replace("  state ", "", len(
            self.definition.states))
        if nested and self.options.get("every", 1) != 1:
            raise Unsupported(f"optim.{self.definition.name} keeps roots between steps where every "
                              "is not 1; in a traced function every is 1")

    def __repr__(self) -> str:
        inner = {**self.rates, **self.options}
        told = ", ".join(f"{k}={v!r}" for k, v in inner.items())
        return f"neoc.optim.{self.definition.name}({told})"

    # ---- states
    def init(self, params: Tree) -> Dict[str, Any]:
        """The states with which training begins, as arrays, for parameters that are arrays."""
        where = f"neoc.optim.{self.definition.name}.init(): params"
        for w in tree.flatten(params)[0]:
            if not isinstance(w, (float, np.generic)) and not hasattr(w, "dtype"):
                raise checks.wrong_type(where, "a tree of arrays of floats", w)
        states: Dict[str, Any] = {}
        for s in self.definition.states:
            states[s.name] = tree.map(lambda w, s=s: self._first(s, w), params)
        for name, rate in self.rates.items():
            states[name] = np.asarray(0.0 if callable(rate) else rate, np.float32)
        if self._counts():
            states["step"] = np.asarray(0, np.int64)
        return states

    def _counts(self) -> bool:
        return self.lifted.uses_step or any(callable(r) for r in self.rates.values())

    def _first(self, s: Variable, w: Any) -> Any:
        kind = "f32" if type(w) is float else kind_of(getattr(w, "dtype", np.asarray(w).dtype))
        wide = "f32" if kind in ("f16", "bf16") else kind
        target = {"wide(real)": wide, "real": kind, "": "f32"}.get(s.kind, s.kind)
        shape = self._shape(s, tuple(np.shape(w)))
        value = _value(s.value)
        if isinstance(value, Written):
            raise Unsupported(f"state {s.name} of optim.{self.definition.name} begins as "
                              f"{s.value}")
        return np.full(shape, value, dtype_of(target))

    def _shape(self, s: Variable, shape: Tuple[int, ...]) -> Tuple[int, ...]:
        first = self.definition.arguments[0]
        axes = first.axes or []
        known: Dict[str, Tuple[int, ...]] = {}
        if ".." in axes:
            at, behind = axes.index(".."), len(axes) - axes.index("..") - 1
            known[".."] = shape[at:len(shape) - behind]
            named = [*enumerate(axes[:at])] + [(k - behind, a) for k, a in
                                               enumerate(axes[at + 1:])]
        else:
            named = [*enumerate(axes)]
        if len(axes) > len(shape) + (".." in axes):
            raise Unsupported(f"optim.{self.definition.name} is of tensors "
                              f"w[{', '.join(axes)}], here is one of shape {shape}")
        for k, a in named:
            known[a] = (shape[k],)
        result: Tuple[int, ...] = ()
        for a in s.axes or []:
            name = a.split("<")[1].strip() if "<" in a else a
            result += known[name] if name in known else (int(name),)
        return result

    # ---- steps
    def update(self, gradients: Tree, states: Dict[str, Any], params: Tree,
               *more: Tree) -> Tuple[Tree, Dict[str, Any]]:
        """The next parameters and states, of gradients that are a tree like the parameters.

        more: what the optimizer takes behind w and g, as trees like the parameters.
        """
        where = f"neoc.optim.{self.definition.name}.update()"
        lacking = [n for n in self._state_names() if n not in checks.mapping(
            f"{where}: states", states, "a dict of states, as init gives it")]
        if lacking:
            raise NameError_(f"{where}: states: expected those of init, '{lacking[0]}' is missing")
        flat, structure = tree.flatten(params)
        slopes = self._column(gradients, structure, "gradients")
        columns = [[self._leaf("params", v, g.kind) for v, g in zip(flat, slopes)], slopes]
        columns += [self._column(m, structure, "arguments") for m in more]
        columns += [self._column(states[s.name], structure, s.name)
                    for s in self.definition.states]
        norm = self._norm(columns[1])
        step = lift(states["step"]) if "step" in states else None
        rows = [self._one(list(row), states, step, norm) for row in zip(*columns)]
        names = [s.name for s in self.definition.states]
        result = dict(states)
        for k, name in enumerate(names):
            result[name] = tree.unflatten(structure, [row[k + 1] for row in rows])
        if step is not None:
            result["step"] = step + 1
        return tree.unflatten(structure, [row[0] for row in rows]), result

    def _state_names(self) -> List[str]:
        return [*[s.name for s in self.definition.states],
                *[n for n, rate in self.rates.items() if not callable(rate)],
                *(["step"] if self._counts() else [])]

    def _column(self, values: Tree, structure: tree.Structure, what: str) -> List[Tensor]:
        leaves, its = tree.flatten(values)
        if its != structure:
            raise ArgumentError(f"neoc.optim.{self.definition.name}.update(): {what}: expected a "
                                f"tree as params, {tree.show(structure)}, given {tree.show(its)}")
        return [self._leaf(what, v) for v in leaves]

    def _leaf(self, what: str, value: Any, kind: str = "") -> Tensor:
        """A leaf as a tensor; a number of Python's in this type."""
        try:
            return lift(value, kind if kind and is_weak(value) else None)
        except (TypeError, RangeError) as problem:
            raise type(problem)(f"neoc.optim.{self.definition.name}.update(): {what}: "
                                f"{problem}") from None

    def _norm(self, gradients: Sequence[Tensor]) -> Optional[Tensor]:
        """The norm of all gradients, where something depends on it."""
        bounded = self.options.get("clip", float("inf")) != float("inf")
        if not self.lifted.uses_norm or not (bounded or self.definition.name == "loss_scale"):
            return None
        wide = [converted(g, "f32") if g.kind in ("f16", "bf16") else g for g in gradients]
        result = total(square(wide[0]))
        for g in wide[1:]:
            result = result + total(square(g)).astype(result.kind)
        result = sqrt(result)
        result.name = "norm"
        return result

    def _one(self, row: List[Tensor], states: Dict[str, Any], step: Optional[Tensor],
             norm: Optional[Tensor]) -> List[Tensor]:
        agree_on_axes(f"neoc.optim.{self.definition.name}.update()",
                      [*self.definition.arguments, *self.definition.states], row)
        wide = "f32" if row[0].kind in ("f16", "bf16") else row[0].kind
        for k, state in enumerate(self.definition.states, len(row) - len(self.definition.states)):
            if state.kind == "wide(real)" and row[k].kind != wide and row[k].kind in FLOATS:
                row[k] = converted(row[k], wide)
        for name, rate in self.rates.items():
            value = rate(step) if callable(rate) else states[name]
            row.append(converted(value if is_weak(value) else lift(value), wide))
        if self.lifted.uses_step:
            assert step is not None
            row.append(step)
        if self.lifted.uses_norm:
            row.append(full((), 0, wide) if norm is None else converted(norm, wide))
        label = row[0].name
        made = call(self.lifted.name, row, _options(self.options), self.lifted.results(),
                    imports_of(self.lifted.text), {self.lifted.name: self.lifted.text})
        for t, s in zip(made, ["", *self.definition.states]):
            prefix = s.name + "_" if isinstance(s, Variable) else ""
            t.name = f"{prefix}{label}_next" if label else ""
        return made


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.generic, Written)) or \
        np.ndim(value) == 0 and hasattr(value, "dtype")


def maker(definition: Definition) -> Callable[..., Optimizer]:
    """The function of Python's that makes an optimizer of this kind."""
    kinds = inspect.Parameter
    signature = inspect.Signature([
        kinds(o.name, kinds.KEYWORD_ONLY, default=_value(o.value) if o.value else kinds.empty)
        for o in definition.options])

    def make(**options: Any) -> Optimizer:
        try:
            signature.bind(**options)
        except TypeError as problem:
            raise TypeError(f"neoc.optim.{definition.name}(): {problem}; it takes "
                            f"{', '.join(signature.parameters) or 'no options'}") from None
        return Optimizer(definition, options)

    make.__name__ = make.__qualname__ = definition.name
    make.__module__ = "neoc.optim"
    make.__doc__ = documented(definition).split("\n\nArguments:")[0] + (
        "\n\nGives a neoc.optim.Optimizer: .init(params) and .update(gradients, states, params). "
        "lr may be\na function from the step (int64, from 0) to a rate.")
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


def optimizers() -> Dict[str, Callable[..., Optimizer]]:
    """All optimizers of the module."""
    return {d.name: maker(d) for d in module("optim").definitions.values()
            if d.is_optimizer and d.comment and d.name != "loss_scale"}


class TrainStep:
    """A compiled step of training; see train_step."""

    def __init__(self, loss: Callable[..., Any], optimizer: Any, has_aux: bool,
                 options: Dict[str, Any]) -> None:
        where = "neoc.train_step()"
        checks.function(f"{where}: loss", loss)
        if not callable(getattr(optimizer, "init", None)) or \
                not callable(getattr(optimizer, "update", None)):
            raise checks.wrong_type(f"{where}: optimizer", "an optimizer of neoc.optim, or what "
                                    "has init and update", optimizer)
        has_aux = checks.flag(f"{where}: has_aux", has_aux)
        self.loss, self.optimizer = loss, optimizer
        slopes = value_and_grad(loss, 0, has_aux)

        def step(params: Tree, states: Tree, *batch: Any) -> Any:
            value, gradients = slopes(params, *batch)
            params, states = optimizer.update(gradients, states, params)
            return params, states, value

        step.__name__ = f"step of {getattr(loss, '__name__', 'a loss')}"
        step.__signature__ = _signature(loss)  # type: ignore[attr-defined]
        self.function = Function(step, (), options.pop("sizes", "auto"), options)

    def init(self, params: Tree) -> Tree:
        """The optimizer's states with which training begins."""
        return self.optimizer.init(params)

    def __call__(self, params: Tree, states: Tree, *batch: Any) -> Any:
        return self.function(params, states, *batch)

    def text(self, *args: Any) -> str:
        """The text of the step; see Function.text."""
        return self.function.text(*args)

    def save(self, path: str, bounds: Optional[Mapping[str, int]] = None) -> None:
        """Write the text of the step; see Function.save."""
        self.function.save(path, bounds)

    def cache_info(self) -> Any:
        """The compiled traces; see Function.cache_info."""
        return self.function.cache_info()


def _signature(loss: Callable[..., Any]) -> inspect.Signature:
    """The step's arguments: the loss', with the states behind the parameters."""
    names = list(inspect.signature(loss).parameters.values())
    if not names or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in names):
        return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in (
            "params", "states")] + [inspect.Parameter("batch", inspect.Parameter.VAR_POSITIONAL)])
    states = inspect.Parameter("states", inspect.Parameter.POSITIONAL_ONLY)
    plain = [p.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for p in names]
    return inspect.Signature([plain[0], states, *plain[1:]])


def train_step(loss: Callable[..., Any], optimizer: Any, *, has_aux: bool = False,
               **options: Any) -> TrainStep:
    """One compiled step of training: params, states, loss = step(params, states, *batch).

    loss(params, *batch) gives a scalar, or with has_aux (scalar, more). params is a tree of float
    arrays. optimizer: of neoc.optim, or what has `init` and `update` as they do.
    options: sizes= and others of neoc.function.

    >>> import numpy as np, neoc
    >>> def loss(p, x, y): return ((x @ p["w"] + p["b"] - y)**2).mean()
    >>> step = neoc.train_step(loss, neoc.optim.adam(lr=0.1))
    >>> params = {"w": np.zeros(3, np.float32), "b": np.float32(0)}
    >>> states = step.init(params)
    >>> sorted(states)
    ['lr', 'm', 'step', 'v']
    """
    return TrainStep(loss, optimizer, has_aux, options)
