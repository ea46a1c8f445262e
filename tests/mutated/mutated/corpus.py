"""The programs that are mutated: models in files, programs in the manual, in shell scripts and in C strings."""

import os
import re
import shlex
from typing import NamedTuple

from relations.syntax import Define, Dim, ExprError, Number, Output, Train, parse

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
FOLDERS = ("tests", "models", "tools", "docs", "README.md")
_STRINGS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_HERE = re.compile(r"((?:^[^\n]*\\\n)*^[^\n]*)<<-?\s*'?(\w+)'?[^\n]*\n(.*?)^\s*\2$", re.M | re.S)
_FENCE = re.compile(r"^( *)```expr[^\n]*\n(.*?)^ *```", re.M | re.S)
_NONE = ("mutated", "parse", "gallery")  # folders of what is no program but for its syntax, and of pages that show models again
_GIVEN = re.compile(r"^[A-Za-z_][\w.]*=[-\[\d@].*$")


class Source(NamedTuple):
    name: str  # FILE or FILE:LINE
    text: str
    sizes: dict
    given: dict  # values as texts of a command line
    defines: dict = {}  # values of sizes that replace those in the text


def sources(folders=FOLDERS):
    """Files below some folders that may be programs; equal texts once."""
    seen = set()
    for path in _files(folders):
        with open(path, encoding="utf-8", errors="replace") as file:
            content = file.read()
        for s in _READERS[os.path.splitext(path)[1]](os.path.relpath(path, ROOT), content):
            if s.text not in seen:
                seen.add(s.text)
                yield s
    yield from _zoo(folders)


def _files(folders):
    for f in folders:
        top = os.path.join(ROOT, f)
        if os.path.isfile(top):
            yield top
        for root, below, names in sorted(os.walk(top)):
            below[:] = [b for b in below if b not in _NONE]
            yield from (os.path.join(root, n) for n in sorted(names) if os.path.splitext(n)[1] in _READERS)


def statements_of(source):
    """Its statements, or None where it does not parse or defines nothing; the last definition is its output where it
    has none."""
    try:
        statements = parse(source.text)
    except (ExprError, RecursionError, ValueError, IndexError, AttributeError):
        return None
    defined = [s for s in statements if isinstance(s, Define)]
    for s in statements:
        if isinstance(s, Dim) and s.name in source.defines:
            s.value = Number(0, source.defines[s.name])
    if any(isinstance(s, (Output, Train)) for s in statements):
        return statements
    return statements + [Output(0, "forward", [(defined[-1].target.name,)], [])] if defined else None


# ---- where programs stand


def _model(name, content):
    sizes, given = {}, {}
    for word, found in re.findall(r"^# (size|value) (\S+)$", content, re.M):
        key, _, value = found.partition("=")
        (sizes if word == "size" else given)[key] = int(value) if word == "size" else value
    yield Source(name, content, sizes, given)


def _script(name, content):
    for m in _HERE.finditer(content):
        yield Source(f"{name}:{_line(content, m)}", m.group(3), {}, _given(m.group(1)))


def _given(command):
    """NAME=VALUE on the command line of a script, where no variable of the shell is part of it."""
    try:
        words = shlex.split(command.replace("\\\n", " ").replace("<<", " "), comments=True)
    except ValueError:
        return {}
    return dict(w.split("=", 1) for w in words if _GIVEN.match(w) and "$" not in w)


def _document(name, content):
    for m in _FENCE.finditer(content):
        yield Source(f"{name}:{_line(content, m)}", m.group(2), {}, {})


def _code(name, content):
    for m in _STRINGS.finditer(content):
        if " = " in m.group() and "\\n" in m.group():
            found = "".join(_STRING.findall(m.group())).replace("\\n", "\n").replace('\\"', '"')
            yield Source(f"{name}:{_line(content, m)}", found, {}, {})


def _line(content, match):
    return content.count("\n", 0, match.start()) + 1


_READERS = {".expr": _model, ".sh": _script, ".md": _document, ".c": _code}


def _zoo(folders):
    """Models of the zoo at the sizes of their tests."""
    cases = os.path.join(ROOT, "tests", "zoo", "expected")
    if not any(f in ("tests", "models") for f in folders):
        return
    for case in sorted(os.listdir(cases)):
        with open(os.path.join(cases, case), encoding="utf-8") as file:
            lines = [line.split() for line in file if re.match("model|define|size", line)]
        model = next(w[1] for w in lines if w[0] == "model")
        defines = {w[1]: int(w[2]) for w in lines if w[0] == "define"}
        sizes = {w[1]: int(w[2]) for w in lines if w[0] == "size"}
        with open(os.path.join(ROOT, "models", "zoo", model + ".expr"), encoding="utf-8") as file:
            yield Source(f"zoo/{case[:-4]}", file.read(), sizes, {}, defines)
