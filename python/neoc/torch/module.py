"""neoc.torch.Module: a model's entry as a torch.nn.Module.

A model is compiled as it is; its parameters and states are bound to the memory of torch's tensors
in each call (door.c), so an entry is a function of its inputs, parameters and states, and all that
neoc.torch.op does with operators is done with it. A gradient is the model's text with lines added:
an input for the cotangent of each output, `g = grad(L, h.W, seed = d)` for each gradient that is
asked for, and an entry that has them as outputs. Such a text is a model again, which has gradients.

An entry that updates states is none: PyTorch's graphs take operators for functions. Random numbers
are keyed by a context's calls, of which the gradient has others, so a forward pass with rand() has
no gradient here; neither is `training` true in an entry that is no training entry.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, Mapping, NamedTuple, Sequence

import torch

from .. import _core
from .. import checks
from ..calls import entry_misfit
from ..compiler import diagnostics_of, failure_of, read_text
from ..errors import (DTypeError, GradientError, NeoError, ShapeError, UnknownName, Unsupported,
                      error_of)
from ..model import Model
from ..text import zeros_line
from .functions import apply
from .library import DTYPE_OF, Door, door_of

_INPUT, _SETTING, _PARAM, _STATE, _OUTPUT = range(5)


class _Source(NamedTuple):
    """The text, path and options that a model is compiled from."""

    text: str
    path: str
    options: tuple[str, ...]
    threads: int


class _Argument(NamedTuple):
    """An argument of an entry: an input, or a parameter or state that is bound."""

    name: str
    rank: int
    static: bool = False


class _Seed(NamedTuple):
    """An output: its name, type and extents as the text writes them."""

    name: str
    word: str
    shape: tuple[str, ...]


class EntryCore:
    """An entry of a model, as Door takes an operator: arguments are its inputs, and then what it
    reads of parameters and states."""

    def __init__(self, source: _Source, entry: str, order: tuple[str, ...] | None = None) -> None:
        self.source = source
        self.entry = entry
        self.program = _compiled(source)
        rows = json.loads(self.program.describe(True))["tensors"]
        self._extents = {row["name"]: row["shape"] for row in rows}
        self._words = {t[0]: t[3] for t in self.program.tensors}
        self._number, inputs, outputs = self._find(entry)
        names = [t[0] for t in self.program.tensors]
        bound = [t[0] for t in self.program.tensors if t[1] in (_PARAM, _STATE)]
        self._inputs = [names[t] for t in inputs]
        known = order or (*self._inputs, *bound)
        self._arguments = tuple(_Argument(n, len(self._extents[n])) for n in known)
        self._results = tuple(_Argument(names[t], len(self._extents[names[t]])) for t in outputs)
        self._bound = [(names.index(n), n) for n in bound]
        self.__name__ = entry

    def _find(self, entry: str) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        rows = self.program.entries
        for number, (name, kind, inputs, outputs) in enumerate(rows):
            if name == entry and kind == 0:
                return number, inputs, outputs
        known = ", ".join(r[0] for r in rows if r[1] == 0) or "none"
        raise NeoError(f"the model has no entry '{entry}' of outputs; it has {known}")

    def __reduce__(self) -> tuple[Any, ...]:
        return EntryCore, (self.source, self.entry, self.arguments)

    # ---- what Door asks for

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(a.name for a in self._arguments)

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(r.name for r in self._results)

    @property
    def signature(self) -> str:
        return f"{self.source.path}: {self.entry}"

    def description(self) -> str:
        return repr((self.source, self.entry, self.arguments))

    def _fail(self, status: int, why: str) -> None:
        raise error_of(status, why)

    def _specialize(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        self._check(key)
        places = {a.name: k for k, a in enumerate(self._arguments)}
        bound: list[int] = []
        for tensor, name in self._bound:
            bound += [tensor, places[name]]
        return (self.program, tuple(places[n] for n in self._inputs), self._number, tuple(bound))

    def _check(self, key: tuple[Any, ...]) -> None:
        """ShapeError and DTypeError, which name the argument."""
        from ..errors import DTypeError
        sizes: dict[str, tuple[int, str]] = {}
        bounds = {name: (low, high) for name, low, high in self.program.sizes}
        for a, (_, word, shape) in zip(self._arguments, key):
            extents = self._extents[a.name]
            if word != self._words[a.name]:
                raise DTypeError(f"{a.name}: expected {self._words[a.name]}, given {word}")
            wrong = len(shape) != len(extents)
            for n, e in zip(shape, extents):
                if isinstance(e, int):
                    wrong |= n != e
                elif e in bounds:
                    low, high = bounds[e]
                    if not low <= n <= high:
                        raise ShapeError(f"{a.name}: the size {e} is {n}, and must be {low} to "
                                         f"{high}")
                    wrong |= sizes.setdefault(e, (n, a.name))[0] != n
            if wrong:
                raise ShapeError(f"{a.name}: expected the shape ({', '.join(map(str, extents))})"
                                 f"{_sizes_known(sizes)}, given {tuple(shape)}")

    # ---- gradients

    def vjp(self, wrt: Sequence[int], of: Sequence[int]) -> EntryCore:
        """Gradients of the arguments `wrt` from the cotangents of the results `of`."""
        w = _Writer(self.source.text)
        seeds = [w.seed(self._seed(self._results[k].name)) for k in of]
        joined = w.joined([self._results[k].name for k in of], seeds)
        made = [w.gradient(joined, self._arguments[k].name) for k in wrt]
        return w.done(self, made, (*self.arguments, *seeds))

    def jvp(self, wrt: Sequence[int], of: Sequence[int]) -> EntryCore:
        """Tangents of the results `of` from those of the arguments `wrt`."""
        w = _Writer(self.source.text)
        results = [self._results[k].name for k in of]
        tangents = [w.seed(self._seed(self._arguments[k].name), "t") for k in wrt]
        zeros = [w.zeros(r) for r in results]
        joined = w.joined(results, zeros)
        parts = [w.inner(w.gradient(joined, self._arguments[k].name), t)
                 for k, t in zip(wrt, tangents)]
        along = w.named("along", " + ".join(f"f64({p})" for p in parts))
        made = [w.gradient(along, z) for z in zeros]
        return w.done(self, made, (*self.arguments, *tangents))

    def _seed(self, name: str) -> _Seed:
        return _Seed(name, self._words[name], tuple(map(str, self._extents[name])))


def _sizes_known(sizes: Mapping[str, tuple[int, str]]) -> str:
    known = ", ".join(f"{name} = {n}" for name, (n, _) in sizes.items())
    return f" with {known}" if known else ""


class _Writer:
    """A model's text to which lines are added."""

    def __init__(self, text: str) -> None:
        self.lines = text.rstrip("\n").split("\n")
        self.names = set(re.findall(r"[A-Za-z_]\w*", text))
        self.gradients: dict[int, tuple[str, str]] = {}  # line: (name, with respect to)

    def fresh(self, name: str) -> str:
        name = re.sub(r"\W", "_", name)
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def named(self, name: str, value: str) -> str:
        made = self.fresh(name)
        self.lines.append(f"{made} = {value}")
        return made

    def seed(self, of: _Seed, prefix: str = "d") -> str:
        name = self.fresh(f"{prefix}_{of.name}")
        at = f"[{', '.join(of.shape)}]" if of.shape else ""
        self.lines.append(f"input {name}{at} : {of.word}")
        return name

    def zeros(self, of: str) -> str:
        name = self.fresh(f"z_{of}")
        self.lines.append(f"{name}[..] = stop(0*{of}[..])")
        return name

    def inner(self, x: str, y: str) -> str:
        return self.named("s", f"sum[..] {x}[..]*{y}[..]")

    def joined(self, results: Sequence[str], seeds: Sequence[str]) -> str:
        parts = [self.inner(r, s) for r, s in zip(results, seeds)]
        return self.named("joined", " + ".join(f"f64({p})" for p in parts))

    def gradient(self, of: str, wrt: str) -> str:
        name = self.fresh(f"g_{wrt}")
        self.gradients[len(self.lines)] = (name, wrt)
        self.lines.append(f"{name} = grad({of}, {wrt})")
        return name

    def done(self, core: EntryCore, outputs: Sequence[str], order: tuple[str, ...]) -> EntryCore:
        """The entry that has these outputs. Where nothing flows, gradients are zeros."""
        entry = self.fresh("backward")
        self.lines.append(f"output {entry}: {', '.join(outputs)}")
        while True:
            source = core.source._replace(text="\n".join(self.lines) + "\n")
            try:
                return EntryCore(source, entry, order)
            except NeoError as problem:
                if not self._replace(problem):
                    raise

    def _replace(self, problem: NeoError) -> bool:
        found = {d.line - 1 for d in getattr(problem, "diagnostics", ())
                 if d.code in ("E0515", "E0511")} & set(self.gradients)
        for k in found:
            name, wrt = self.gradients.pop(k)
            self.lines[k] = zeros_line(name, wrt)
        return bool(found)


