"""Texts into programs: neoc.check, neoc.format, and what Op and Model share.

    words = checked_options("neoc.op()", {"math": "bf16"})   # ArgumentError, which names `math`
    build = _core.Build("model.expr", text, words)           # failure_of(build) if build.status
    program = build.load(0)                                  # _core.Program
"""

from __future__ import annotations

import os

from . import _core, checks
from .errors import (ArgumentError, Cancelled, CompileError, CompileWarning, Diagnostic, FileError,
                     NeoError, Note, error_of)

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Sequence
    from .model import Model

# ---------------------------------------------------------------- diagnostics


def diagnostics_of(build: _core.Build) -> list[Diagnostic]:
    """The compiler's diagnostics of a build, by place."""
    return [Diagnostic(severity, code, message, file, source_line, line, column, length, help,
                       [Note(f, ln, c, n, t or "") for f, ln, c, n, t in notes])
            for (severity, code, message, file, source_line, line, column, length, help,
                 notes) in build.diagnostics]


def failure_of(build: _core.Build) -> BaseException:
    """The exception of a build that failed."""
    found = diagnostics_of(build)
    if build.status == 12 and any(d.is_error for d in found):
        return CompileError("\n".join(str(d) for d in found if d.is_error), found)
    text = build.failure or build.messages.strip()
    error = error_of(build.status, text)
    if isinstance(error, CompileError):
        error.diagnostics = found
    return error


def warn_of(found: Iterable[Diagnostic]) -> None:
    """Shows warnings as Python's, at the line of the first caller outside of the package."""
    import sys
    import warnings
    package, level, frame = os.path.dirname(os.path.abspath(__file__)), 1, sys._getframe()
    while frame.f_back and os.path.abspath(frame.f_code.co_filename).startswith(package):
        frame, level = frame.f_back, level + 1
    for d in found:
        if d.severity == "warning":
            warnings.warn(str(d), CompileWarning, stacklevel=level)


# ---------------------------------------------------------------- options

_NAMED = {"math": "--math", "store": "--store", "target": "--target", "mcpu": "--mcpu",
          "unroll": "--unroll", "memory": "--memory", "records": "--records",
          "profile": "--profile", "batches": "--batches", "proof_quota": "--proof-quota"}


def option_words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Keywords as options of `neoc compile`: {"math": "bf16"} -> ("--math=bf16",).

    An underscore stands for a hyphen, True for an option without a value; None and False leave it
    out.
    """
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        word = _NAMED.get(name, "--" + name.replace("_", "-"))
        words.append(word if value is True else f"{word}={value}")
    return tuple(words)


def checked_options(where: str, options: Mapping[str, Any],
                    device: Any = None) -> tuple[str, ...]:
    """Options and device as words, which the compiler has read: what it does not take is told
    here, by the keyword, and not where something is compiled first."""
    given: dict[str, tuple[str, ...]] = {}
    for name, value in options.items():
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise checks.wrong_type(f"{where}: {name}", "a str, a number, True or False", value)
        checks.word(f"{where}: {name}", f"{name}={value}")
        given[name] = option_words({name: value})
    if device is not None:
        checks.word(f"{where}: device", device)
        if not device:
            raise checks.wrong_value(f"{where}: device", "\"cpu\", \"cuda\" or a target", device)
        given["device"] = device_words(device)
    words = tuple(word for its in given.values() for word in its)
    refused = _refused(words)
    if refused is not None:
        for name, its in given.items():
            alone = _refused(its)
            if alone is not None:
                raise type(alone)(f"{where}: {name}: {_bare(alone)}{_hint(name, alone)}")
        raise type(refused)(f"{where}: {_bare(refused)}")
    return words


def _bare(error: BaseException) -> str:
    text = str(error)
    return text[len("options: "):] if text.startswith("options: ") else text


def _hint(name: str, error: BaseException) -> str:
    unknown = "unknown option" in str(error) and name.isidentifier()
    return f"; the value of a dim is given as sizes={{'{name}': ...}}" if unknown else ""


def _refused(words: tuple[str, ...]) -> BaseException | None:
    """The exception for options that the compiler does not take."""
    if not words:
        return None
    build = _core.Build("model.expr", "", words, cache="none", names=True)
    return failure_of(build) if build.status else None


def size_words(where: str, sizes: Mapping[str, Any]) -> tuple[str, ...]:
    """Sizes as options: {"B": 64} -> ("-D", "B=64")."""
    words: list[str] = []
    for name, value in checks.mapping(where, sizes, "a dict of numbers by name").items():
        if not name.isidentifier():
            raise checks.wrong_value(where, "names of dims", name)
        words += ["-D", f"{name}={checks.number(f'{where}: {name}', value)}"]
    return tuple(words)


def device_words(device: str | None) -> tuple[str, ...]:
    """"cpu" and None are this machine's processor, "cuda" its GPU; else a target of neoc."""
    if device in (None, "cpu"):
        return ()
    return (f"--target={'nvptx:native' if device == 'cuda' else device}",)


