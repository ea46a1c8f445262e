"""Operators of PyTorch's dispatcher, and what their numbers mean.

One operator is declared for each number of arguments and results,

    neoc::call2_1(int number, Tensor a0, Tensor a1) -> Tensor

and what it computes is told by the number: that of a Door, which is a text with its options and the
values of its static arguments. Numbers are made from these, so a graph that torch.compile or
torch.export has stored means the same in every process; doors.c looks numbers up.

On the processor the kernel is python/src/torch_shim.c. Where PyTorch lacks a symbol that it needs
(before 2.8), it is `_slow_kernel` below. Shapes for meta and fake tensors come from `_fake`.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any, NamedTuple, Sequence, Tuple, Union

import torch

from .. import _core, checks, derive
from ..errors import DTypeError, FileError, NeoError, Unsupported
from ..op import Op

# As enum neo_rt_type has them.
_TYPES: dict[torch.dtype, int] = {
    torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.int64: 4,
    torch.int32: 5, torch.int8: 6, torch.uint8: 7, torch.bool: 8}
_DTYPES = {number: dtype for dtype, number in _TYPES.items()}
WORDS = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.int64: "i64", torch.int32: "i32", torch.int8: "i8", torch.uint8: "u8",
         torch.bool: "bool"}
DTYPE_OF = {word: dtype for dtype, word in WORDS.items()}

Statics = Tuple[Tuple[str, Any], ...]  # names and values of static arguments


class Example(NamedTuple):
    """The type and shape of a tensor."""

    dtype: torch.dtype
    shape: Any


# ---------------------------------------------------------------- doors

class Door:
    """An operator with values for its static arguments: what a number means.

    Doors are shared by all that have the same text, and stay to the end of the process, since a
    graph that was compiled may call them.
    """

    def __init__(self, number: int, core: Any, statics: Statics) -> None:
        self.number = number
        self.core = core
        self.statics = dict(statics)
        arguments = core._arguments
        self.tensors = tuple(k for k, a in enumerate(arguments) if not a.static)
        self.names = tuple(arguments[k].name for k in self.tensors)
        self.n_in = len(self.names)
        self.n_out = len(core._results)
        self.raw = declared(max(self.n_in, 1), self.n_out)
        self.call = self.raw._op
        self.quick = _core.TorchCall(self, self.call, number, max(self.n_in, 1), self.n_out)
        self._place = {k: n for n, k in enumerate(self.tensors)}
        self._derived: dict[Any, Door] = {}
        self.shapes: dict[Any, Any] = {}  # of symbolic.py
        self.has_batches = isinstance(core, Op)  # a model's entry has no text for vmap

    def __repr__(self) -> str:
        return f"<{self.core.signature}, number {self.number}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return door_of, (self.core, tuple(self.statics.items()))

    # ---- what _core asks for

    def full_key(self, key: Sequence[Any]) -> tuple[Any, ...]:
        """The key with its static arguments."""
        return tuple(("static", self.statics[a.name]) if a.static else key[self._place[k]]
                     for k, a in enumerate(self.core._arguments))

    def _specialize(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        program, inputs, *entry = self.core._specialize(self.full_key(key))
        return (program, tuple(self._place[k] for k in inputs), *entry)

    def _fail(self, status: int, why: str) -> None:
        self.core._fail(status, why)

    # ---- what is derived from it

    def _derive(self, what: tuple[Any, ...], core: Any) -> Door:
        made = door_of(core, tuple(self.statics.items()))
        self._derived[what] = made
        return made

    def _at(self, places: tuple[int, ...]) -> list[int]:
        """Places among all arguments."""
        return [self.tensors[k] for k in places]

    def _of(self, results: tuple[int, ...]) -> Any:
        """The operator with some of its results."""
        core = self.core
        if len(results) == self.n_out:
            return core
        return type(core)._derived(core._text, core._arguments,
                                   [core._results[k] for k in results], core._types,
                                   core._options, core._threads, core._fallbacks, core._index_reads)

    def vjp(self, wrt: tuple[int, ...], of: tuple[int, ...]) -> Door:
        """Gradients of the arguments `wrt` from the cotangents of the results `of`: takes the
        arguments and these cotangents."""
        what = ("vjp", wrt, of)
        found = self._derived.get(what)
        if found is not None:
            return found
        if not isinstance(self.core, Op):
            return self._derive(what, self.core.vjp(wrt, of))
        return self._derive(what, derive.vjp(self._of(of), self._at(wrt), floats=True))

    def jvp(self, wrt: tuple[int, ...], of: tuple[int, ...]) -> Door:
        """Tangents of the results `of` from those of the arguments `wrt`: takes the arguments and
        these tangents."""
        what = ("jvp", wrt, of)
        found = self._derived.get(what)
        if found is not None:
            return found
        if not isinstance(self.core, Op):
            return self._derive(what, self.core.jvp(wrt, of))
        return self._derive(what, derive.jvp(self._of(of), self._at(wrt), floats=True))

    def vmap(self, batched: tuple[bool, ...], examples: Sequence[Example]) -> Door:
        """The operator on batches: the arguments that are batched have the batch in front, and so
        have all results. examples: the arguments without the batch."""
        what = ("vmap", batched, tuple(len(e.shape) for e in examples))
        found = self._derived.get(what)
        if found is not None:
            return found
        core = self._with_ranks(examples)
        return self._derive(what, core.vmap([0 if b else None for b in batched]))

    def _with_ranks(self, examples: Sequence[Example]) -> Any:
        """The operator for arguments of these ranks, where the text leaves some open."""
        core = self.core
        if all(a.rank is not None for a in (*core._arguments, *core._results)):
            return core
        arguments = [a if a.static else a._replace(rank=len(examples[self._place[k]].shape))
                     for k, a in enumerate(core._arguments)]
        results = [r._replace(rank=len(shape))
                   for r, (_, shape) in zip(core._results, results_of(self, examples))]
        return type(core)._derived(core._text, arguments, results, core._types, core._options,
                                   core._threads, core._fallbacks, core._index_reads)


_doors: dict[int, Door] = {}
_lock = threading.Lock()


def _description(core: Any, statics: Statics) -> str:
    """All that decides what an operator computes."""
    if not isinstance(core, Op):
        return str(core.description())
    arguments = [(a.name, a.static, a.extents, a.inner) for a in core._arguments]
    return repr((core._text, arguments, [tuple(r[::5]) for r in core._results],
                 sorted(core._types.items()), core._options, core._threads,
                 sorted(core._fallbacks.items()), sorted(core._index_reads), sorted(statics)))


def door_of(core: Any, statics: Statics = ()) -> Door:
    """The door of an operator; a new one where there is none yet."""
    digest = hashlib.blake2b(_description(core, statics).encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "little") >> 1
    with _lock:
        found = _doors.get(number)
        if found is None:
            found = Door(number, core, statics)
            _core.door_add(number, found)
            _doors[number] = found
    return found


def door_at(number: int) -> Door:
    """The door of a number that a graph has."""
    found = _doors.get(number)
    if found is None:
        raise NeoError("this graph calls an operator of neoc that this process does not know: "
                       "make it first by neoc.torch.op of the same text, or read the file by "
                       "neoc.torch.load_exported")
    return found


# ---------------------------------------------------------------- the dispatcher

_torch_library: Any = torch.library
_library = _torch_library.Library("neoc", "FRAGMENT")
_declared: dict[tuple[int, int], Any] = {}
MISSING: str | None = _core.torch_open()  # what the C shim lacks


def _schema(n_in: int, n_out: int) -> str:
    arguments = ", ".join(f"Tensor a{k}" for k in range(n_in))
    results = ", ".join(["Tensor"] * n_out)
    return (f"call{n_in}_{n_out}(int number, {arguments}) -> "
            + (results if n_out == 1 else f"({results})"))


def declared(n_in: int, n_out: int) -> Any:
    """The dispatcher's operator for so many arguments and results."""
    found = _declared.get((n_in, n_out))
    if found is None:
        with _lock_of_library:
            found = _declared.get((n_in, n_out)) or _declare(n_in, n_out)
    return found


