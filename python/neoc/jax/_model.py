"""neoc.jax.module: models as pure functions of their parameters.

`apply` is an operator, whose derivatives are lines that are added to the model's text. A step is
one that has the train statement, and no derivatives. Both have parameters and states as arguments
(neoc compile --pure).
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Sequence, Tuple

import jax
from jax import numpy as jnp

from .. import arrays, checks
from ..calls import entry_misfit
from ..compiler import format, read_text
from ..errors import DTypeError, UnknownName, Unsupported
from ..model import Model
from ._model_text import Info, argument, class_of, imports_of, text_of
from ._operators import Operator
from ._versions import PRIMITIVES

if PRIMITIVES:
    from . import _primitives as calls
else:
    from . import _custom as calls  # type: ignore[no-redef]

Variables = Dict[str, Any]

_INPUT, _SETTING, _PARAM, _STATE = range(4)


class Module:
    """A model of neoc as pure functions, made by neoc.jax.module.

    Variables are a pytree: {"params": {name: array}, "states": {name: array}, "counter": array}.
    The states have those of the optimizer; the counter is the seed of rand() and the number of
    finished steps.
    """

    def __init__(self, model: Model, folder: str) -> None:
        self.model = model
        self._text = format(model._source.text)
        self._imports = imports_of(model._source.text, folder, model._source.imports)
        self._rows = {t.name: t for t in model.tensors if t.role <= _STATE}
        self._operators: Dict[Tuple[str, bool], Any] = {}
        wide = [t.name for t in self._rows.values() if t.word in ("i64", "f64")]
        if wide and not jax.config.jax_enable_x64:
            raise Unsupported(f"{wide[0]} has 64 bits, which jax has with jax_enable_x64 only")

    def __repr__(self) -> str:
        return f"<neoc.jax.Module {self.model!r}>"

    # ---- variables

    def init(self, seed: int = 0) -> Variables:
        """Variables with the initial values that the model has for this seed."""
        seed = checks.number("neoc.jax.Module.init(): seed", seed, 0, (1 << 31) - 1)
        self.model.reset(seed)
        values = self.model.state_dict()
        return {"params": {n: jnp.asarray(values[n]) for n in self.model.params},
                "states": {n: jnp.asarray(values[n]) for n in self.model.states},
                "counter": jnp.asarray([seed, 0], "int32")}

    # ---- calls

    def apply(self, variables: Mapping[str, Any], *args: Any, entry: str = "forward",
              **inputs: Any) -> Any:
        """The outputs of an entry: an array, or a tuple of these. It may be differentiated with
        respect to parameters, states and inputs, to any order, and updates nothing.

        ``inputs``: arrays by name, or by position in the order in which the entry has them, and
        settings. States may be left out of the variables where the entry reads none. It is the
        entry as in evaluation: what the text does while `training` it does not, and rand() draws
        the same in each call.
        """
        f = self._operator(entry, False)
        values = self._values(f, variables, entry, args, inputs)
        made = calls.call(f, *values)
        return made[0] if len(made) == 1 else tuple(made)

    def step(self, variables: Mapping[str, Any], *args: Any, entry: str | None = None,
             **inputs: Any) -> Tuple[Variables, Any]:
        """Runs a training entry, the first if none is named. Returns the new variables, and the values that
        the entry returns: the loss. The numbers are those of Model.step. A setting, such
        as lr, may be an array. It has no derivatives.
        """
        name = self._first_train() if entry is None else entry
        f = self._operator(name, True)
        values = self._values(f, variables, name, args, inputs)
        if "counter" not in variables:
            raise UnknownName("variables: expected those of init, 'counter' is missing")
        made = calls.step(f, variables["counter"], *values)
        return self._after(variables, f, made)

    def _after(self, variables: Mapping[str, Any], f: Operator,
               made: Sequence[Any]) -> Tuple[Variables, Any]:
        loss, *new = made
        after: Variables = {k: dict(v) if isinstance(v, Mapping) else v
                            for k, v in variables.items()}
        for r, value in zip(f.op._results[1:], new):
            after["params" if r.name in after["params"] else "states"][r.name] = value
        after["counter"] = variables["counter"] + jnp.asarray([0, 1], "int32")
        return after, loss

    def _first_train(self) -> str:
        for name, e in self.model.entries.items():
            if e.trains:
                return name
        raise UnknownName("the model has no train statement")

    def _entry(self, name: str) -> Any:
        if not isinstance(name, str):
            raise checks.wrong_type("entry", "the name of an entry", name)
        if name not in self.model.entries:
            raise UnknownName(f"entry: the model has no entry '{name}'; it has "
                             f"{', '.join(self.model.entries)}")
        return self.model.entries[name]

    def _values(self, f: Operator, variables: Mapping[str, Any], entry: str, args: Sequence[Any],
                inputs: Mapping[str, Any]) -> list[Any]:
        names = self._entry(entry).inputs
        checks.mapping("variables", variables, "a dict of variables, as init gives it")
        if len(args) > len(names):
            raise TypeError(f"{entry}() takes {len(names)} arrays, {len(args)} were given")
        given = {**dict(zip(names, args)), **inputs}
        unknown = [n for n in given if n not in self._rows or self._rows[n].role > _SETTING]
        if unknown:
            raise TypeError(entry_misfit(entry, f"got an unexpected argument '{unknown[0]}'",
                                         unknown[0], names, tuple(self.model.settings)))
        return [self._value(a.name, variables, given, entry) for a in f.arguments]

    def _value(self, name: str, variables: Mapping[str, Any], given: Mapping[str, Any],
               entry: str) -> Any:
        row = self._rows[name]
        if row.role == _SETTING:
            value = given.get(name, self.model.settings[name])
        elif row.role == _INPUT:
            if name not in given:
                raise TypeError(entry_misfit(entry, f"needs the argument '{name}'", name,
                                             self._entry(entry).inputs))
            value = given[name]
        else:
            kind = "params" if row.role == _PARAM else "states"
            if name not in checks.mapping(f"variables['{kind}']", variables.get(kind, {}),
                                          "a dict of arrays by name"):
                raise UnknownName(f"variables: '{name}' is missing among the {kind}")
            value = variables[kind][name]
        weak = isinstance(value, (bool, int, float)) or not hasattr(value, "dtype")
        try:
            if value is None or isinstance(value, (str, bytes, dict)):
                raise TypeError
            jnp.asarray(value)
        except (TypeError, ValueError, OverflowError):
            raise DTypeError(f"{entry}(): {name}: expected an array, given "
                             f"{checks.shown(value)}") from None
        return jnp.asarray(value, arrays.dtype_of(row.word) if weak else None)

    # ---- texts

    def _operator(self, entry: str, trains: bool) -> Operator:
        self._entry(entry)
        key = (entry, trains)
        if key not in self._operators:
            self._operators[key] = self._make_operator(entry, trains)
        return self._operators[key]

    def _make_operator(self, entry: str, trains: bool) -> Operator:
        self._entry(entry)
        if trains and not self._entry(entry).trains:
            raise UnknownName(f"'{entry}' trains nothing; use apply")
        text = text_of(self._text, entry if trains else None)
        extents = {t.name: t.shape for t in self._rows.values()}
        words = {t.name: t.word for t in self._rows.values()}
        cls = class_of(Info(extents, words, self._imports, trains))
        results = [argument(n, self._rank(n)) for n in self._results(entry)]
        s = self.model._source
        probe = cls._derived(text, [argument(n, len(e)) for n, e in extents.items()], results, {},
                             s.options, s.threads)
        return Operator(self._read_only(probe, entry), {})

    def _results(self, entry: str) -> Sequence[str]:
        return self._entry(entry).outputs

    def _rank(self, name: str) -> int:
        for t in self.model.tensors:
            if t.name == name:
                return len(t.shape)
        return 0

    def _read_only(self, op: Any, entry: str) -> Any:
        """With those arguments alone that the entry reads, and with what it updates among the
        results: the compiler knows."""
        key = tuple(("array", op.info.words[a.name], self._example(a.name)) for a in op._arguments)
        program, inputs = op._specialize(key)
        tensors, first = program.tensors, program.entries[0]
        # The new value of an input W is told apart from it: "output:W".
        results = [argument(tensors[t][0].split(":", 1)[-1], len(tensors[t][6]))
                   for t in first[3]]
        chosen = [op._arguments[k] for k in sorted(inputs)]
        return type(op)._derived(op._text, chosen, results, {}, op._options, op._threads)

    def _example(self, name: str) -> Tuple[int, ...]:
        """A shape that fits: run-time sizes at their lowest."""
        lowest = {n: lo for n, lo, _ in self.model._program.sizes}
        return tuple(lowest.get(n, 1) if isinstance(n, str) else int(n or 0)
                     for n in self._rows[name].shape)


def module(path: str | os.PathLike[str] | Model, **sizes: int) -> Module:
    """A model from a file, or a neoc.Model, as pure functions of its variables.

    ``sizes``: values of the file's `dim`s, as of neoc.load.

    >>> import jax, jax.numpy as jnp, neoc, neoc.jax
    >>> m = neoc.jax.module(neoc.compile('''
    ... import optim
    ... dim B <= 64
    ... input X[B, 3]
    ... input Y[B]
    ... param w[3] = 0
    ... y[b] = sum[i] X[b, i]*w[i]
    ... loss = mean[b] (y[b] - Y[b])^2
    ... output y
    ... train loss using optim.adam(lr = 0.1)
    ... '''))
    >>> v, x, y = m.init(), jnp.eye(3), jnp.array([1.0, 2.0, 3.0])
    >>> slope = jax.grad(lambda p: ((m.apply({"params": p}, x) - y)**2).mean())(v["params"])
    >>> slope["w"]
    Array([-0.6666667, -1.3333334, -2.       ], dtype=float32)
    >>> step = jax.jit(m.step)
    >>> for _ in range(300): v, loss = step(v, X=x, Y=y)
    >>> bool(loss < 1e-3)
    True
    """
    if isinstance(path, Model):
        if sizes:
            raise TypeError("neoc.jax.module(): sizes are of a file, given a model and "
                            f"{', '.join(sizes)}")
        return Module(path, os.path.dirname(path._source.path))
    where = "neoc.jax.module()"
    name = checks.path(f"{where}: path", path)
    made = Model._compiled(where, read_text(f"{where}: path", name), path=name, sizes=sizes)
    return Module(made, os.path.dirname(name))
