"""Functions of models/std that are made of layers, with all parameters as arguments: nn.block.

The compiler is asked which parameters a call has, for its shapes and options: first.f.W belongs to
the call that defines f in the call that defines first. A copy of the function takes them as
arguments, and hands those of each call to a copy of what is called. Calls that have none, because a
case leaves them out, stay as they are. Parameters of a repeat are stacked, and each round takes its
own.
"""
from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from . import backend
from .module_text import Definition, calls_stateful, module, split

Path = Tuple[str, ...]
CALL = re.compile(r"(?<![\w.])(?:(\w+)\.)?(\w+)\(")


def needs_copy(d: Definition) -> bool:
    """Whether a function has parameters, or depends on training, itself or in what it calls."""
    return d.is_stateful or calls_stateful(d) is not None


def parameters_of(lines: Sequence[str], result: str) -> Dict[Path, Tuple[int, ...]]:
    """Shapes of the parameters of the call that defines `result`, by their paths."""
    found = backend.parameter_shapes("\n".join(lines) + "\n")
    prefix = result + "."
    return {tuple(name[len(prefix):].split(".")): shape for name, shape in found.items()
            if name.startswith(prefix)}


class Copy:
    """A copy of a function, and copies of what it calls.

    paths: its parameters in the order in which it takes them behind its arguments.
    """

    def __init__(self, d: Definition, name: str, shapes: Dict[Path, Tuple[int, ...]]) -> None:
        self.d, self.name, self.shapes = d, name, shapes
        self.paths: List[Path] = list(shapes)
        self.texts: Dict[str, str] = {}
        self.trains = d.trains
        body = self._body("\n".join(d.body))
        arguments = [_written(a) for a in d.arguments]
        arguments += [_argument(p, len(shapes[p])) for p in self.paths]
        options = [_written(o) for o in d.options]
        options += ["is_training = false"] if self.trains else []
        inner = ", ".join(arguments) + ("; " + ", ".join(options) if options else "")
        self.texts[name] = f"fn {name}({inner}) -> {', '.join(d.results)} {{\n{body}\n}}"

    def _body(self, text: str) -> str:
        own = {p[0] for p in self.shapes if len(p) == 1}
        lines = [line for line in text.split("\n") if not _declares(line, own)]
        text = "\n".join(lines)
        result, last = "", 0
        for match in CALL.finditer(text):
            if match.start() < last:
                continue
            end = _closing(text, match.end() - 1)
            result += text[last:match.start()] + self._call(text, match, end)
            last = end + 1
        return re.sub(r"\btraining\b", "is_training", result + text[last:])

    def _call(self, text: str, match: Any, end: int) -> str:
        """A call, of a copy where that has parameters or depends on training."""
        name = match.group(1) or self.d.module
        try:
            called = module(name).definitions.get(match.group(2))
        except ImportError:
            called = None
        if called is None:
            inner = self._inner(text[match.end():end])
            return f"{match.group(0)}{inner})"
        whole = f"{called.module}.{called.name}"
        if not needs_copy(called):
            return f"{whole}({self._inner(text[match.end():end])})"
        region, rounds = _regions(text[:match.start()])
        path = (*region, _defined(text[:match.start()]))
        mine = {p[len(path):]: s for p, s in self.shapes.items() if p[:len(path)] == path}
        if not mine and not called.trains and calls_stateful(called):
            return f"{whole}({text[match.end():end]})"  # a case leaves it out
        shapes = {p: s[len(rounds):] for p, s in mine.items()}
        made = Copy(called, f"{self.name}_{'_'.join(path)}", shapes)
        self.texts.update(made.texts)
        self.trains = self.trains or made.trains
        arguments, options = _parted(self._inner(text[match.end():end]))
        arguments += [_given((*path, *p), rounds) for p in made.paths]
        options += ["is_training = is_training"] if made.trains else []
        return f"{made.name}({', '.join(arguments + options)})"

    def _inner(self, text: str) -> str:
        """Arguments, in which calls of the module's other functions name the module."""
        def named(match: Any) -> str:
            known = not match.group(1) and match.group(2) in module(self.d.module).definitions
            return f"{self.d.module}.{match.group(0)}" if known else str(match.group(0))
        return CALL.sub(named, text)


def _written(v: Any) -> str:
    axes = "" if v.axes is None else f"[{', '.join(v.axes)}]"
    kind = f" : {v.kind}" if v.kind else ""
    return f"{v.name}{axes}{kind}" + (f" = {v.value}" if v.value else "")


def _argument(path: Path, rank: int) -> str:
    name = "_".join(path)
    axes = ", ".join(f"{name}_{k}" for k in range(rank))
    return f"{name}[{axes}]" if rank else name


def _given(path: Path, rounds: Sequence[str]) -> str:
    name = "_".join(path)
    return f"{name}[{', '.join(rounds)}, ..]" if rounds else name


def _declares(line: str, own: Any) -> bool:
    match = re.match(r"\s*param (\w+)", line)
    return match is not None and match.group(1) in own


def _closing(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "([") - (text[at] in ")]")
        if depth == 0:
            return at
    raise ValueError(text)


def _defined(before: str) -> str:
    """The first name that the statement at whose end `before` breaks off defines."""
    depth, start = 0, 0
    for at in range(len(before) - 1, -1, -1):
        c = before[at]
        depth += (c in ")]}") - (c in "([{")
        if depth < 0 or (depth == 0 and c in ";{") or (
                depth == 0 and c == "\n" and before[:at].rstrip()[-1:] not in "=,"):
            start = at + 1
            break
    statement = before[start:].strip()
    return re.match(r"(?:next )?(\w+)", statement).group(1)  # type: ignore[union-attr]


def _regions(before: str) -> Tuple[Path, List[str]]:
    """The repeats around a place: names of their first results, and of their rounds."""
    opened: List[Optional[Tuple[str, str]]] = []
    for at, c in enumerate(before):
        if c == "{":
            head = before[:at].rpartition("\n")[2]
            match = re.match(r"\s*(\w+)[^=]*= repeat (\w+) <", head)
            opened.append((match.group(1), match.group(2)) if match else None)
        elif c == "}":
            opened.pop()
    found = [r for r in opened if r is not None]
    return tuple(name for name, _ in found), [index for _, index in found]


def _parted(text: str) -> Tuple[List[str], List[str]]:
    parts = [p for p in split(text) if p]
    options = [p for p in parts if re.match(r"\w+\s*=(?!=)", p)]
    return [p for p in parts if p not in options], options


def tree_of(values: Dict[Path, Any]) -> Dict[str, Any]:
    """Nested dicts of values by their paths."""
    result: Dict[str, Any] = {}
    for path, value in values.items():
        inner = result
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return result


def values_of(tree: Any, paths: Sequence[Path]) -> Iterator[Any]:
    """The values at these paths; KeyError where one is missing."""
    for path in paths:
        value = tree
        for name in path:
            value = value[name]
        yield value
