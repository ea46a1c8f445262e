"""The modules of models/std as Python sees them: signatures, comments, and functions without state.

A traced function is pure, and so is what it calls. A function of a module that has parameters or
states is therefore lifted: they become arguments, and what `update` makes of them results. What an
entry would know (training, the number of the step, the norm of all gradients) becomes an argument
too. A lifted function stands in the text of the trace; all others are imported.
"""
from __future__ import annotations

import os
import re
from typing import Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = (os.path.join(os.path.dirname(HERE), "_neo", "share", "neo", "std"),
           os.path.join(HERE, "..", "..", "..", "models", "std"))
HEAD = re.compile(r"^(fn|optimizer) (\w+)\(")


class Variable:
    """An argument, option, parameter or state: its name, axes, type and value as they are written.

    axes is None for a scalar.
    """

    def __init__(self, text: str) -> None:
        head, _, value = _cut(text, "=")
        head, _, kind = _cut(head, ":")
        name, bracket, axes = head.strip().partition("[")
        words = name.split()
        self.is_input = words[0] == "input" and len(words) > 1
        self.name = words[-1]
        self.axes = split(axes.rstrip()[:-1]) if bracket else None
        self.kind, self.value = kind.strip(), value.strip()

    @property
    def type_variable(self) -> str:
        """`real` of `real` and of `wide(real)`; empty for other types."""
        return self.kind.replace("wide(", "").rstrip(")") if "real" in self.kind else ""


class Definition:
    """A function or optimizer of a module."""

    def __init__(self, module: str, word: str, name: str, head: str, body: List[str],
                 comment: str) -> None:
        self.module, self.is_optimizer, self.name = module, word == "optimizer", name
        self.body, self.comment = body, comment
        inner, results = _signature(head)
        arguments, _, options = _cut(inner, ";")
        self.arguments = [Variable(a) for a in split(arguments)]
        self.options = [Variable(o) for o in split(options)]
        self.results = [r.strip() for r in results.split(",") if r.strip()]
        statements = statements_of(body)
        self.parameters = _declared(statements, "param")
        self.states = _declared(statements, "state")
        self.text = "\n".join(body)
        self.trains = bool(re.search(r"\btraining\b", self.text))

    @property
    def is_stateful(self) -> bool:
        """Whether it has parameters or states of its own, or depends on the entry."""
        return self.is_optimizer or bool(self.parameters or self.states or self.trains)


class Module:
    """One module: its definitions by name, and those of other modules that it imports."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.definitions = {d.name: d for d in _definitions(name, text)}
        self.summary = _first_comment(text)

    def shown(self) -> List[str]:
        """Names of functions that are documented."""
        return [d.name for d in self.definitions.values() if d.comment]


_modules: Dict[str, Module] = {}


def module(name: str) -> Module:
    """A module of models/std."""
    known = _modules.get(name)
    if known is None:
        with open(path_of(name), encoding="utf-8") as file:
            known = _modules[name] = Module(name, file.read())
    return known


def path_of(name: str) -> str:
    """The path of a module's text."""
    for folder in FOLDERS:
        path = os.path.join(folder, name + ".expr")
        if os.path.exists(path):
            return path
    raise ImportError(f"neoc: the module {name}.expr of the language's library is not installed")


# ---- reading
def _definitions(module_name: str, text: str) -> List[Definition]:
    lines = text.split("\n")
    result: List[Definition] = []
    comment: List[str] = []
    k = 0
    while k < len(lines):
        line = lines[k]
        if line.startswith("#"):
            comment.append(line[1:].removeprefix(" "))
            k += 1
            continue
        found = HEAD.match(line)
        if found:
            end = _end(lines, k)
            head, body = _head_and_body(lines[k:end + 1])
            told = "" if any(c.startswith("----") for c in comment) else "\n".join(comment)
            result.append(Definition(module_name, found.group(1), found.group(2), head, body, told))
            k = end
        comment = []
        k += 1
    return result


def _end(lines: List[str], k: int) -> int:
    depth, begun = 0, False
    while True:
        for c in lines[k].split("#")[0]:
            depth += (c in "{([") - (c in "})]")
            begun = begun or c == "{"
        if begun and depth == 0 and not lines[k].rstrip().endswith("{"):
            return k
        k += 1


def _head_and_body(lines: List[str]) -> Tuple[str, List[str]]:
    whole = "\n".join(lines)
    depth = 0
    for at, c in enumerate(whole):
        depth += (c in "([") - (c in ")]")
        if c == "{" and depth == 0:
            break
    head, rest = whole[:at], whole[at + 1:]
    depth = 1
    for end, c in enumerate(rest):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            break
    body = rest[:end].strip("\n")
    return head, body.split("\n") if "\n" in body else ["  " + body.strip()]


def _signature(head: str) -> Tuple[str, str]:
    start = head.index("(")
    depth = 0
    for at in range(start, len(head)):
        depth += (head[at] in "([") - (head[at] in ")]")
        if depth == 0:
            break
    rest = head[at + 1:]
    return " ".join(head[start + 1:at].split()), rest.replace("->", "").strip()


