"""A program that is being rewritten."""

import random

from .printer import text_of
from .sites import Scope, end, sites
from .syntax import (Call, clone, Define, Dim, Else, Output, Path, Range, Read, Reduce, Repeat, names_in, nodes, parse, path,
                     rewrite, substitute, Target)


def opened(statements):
    """y[i <= 4] as y[i < 5]: rewrites take the upper end of a target's index for its extent."""
    for t in nodes(statements):
        for r in (t.indices or [] if isinstance(t, Target) else []):
            if isinstance(r, Range) and r.upper_closed:
                r.upper, r.upper_closed = end(r), False
    return statements


class Model:
    """`outputs` of a rewritten one are put in the original's form by `maps` before they are compared."""

    def __init__(self, program, seed, known=None):
        self.statements = opened(parse(program.text))
        self.values, self.sizes, self.floats = dict(program.values), dict(program.sizes), program.floats
        self.special = program.special
        self.r = random.Random(seed)
        self.maps, self.options, self.kind = {}, [], None
        self.known = known  # values of integer definitions: name -> (type, shape, values)
        self.count = 0
        self.names = {n.names[0] for n in nodes(self.statements) if isinstance(n, Path)}

    @property
    def scope(self):
        return Scope(self.statements)

    def text(self):
        return text_of(self.statements)

    def fresh(self, letter="q"):
        self.count += 1
        return f"{letter}z{self.count}"

    def sites(self, wanted=lambda s: True):
        found = [s for s in sites(self.statements) if wanted(s)]
        self.r.shuffle(found)
        return found

    def definitions(self, wanted=lambda d: True):
        """Plain top-level definitions: one name, an expression."""
        found = [s for s in self.statements if isinstance(s, Define) and not s.more and not isinstance(s.value, Repeat)
                 and not is_gradient(s) and wanted(s)]
        self.r.shuffle(found)
        return found

    def output(self):
        return next(s for s in self.statements if isinstance(s, Output))

    def output_names(self):
        return [p[0] for s in self.statements if isinstance(s, Output) for p in s.paths]

    def has_gradients(self):
        return any(isinstance(s, Define) and is_gradient(s) for s in self.statements)

    def insert_before(self, block, statement, new):
        block.insert(next(k for k, s in enumerate(block) if s is statement), new)

    def declare_first(self, text):
        """A declaration, behind the sizes."""
        at = 1 + max([k for k, s in enumerate(self.statements) if isinstance(s, Dim)], default=-1)
        self.statements[at:at] = parse(text)

    def with_fresh_indices(self, node):
        """A copy whose reducers bind new names."""
        node = clone(node)
        table = {}
        for n in nodes(node):
            if isinstance(n, Reduce):
                for r in n.ranges:
                    table[r.name] = self.fresh("k")
        for n in nodes(node):
            if isinstance(n, Reduce):
                for r in n.ranges:
                    r.name = table.get(r.name, r.name)
        return substitute(node, {a: path(b) for a, b in table.items()})


def is_gradient(s):
    return any(isinstance(n, Call) and n.path == ("grad",) for n in nodes(s.value))


def recursive(s):
    return s.target.name in names_in(s.value)


def whole(statements, name):
    """Whether a tensor is used other than in reads of its elements."""
    def count(tree):
        reads = sum(1 for n in nodes(tree) if isinstance(n, Read) and isinstance(n.base, Path) and n.base.names[0] == name)
        paths = sum(1 for n in nodes(tree) if isinstance(n, Path) and n.names[0] == name)
        return paths - reads
    return count(statements) > 0


def change_reads(statements, name, change):
    """`change(read, guard)` in place of each read of a tensor; `guard` is the value of its `else`, or None."""
    def one(node):
        if isinstance(node, Else) and is_read(node.read, name):
            inner = Read(0, node.read.base, rewrite(node.read.subscripts, one))
            return change(inner, rewrite(node.value, one))
        if is_read(node, name):
            return change(Read(0, node.base, rewrite(node.subscripts, one)), None)
        return None
    return rewrite(statements, one)


def is_read(node, name=None):
    return isinstance(node, Read) and isinstance(node.base, Path) and (name is None or node.base.names[0] == name)
