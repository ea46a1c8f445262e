"""Model: a text with entries, compiled, with its parameters and states.

    m = neoc.load("mlp.expr", B=64)
    loss = m.step(X=x, Y=y)                  # entries are methods
    m.params["W1"]                           # an array that is the parameter's memory
    m.settings["lr"] = 1e-4
    m.save("mlp.safetensors")

A model is text, a program (neoc._core.Program: constant, shared by clones) and a context
(neoc._core.Context: what changes). Threads may share a model; its calls take turns.
"""

from __future__ import annotations

import os
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, MutableMapping,
                    NamedTuple, NoReturn, Sequence)

from . import _core, arrays, checks
from .compiler import (check_explained, checked_options, diagnostics_of, explanation_of,
                       failure_of, module_texts, size_words, thread_count, warn_of)
from .errors import (ArgumentError, CompileError, DTypeError, UnknownName, RangeError, ShapeError,
                     Unsupported)

if TYPE_CHECKING:
    from .fit import History

__all__ = ["Entry", "Model", "Tensor", "Tensors"]

_INPUT, _SETTING, _PARAM, _STATE, _OUTPUT = range(5)
_TRAIN, _INIT = 1, 3


class Tensor(NamedTuple):
    """A tensor that a model has a name for.

    ``shape``: an extent is a number, the name of a run-time size, or None where it is another
    expression of these. ``place``: where the text declares it.
    """

    number: int
    name: str
    role: int
    word: str
    shape: tuple[int | str | None, ...]
    place: str
    saved: bool
    optimizer: bool

    def __str__(self) -> str:
        at = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.name}[{at}] : {self.word}" if self.shape else f"{self.name} : {self.word}"