_programs: dict[_Source, _core.Program] = {}


def _compiled(source: _Source) -> _core.Program:
    found = _programs.get(source)
    if found is None:
        build = _core.Build(source.path, source.text, source.options)
        if build.status:
            error = failure_of(build)
            if not getattr(error, "diagnostics", None) and isinstance(error, NeoError):
                error.diagnostics = diagnostics_of(build)  # type: ignore[attr-defined]
            raise error
        found = _programs[source] = build.load(source.threads)
    return found


# ---------------------------------------------------------------- what has no gradient here

_RANDOM = re.compile(r"\brand\s*\(\s*\)")
_TRAINING = re.compile(r"(?<![\w.])training\b(?!\s*=)")
_FN = re.compile(r"(?m)^\s*fn\s+([A-Za-z_]\w*)[^\n]*")


def _without_comments(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def _module_texts(text: str, path: str) -> dict[str, str]:
    """The texts of the modules that a text imports, by the names that it calls them."""
    from ..compiler import __file__ as here
    folders = [os.path.dirname(path) or ".",
               os.path.join(os.path.dirname(here), "_neo", "share", "neo", "models", "std"),
               os.path.join(os.path.dirname(here), "_neo", "share", "neo", "std")]
    found: dict[str, str] = {}
    for names in re.findall(r"(?m)^\s*import\s+([^\n;]+)", text):
        for part in names.split(","):
            words = part.split()
            for folder in folders:
                file = os.path.join(folder, f"{words[0]}.expr")
                if os.path.exists(file):
                    with open(file, encoding="utf-8") as opened:
                        found[words[-1]] = _without_comments(opened.read())
                    break
    return found


def _functions(text: str) -> dict[str, str]:
    """The functions of a module with their texts, roughly: each to the next one."""
    starts = [(m.group(1), m.start()) for m in _FN.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    return {name: text[start:end] for (name, start), end in zip(starts, ends)}


def _asks(text: str, path: str, what: re.Pattern[str]) -> str | None:
    """The place at which a model uses `what`: in its own text, or in a function that it calls."""
    text = _without_comments(text)
    if what.search(text):
        return "the text"
    for module, body in _module_texts(text, path).items():
        functions = _functions(body)
        guilty = {name for name, t in functions.items() if what.search(t)}
        grows = True
        while grows:
            more = {name for name, t in functions.items() if name not in guilty and
                    any(re.search(rf"(?<![\w.]){g}\s*\(", t) for g in guilty)}
            grows = bool(more)
            guilty |= more
        for name in guilty:
            if re.search(rf"\b{module}\.{name}\s*\(", text):
                return f"{module}.{name}"
    return None


def _without_training(text: str) -> str:
    """The text without `train` statements, whose optimizers have states of their own."""
    kept: list[str] = []
    depth, open_train = 0, False
    for line in text.split("\n"):
        code = re.sub(r"#.*", "", line).rstrip()
        begins = depth == 0 and re.match(r"\s*train\b\s*(?![=\[,:.])\S", code)
        open_train = bool(begins) or open_train
        if not open_train:
            kept.append(line)
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        if open_train:
            kept.append("")
            open_train = depth > 0 or code.endswith((",", "=", "+", "-", "*", "/", "."))
    return "\n".join(kept)


# ---------------------------------------------------------------- the module

class Module(torch.nn.Module):
    """A model's entry as a torch.nn.Module: neoc.torch.Module("mlp.expr", B=64).

    Its parameters and buffers have the names, shapes and types of the model's parameters and states
    (`enc.W` is the parameter W of a submodule enc), and their memory until they are moved: what an
    optimizer of torch does to them is in ``module.model``, a neoc.Model, and what ``module.model``
    learns is in them. A call takes the entry's inputs by position or by name, and returns its
    outputs, with gradients of any order.

    path: a file in the language, or with ``text`` its name in messages.
    entry: which entry of outputs; one that updates states is Unsupported.
    seed: of initial values.
    options: of `neoc compile`, as neoc.compile takes them.
    sizes: values of the file's `dim`s.

    In training mode, a model that asks for `training` or rand(), as nn.dropout does, is
    Unsupported: neoc's own training entries do that (``module.model.step``).

    >>> import torch, neoc.torch
    >>> net = neoc.torch.Module("line.expr", text='''
    ... dim B <= 8
    ... input X[B, 3]
    ... param w[3] = 0.5
    ... y[b] = sum[i] X[b, i]*w[i]
    ... output y
    ... ''')
    >>> net(torch.ones(2, 3)).sum().backward()
    >>> net.w.grad
    tensor([2., 2., 2.])
    >>> list(net.state_dict())
    ['w']
    """

    def __init__(self, path: str | os.PathLike[str], *, text: str | None = None,
                 entry: str = "forward", seed: int = 0, threads: int | None = None,
                 options: Mapping[str, Any] | None = None, **sizes: int) -> None:
        super().__init__()
        where = "neoc.torch.Module()"
        name = checks.path(f"{where}: path", path)
        checks.text(f"{where}: entry", entry)
        if text is None:
            text = read_text(f"{where}: path", name)
        model = Model._compiled(where, text, path=name, seed=seed, threads=threads, sizes=sizes,
                                options=options)
        if entry not in model.entries:
            raise UnknownName(f"{where}: entry: the model has no entry '{entry}'; it has "
                             f"{', '.join(model.entries)}")
        self._open(model, entry)

    def _open(self, model: Model, entry: str) -> None:
        if any(row.name == entry and row.writes for row in _entries(model)):
            raise Unsupported(f"the entry '{entry}' updates states; call it as "
                              f"module.model.{entry}(...)")
        source = model._source
        self.model = model
        self.entry = entry
        text = _without_training(source.text)
        core = EntryCore(_Source(text, source.path, source.options, source.threads), entry)
        self._door = door_of(core)
        self._inputs = tuple(core._inputs)
        self._rows = tuple(n for n in core.arguments if n not in core._inputs)
        self._random = _asks(source.text, source.path, _RANDOM)
        self._asks_training = _asks(source.text, source.path, _TRAINING)
        for row in model.tensors:
            if row.name in self._rows:
                self._register(row)

    def _register(self, row: Any) -> None:
        """A parameter or buffer that is the model's memory."""
        value = _shared(self.model, row)
        place: torch.nn.Module = self
        *owners, last = row.name.split(".")
        for owner in owners:
            inner = place._modules.get(owner)
            if inner is None:
                inner = torch.nn.Module()
                place.add_module(owner, inner)
            place = inner
        if row.role == _PARAM:
            place.register_parameter(last, torch.nn.Parameter(value))
        else:
            place.register_buffer(last, value)

    def _tensor(self, name: str) -> torch.Tensor:
        place: Any = self
        for part in name.split("."):
            place = getattr(place, part)
        found: torch.Tensor = place
        return found

    def forward(self, *args: torch.Tensor, **named: torch.Tensor) -> Any:
        """The entry's outputs: a tensor, or a tuple of them."""
        self._check_mode()
        if len(args) > len(self._inputs):
            raise TypeError(f"{self.entry}() takes {len(self._inputs)} inputs, {len(args)} were "
                            "given")
        values = dict(zip(self._inputs, args))
        for name, value in named.items():
            if name not in self._inputs or name in values:
                raise TypeError(entry_misfit(self.entry, f"got an unexpected input '{name}'",
                                             name, self._inputs))
            values[name] = value
        missing = [n for n in self._inputs if n not in values]
        if missing:
            raise TypeError(entry_misfit(self.entry, f"needs the input '{missing[0]}'",
                                         missing[0], self._inputs))
        given = [values[n] for n in self._inputs]
        for name, value in zip(self._inputs, given):
            if not isinstance(value, torch.Tensor):
                raise DTypeError(f"{self.entry}(): {name}: expected a torch.Tensor, given "
                                 f"{checks.shown(value)}")
        return apply(self._door, given + [self._tensor(n) for n in self._rows])

    def _check_mode(self) -> None:
        asks = self._asks_training or self._random
        if self.training and asks:
            raise Unsupported(
                f"{asks} of this model asks for `training` or rand(), which an entry of outputs "
                "does not have: call .eval() first, or train it by module.model")
        # Functions of the library draw numbers in training alone.
        if self._random and not self._random.startswith("nn.") and torch.is_grad_enabled():
            raise Unsupported(f"{self._random} of this model draws numbers by rand(), and its "
                              "gradient would draw others: call it under torch.no_grad()")

    def extra_repr(self) -> str:
        return f"{self.model._source.path}: {self.entry}({', '.join(self._inputs)})"

    # ---- copies

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        made = _restored(self.model, self.entry, dict(self.state_dict()), self._flags())
        memo[id(self)] = made
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: t.detach().clone() for name, t in self.state_dict().items()}
        return _restored, (self.model, self.entry, state, self._flags())

    def _flags(self) -> tuple[bool, dict[str, bool]]:
        return self.training, {name: p.requires_grad for name, p in self.named_parameters()}


class _Entry(NamedTuple):
    name: str
    writes: bool


def _entries(model: Model) -> list[_Entry]:
    """Whether an entry updates states: those of `output ... update`."""
    text = _without_comments(model._source.text)
    found = re.findall(r"(?m)^\s*output\s+(?:(\w+)\s*:)?[^\n;]*\bupdate\b", text)
    return [_Entry(name or "forward", True) for name in found]


def _shared(model: Model, row: Any) -> torch.Tensor:
    """A tensor that is the model's memory."""
    import numpy as np
    view = np.asarray(model._context.view(row.number))
    if row.word == "bf16":
        return torch.from_numpy(view.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(view)


def _restored(model: Model, entry: str, state: Mapping[str, torch.Tensor],
              flags: tuple[bool, dict[str, bool]]) -> Module:
    made = Module.__new__(Module)
    torch.nn.Module.__init__(made)
    made._open(model.clone(), entry)
    made.load_state_dict(dict(state))
    training, wants = flags
    made.train(training)
    for name, p in made.named_parameters():
        p.requires_grad_(wants[name])
    return made
