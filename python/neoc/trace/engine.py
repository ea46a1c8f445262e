"""Programs of traces by neoc._core: compiled in memory, called by the table of an operator."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from .. import _core
from ..compiler import failure_of, option_words
from ..errors import error_of

PATH = "model.expr"


class Call(_core.Op):
    """A program that takes arrays by position. All shapes that reach it are of one program."""

    __name__: str

    def __init__(self, program: Any, names: Sequence[str]) -> None:
        self._program, self._names = program, tuple(names)
        self.__name__ = "the traced function"
        super().__init__(self._names, ())

    def _specialize(self, key: Any) -> Tuple[Any, Tuple[int, ...]]:
        places = {name: k for k, name in enumerate(self._names)}
        tensors, entry = self._program.tensors, self._program.entries[0]
        return self._program, tuple(places[tensors[t][0]] for t in entry[2])

    def _fail(self, status: int, why: str) -> None:
        raise error_of(status, re.sub(rf" \({PATH}:\d+:\d+\)$", "", why))


def compiled(text: str, options: Dict[str, Any]) -> "Compiled":
    """Compile a text."""
    given = dict(options)
    threads = int(given.pop("threads", 0) or 0)
    build = _core.Build(PATH, text, option_words(given))
    if build.status:
        raise failure_of(build)
    return Compiled(build.load(threads))


class Compiled:
    """A program of neoc._core."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self._entries: List[Entries] = []

    def release(self) -> None:
        """Give back the memory of calls that are over: what runs no more costs none."""
        self.program.release()
        for entries in self._entries:
            entries.release()

    @property
    def is_fixed(self) -> bool:
        """Whether it has no sizes of the run."""
        return not self.program.sizes

    def call(self, names: Sequence[str], outputs: Sequence[str],
             sizes: Dict[str, List[Tuple[int, int]]]) -> Callable[[Sequence[Any]], Any]:
        """A function from values of these inputs to a sequence of results. sizes: for each size
        of the run which of the inputs have it as an extent, and where."""
        program = self.program
        made: Any
        if self.is_fixed:
            made = Call(program, names)
        else:
            made = Entries(program, names, sizes)
            self._entries.append(made)
        if len(outputs) == 1:
            return lambda values: [made(*values)]
        return lambda values: made(*values)

    def inputs(self) -> List[str]:
        """Names of what the entry reads, in its order."""
        tensors = self.program.tensors
        return [tensors[t][0] for t in self.program.entries[0][2]]


class Direct(_core.Op):
    """Calls of a function whose arguments are arrays, by one look into a table in C.

    find(key) is the program for shapes and types, and the numbers of the arguments that it reads.
    """

    __name__: str

    def __init__(self, name: str, names: Sequence[str],
                 find: Callable[[Any], Tuple[Any, Tuple[int, ...]]]) -> None:
        self.__name__, self._find = name, find
        super().__init__(tuple(names), ())

    def _specialize(self, key: Any) -> Tuple[Any, Tuple[int, ...]]:
        return self._find(key)

    def _fail(self, status: int, why: str) -> None:
        raise error_of(status, re.sub(rf" \({PATH}:\d+:\d+\)$", "", why))


class Entries:
    """A program with sizes of the run. A context serves one call at a time: there is a stack.

    What no input that the entry reads has as an extent is handed over by name: an input along an
    axis of extent 1 may have a size that counts, and elements that do not.
    """

    def __init__(self, program: Any, names: Sequence[str],
                 sizes: Dict[str, List[Tuple[int, int]]]) -> None:
        self._program = program
        self._free: List[Any] = []
        places = {name: k for k, name in enumerate(names)}
        first = self._entry()
        self._order = [places[name] for name in first.inputs]
        self._apart = {name: at[0] for name, at in sizes.items() if name in first.sizes
                       and not any(k in self._order for k, _ in at)}
        self._free.append(first)

    def _entry(self) -> Any:
        return _core.Entry(_core.Context(self._program, 0), 0, lambda name, value: None)

    def release(self) -> None:
        """Forget the contexts that serve no call."""
        self._free.clear()

    def __call__(self, *values: Any) -> Any:
        try:
            entry = self._free.pop()
        except IndexError:  # another thread may have taken the last one
            entry = self._entry()
        try:
            apart = {n: np.shape(values[k])[axis] for n, (k, axis) in self._apart.items()}
            return entry(*[values[k] for k in self._order], **apart)
        finally:
            self._free.append(entry)


def front(text: str) -> str:
    """The text as the compiler's front reads it: shapes and types of all that is in it."""
    build = _core.Build(PATH, text, (), (), (), "none", None, None, "")
    if build.status:
        raise failure_of(build)
    return build.explain("after=front")


def explained(text: str, what: str, options: Dict[str, Any]) -> str:
    """The output of `neoc explain` for a text."""
    words = option_words({k: v for k, v in options.items() if k != "threads"})
    build = _core.Build(PATH, text, words, (), (), "none")
    if build.status:
        raise failure_of(build)
    return build.explain(what)


def parameters(text: str, names: Sequence[str], seed: int) -> List[Any]:
    """First values of parameters and states."""
    build = _core.Build(PATH, text)
    if build.status:
        raise failure_of(build)
    program = build.load(0)
    context = _core.Context(program, seed)
    numbers = {row[0]: k for k, row in enumerate(program.tensors)}
    return [context.get(numbers[name]) for name in names]
