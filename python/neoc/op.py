"""neoc.op: an operator from a line of text.

    mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    C = mm(A, B)

How it works. libneo lists the names of the text (neo_build_names): those that are read and not
defined are the arguments, those that nothing reads the results. A call for shapes and types that
are new writes a module: a line `input A[3, 4] : f32` for each argument, the text, and `output C`;
it is compiled in memory and loaded (neoc._core.Build, Program). neoc._core.Op finds the program
of later calls by a table, so that those take a microsecond.

What others build on (text.py, programs.py and retell.py beside this file have the parts):

    Argument(name, rank, static, form)   one argument; rank None: any; form: "A[i, k]", for people
    Op._derived(text, arguments, results, ...)   an operator from a text that a program wrote
    Op._module(key) -> Module            the module's text for a key (see python/src/op.c)
    Op._specialize(key) -> (program, inputs)
    program_of(text, options, threads)   a program, from the process's own table if it is there

Gradients, derivatives and batches are text as well: Op.grad and so on write a new text and make
an operator of it. A line that asks for a gradient which does not exist because nothing flows is
replaced by zeros once the compiler says so (E0515, or E0511 for integers): `fallbacks` maps the
number of such a line in the text to the name and the tensor whose shape the zeros have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable as _Iterable

from . import _core, arrays, checks
from .compiler import (check_explained, checked_options, diagnostics_of, explanation_of, failure_of,
                       thread_count, warn_of, write_text)
from .errors import (ArgumentError, CompileError, Diagnostic, DTypeError, FileError, NeoError,
                     ShapeError, error_of)
from .programs import program_of
from .text import (PATH, Argument, Key, Module, Names, Plan, check_declares, check_known,
                   derived_extents, form_of, index_reads, inner_of, input_line, rank_of,
                   read_names, size_lines, static_line, take_inputs, take_outputs, types_of,
                   with_inputs, zeros_line)

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Sequence, Union
    Axes = Union[int, str, Sequence[Union[int, str]]]
else:
    Axes = object

__all__ = ["Argument", "Op", "op"]


# ---------------------------------------------------------------- the operator

class Op(_core.Op):
    """An operator, made by neoc.op; call it with arrays of numpy.

    Arguments by position in the order in which the text reads them first, or that of ``args``, or
    by name; ``out`` is an array for the result, or a tuple of one for each. Returns an array, a
    number of numpy where the result is a scalar, or a tuple of these. Arrays that are strided are
    copied; they need not be writable. Threads may share an operator.

    Raises ShapeError, DTypeError, CompileError and GradientError for what the text makes of the
    shapes and types, RangeError for elements of index arrays out of their bounds, and TypeError
    for a wrong number of arguments.

    >>> import neoc, numpy as np
    >>> mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    >>> mm(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    >>> mm
    <neoc.Op (A[i, k], B[k, j]) -> C[i, j]>
    """

    __name__: str

    def __init__(self, text: str, *, out: str | Sequence[str] | None = None,
                 static: str | Sequence[str] = (), types: Mapping[str, Any] | None = None,
                 math: str = "f32", threads: int | None = None,
                 device: str | None = None,
                 args: str | Sequence[str] | None = None) -> None:
        where = "neoc.op()"
        checks.text(f"{where}: text", text)
        threads = thread_count(f"{where}: threads", threads)
        given = checks.names(f"{where}: static", static)
        wanted = None if out is None else checks.names(f"{where}: out", out)
        order = None if args is None else checks.names(f"{where}: args", args)
        options = {} if checks.text(f"{where}: math", math) == "f32" else {"math": math}
        words = checked_options(where, options, device)
        text, arguments, kinds = take_inputs(text)
        text, listed = take_outputs(text)
        if listed is not None and wanted is not None:
            raise ArgumentError(f"{where}: out: the text has a line 'output {', '.join(listed)}'")
        wanted = listed if listed is not None else wanted
        names = read_names(text)
        check_declares(names.declares)
        known = {n for a in arguments for n in (a.name, *a.extents)}
        for row in names.reads:
            name = str(row["name"])
            if row.get("callable") or "." in name or name in known:
                continue  # what is called: the compiler says what is wrong with it
            rank = rank_of(row)
            is_size = rank == 0 and bool(row.get("size"))
            arguments.append(Argument(name, rank, name in given or is_size,
                                      form_of(text, name, rank)))
        check_known("static", given, [a.name for a in arguments])
        arguments = _in_order(text, arguments, order)
        results = self._results_of(text, names, wanted)
        body = self._imports_of(names) + text
        chosen = {**types_of(kinds, arguments), **types_of(types, arguments)}
        self._setup(body, tuple(arguments), results, chosen, words, threads, {})

    # ---- making

    @staticmethod
    def _imports_of(names: Names) -> str:
        """Modules whose functions the text calls and which it does not import; on its first line,
        so that lines keep their numbers."""
        modules: dict[str, None] = {}
        for row in names.reads:
            if "." in str(row["name"]):
                modules[str(row["name"]).split(".", 1)[0]] = None
        return f"import {', '.join(modules)}; " if modules else ""

    @staticmethod
    def _results_of(text: str, names: Names,
                    out: Sequence[str] | None) -> tuple[Argument, ...]:
        ranks = {str(row["name"]): rank_of(row) for row in names.defines}
        if out is None:
            chosen = [str(r["name"]) for r in names.defines if not r["read"] and r["name"] != "_"]
        else:
            chosen = list(out)
            if not chosen or len(set(chosen)) != len(chosen):
                raise checks.wrong_value("neoc.op(): out", "one or more names, each once", out)
        for name in chosen:
            if name not in ranks:
                raise ArgumentError(f"neoc.op(): out: the text does not define '{name}'; it "
                                    f"defines {', '.join(ranks) or 'nothing'}")
        if not chosen:
            raise CompileError("the text of an operator defines at least one tensor, as in "
                               "C[i, j] = sum[k] A[i, k]*B[k, j]")
        return tuple(Argument(name, ranks[name], False, form_of(text, name, ranks[name]))
                     for name in chosen)

    def _setup(self, text: str, arguments: tuple[Argument, ...], results: tuple[Argument, ...],
               types: Mapping[str, str], options: tuple[str, ...], threads: int,
               fallbacks: Mapping[int, tuple[str, str, bool]],
               reads: Sequence[tuple[str, str, int]] | None = None) -> None:
        self._text = self._written = text
        self._reads = reads
        self._arguments = arguments
        self._results = results
        self._types = dict(types)
        self._options = options
        self._threads = threads
        self._fallbacks = dict(fallbacks)
        self._last: Module | None = None
        self.__name__ = results[0].name
        super().__init__(tuple(a.name for a in arguments),
                         tuple(a.name for a in arguments if a.static))

    @classmethod
    def _derived(cls, text: str, arguments: Sequence[Argument], results: Sequence[Argument],
                 types: Mapping[str, str] | None = None, options: tuple[str, ...] = (),
                 threads: int = 0,
                 fallbacks: Mapping[int, tuple[str, str, bool]] | None = None,
                 reads: Sequence[tuple[str, str, int]] | None = ()) -> Op:
        """An operator from a text whose names are known. ``reads``: (index array, what it
        subscripts, dimension), for the bounds of index arrays (text.index_reads); None: as the
        text has them."""
        made = cls.__new__(cls)
        made._setup(text, tuple(arguments), tuple(results), types or {}, options, threads,
                    fallbacks or {}, reads)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._text, self._arguments, self._results, self._types, self._options,
                          self._threads, self._fallbacks, self._reads)

    @property
    def _index_reads(self) -> Sequence[tuple[str, str, int]]:
        """Few calls need them."""
        if self._reads is None:
            self._reads = index_reads(self._text, map(inner_of, self._arguments))
        return self._reads

    # ---- compiling

    def _part_line(self, a: Argument, part: tuple[Any, ...], key: Key, plan: Plan) -> str:
        if part[0] == "static":
            return static_line(inner_of(a), part[1])
        word = self._types.get(a.name)
        if part[0] == "array":
            self._check_part(a, part, word)
            bound = "" if word else self._bound_of(a, part, key, plan)
            return input_line(inner_of(a), part[2], (word or part[1]) + bound)
        if word is None:
            word = plan.word_of(part[0], key)
        return input_line(inner_of(a), (), word)

    def _check_part(self, a: Argument, part: tuple[Any, ...], word: str | None) -> None:
        if a.rank is not None and a.rank != len(part[2]):
            raise _wrong_rank(a, part[2])
        if word is not None and part[1] not in re.findall(r"[a-z]+\d+|bool", word):
            raise DTypeError(f"{a.name}: expected {arrays.NAME_OF.get(word, word)} (types=), "
                             f"given {arrays.NAME_OF[part[1]]}")

    def _bound_of(self, a: Argument, part: tuple[Any, ...], key: Key, plan: Plan) -> str:
        if part[1] in arrays.FLOATS or part[1] == "bool":
            return ""
        own = inner_of(a)
        if own in plan.asked:
            return f" < {plan.asked[own]}"
        if not plan.bounded:
            return ""
        shapes = {inner_of(b): p[2] for b, p in zip(self._arguments, key) if p[0] == "array"}
        ends = [shapes[of][d] for index, of, d in self._index_reads
                if index == own and of in shapes and d < len(shapes[of])]
        return f" < {min(ends)}" if ends else ""

    def _module(self, key: Key, plan: Plan | None = None) -> Module:
        """The module for a key: what `_core` finds no program for."""
        plan = plan or Plan()
        head = [self._part_line(a, part, key, plan) for a, part in zip(self._arguments, key)]
        head = size_lines(self._text, self._arguments, key) + head
        lines = self._text.split("\n")
        for number in plan.zeros:
            name, like, _ = self._fallbacks[number]
            lines[number] = zeros_line(name, like, self._text)
        foot = [f"assert {fact}" for fact in derived_extents(self._text, self._arguments, key)]
        foot.append("output " + ", ".join(map(inner_of, self._results)))
        return Module("\n".join(head + lines + foot) + "\n", len(head), self._written)

    def _specialize(self, key: Key) -> tuple[_core.Program, tuple[int, ...]]:
        """Compiles a variant for new shapes and types; calls ask for it (python/src/op.c)."""
        plan, first = Plan(), None
        while True:
            module = self._module(key, plan)
            made = self._made(module)
            if isinstance(made, _core.Program):
                break
            found = diagnostics_of(made)
            from .retell import retold
            first = first or retold(made, found, self._text, module, key, self._arguments)
            if not self._retry(found, module, key, plan):
                # If no type of the numbers fits, the first error is reported.
                raise first if plan.numbers else retold(made, found, self._text, module, key,
                                                        self._arguments)
        self._last = module
        places = {inner_of(a): k for k, a in enumerate(self._arguments)}
        tensors, entry = made.tensors, made.entries[0]
        return made, tuple(places[tensors[t][0]] for t in entry[2])

    def _made(self, module: Module) -> _core.Program | _core.Build:
        def look(build: _core.Build) -> None:
            if build.diagnostics:
                from .retell import warnings_of
                warn_of(warnings_of(diagnostics_of(build), self._text, module))

        return program_of(module.text, self._options, self._threads, look)

    def _retry(self, found: Sequence[Diagnostic], module: Module, key: Key, plan: Plan) -> bool:
        """Whether another plan may be right where this one has errors."""
        errors = [d for d in found if d.is_error]
        codes = {d.code for d in errors}
        zeros = {d.line - module.head - 1 for d in errors if d.code in ("E0515", "E0511")}
        zeros = {k for k in zeros if k in self._fallbacks and k not in plan.zeros
                 and (self._fallbacks[k][2] or not self._is_whole(k, key))}
        if zeros:
            plan.zeros |= zeros
            return True
        if codes & {"E0207", "E0208"} and not plan.bounded:
            plan.bounded = True
            return True
        from .retell import TYPES
        asked = {n: end for n, end in self._asked(errors).items() if n not in plan.asked}
        plan.asked.update(asked)
        return bool(asked) or bool(codes & TYPES) and plan.next_numbers(key)

    def _asked(self, errors: Sequence[Diagnostic]) -> dict[str, int]:
        """Bounds that functions of the library ask of arguments, such as class numbers."""
        made, names = {}, set(map(inner_of, self._arguments))
        for d in errors:
            end = re.search(r"less than (\d+)$", d.message) if d.code == "E0413" else None
            name = re.match(r"\w+", (d.source_line or "")[max(d.column, 1) - 1:])
            if end and name and name.group() in names:
                made[name.group()] = int(end.group(1))
        return made

    def _is_whole(self, number: int, key: Key) -> bool:
        """Whether what a gradient is asked for is an integer, which has none."""
        like = self._fallbacks[number][1]
        return any(inner_of(a) == like and part[0] == "array" and part[1] not in arrays.FLOATS
                   for a, part in zip(self._arguments, key))

    # ---- errors

    def _misfit(self, given: int, named: Sequence[str]) -> str:
        """The text of a TypeError about a call with `given` arguments by position, and these names."""
        from .calls import misfit
        return misfit(self, given, named)

    def _fail(self, status: int, why: str) -> None:
        """Raises what a call's status means."""
        raise error_of(status, re.sub(rf" \({PATH}:\d+:\d+\)$", "", why))

    # ---- looking at it

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(a.name for a in self._arguments)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results, in order."""
        return tuple(r.name for r in self._results)

    @property
    def signature(self) -> str:
        """How arguments and results are subscripted: "(A[i, k], B[k, j]) -> C[i, j]"."""
        given = ", ".join(a.form or a.name for a in self._arguments)
        made = ", ".join(r.form or r.name for r in self._results)
        return f"({given}) -> {made}"

    @property
    def __signature__(self) -> Any:
        import inspect
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        rows = [inspect.Parameter(a.name, kind) for a in self._arguments]
        rows.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        return inspect.Signature(rows)

    def __repr__(self) -> str:
        return f"<neoc.Op {self.signature}>"

    def text(self, *shapes: Any) -> str:
        """The text; for shapes, arrays, or types such as "f32[3, 4]" the module that they make.

        >>> import neoc
        >>> print(neoc.op("y[i] = 2*x[i]").text("f32[3]"), end="")
        input x[3] : f32
        y[i] = 2*x[i]
        output y
        """
        if not shapes:
            return with_inputs(self._text, self._arguments, self._types)
        return self._module(self._key(self._examples(shapes))).text

    def _key(self, values: Sequence[Any]) -> Key:
        """The key of a call with these values, as `_core` makes it."""
        made: list[tuple[Any, ...]] = []
        for a, value in zip(self._arguments, values):
            if a.static:
                made.append(("static", value))
            elif isinstance(value, (bool, int, float)):
                made.append((type(value).__name__,))
            else:
                array = arrays.as_input(a.name, value)
                made.append(("array", arrays.word_of(a.name, array.dtype), array.shape))
        return tuple(made)

    def _renew(self) -> None:
        """Forgets what it was compiled for."""
        super().__init__(self.arguments, tuple(a.name for a in self._arguments if a.static))

    def _examples(self, shapes: Sequence[Any]) -> list[Any]:
        """An array for each of the shapes; its elements are anything."""
        if len(shapes) != len(self._arguments):
            raise TypeError(self._misfit(len(shapes), ()))
        return [_example(f"{self.__name__}(): {a.name}", a, self._types.get(a.name), s)
                for a, s in zip(self._arguments, shapes)]

    def compile(self, *shapes: Any) -> Op:
        """Compiles for these shapes, arrays or types such as "f32[3, 4]" now, and returns itself.

        A shape alone is of f32, or of what ``types`` says. Sizes and other static arguments are
        their values.

        >>> import neoc
        >>> mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]").compile((8, 16), (16, 4))
        """
        values = self._examples(shapes)
        self._specialize(self._key(values))  # of which explain and emit tell, in any case
        self._prepare(*values)
        return self

    def explain(self, what: str = "groups") -> str:
        """The compiler's result for the shapes that the text was compiled for last.

        ``what``: "groups", "schedule", "kernels", "memory", "after=PASS", as `neoc explain`.
        """
        where = f"{self.__name__}.explain(): what"
        check_explained(where, what)
        module = self._last_module()
        build = _core.Build(PATH, module.text, self._options, (), (), "none")
        if build.status:
            raise failure_of(build)
        return explanation_of(where, build, what)

    def _last_module(self) -> Module:
        if self._last is None:
            raise NeoError(f"{self.__name__} is compiled for no shapes yet: call it, or "
                           f"{self.__name__}.compile(...)")
        return self._last

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text to a file; neoc.op(open(path).read()) has it back."""
        write_text(f"{self.__name__}.save(): path", path, self.text().rstrip("\n") + "\n")

    def emit(self, folder: str | os.PathLike[str], *shapes: Any, name: str | None = None,
             emit: str = "so,h") -> None:
        """Writes a C library and its header to a folder, for the shapes that are given, or those
        that it was compiled for last.

        ``name``: of the files and the prefix of their functions; the first result's if None.
        ``emit``: what to write, as of `neoc compile`. Needs a C compiler for "so".
        """
        where = f"{self.__name__}.emit()"
        place = checks.path(f"{where}: folder", folder)
        prefix = re.sub(r"\W", "_", self.__name__).lower() if name is None else name
        if not re.fullmatch(r"[A-Za-z_]\w*", checks.word(f"{where}: name", prefix), re.ASCII):
            raise checks.wrong_value(f"{where}: name", "a name as of C", prefix)
        checks.word(f"{where}: emit", emit)
        if shapes:
            self.compile(*shapes)
        text = self._last_module().text
        try:
            os.makedirs(place, exist_ok=True)
        except OSError as problem:
            raise FileError(f"{where}: folder: {place}: {problem.strerror}") from None
        status, messages = _core.write_files(f"{prefix}.expr", text, self._options, (), (), None,
                                             place, prefix, emit)
        if status:
            raise error_of(status, f"{where}: {messages.strip()}")

    def verify(self, *args: Any, rtol: float | None = None) -> float:
        """Compares the compiled code with the reference interpreter on these arguments.

        Returns the largest difference, relative to the largest element of a result. NeoError,
        which names the element, where it is above ``rtol``: 1e-9 for f64, 1e-3 for f32, else
        0.05. The interpreter is slow: take small arrays.
        """
        from .verify import verify
        return verify(self, args, rtol)

    # ---- derivatives and batches

    def grad(self, argnums: Axes = 0) -> Op:
        """The gradient of a scalar result, with respect to one argument or several.

        ``argnums``: a number or name of an argument, or a sequence of these; then there is a
        result for each. The arguments stay the same. GradientError where the result is no scalar
        or an argument no float.

        >>> import neoc, numpy as np
        >>> f = neoc.op("y = sum[i] x[i]^2")
        >>> f.grad()(np.array([1.0, 2.0, 3.0]))
        array([2., 4., 6.])
        """
        from .derive import grad
        return grad(self, argnums)

    def vjp(self, argnums: Axes | None = None) -> Op:
        """The product of cotangents with the Jacobian: an operator that takes the arguments, then
        a cotangent d_C of each result C, and gives the gradients of the arguments.

        ``argnums``: as of grad; None: all that are not static. What is no float has zeros.

        >>> import neoc, numpy as np
        >>> f = neoc.op("y[i] = x[i]^2")
        >>> f.vjp()(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([ 2., 40.])
        """
        from .derive import vjp
        return vjp(self, argnums)

    def jvp(self, argnums: Axes | None = None) -> Op:
        """The product of the Jacobian with tangents: an operator that takes the arguments, then a
        tangent t_A of each A of ``argnums`` (None: all that are not static), and gives the
        tangents of the results.

        >>> import neoc, numpy as np
        >>> f = neoc.op("y[i] = x[i]^2")
        >>> f.jvp()(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        array([ 2., 40.])
        """
        from .derive import jvp
        return jvp(self, argnums)

    def vmap(self, in_axes: int | None | Sequence[int | None] = 0, out_axes: int = 0) -> Op:
        """The operator on batches: an argument has one more axis, at the place that ``in_axes``
        says (for each argument if it is a sequence; None: it has none), and so have the results.

        >>> import neoc, numpy as np
        >>> dot = neoc.op("y = sum[i] a[i]*b[i]")
        >>> dot.vmap((0, None))(np.eye(2), np.array([3.0, 4.0]))
        array([3., 4.])
        """
        from .derive import vmap
        return vmap(self, in_axes, out_axes)


