"""Records of a trace: blocks of definitions and statements, and where they were written.

A Trace belongs to one call of a Python function. While it is active, operations on its tensors add
definitions to the block that is open. Nothing is text yet: text.py decides later which definitions
are written and which become parts of others.

Each definition keeps its place: file and line of the nearest frame that is outside of this package.
Frames are kept while the trace runs, so that tensors can be called as the variables that hold them.
"""
from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from .poly import Symbol

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
Place = Tuple[str, int]


class Block:
    """Definitions and statements in the order in which they were made."""

    def __init__(self, parent: Optional["Block"]) -> None:
        self.parent = parent
        self.items: List[Any] = []

    def within(self, other: "Block") -> bool:
        """Whether it is the other one or stands in it."""
        block: Optional[Block] = self
        while block is not None:
            if block is other:
                return True
            block = block.parent
        return False


class Unkept(List[Any]):
    """The top block of eager mode, which keeps no definitions: one lives as long as a tensor depends on it."""

    def append(self, item: Any) -> None:
        """Does nothing: a tensor holds its own definition and operands."""

    def pop(self, index: Any = -1) -> Any:
        """Does nothing, as append does."""


class Statement:
    """A statement that gives several tensors at once: a call, a request for gradients, a loop.

    uses: the tensors that it reads as wholes; blocks: its blocks of statements.
    is_named_by_keys: a key of the function's result is a name for it before those that it has.
    """

    is_named_by_keys = False

    def __init__(self, trace: "Trace") -> None:
        self.block = trace.block
        self.place = trace.place()
        self.results: List[Any] = []
        self.order = trace.next_order()
        trace.block.items.append(self)

    def uses(self) -> Sequence[Any]:
        return ()

    def expressions(self) -> Sequence[Any]:
        """Expressions in it, of scalar arguments."""
        return ()

    def blocks(self) -> Sequence[Tuple[Block, Sequence[Any]]]:
        """Blocks in it, each with the tensors of it that are read from outside."""
        return ()

    def call_results(self, writer: Any) -> None:
        """Give names to results that no variable holds."""

    def write(self, writer: Any) -> None:
        """Its text, by methods of text.Writer."""
        raise NotImplementedError


class Trace:
    """The record of one call of a function.

    eager: values are concrete arrays, and what is looked at is computed (eager.py).
    """

    def __init__(self, eager: bool = False) -> None:
        self.top = Block(None)
        self.block = self.top
        self.eager = eager
        self.inputs: List[Any] = []
        self.symbols: List[Symbol] = []
        self.guards: List[Tuple[Any, str, Any]] = []
        self.fixed: Set[Place] = set()  # lines that need a size as a number
        self.captured: Dict[int, Tuple[Any, Any]] = {}
        self.imports: Set[str] = set()
        self.functions: Dict[str, Tuple[str, Place]] = {}
        self.graphs: Dict[int, Any] = {}
        self.frames: Dict[int, FrameType] = {}
        self.taken: Set[str] = set()
        self.count = 0
        if eager:
            self.top.items = Unkept()

    # ---- blocks
    def open(self) -> Block:
        """A new block within the one that is open, which then is open."""
        self.block = Block(self.block)
        return self.block

    def close(self) -> None:
        assert self.block.parent is not None
        self.block = self.block.parent

    def next_order(self) -> int:
        """Numbers for definitions and statements in the order in which they are made."""
        self.count += 1
        return self.count

    # ---- places and names
    def place(self) -> Place:
        """File and line of the nearest frame outside of this package."""
        frame = user_frame()
        if frame is None:
            return ("", 0)
        if not self.eager:
            self.look(frame)
        return frame.f_code.co_filename, frame.f_lineno

    def look(self, frame: FrameType) -> None:
        """Call tensors as the variables of this frame that hold them."""
        self.frames[id(frame)] = frame
        self._name(frame)

    def _name(self, frame: FrameType) -> None:
        for name, value in list(frame.f_locals.items()):
            if _is_tensor(value):
                if not value.name and value.owner is self:
                    value.name = name
            else:
                for path, leaf in _named_leaves(name, value):
                    leaf.weak_name = leaf.weak_name or path

    def finish(self) -> None:
        """Look at all frames for a last time, and let go of them."""
        for frame in self.frames.values():
            self._name(frame)
        self.frames = {}


def _is_tensor(value: Any) -> bool:
    return getattr(type(value), "is_neoc_tensor", False)


def _named_leaves(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """Tensors in a variable's list or dict: W of params["W"] is params_W, unless it has a name."""
    if type(value) in (tuple, list) and len(value) <= 8:
        for k, item in enumerate(value):
            if _is_tensor(item):
                yield f"{name}{k}", item
    elif type(value) is dict and len(value) <= 64:
        for key, item in value.items():
            if isinstance(key, str) and _is_tensor(item):
                yield f"{name}_{key}", item


def user_frame() -> Optional[FrameType]:
    """The nearest frame outside of this package."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_inside(file: str) -> bool:
    """Whether a frame is of this package or of numpy, which calls it."""
    return file.startswith((PACKAGE, NUMPY)) or file == "<__array_function__ internals>"


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: List[Trace] = []


_local = _Local()


def current() -> Optional[Trace]:
    """The innermost trace that is active in this thread."""
    return _local.stack[-1] if _local.stack else None


def is_tracing() -> bool:
    """Whether a trace is active in this thread."""
    return bool(_local.stack)


class active:
    """`with active(trace):` operations belong to this trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        _local.stack.append(self.trace)
        return self.trace

    def __exit__(self, *_: Any) -> None:
        _local.stack.pop()