_lock_of_library = threading.RLock()


def _declare(n_in: int, n_out: int) -> Any:
    name = f"call{n_in}_{n_out}"
    _library.define(_schema(n_in, n_out), tags=(torch.Tag.pt2_compliant_tag,))
    if MISSING is None:
        _core.torch_implement(name)
    else:
        _library.impl(name, _slow_kernel, "CPU")
    torch.library.register_fake(f"neoc::{name}", _fake, lib=_library)
    torch.library.register_vmap(f"neoc::{name}", _batches, lib=_library)
    made = getattr(torch.ops.neoc, name).default
    _declared[n_in, n_out] = made
    return made


def _batches(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
    from .functions import batches
    return batches(info, in_dims, *args)


def _parts(tensors: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((type_of(t), tuple(t.shape)) for t in tensors)


def type_of(t: Any) -> int:
    """The number of an element type; DTypeError where neoc has none."""
    found = _TYPES.get(t.dtype)
    if found is None:
        from ..arrays import SUPPORTED
        raise DTypeError(f"elements are {str(t.dtype)[6:]}; neoc has {SUPPORTED}")
    return found


def _given(results: list[torch.Tensor]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _slow_kernel(number: int, *tensors: torch.Tensor) -> Any:
    """The same in Python as torch_shim.c in C."""
    door_at(number)
    parts = _parts(tensors)
    rows = [t.resolve_conj().resolve_neg().contiguous() for t in tensors]
    made = [torch.empty(shape, dtype=_DTYPES[kind])
            for kind, shape in _core.door_results(number, parts)]
    _core.door_run(number, parts, tuple(map(_address, rows)), tuple(map(_address, made)))
    return _given(made)


_nothing = torch.empty(64, dtype=torch.uint8)


def _address(t: torch.Tensor) -> int:
    return t.data_ptr() or _nothing.data_ptr()


Like = Union[torch.Tensor, Example]


def results_of(door: Door, tensors: Sequence[Like]) -> list[tuple[torch.dtype, Any]]:
    """Types and shapes of the results for arguments of these shapes, of which some may be
    symbols."""
    if all(type(n) is int for t in tensors for n in t.shape):
        rows = _core.door_results(door.number, _parts(tensors))
        return [(_DTYPES[kind], shape) for kind, shape in rows]
    from .symbolic import results_of as symbolic_results_of
    return symbolic_results_of(door, tensors)


def _fake(number: int, *tensors: torch.Tensor) -> Any:
    """Results without elements, for shapes that are given."""
    door = door_at(number)
    check_devices(tensors)
    made = results_of(door, tensors)
    device = tensors[0].device
    return _given([torch.empty(shape, dtype=dtype, device=device) for dtype, shape in made])


def check_devices(tensors: Sequence[torch.Tensor]) -> None:
    """Unsupported where a tensor is not in the processor's memory, row by row."""
    for t in tensors:
        if t.device.type not in ("cpu", "meta"):
            raise Unsupported(f"neoc.torch.op computes on the processor, and a tensor is on "
                              f"{t.device}: move it by .cpu()")
        if t.layout is not torch.strided:
            raise Unsupported(f"neoc.torch.op takes dense tensors, and one is "
                              f"{str(t.layout)[6:]}: make it dense by .to_dense()")


def retold(problem: BaseException, tensors: Sequence[torch.Tensor]) -> BaseException:
    """The exception of neoc that a RuntimeError of the dispatcher stands for."""
    waits = _core.door_failure()
    if waits is not None and str(waits)[:200] in str(problem):
        return waits
    try:
        check_devices(tensors)
        for t in tensors:
            type_of(t)
    except NeoError as ours:
        return ours
    return problem


# ---------------------------------------------------------------- files

_FILE = "neoc.pickle"


def save_exported(program: Any, path: Any) -> None:
    """torch.export.save, with the texts of the operators of neoc that the program calls."""
    import pickle
    import io
    where = "neoc.torch.save_exported()"
    if not isinstance(program, torch.export.ExportedProgram):
        raise checks.wrong_type(f"{where}: program", "what torch.export.export gives", program)
    if not hasattr(path, "write"):
        path = checks.path(f"{where}: path", path)
    doors = []
    for node in program.graph.nodes:
        if node.op == "call_function" and str(node.target).startswith("neoc.call"):
            doors.append(door_at(int(node.args[0])))
    rows = [(d.number, d.core, tuple(d.statics.items())) for d in doors]
    made = io.BytesIO()
    pickle.dump(rows, made)
    torch.export.save(program, path, extra_files={_FILE: made.getvalue().hex()})


def load_exported(path: Any) -> Any:
    """torch.export.load of what save_exported wrote, in any process.

    The file is trusted, as any file with a pickle: it may run what it likes.
    """
    import pickle
    import zipfile
    where = "neoc.torch.load_exported(): path"
    if not hasattr(path, "read"):
        path = checks.path(where, path)
    try:
        zipfile.ZipFile(path).close()
    except (OSError, zipfile.BadZipFile) as problem:
        raise FileError(f"{where}: {problem}") from None
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.endswith(_FILE)]
        rows = bytes.fromhex(archive.read(names[0]).decode()) if names else pickle.dumps([])
    for number, core, statics in pickle.loads(rows):
        if door_of(core, statics).number != number:
            raise NeoError("the file was written by another version of neoc")
    return torch.export.load(path)