def _wrong_rank(a: Argument, shape: Sequence[int]) -> ShapeError:
    remedy = "" if a.rank else f"; an array is read by its subscripts: write {a.name}" + \
        f"[{', '.join('ijklmnop'[d % 8] for d in range(len(shape)))}]"
    return ShapeError(f"{a.name}: expected {a.rank} dimensions ({a.form}), given the shape "
                      f"{tuple(shape)}{remedy}")


def _in_order(text: str, arguments: Sequence[Argument],
              order: Sequence[str] | None) -> list[Argument]:
    """The arguments in the order of calls by position: that of ``args``, else as the text reads
    them, static ones last."""
    if order is None:
        return sorted(arguments, key=lambda a: a.static)
    check_known("args", order, [a.name for a in arguments])
    places = {name: k for k, name in enumerate(order)}
    lacking = [a.name for a in arguments if a.name not in places]
    if lacking or len(places) != len(order):
        from .calls import unbound_hint, unbound_names
        unbound = unbound_names(text)
        hint = unbound_hint(k for k in lacking if k in unbound)
        wanted = f"each argument once: {', '.join(a.name for a in arguments)}"
        raise ArgumentError(str(checks.wrong_value("neoc.op(): args", wanted, tuple(order))) +
                            (f"\n{hint}" if hint else ""))
    return sorted(arguments, key=lambda a: places[a.name])


