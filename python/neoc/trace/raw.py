"""neoc.expr: the language inside of a trace."""
from __future__ import annotations

import re
from typing import Any, Dict, List, Sequence, Tuple, Union

from .. import checks
from ..errors import ArgumentError
from . import scope
from .make import lift
from .sizes import Size
from .std import call, imports_of, option
from .tensor import Tensor, TraceError

TARGETS = re.compile(r"^((?:\w+(?:\[[^\]]*\])?(?:\s*:[^=,]*?)?\s*,\s*)*\w+(?:\[[^\]]*\])?"
                     r"(?:\s*:[^=]*?)?)\s*=(?!=)")


def expr(text: str, *, out: Union[str, Sequence[str], None] = None, **given: Any) -> Any:
    """Statements of the language, of tensors that are given by name; their results as tensors.

    text: definitions, loops, choices, calls of models/std (nn.softmax(A)). Tensors, arrays and
    sizes are inputs of it; Python's numbers and bools are options, known when it is compiled.
    out: names of the results; without it, what no other statement reads. Several are a tuple.
    Errors of the text are told at the line of this call.

    >>> import neoc
    >>> @neoc.function
    ... def filtered(a, f):
    ...     return neoc.expr("C[b, p < 6] = sum[r] A[b, p + r]*F[r]", A=a, F=f)
    >>> print(filtered.text((2, 8), (3,)), end="")
    fn expr(A[A_0, A_1], F[F_0]) -> C {
      C[b, p < 6] = sum[r] A[b, p + r]*F[r]
    }
    input a[2, 8]
    input f[3]
    C = expr(a, f)
    output C
    """
    checks.text("text", text)
    wanted = None if out is None else checks.names("out", out)
    trace = scope.current()
    if trace is None:
        raise TraceError("neoc.expr is for traced functions; neoc.op makes an operator of a text")
    tensors = {k: _lifted(k, v) for k, v in given.items() if not _is_option(v)}
    options = {k: v for k, v in given.items() if _is_option(v)}
    results = results_of(text) if wanted is None else list(wanted)
    if not results:
        raise ArgumentError(f"text: there is no definition in {text!r}" if wanted is None else
                            "out: expected at least one name, given none")
    name = _free(trace)
    arguments = ", ".join(_argument(k, t) for k, t in tensors.items())
    told = f"; {', '.join(options)}" if options else ""
    body = "\n".join("  " + line for line in _lines(text))
    whole = f"fn {name}({arguments}{told}) -> {', '.join(results)} {{\n{body}\n}}"
    made = call(name, list(tensors.values()), ", ".join(f"{k} = {option(v)}"
                                                       for k, v in options.items()),
                results, imports_of(text), {name: whole})
    return made[0] if len(made) == 1 else tuple(made)


def _lifted(name: str, value: Any) -> Tensor:
    try:
        return lift(value)
    except TypeError as problem:
        if isinstance(problem, TraceError):
            raise
        raise TypeError(f"{name}: {problem}") from None


def _is_option(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) and not isinstance(value, Size)


def _free(trace: scope.Trace) -> str:
    count = sum(1 for n in trace.functions if n.startswith("expr"))
    return f"expr{count + 1 if count else ''}"


def _argument(name: str, t: Tensor) -> str:
    axes = ", ".join(f"{name}_{k}" for k in range(t.ndim))
    return f"{name}[{axes}]" if axes else f"{name} : {t.kind}"


def _lines(text: str) -> List[str]:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    least = min(indents, default=0)
    return [line[least:] for line in lines]


def results_of(text: str) -> List[str]:
    """Names that the text defines outside of blocks, and that no other statement reads: a
    recurrence reads itself."""
    found: Dict[str, List[Tuple[int, int]]] = {}
    plain = re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), text)
    for start, end in _top_statements(plain):
        match = TARGETS.match(plain[start:end].lstrip())
        if match:
            for target in _names(match.group(1)):
                found.setdefault(target, []).append((start, end))
    return [n for n, own in found.items() if n != "_" and not _is_read(n, plain, own)]


def _names(left: str) -> List[str]:
    depth, result, word = 0, [], ""
    for c in left + ",":
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            result.append(re.split(r"[\[:\s]", word.strip())[0])
            word = ""
        else:
            word += c
    return result


def _is_read(name: str, text: str, own: List[Tuple[int, int]]) -> bool:
    """Whether the name stands in a statement that does not define it."""
    return any(not any(start <= m.start() < end for start, end in own)
               for m in re.finditer(rf"(?<![\w.]){name}(?!\w)", text))


def _top_statements(text: str) -> List[Tuple[int, int]]:
    result, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c in "\n;" and depth == 0:
            result.append((start, at))
            start = at + 1
    result.append((start, len(text)))
    return [(a, b) for a, b in result if text[a:b].strip()]
