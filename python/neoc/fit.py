"""Training on data: Model.fit, its history, and callbacks.

    history = m.fit({"X": x, "Y": y}, epochs=5, batch_size=64, validation={"X": u, "Y": v})
    history["loss"]                          # a number for each epoch
    history.plot_loss("loss.svg")
"""

from __future__ import annotations

import math
import os
import sys
import time
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Sequence,
                    Sized)

from . import _core, arrays, checks
from .compiler import write_text
from .errors import DTypeError, NeoError, RangeError, ShapeError, UnknownName

if TYPE_CHECKING:
    from .model import Entry, Model, Tensor

__all__ = ["History", "checkpoint", "early_stopping", "fit"]

Callback = Callable[["Model", Dict[str, Any]], Any]


class History(Dict[str, List[Any]]):
    """The course of a training: lists with a number for each epoch, "epoch", "step" (steps of the
    model by then), "seconds" (of this epoch with its validation, by the clock), the mean of each
    output of the entry ("loss"), and of the validation's ("val_loss")."""

    def add(self, row: Mapping[str, Any]) -> None:
        """A row; names that are new begin with None in the rows before."""
        n = max((len(v) for v in self.values()), default=0)
        for name, value in row.items():
            self.setdefault(name, [None] * n).append(value)

    def curves(self) -> dict[str, list[float]]:
        """The lists that are losses and other values, without epoch, step and seconds."""
        return {k: v for k, v in self.items() if k not in ("epoch", "step", "seconds")}

    def panels(self) -> dict[str, dict[str, list[float]]]:
        """The curves by what they show: "loss" has loss and val_loss, "accuracy" val_accuracy."""
        made: dict[str, dict[str, list[float]]] = {}
        for name, values in self.curves().items():
            shown = name[len("val_"):] if name.startswith("val_") else name
            made.setdefault(shown, {})[name] = values
        return made

    def plot_loss(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draws the curves over the epochs: the losses, and below them a panel for each other
        value of the validation, such as the accuracy.

        With matplotlib installed the axes of the losses, whose figure a notebook shows, and a file
        if there is a path; without it an SVG text, which goes to the path.
        """
        name = None if path is None else checks.path("History.plot_loss(): path", path)
        try:
            import matplotlib.pyplot as plt  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return _write_svg(self, name)
        panels = self.panels()
        figure, rows = plt.subplots(max(len(panels), 1), sharex=True, squeeze=False)
        for (shown, curves), axes in zip(panels.items(), rows[:, 0]):
            for label, values in curves.items():
                axes.plot(self["epoch"], values, label=label)
            axes.set_ylabel(shown)
            axes.legend()
        rows[-1, 0].set_xlabel("epoch")
        if name is not None:
            figure.savefig(name)
        return rows[0, 0]


class Svg(str):
    """The text of a picture, which a notebook shows."""

    def _repr_svg_(self) -> str:
        return str(self)


_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")


_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 360, 70, 40  # of a panel, in pixels


def _write_svg(history: History, path: str | None) -> Svg:
    panels = list(history.panels().values()) or [{}]
    rows = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
            f'height="{_HEIGHT*len(panels)}" font-family="sans-serif" font-size="12">']
    for k, curves in enumerate(panels):
        rows += [f'<g transform="translate(0 {_HEIGHT*k})">',
                 *_panel(history.get("epoch", []), curves), "</g>"]
    text = Svg("\n".join(rows) + "\n</svg>\n")
    if path is not None:
        write_text("History.plot_loss(): path", path, text)
    return text


def _panel(epochs: Sequence[float], curves: Mapping[str, Sequence[float]]) -> list[str]:
    """The SVG elements of curves that have one axis."""
    seen = [v for c in curves.values() for v in c if v is not None and math.isfinite(v)]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    high = high if high > low else low + 1
    first, last = (epochs[0], epochs[-1]) if epochs else (0, 1)

    def x(epoch: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 20) * (epoch - first) / max(last - first, 1)

    def y(value: float) -> float:
        return 20 + (_HEIGHT - _BOTTOM - 20) * (high - value) / (high - low)

    rows = [f'<path d="M{_LEFT} 20V{_HEIGHT - _BOTTOM}H{_WIDTH - 20}" fill="none" stroke="#888"/>']
    rows += [f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.4g}</text>'
             for v in (low, high)]
    rows += [f'<text x="{x(e):.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{e}</text>'
             for e in (first, last)]
    for k, (name, values) in enumerate(curves.items()):
        color = _COLORS[k % len(_COLORS)]
        points = " ".join(f"{x(e):.1f},{y(v):.1f}" for e, v in zip(epochs, values)
                          if v is not None and math.isfinite(v))
        rows.append(f'<polyline points="{points}" fill="none" stroke="{color}"/>')
        rows.append(f'<text x="{_WIDTH - 24}" y="{34 + 16*k}" text-anchor="end" '
                    f'fill="{color}">{name}</text>')
    return rows


# ---------------------------------------------------------------- callbacks

def checkpoint(path: str | os.PathLike[str], best: str | None = None) -> Callback:
    """A callback that saves the model after each epoch; with ``best`` where this value of the
    history, such as "val_loss", is the lowest so far."""
    lowest = math.inf
    place = checks.path("checkpoint(): path", path)
    if best is not None:
        checks.text("checkpoint(): best", best)

    def save(model: Model, row: dict[str, Any]) -> None:
        nonlocal lowest
        if best is not None:
            if best not in row:
                raise UnknownName(f"checkpoint: '{best}' is none of {', '.join(row)}")
            if not row[best] < lowest:
                return
            lowest = row[best]
        model.save(place)

    return save


def early_stopping(value: str = "val_loss", patience: int = 3) -> Callback:
    """A callback that ends the training once a value has not been lower than before for so many
    epochs."""
    lowest, waited = math.inf, 0
    checks.text("early_stopping(): value", value)
    patience = checks.number("early_stopping(): patience", patience, 1)

    def look(model: Model, row: dict[str, Any]) -> bool:
        nonlocal lowest, waited
        if value not in row:
            raise UnknownName(f"early_stopping: '{value}' is none of {', '.join(row)}")
        if row[value] < lowest:
            lowest, waited = row[value], 0
        else:
            waited += 1
        return waited >= patience

    return look


# ---------------------------------------------------------------- data

def _batch_extent(entry: Entry, inputs: Mapping[str, Tensor]) -> int | str | None:
    """The extent that counts rows: a run-time size that is the first one of an input, or the first
    extent of the first input that has some."""
    first = [inputs[n].shape[0] for n in entry.inputs if inputs[n].shape]
    sizes = [extent for extent in first if isinstance(extent, str)]
    return (sizes or first or [None])[0]


def _rows_of(entry: Entry, inputs: Mapping[str, Tensor], data: Mapping[str, Any],
             what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays of the types that the entry takes: those with as many rows each, and those that are
    the same in all steps, as their first extent is another one."""
    missing = [n for n in entry.inputs if n not in data]
    unknown = [n for n in data if n not in entry.inputs]
    if missing or unknown:
        raise UnknownName(f"{what}: " + "; ".join(filter(None, (
            f"{entry!r} needs {', '.join(missing)} too" if missing else "",
            f"{entry!r} takes no {', '.join(unknown)}" if unknown else ""))))
    rows: dict[str, Any] = {}
    same: dict[str, Any] = {}
    counted = _batch_extent(entry, inputs)
    for name in entry.inputs:
        shape = inputs[name].shape
        array = _typed(f"{what}: {name}", _array(f"{what}: {name}", data[name]),
                       inputs[name].word)
        is_row = bool(shape) and shape[0] == counted
        if array.ndim != len(shape):
            counts = ", the first of which counts rows" if is_row else ""
            raise ShapeError(f"{what}: {name} has {len(shape)} dimensions{counts}; given the "
                             f"shape {array.shape}")
        (rows if is_row else same)[name] = array
    found = {name: len(array) for name, array in rows.items()}
    if len(set(found.values())) != 1:
        raise ShapeError(f"{what}: numbers of rows differ: " +
                         ", ".join(f"{k} {v}" for k, v in found.items())
                         if found else f"{what}: {entry!r} takes no rows")
    return rows, same


def _array(name: str, value: Any) -> Any:
    """An array of numbers of what is one."""
    import numpy as np
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind in "OUS":
        raise DTypeError(f"{name}: expected an array of numbers, given {checks.shown(value)}")
    return array


def _typed(name: str, array: Any, word: str) -> Any:
    """Numbers of another type as those of the model's: floats are rounded, integers must fit."""
    import numpy as np
    dtype = arrays.dtype_of(word)
    if array.dtype == dtype:
        return array
    arrays.word_of(name, array.dtype) if array.dtype.kind not in "iu" else None
    if word in arrays.FLOATS:
        return array.astype(dtype)
    if array.dtype.kind == "f":
        raise DTypeError(f"{name}: expected {dtype}, given {array.dtype}")
    made = array.astype(dtype)
    if not np.array_equal(made, array):
        raise RangeError(f"{name}: some elements are no numbers of the type {dtype}")
    return made


class _Batches:
    """Batches of arrays, in an order that each epoch draws."""

    def __init__(self, model: Model, entry: Entry, data: Mapping[str, Any],
                 batch_size: int | None, shuffle: bool, seed: int, what: str) -> None:
        self.rows, self.same = _rows_of(entry, model.inputs, data, what)
        self.count = len(next(iter(self.rows.values())))
        self.shuffle, self.seed = shuffle, seed
        fixed, most = _batch_of(model, entry)
        self.size = fixed or batch_size or (most if most is not None and most <= 65536 else 0)
        if not self.size:
            raise NeoError(f"{what}: give batch_size, which the model leaves open")
        if fixed and batch_size and batch_size != fixed:
            raise ShapeError(f"batch_size: {entry!r} takes {fixed} rows, given {batch_size}")
        if most is not None and self.size > most:
            raise ShapeError(f"batch_size: {entry!r} takes at most {most} rows, given "
                             f"{self.size}")
        if self.count < (self.size if fixed else 1):
            raise ShapeError(f"{what}: {self.count} rows are too few for a batch")
        self.whole = fixed is not None
        self.steps = self.count // self.size if self.whole else -(-self.count // self.size)

    def epoch(self, number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        order = _core.shuffle(self.seed, number, self.count) if self.shuffle else None
        for k in range(self.steps):
            at = slice(k * self.size, min((k + 1) * self.size, self.count))
            chosen = at if order is None else order[at]
            batch = {n: a[chosen] for n, a in self.rows.items()}
            yield at.stop - at.start, {**batch, **self.same}


def _batch_of(model: Model, entry: Entry) -> tuple[int | None, int | None]:
    """(the number of rows if it is fixed, else None; the most rows if there is a bound)."""
    extent = _batch_extent(entry, model.inputs)
    if isinstance(extent, int):
        return extent, extent
    sizes = {name: hi for name, _, hi in model._program.sizes}
    return None, sizes.get(extent) if isinstance(extent, str) else None


class _Given:
    """Batches that an iterable of dicts gives, as a loader of data does."""

    def __init__(self, model: Model, entry: Entry, data: Iterable[Mapping[str, Any]],
                 what: str) -> None:
        self.model, self.entry, self.data, self.what = model, entry, data, what
        self.steps: int | None = len(data) if isinstance(data, Sized) else None

    def epoch(self, number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        found = 0
        for batch in self.data:
            if not isinstance(batch, Mapping):
                raise DTypeError(f"{self.what}: expected a dict of arrays by name for each batch, "
                                 f"given {type(batch).__name__}")
            rows, same = _rows_of(self.entry, self.model.inputs, self.entry.plain(batch),
                                  self.what)
            found += 1
            yield len(next(iter(rows.values()))), {**rows, **same}
        if not found:
            raise NeoError(f"{self.what}: there are no batches (an iterator is used up after an "
                           "epoch; give something that can be gone through again)")


def _batches(model: Model, entry: Entry, data: Any, batch_size: int | None, shuffle: bool,
             seed: int, what: str) -> _Batches | _Given:
    if isinstance(data, Mapping):
        if entry.plain(data) is not data:
            raise DTypeError(f"{what}: graphs are given in batches: a list of dicts, in each of "
                             "which is one graph, as neoc.Graph.batch makes it")
        return _Batches(model, entry, data, batch_size, shuffle, seed, what)
    if isinstance(data, Iterable):
        return _Given(model, entry, data, what)
    raise DTypeError(f"{what}: expected a dict of arrays by name, or an iterable of such for each "
                     f"batch, given {type(data).__name__}")


# ---------------------------------------------------------------- progress

class _Progress:
    """A bar of tqdm where it is installed, else a line on a terminal, else nothing."""

    def __init__(self, wanted: bool | None, epoch: int, epochs: int, steps: int | None) -> None:
        self.title = f"epoch {epoch}/{epochs}"
        self.steps, self.done, self.shown = steps, 0, 0.0
        shows = sys.stderr.isatty() if wanted is None else wanted
        self.bar: Any = None
        self.line = shows
        if shows:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
                self.bar = tqdm(total=steps, desc=self.title, leave=True)
            except ImportError:
                pass

    def step(self, means: Mapping[str, float]) -> None:
        self.done += 1
        now = time.monotonic()
        if self.bar is not None:
            self.bar.update(1)
        if not self.line or now - self.shown < 0.2:
            return
        self.shown = now
        text = ", ".join(f"{k} {v:.4g}" for k, v in means.items())
        if self.bar is not None:
            self.bar.set_postfix_str(text)
        else:
            of = f"/{self.steps}" if self.steps else ""
            sys.stderr.write(f"\r{self.title}: {self.done}{of} {text}\x1b[K")

    def close(self, row: Mapping[str, Any]) -> None:
        text = ", ".join(f"{k} {v:.4g}" for k, v in row.items()
                         if isinstance(v, float) and k != "seconds")
        if self.bar is not None:
            self.bar.set_postfix_str(text)
            self.bar.close()
        elif self.line:
            sys.stderr.write(f"\r{self.title}: {text}\x1b[K\n")


# ---------------------------------------------------------------- training

class _Means:
    """Means over rows of what an entry gives."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.rows = 0

    def add(self, names: Sequence[str], values: Any, rows: int) -> None:
        many = values if isinstance(values, tuple) else (values,)
        for name, value in zip(names, many):
            if getattr(value, "shape", ()) == () and value is not None:
                self.sums[name] = self.sums.get(name, 0.0) + float(value) * rows
        self.rows += rows

    def means(self, prefix: str = "") -> dict[str, float]:
        return {prefix + k: v / max(self.rows, 1) for k, v in self.sums.items()}


def _train_entry(model: Model, name: str | None) -> Entry:
    if name is not None and not isinstance(name, str):
        raise checks.wrong_type("fit(): entry", "the name of an entry that trains", name)
    training = [n for n, e in model.entries.items() if e.trains]
    if name is None and training:
        return model.entries[training[0]]
    if name in model.entries and model.entries[name].trains:
        return model.entries[name]
    raise UnknownName(f"fit(): entry: '{name}' trains nothing; there are {', '.join(training)}"
                     if training else "fit(): the model trains nothing: its text has no `train`")


def _look(values: Any, names: Sequence[str], model: Model, allow_nan: bool) -> None:
    many = values if isinstance(values, tuple) else (values,)
    for name, value in zip(names, many):
        if not allow_nan and getattr(value, "shape", None) == () and not math.isfinite(value):
            raise NeoError(
                f"{name} is {value} at step {model.steps}: the parameters are those after this "
                "step, and may be nan as well. m.reset() or m.load(path) gives good ones (the "
                "callback neoc.fit.checkpoint keeps a file); allow_nan=True goes on")


def _validate(model: Model, name: str, batches: _Batches | _Given) -> dict[str, float]:
    means = _Means()
    entry = model.entries[name]
    for rows, batch in batches.epoch(0):
        means.add(entry.outputs, entry(**batch), rows)
    return means.means("val_")


def _callbacks(where: str, given: Any) -> Sequence[Callback]:
    """Callbacks as a list; what cannot be called is told before the first epoch."""
    wanted = "a sequence of functions of the model and the epoch's row"
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise checks.wrong_type(where, wanted, given)
    made = list(given)
    for one in made:
        if not callable(one):
            raise TypeError(f"{where}: expected {wanted}, given {checks.shown(one)} in it")
    return made


def fit(model: Model, data: Any, *, epochs: int = 1, batch_size: int | None = None,
        entry: str | None = None, shuffle: bool = True, validation: Any = None,
        validation_entry: str = "test", callbacks: Sequence[Callback] = (), seed: int = 0,
        progress: bool | None = None, allow_nan: bool = False) -> History:
    """Trains a model on data.

    data: a dict of arrays by the names of the entry's inputs, whose first dimension counts rows
        (those with another first extent are the same in all steps); or an iterable of such dicts,
        one for each batch, which may have a neoc.Graph for each graph of the text. Numbers of
        another type are converted: floats rounded, integers if they fit.
    epochs: how often to go through the data. batch_size: rows in a step; None: what the model
        says. The last rows of an epoch are a smaller step, or none where the model takes an exact
        number.
    entry: which one trains; None: the first. shuffle: rows in an order that seed and the number of
        the epoch decide, that of `neoc train`.
    validation: data as above, for ``validation_entry`` after each epoch; means over the rows of
        its scalar outputs are in the history as val_NAME.
    callbacks: called after each epoch with the model and the row of the history; one that returns
        True ends the training. neoc.fit.checkpoint and early_stopping make some.
    progress: whether to show it; None: on a terminal.

    Returns the history, which is also model.history after Ctrl-C. NeoError where a result is not
    finite, unless allow_nan: the model is as after the step that gave it, with parameters that may
    be nan; go on after model.reset(), or model.load of what a checkpoint wrote.
    """
    from .model import Model as _Model
    where = "fit()"
    if not isinstance(model, _Model):
        raise checks.wrong_type(f"{where}: model", "a neoc.Model", model)
    epochs = checks.number(f"{where}: epochs", epochs)
    if batch_size is not None:
        batch_size = checks.number(f"{where}: batch_size", batch_size, 1)
    shuffle, seed = checks.flag(f"{where}: shuffle", shuffle), checks.seed(f"{where}: seed", seed)
    allow_nan = checks.flag(f"{where}: allow_nan", allow_nan)
    if progress is not None:
        progress = checks.flag(f"{where}: progress", progress)
    checks.text(f"{where}: validation_entry", validation_entry)
    callbacks = _callbacks(f"{where}: callbacks", callbacks)
    trained = _train_entry(model, entry)
    batches = _batches(model, trained, data, batch_size, shuffle, seed, "data")
    held = None
    if validation is not None:
        if validation_entry not in model.entries:
            raise UnknownName(f"validation_entry: the model has no entry '{validation_entry}'; "
                             f"it has {', '.join(model.entries)}")
        held = _batches(model, model.entries[validation_entry], validation, batch_size, False, 0,
                        "validation")
    history = model.history = History()
    for epoch in range(1, epochs + 1):
        row = _epoch(model, trained, batches, epoch, epochs, progress, allow_nan, held,
                     validation_entry)
        history.add(row)
        if any([callback(model, row) is True for callback in callbacks]):
            break
    return history


def _epoch(model: Model, entry: Entry, batches: _Batches | _Given, epoch: int, epochs: int,
           progress: bool | None, allow_nan: bool, held: _Batches | _Given | None,
           held_entry: str) -> dict[str, Any]:
    began, means = time.monotonic(), _Means()
    bar = _Progress(progress, epoch, epochs, batches.steps)
    row: dict[str, Any] = {}
    try:
        for rows, batch in batches.epoch(epoch - 1):
            values = entry(**batch)
            _look(values, entry.outputs, model, allow_nan)
            means.add(entry.outputs, values, rows)
            bar.step(means.means())
        row = {"epoch": epoch, "step": model.steps, **means.means()}
        if held is not None:
            row.update(_validate(model, held_entry, held))
        row["seconds"] = time.monotonic() - began
    finally:
        bar.close(row)
    return row