def _restore(*state: Any) -> Op:
    made = Op.__new__(Op)
    made._setup(*state)
    return made


_SHAPE_TEXT = r"\s*(\w+)\s*(?:\[([\d\s,]*)\])?\s*$"
_SHAPE = "a shape, an array, or a type such as \"f32[3, 4]\""


def _example(where: str, a: Argument, word: str | None, shape: Any) -> Any:
    """A value such as a call may have: see Op.compile."""
    if a.static:
        return _static_example(where, shape)
    if hasattr(shape, "dtype") or isinstance(shape, (bool, float)):
        return shape
    given = re.findall(r"[a-z]+\d+|bool", word or "f32")[0]
    if isinstance(shape, str):
        found = re.match(_SHAPE_TEXT, shape)
        if not found:
            raise ArgumentError(f"{where}: '{shape}' is no type; write one as f32[3, 4]")
        given = arrays.word_of(where, found.group(1))
        shape = tuple(int(n) for n in (found.group(2) or "").split(",") if n.strip())
    if isinstance(shape, (bytes, dict, set)):
        raise checks.wrong_type(where, _SHAPE, shape)
    try:
        extents = tuple(shape) if isinstance(shape, _Iterable) else (shape,)
    except TypeError:
        raise checks.wrong_type(where, _SHAPE, shape) from None
    return _empty(where, [checks.number(f"{where} ({_SHAPE})", n, 0, _MOST_EXTENT)
                          for n in extents], given)