def _first_comment(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        lines.append(line[1:].removeprefix(" "))
    return "\n".join(lines)


def split(text: str) -> List[str]:
    """Parts between commas that are not in brackets."""
    result, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            result.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return result + [last] if last else result


def _cut(text: str, sign: str) -> Tuple[str, str, str]:
    """partition() at a sign that is in no bracket and no part of <=, ==, >=."""
    depth = 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == sign and depth == 0 and text[at - 1:at] not in ("<", ">", "=", "!") \
                and text[at + 1:at + 2] != "=":
            return text[:at], sign, text[at + 1:]
    return text, "", ""


def statements_of(body: List[str]) -> List[str]:
    """The statements of a block, each with the lines on which it goes on."""
    result: List[str] = []
    for line in body:
        if not line.strip() or line.strip().startswith("#"):
            continue
        if line.startswith("   ") or line.startswith("  }"):
            result[-1] += "\n" + line
        else:
            result.append(line)
    return result


def _declared(statements: List[str], word: str) -> List[Variable]:
    return [Variable(s.strip()[len(word):].strip()) for s in statements
            if s.strip().startswith(word + " ")]


# ---- lifting
class Lifted:
    """A function of a module as a pure one.

    extra: what it takes behind its arguments: parameters, then states, then what an entry knows.
    updated: for each state whether the results have its next value.
    """

    def __init__(self, d: Definition, name: str) -> None:
        self.definition, self.name = d, name
        self.settings = [o for o in d.options if o.is_input]
        self.bound = _sizes_of_parameters(d)
        self.options = [o for o in d.options if not o.is_input and o.name not in self.bound]
        self.uses_step = bool(re.search(r"\bstep\b", d.text)) and d.is_optimizer
        self.uses_norm = "global_norm" in d.text
        self.updates = _updates(d)
        self.text = self._text()

    def results(self) -> List[str]:
        """Names of the results: those of the function, then the next values of states."""
        own = [] if self.definition.is_optimizer else self.definition.results
        first = ["w_next"] if self.definition.is_optimizer else []
        return own + first + [s.name + "_next" for s in self.definition.states]

    def _text(self) -> str:
        d = self.definition
        arguments = [_as_written(a) for a in d.arguments]
        arguments += [self._tensor(p) for p in d.parameters] + [self._tensor(s) for s in d.states]
        arguments += [f"{s.name} : {s.kind}" if s.kind else s.name for s in self.settings]
        arguments += ["step_ : i64"] if self.uses_step else []
        arguments += ["norm_ : wide(real)"] if self.uses_norm else []
        options = [_as_written(o) for o in self.options]
        options += ["is_training = false"] if d.trains else []
        inner = ", ".join(arguments) + ("; " + ", ".join(options) if options else "")
        body = "\n".join(self._body())
        return f"fn {self.name}({inner}) -> {', '.join(self.results())} {{\n{body}\n}}"

    def _tensor(self, v: Variable) -> str:
        axes = None if v.axes is None else [
            a if a == ".." or a in self.bound else f"{v.name}_{k}" for k, a in enumerate(v.axes)]
        kind = f" : {v.kind}" if v.kind else ""
        return f"{v.name}{'' if axes is None else '[' + ', '.join(axes) + ']'}{kind}"

    def _body(self) -> List[str]:
        result = []
        for statement in statements_of(self.definition.body):
            word = statement.split()[0]
            if word in ("param", "state"):
                continue
            if word == "update":
                continue
            result.append(self._renamed(statement))
        for target, value in self.updates:
            name, bracket, rest = target.partition("[")
            known = {s.name: s for s in self.definition.states}
            kind = known[name].kind if name in known else "real"
            typed = f" : {kind}" if kind else ""
            result.append(f"  {name}_next{bracket}{rest}{typed} = {self._renamed(value)}")
        missing = {s.name for s in self.definition.states} - {t.split("[")[0]
                                                              for t, _ in self.updates}
        for s in missing:
            result.append(f"  {s}_next = {s}")
        return result

    def _renamed(self, text: str) -> str:
        d = self.definition
        text = re.sub(r"\btraining\b", "is_training", text)
        if self.uses_step:
            text = re.sub(r"\bstep\b", "step_", text)
        text = text.replace("wide(global_norm)", "norm_")
        text = re.sub(r"\bglobal_norm\b", "real(norm_)", text)
        for other in module(d.module).definitions:
            text = re.sub(rf"(?<![\w.]){other}\(", f"{d.module}.{other}(", text)
        return text


def _as_written(v: Variable) -> str:
    axes = "" if v.axes is None else f"[{', '.join(v.axes)}]"
    kind = f" : {v.kind}" if v.kind else ""
    return f"{v.name}{axes}{kind}" + (f" = {v.value}" if v.value else "")


def _sizes_of_parameters(d: Definition) -> List[str]:
    """Options without a value that are the extent of a parameter, which tells them."""
    axes = {a for p in d.parameters for a in p.axes or []}
    return [o.name for o in d.options if not o.value and o.name in axes]


def _updates(d: Definition) -> List[Tuple[str, str]]:
    result = []
    for statement in statements_of(d.body):
        if statement.strip().startswith("update "):
            flat = " ".join(statement.strip()[len("update "):].split())
            for part in split(flat):
                target, _, value = _cut(part, "=")
                result.append((target.strip(), value.strip()))
    return result


def all_parameters(d: Definition) -> List[Variable]:
    """Its parameters, also those of branches of a case."""
    found = re.findall(r"(?m)^\s*param (.*)$", d.text)
    return [Variable(f) for f in found]


def has_states(d: Definition) -> bool:
    """Whether it keeps something from call to call."""
    return d.is_optimizer or bool(d.states)


def calls_stateful(d: Definition) -> Optional[str]:
    """A function with parameters or states that the body calls, if there is one."""
    for match in re.finditer(r"(?<![\w.])(?:(\w+)\.)?(\w+)\(", d.text):
        name = match.group(1) or d.module
        if name == d.module and match.group(2) == d.name:
            continue
        try:
            other = module(name).definitions.get(match.group(2))
        except ImportError:
            continue
        if other is not None and (other.is_stateful or calls_stateful(other)):
            return f"{name}.{other.name}"
    return None