def module_texts(where: str, imports: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """{"blocks": text} as libneo takes it: what `import blocks` finds."""
    if imports is None:
        return ()
    return tuple(checks.texts(where, imports, "a dict of texts by the name of the module").items())


# ---------------------------------------------------------------- building

EXPLAINED = ("groups", "schedule", "kernels", "memory", "timings", "ir", "html")


def check_explained(where: str, what: Any) -> None:
    """Checks the argument of explain; the compiler checks names of passes."""
    checks.word(where, what)
    if what not in EXPLAINED and not what.startswith("after="):
        words = ", ".join(f"'{w}'" for w in EXPLAINED)
        raise checks.wrong_value(where, f"one of {words} or 'after=PASS'", what)


def explanation_of(where: str, build: _core.Build, what: str) -> str:
    """The text of neo_build_explain; ArgumentError if it fails."""
    text = build.explain(what)
    last = text.rstrip("\n").rsplit("\n", 1)[-1]
    if last.startswith("neo: "):
        raise ArgumentError(f"{where}: {what!r}: {last[5:]}")
    return text


def write_text(where: str, path: Any, text: str) -> None:
    """Writes a file of text; FileError."""
    name = checks.path(where, path)
    try:
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise FileError(f"{where}: {name}: {problem.strerror or problem}") from None


def read_text(where: str, path: str) -> str:
    """The text of a file; FileError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        raise FileError(f"{where}: {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise FileError(f"{where}: {path}: this is no text in UTF-8") from None


def check(text: str, *, imports: Mapping[str, str] | None = None) -> list[Diagnostic]:
    """The errors and warnings of a model's text, by place; an empty list where there are none.

    >>> import neoc
    >>> [d.code for d in neoc.check("input X[3]\\noutput Y")]
    ['E0101']
    >>> neoc.check("input X[3]\\nY[i] = 2*X[i]\\noutput Y")
    []
    """
    import json
    where = "neoc.check()"
    checks.text(f"{where}: text", text)
    status, messages = _core.check("model.expr", text, (),
                                   module_texts(f"{where}: imports", imports))
    if status == 14:
        raise Cancelled("interrupted")
    try:
        rows = json.loads(messages)["diagnostics"]
    except ValueError:
        raise error_of(status, messages.strip()) from None
    lines = text.split("\n")
    found = [_from_json(row, lines) for row in rows]
    if status and not any(d.is_error for d in found):
        raise error_of(status, messages.strip())
    return found


def _from_json(row: Mapping[str, Any], lines: list[str]) -> Diagnostic:
    line = int(row.get("line") or 0)
    own = row.get("file") == "model.expr" and 0 < line <= len(lines)
    return Diagnostic(row["severity"], row["code"], row["message"], row.get("file"),
                      lines[line - 1] if own else None, line, int(row.get("column") or 0),
                      int(row.get("length") or 0), "\n".join(row.get("help") or ()) or None,
                      [Note(None, 0, 0, 0, text) for text in row.get("notes") or ()])


def format(text: str) -> str:
    """The text in canonical form (docs/language.md), as `neoc fmt` writes it.

    CompileError where it is no text of the language.

    >>> import neoc
    >>> print(neoc.format("C[i,j]=sum[k]A[i,k]*B[k,j]"), end="")
    C[i, j] = sum[k] A[i, k] * B[k, j]
    """
    import tempfile
    checks.text("neoc.format(): text", text)
    syntax = _core.Build("model.expr", text, cache="none", names=True)
    if syntax.status:
        raise failure_of(syntax)
    with tempfile.TemporaryDirectory(prefix="neoc-") as folder:
        path = os.path.join(folder, "model.expr")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if _core.command(("neoc", "fmt", "-w", path)):
            raise CompileError("neoc fmt refuses this text")
        with open(path, encoding="utf-8") as file:
            return file.read()


def run_command(words: Sequence[str], quiet: bool = True) -> tuple[int, str, str]:
    """A command of neoc in a process of its own: its exit code, stdout, and what it complains of.

    In this process it would print to its stdout and stderr.
    """
    import subprocess
    import sys
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    pipe = subprocess.PIPE if quiet else None
    done = subprocess.run([sys.executable, "-m", "neoc", *words], stdin=subprocess.DEVNULL,
                          stdout=pipe, stderr=pipe, env={**os.environ, "PYTHONPATH": path})
    out, why = ((part or b"").decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return done.returncode, out, why.strip()


def thread_count(where: str, n: Any) -> int:
    """The number of threads that an argument says; None and 0: as many as cores."""
    return 0 if n is None else checks.number(where, n, 0, 1024)


def set_threads(n: int) -> None:
    """How many threads compute, from the next call of an operator on; 0: as many as cores.

    Models keep the number that was set when they were made. Results do not depend on it.
    """
    _core.set_threads(checks.number("neoc.set_threads(): n", n, 0, 1024))


# ---------------------------------------------------------------- models

def compile(text: str, *, imports: Mapping[str, str] | None = None, seed: int = 0,
            threads: int | None = None, device: str | None = None,
            sizes: Mapping[str, int] | None = None, **options: Any) -> Model:
    """A model from its text (docs/language.md): its entries are methods.

    ``imports``: texts of modules, {"blocks": text}, which `import blocks` finds before any file.
    ``sizes``: values for `dim`s, as -D of the command line. ``seed``: of initial values and
    rand(). ``threads``: None: those of neoc.set_threads. ``device``: "cpu". Other keywords are
    options of `neoc compile`: math="bf16", memory="1G".

    Raises CompileError, whose ``diagnostics`` have all errors.

    >>> import neoc, numpy as np
    >>> m = neoc.compile("input X[3]\\nY[i] = 2*X[i]\\noutput Y")
    >>> m.forward(X=np.array([1, 2, 3], dtype="float32"))
    array([2., 4., 6.], dtype=float32)
    """
    from .model import Model
    return Model._compiled("neoc.compile()", text, imports=imports, seed=seed, threads=threads,
                           device=device, sizes=sizes, options=options)


def load(path: str | os.PathLike[str], *, seed: int = 0, threads: int | None = None,
         device: str | None = None, options: Mapping[str, Any] | None = None,
         **sizes: int) -> Model:
    """A model from a file: neoc.load("mlp.expr", B=64).

    Keywords are values of the file's `dim`s. ``options``: of `neoc compile`, as neoc.compile
    takes them. Modules are looked for beside the file. FileError, CompileError.
    """
    from .model import Model
    where = "neoc.load()"
    name = checks.path(f"{where}: path", path)
    return Model._compiled(where, read_text(f"{where}: path", name), path=name, seed=seed,
                           threads=threads, device=device, sizes=sizes, options=options)