_MOST_EXTENT = (1 << 48) - 1


def _static_example(where: str, value: Any) -> Any:
    if isinstance(value, (bool, int, float)) or hasattr(type(value), "__index__"):
        return value
    raise checks.wrong_type(f"{where}, which is static", "a number", value)


def _empty(where: str, extents: Sequence[int], word: str) -> Any:
    """An array of these extents, whose elements are anything."""
    import numpy as np
    try:
        return np.empty(tuple(extents), arrays.dtype_of(word))
    except (MemoryError, ValueError):
        raise ShapeError(f"{where}: an array of the shape {tuple(extents)} is larger than "
                         "memory") from None


def op(text: str, *, out: str | Sequence[str] | None = None, static: str | Sequence[str] = (),
       types: Mapping[str, Any] | None = None, math: str = "f32", threads: int | None = None,
       device: str | None = None, args: str | Sequence[str] | None = None) -> Op:
    """An operator from definitions in the language of docs/language.md.

    The names that the text reads and does not define are its arguments, in the order in which it
    reads them first, static ones last, or in that of ``args``; what nothing reads are its results.
    Extents follow from the shapes at each call, and the text is compiled once for all calls with
    the same shapes and types.

    text: definitions, such as ``C[i, j] = sum[k] A[i, k]*B[k, j]``; several on lines of their
        own. Functions of the library are called without an import: ``y = nn.softmax(x)``. A line
        ``input Q[S, C]`` names the sizes of an argument, which the text may read; these arguments
        come first.
    out: the result's name, or a sequence of names, where these are not what nothing reads.
    static: arguments that are numbers known to the text: each value is compiled by itself. Names
        that stand in bounds and extents (``y[i < N] = ...``) are static by themselves.
    types: types of arguments, such as ``{"n": "i32 < 10"}``: an argument of another type is a
        DTypeError. Numbers of Python have the type of the first array of floats otherwise.
    math: "f32"; "bf16" and "tf32" round the operands of contractions (docs/language.md, Types).
    threads: how many compute; None: those of neoc.set_threads.
    device: "cpu", the default; another target of `neoc compile`.
    args: the order of arguments by position, each named once, as ``("Q", "K", "V")``: to be given
        where a text such as ``O[i, d] = sum[k] V[k, d]*...`` reads them in another one. Derived
        operators keep it.

    CompileError, whose ``diagnostics`` have all errors, where the text is none of the language.

    >>> import neoc, numpy as np
    >>> relu = neoc.op("y[..] = max(x[..], 0)")
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    >>> window = neoc.op("y[i < N] = sum[k < 2] x[i + k]")
    >>> window(np.array([1.0, 2.0, 3.0]), N=2)
    array([3., 5.])
    """
    return Op(text, out=out, static=static, types=types, math=math, threads=threads,
              device=device, args=args)