class Entry(_core.Entry):
    """An entry of a model: call it with its inputs by name, or in their order.

    Run-time sizes follow from the shapes. Keywords may also be settings, which stay set, unless
    the call fails: then all settings are as they were. ``out`` is an array for the result, or a
    tuple of one for each. Returns what the entry gives: an array, a number of numpy, or a tuple of
    these. ShapeError, DTypeError, RangeError.
    """

    outputs: tuple[str, ...]
    trains: bool
    settings: tuple[str, ...]
    __name__: str

    def _takes(self) -> tuple[str, ...]:
        """Inputs by the names that a caller gives."""
        return self.inputs

    def _misfit(self, what: str, word: str) -> str:
        """The text of a TypeError about the argument `word`."""
        from .calls import entry_misfit
        return entry_misfit(self.__name__, what, word, self._takes(), self.settings)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the entry '{self.__name__}' belongs to its model: copy or pickle that")

    def plain(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Inputs by name as arrays: see GraphEntry."""
        return values

    def __repr__(self) -> str:
        made = ", ".join(self.outputs)
        return f"<entry {self.__name__}({', '.join(self.inputs)}) -> {made or 'nothing'}>"


class Tensors(MutableMapping[str, Any]):
    """Parameters or states by name. Reading gives an array that is their memory: what is written
    to it is in the model. Assignment copies an array of the same shape, or a number. Of a model on
    a GPU reading gives a copy that cannot be written to.

    From the first reading of a tensor on, what the model keeps of it in other forms is made anew
    in each call; Model.state_dict() reads without that.
    """

    def __init__(self, context: _core.Context, rows: Mapping[str, Tensor]) -> None:
        self._context = context
        self._rows = rows
        self._views: dict[str, Any] = {}

    def _row(self, name: str) -> Tensor:
        row = self._rows.get(name)
        if row is None:
            raise UnknownName(f"'{name}' is none of {_listed(self._rows)}")
        return row

    def __getitem__(self, name: str) -> Any:
        if name not in self._views:
            import numpy as np
            row = self._row(name)
            try:
                view = np.asarray(self._context.view(row.number))
            except Unsupported:  # on a GPU: what is written to a copy would be lost
                copied = self._context.get(row.number)
                copied.flags.writeable = False
                return copied
            self._views[name] = view.view(arrays.dtype_of("bf16")) if row.word == "bf16" else view
        return self._views[name]

    def __setitem__(self, name: str, value: Any) -> None:
        row = self._row(name)
        self._context.set(row.number, _as_stored(row, value))

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"'{name}' belongs to the model and cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return "{" + ", ".join(str(row) for row in self._rows.values()) + "}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("parameters and states belong to their model: copy or pickle that, or "
                        "what Model.state_dict() gives")

    def get_copy(self, name: str) -> Any:
        """A copy of a tensor."""
        return self._context.get(self._row(name).number)


class Settings(MutableMapping[str, Any]):
    """Inputs with a default, such as the learning rate: numbers that stay until set again."""

    def __init__(self, context: _core.Context, rows: Mapping[str, Tensor]) -> None:
        self._context = context
        self._rows = rows

    def __getitem__(self, name: str) -> Any:
        if name not in self._rows:
            raise UnknownName(f"'{name}' is no setting; there are {_listed(self._rows)}")
        value = self._context.get(self._rows[name].number)[()]
        # 0.01 of f32 is shown as 0.01, the shortest number that is the same.
        return float(str(value)) if value.dtype.kind == "f" else value.item()

    def __setitem__(self, name: str, value: Any) -> None:
        row = self.prepared(name, value)
        if row is None:
            raise UnknownName(f"'{name}' is no setting; there are {_listed(self._rows)}")
        self._context.set(*row)

    def prepared(self, name: str, value: Any) -> tuple[int, Any] | None:
        """The setting's tensor number and an array; None if there is none of that
        name. DTypeError, RangeError."""
        row = self._rows.get(name)
        if row is None:
            return None
        if isinstance(value, int):
            return row.number, _as_stored(row, value)
        try:
            number = checks.real(name, value, good=lambda x: True)
        except TypeError as problem:
            raise DTypeError(str(problem)) from None
        if row.word not in arrays.FLOATS and number.is_integer():
            return row.number, _as_stored(row, int(number))
        if row.word not in arrays.FLOATS:
            raise RangeError(f"{name}: expected a whole number, given {value!r}")
        return row.number, _as_stored(row, number)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"'{name}' belongs to the model and cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings belong to their model: copy or pickle that, or dict(settings)")

    def __repr__(self) -> str:
        return repr(dict(self))


def _listed(rows: Mapping[str, Any]) -> str:
    names = list(rows)
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "none"


def _as_stored(row: Tensor, value: Any) -> Any:
    """An array of the tensor's type and shape: floats of another width are rounded, numbers fill
    the tensor."""
    import numpy as np
    dtype = arrays.dtype_of(row.word)
    shape = tuple(int(n or 0) for n in row.shape)
    array = arrays.as_input(row.name, value, dtype)
    if array.shape != shape and array.shape != ():
        raise ShapeError(f"{row.name}: expected the shape {shape}, given {array.shape}")
    given = arrays.word_of(row.name, array.dtype)
    if given in arrays.FLOATS and row.word not in arrays.FLOATS:
        raise DTypeError(f"{row.name}: expected {dtype}, given {array.dtype}")
    with np.errstate(over="ignore"):
        made = np.broadcast_to(array.astype(dtype, copy=False), shape)
    if row.word not in arrays.FLOATS and not np.array_equal(made, np.broadcast_to(array, shape)):
        raise RangeError(f"{row.name}: some elements are no numbers of the type {dtype}")
    return np.require(made, dtype, ["C", "A"])


class _Source(NamedTuple):
    """The text, path and options that a model is compiled from."""

    text: str
    path: str
    imports: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    threads: int


class Trace:
    """The context that Model.trace returns, which ends the trace."""

    def __init__(self, context: _core.Context) -> None:
        self._context = context

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the trace and writes the file."""
        self._context.trace(None)


class Model:
    """A model: made by neoc.load from a file or by neoc.compile from a text.

    Its entries are methods: ``m.forward(X=x)``, ``m.step(X=x, Y=y)``.

    >>> import neoc, numpy as np
    >>> m = neoc.compile('''
    ... import optim
    ... dim B <= 64
    ... input X[B, 3]
    ... input Y[B]
    ... param w[3] = 0
    ... y[b] = sum[i] X[b, i]*w[i]
    ... loss = mean[b] (y[b] - Y[b])^2
    ... output y
    ... train loss using optim.sgd(lr = 0.1)
    ... ''')
    >>> x = np.eye(3, dtype="float32"); y = np.array([1, 2, 3], dtype="float32")
    >>> for _ in range(200): loss = m.step(X=x, Y=y)
    >>> bool(loss < 1e-6)
    True
    >>> m.settings
    {'lr': 0.1}
    >>> m.params["w"].shape
    (3,)
    """

    def __init__(self, text: str, *, path: str = "model.expr",
                 imports: Mapping[str, str] | None = None, seed: int = 0,
                 threads: int | None = None, device: str | None = None,
                 sizes: Mapping[str, int] | None = None,
                 options: Mapping[str, Any] | None = None) -> None:
        self._compile("neoc.Model()", text, path, imports, seed, threads, device, sizes, options)

    @classmethod
    def _compiled(cls, where: str, text: Any, *, path: Any = "model.expr", imports: Any = None,
                  seed: Any = 0, threads: Any = None, device: Any = None, sizes: Any = None,
                  options: Any = None) -> Model:
        """Does the work of __init__ for a caller of another name."""
        made = cls.__new__(cls)
        made._compile(where, text, path, imports, seed, threads, device, sizes, options)
        return made

    def _compile(self, where: str, text: Any, path: Any, imports: Any, seed: Any, threads: Any,
                 device: Any, sizes: Any, options: Any) -> None:
        checks.text(f"{where}: text", text)
        seed = checks.seed(f"{where}: seed", seed)
        given = {} if options is None else checks.mapping(
            f"{where}: options", options, "a dict of options by name")
        words = checked_options(where, given, device)
        words += size_words(f"{where}: sizes", {} if sizes is None else sizes)
        source = _Source(text, checks.path(f"{where}: path", path),
                         module_texts(f"{where}: imports", imports), words,
                         thread_count(f"{where}: threads", threads))
        self._open(source, _program_of(source, where), seed)

    def _open(self, source: _Source, program: _core.Program, seed: int) -> None:
        self._source = source
        self._program = program
        self._context = _core.Context(program, seed)
        self._tensors = _tensors_of(program)
        self.params = Tensors(self._context, self._of_role(_PARAM))
        self.states = Tensors(self._context, self._of_role(_STATE))
        self.settings = Settings(self._context, self._of_role(_SETTING))
        self.entries = self._entries_of()
        self.history: History | None = None

    def _of_role(self, role: int) -> dict[str, Tensor]:
        return {t.name: t for t in self._tensors if t.role == role}

    def _entries_of(self) -> dict[str, Entry]:
        made: dict[str, Entry] = {}
        for number, (name, kind, _, outputs) in enumerate(self._program.entries):
            if kind == _INIT:
                continue
            # Its own settings, which know nothing of the model: no circle of references.
            entry = self._entry_class()(self._context, number, self.settings.prepared)
            entry.outputs = tuple(self._tensors[t].name for t in outputs)
            entry.trains = kind == _TRAIN
            entry.settings = tuple(self.settings)
            made[name] = entry
        self._tell_graphs(made)
        return made

    def _graphs(self) -> dict[str, tuple[int, int, tuple[str, ...]]]:
        """The graphs of the text: the most children (0: they are in lists) and vertices of each, and the
        types of its lists that have names, by name."""
        most = {name: high for name, _, high in self._program.sizes}
        tables = {t.name[:-len(".child")]: t.shape for t in self._tensors
                  if t.role == _INPUT and t.name.endswith(".child")}
        found = {name: (int(shape[1] or 0), most[f"{name}.vertices"])
                 for name, shape in tables.items()
                 if len(shape) == 2 and shape[0] == f"{name}.vertices"}
        types: dict[str, list[str]] = {}
        for name, shape in tables.items():
            graph, _, kind = name.rpartition(".")
            if shape != (f"{name}.edges",):
                continue
            if f"{name}.vertices" in most:
                types.setdefault(name, [])
            elif f"{graph}.vertices" in most:
                types.setdefault(graph, []).append(kind)
        lists = {name: (0, most[f"{name}.vertices"]) for name in types}
        return {name: (*bounds, tuple(types.get(name, ())))
                for name, bounds in {**lists, **found}.items()}

    def _entry_class(self) -> type[Entry]:
        if not self._graphs():
            return Entry
        from .graph_entry import GraphEntry
        return GraphEntry

    def _tell_graphs(self, entries: Mapping[str, Entry]) -> None:
        graphs = self._graphs()
        if not graphs:
            return
        from .graph_entry import Declared, GraphEntry
        shapes = {t.name: t.shape for t in self._tensors if t.role in (_INPUT, _OUTPUT)}
        for entry in entries.values():
            assert isinstance(entry, GraphEntry)
            entry.graphs = {name: Declared(*bounds) for name, bounds in graphs.items()}
            entry.shapes = shapes

    def __getattr__(self, name: str) -> Entry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            found: Entry = entries[name]
            return found
        raise AttributeError(f"the model has no entry '{name}'; it has {_listed(entries)}")

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) | set(self.entries))

    # ---- looking at it

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that have a name: inputs, settings, parameters, states and outputs."""
        return list(self._tensors)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The inputs of all entries."""
        return self._of_role(_INPUT)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The outputs of all entries."""
        return self._of_role(_OUTPUT)

    @property
    def steps(self) -> int:
        """How many steps of training are done."""
        return self._context.step_count()

    def text(self) -> str:
        """The text that the model was made of."""
        return self._source.text

    def describe(self) -> str:
        """Tensors, entries and memory, as `neoc describe` prints them."""
        return self._program.describe(False)

    def explain(self, what: str = "groups") -> str:
        """The compiler's result as text: "groups", "schedule", "kernels", "memory", "after=PASS"."""
        where = "Model.explain(): what"
        check_explained(where, what)
        s = self._source
        build = _core.Build(s.path, s.text, s.options, s.imports, (), "none")
        if build.status:
            raise failure_of(build)
        return explanation_of(where, build, what)

    def __repr__(self) -> str:
        import math
        count = sum(math.prod(int(n or 0) for n in t.shape)
                    for t in self._tensors if t.role == _PARAM)
        entries = ", ".join(f"{n}({', '.join(e.inputs)})" for n, e in self.entries.items())
        return f"<neoc.Model {self._source.path}: {entries}; {count} parameters>"

    # ---- values

    def reset(self, seed: int = 0) -> Model:
        """Initial values again, drawn with this seed; no step is done. Settings have their
        defaults. Returns itself."""
        self._context.reset(checks.seed("Model.reset(): seed", seed))
        return self

    def state_dict(self) -> dict[str, Any]:
        """Copies of all parameters and states, by name."""
        made = {name: self.params.get_copy(name) for name in self.params}
        made.update((name, self.states.get_copy(name)) for name in self.states)
        return made

    def load_state_dict(self, values: Mapping[str, Any], strict: bool = True) -> Model:
        """Parameters and states from arrays by name. ``strict``: exactly those that the model has,
        else those that both have. Nothing changes where one does not fit. Returns itself."""
        where = "Model.load_state_dict()"
        checks.mapping(f"{where}: values", values, "a dict of arrays by name")
        strict = checks.flag(f"{where}: strict", strict)
        rows = {t.name: t for t in self._tensors if t.role in (_PARAM, _STATE)}
        missing = [n for n in rows if n not in values]
        unknown = [n for n in values if n not in rows]
        if strict and (missing or unknown):
            lacks = f"missing: {', '.join(missing)}" if missing else ""
            odd = f"unknown: {', '.join(unknown)}" if unknown else ""
            raise UnknownName(f"{where}: values: " + "; ".join(filter(None, (lacks, odd))) +
                             " (strict=False takes others)")
        made = {n: _as_stored(rows[n], v) for n, v in values.items() if n in rows}
        for name, array in made.items():
            self._context.set(rows[name].number, array)
        return self

    def save(self, path: str | os.PathLike[str],
             extra: Mapping[str, str] | None = None) -> None:
        """Parameters, states, step and seed to a .safetensors file, which is written whole or not
        at all. ``extra``: further texts for it (Model.loaded). FileError."""
        where = "Model.save()"
        rows = tuple(checks.texts(f"{where}: extra", {} if extra is None else extra,
                                  "a dict of texts by key").items())
        for key, value in rows:
            checks.word(f"{where}: extra['{key}']", value)
        if len(rows) > 16:
            raise ArgumentError(f"{where}: extra: expected at most 16 texts, given {len(rows)}")
        self._context.save(checks.path(f"{where}: path", path), rows)

    def load(self, path: str | os.PathLike[str]) -> Model:
        """Reads a file of save: all names, types and shapes must fit, else nothing changes. Returns
        itself. FileError, ShapeError."""
        self._context.load(checks.path("Model.load(): path", path))
        return self

    def loaded(self, key: str) -> str | None:
        """A text of ``extra`` in the file that was loaded last."""
        return self._context.loaded(checks.word("Model.loaded(): key", key))

    def load_weights(self, path: str | os.PathLike[str], only: str | Sequence[str] | None = None,
                     rename: str | Mapping[str, str] | None = None) -> Model:
        """Parameters and states from a .safetensors file of another program; of any float type.

        ``only``: names of the model, or patterns such as "enc.*". ``rename``: {theirs: ours}, or
        the text of a table of lines THEIRS = OURS (docs/training.md). Returns itself.
        """
        where = "Model.load_weights()"
        name = checks.path(f"{where}: path", path)
        chosen = None if only is None else ",".join(checks.names(f"{where}: only", only))
        if rename is not None and not isinstance(rename, str):
            rename = "\n".join(f"{theirs} = {ours}" for theirs, ours in checks.texts(
                f"{where}: rename", rename, "a dict {theirs: ours}, or a table as text").items())
        table = None if rename is None else checks.word(f"{where}: rename", rename)
        self._context.load_weights(name, chosen, table, 0)
        return self

    def trace(self, path: str | os.PathLike[str] | None) -> Trace:
        """From now on notes when each kernel runs; the file, for Chrome's trace viewer, appears
        when the trace ends: ``with m.trace("t.json"): m.step(...)``, or m.trace(None)."""
        self._context.trace(None if path is None else checks.path("Model.trace(): path", path))
        return Trace(self._context)

    # ---- copies

    def _saved(self) -> bytes:
        """The bytes that save writes."""
        import tempfile
        with tempfile.TemporaryDirectory(prefix="neoc-") as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def _restore(self, saved: bytes, settings: Mapping[str, Any]) -> None:
        import tempfile
        with tempfile.TemporaryDirectory(prefix="neoc-") as folder:
            path = os.path.join(folder, "model.safetensors")
            with open(path, "wb") as file:
                file.write(saved)
            self.load(path)
        for name, value in settings.items():
            self.settings[name] = value

    def clone(self) -> Model:
        """A model of its own with the same values, steps and settings; the code is shared."""
        made = type(self).__new__(type(self))
        made._open(self._source, self._program, 0)
        made._restore(self._saved(), dict(self.settings))
        return made

    def __copy__(self) -> Model:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (tuple(self._source), self._saved(), dict(self.settings))

    # ---- training

    def fit(self, data: Any, *, epochs: int = 1, batch_size: int | None = None,
            entry: str | None = None, shuffle: bool = True, validation: Any = None,
            validation_entry: str = "test", callbacks: Sequence[Callable[..., Any]] = (),
            seed: int = 0, progress: bool | None = None, allow_nan: bool = False) -> History:
        """Trains on data. See neoc.fit.fit."""
        from .fit import fit
        return fit(self, data, epochs=epochs, batch_size=batch_size, entry=entry,
                   shuffle=shuffle, validation=validation, validation_entry=validation_entry,
                   callbacks=callbacks, seed=seed, progress=progress, allow_nan=allow_nan)


_NO_DIM = "E0108"  # -D of a name that the text does not declare


def _program_of(source: _Source, where: str = "") -> _core.Program:
    build = _core.Build(source.path, source.text, source.options, source.imports)
    if build.status:
        error = failure_of(build)
        if isinstance(error, CompileError) and where and \
                any(d.code == _NO_DIM for d in error.diagnostics):
            error = CompileError(f"{where}: sizes: {error}", error.diagnostics)
        raise error
    warn_of(diagnostics_of(build))
    return build.load(source.threads)


def _tensors_of(program: _core.Program) -> list[Tensor]:
    return [Tensor(k, name, role, word, extents, place, bool(saved), bool(optimizer))
            for k, (name, role, place, word, saved, optimizer, extents)
            in enumerate(program.tensors)]


def _unpickled(source: Sequence[Any], saved: bytes, settings: Dict[str, Any]) -> Model:
    made = Model.__new__(Model)
    where = _Source(*source)
    made._open(where, _program_of(where), 0)
    made._restore(saved, settings)
    return made
