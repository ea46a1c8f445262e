"""Texts of models as those of operators: what neoc.jax.module calls.

A model's text, compiled with --pure, has parameters, states and settings as inputs. ModelOp is an
operator of such a text: its arguments are declared in it, but those that derivatives add.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any, Dict, NamedTuple, Tuple

from .. import _core, arrays
from ..compiler import diagnostics_of
from ..derive import _statements
from ..errors import DTypeError, ShapeError
from ..op import Op
from ..retell import retold
from ..text import PATH, Argument, Key, Module, Plan, inner_of, input_line, zeros_line

_ENDS = re.compile(r"(output|train)\b(?!\s*(\[|=))")
_IMPORT = re.compile(r"^\s*import\s+(.+)$", re.MULTILINE)


class Info(NamedTuple):
    """The facts that all operators of a model share.

    extents: of the arguments that the text declares, numbers and names of run-time sizes. trains:
    the text has a train statement, and no outputs are named.
    """

    extents: Dict[str, Tuple[Any, ...]]
    words: Dict[str, str]
    imports: Tuple[Tuple[str, str], ...]
    trains: bool


@lru_cache(maxsize=256)
def _program_of(text: str, options: Tuple[str, ...], imports: Tuple[Tuple[str, str], ...],
                threads: int) -> _core.Program | _core.Build:
    """The program, or the build that has errors."""
    build = _core.Build(PATH, text, options, imports)
    return build if build.status else build.load(threads)


class ModelOp(Op):
    """An operator of a model's text. Each model has a class, which has its Info."""

    info: Info

    def _sizes(self, key: Key) -> Tuple[str, ...]:
        """Run-time sizes of these arguments, as options."""
        sizes: dict[str, int] = {}
        for a, part in zip(self._arguments, key):
            extents = self.info.extents.get(a.name)
            if extents is not None:
                self._check_declared(a.name, extents, part, sizes)
        return tuple(w for name, n in sorted(sizes.items()) for w in ("-D", f"{name}={n}"))

    def _check_declared(self, name: str, extents: Tuple[Any, ...], part: Tuple[Any, ...],
                        sizes: dict[str, int]) -> None:
        shape, word = part[2], self.info.words[name]
        fits = len(shape) == len(extents)
        for n, m in zip(extents, shape):
            wanted = sizes.setdefault(n, m) if isinstance(n, str) else n
            fits = fits and wanted in (m, None)
        if not fits:
            wanted_text = ", ".join("?" if n is None else str(n) for n in extents)
            raise ShapeError(f"{name}: expected the shape ({wanted_text}), given {tuple(shape)}"
                             + (f"; {sizes}" if sizes else ""))
        if part[1] != word:
            raise DTypeError(f"{name}: expected {arrays.NAME_OF[word]}, given "
                             f"{arrays.NAME_OF[part[1]]}")

    def _module(self, key: Key, plan: Plan | None = None) -> Module:
        head = [input_line(inner_of(a), part[2], part[1]) for a, part in zip(self._arguments, key)
                if a.name not in self.info.extents]
        lines = self._text.split("\n")
        for number in plan.zeros if plan else ():
            name, like, _ = self._fallbacks[number]
            lines[number] = zeros_line(name, like, self._text)
        foot = [] if self.info.trains else ["output " + ", ".join(map(inner_of, self._results))]
        return Module("\n".join(head + lines + foot) + "\n", len(head),
                      self._written)

    def _specialize(self, key: Key) -> Tuple[_core.Program, Tuple[int, ...]]:
        plan, options = Plan(), ("--pure",) + self._options + self._sizes(key)
        while True:
            module = self._module(key, plan)
            made = _program_of(module.text, options, self.info.imports, self._threads)
            if isinstance(made, _core.Program):
                break
            found = diagnostics_of(made)
            if not self._retry(found, module, key, plan):
                raise retold(made, found, self._text, module, key, self._arguments)
        self._last = module
        program = made
        places = {inner_of(a): k for k, a in enumerate(self._arguments)}
        tensors, entry = program.tensors, program.entries[0]
        return program, tuple(places[tensors[t][0]] for t in entry[2])


def class_of_lists(extents: Any, words: Any, imports: Any, trains: bool) -> type[ModelOp]:
    """The class from its Info as JSON has it."""
    return class_of(Info({k: tuple(v) for k, v in extents.items()}, words,
                         tuple((name, text) for name, text in imports), trains))


def class_of(info: Info) -> type[ModelOp]:
    """The class of the operators of a model."""
    return type("ModelOp", (ModelOp,), {"info": info})


def text_of(text: str, train: str | None) -> str:
    """A model's text in canonical form without its entries, but for the train statements of the
    entry `train`."""
    kept = []
    for statement in _statements(text):
        found = _ENDS.match(statement)
        name = re.match(r"train\s+(\w+)\s*:", statement)
        mine = found and found.group(1) == "train" and (name.group(1) if name else "step") == train
        if not found or mine:
            kept.append(statement)
    return "\n".join(kept)


def imports_of(text: str, folder: str, known: Tuple[Tuple[str, str], ...]
               ) -> Tuple[Tuple[str, str], ...]:
    """The given modules, and those beside the model's file that it imports, and those import."""
    made, waiting = dict(known), [text, *(t for _, t in known)]
    while waiting:
        for name in _imported(waiting.pop()):
            path = os.path.join(folder, name + ".expr")
            if name not in made and os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    made[name] = file.read()
                waiting.append(made[name])
    return tuple(made.items())


def _imported(text: str) -> list[str]:
    rows = (row.split("#")[0] for row in _IMPORT.findall(text))
    return [part.split()[0] for row in rows for part in row.split(";")[0].split(",")
            if part.split()]


def argument(name: str, rank: int) -> Argument:
    """An argument that the text declares."""
    return Argument(name, rank, False, f"{name}[{', '.join('_'*rank)}]" if rank else name)
