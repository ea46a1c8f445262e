"""From a trace to the language: which definitions are written, what they are called, and the text.

A tensor that no variable holds and that one other definition reads, element by element, becomes a
part of it, so that the text is as a person would write it: y[i, j] = tanh(sum[k] x[i, k]*W[k, j]).
It is not, where it would be computed more often than once. The line of each statement is kept with
the place in Python that made it.
"""
from __future__ import annotations

import math
import re
import unicodedata
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from . import poly as polys
from .expr import (NARROW, Apply, Condition, Expr, Literal, Number, Operator, Read, Reduce,
                   replaced, walk, weight)
from .kinds import INTEGERS
from .poly import Atom, Element, Index, Poly, Symbol
from .scope import Block, Place, Statement, Trace
from .tensor import Tensor

RESERVED = set("""and or not true false inf nan pi else where scan repeat while case sum prod max
min mean argmax argmin logsumexp any all select clamp abs sign floor ceil round sqrt rsqrt exp
expm1 log log1p sin cos tan tanh sigmoid relu gelu silu softplus elu erf f64 f32 f16 bf16 i64 i32
i8 u8 bool wide rand stop training step grad global_norm dim assert input param state const import
fn optimizer vertex graph output train update next scatter gather collect push over except using
from limit down update children as nn optim linalg schedule vision recurrent uniform normal glorot
he std var norm clip matmul double float int""".split())
LETTERS = "ijklmnpqrstuvwxyzabcdefgh"
SIZES = ["N", "M", "L", "P", "Q", "R", "S", "K", "T", "B"]
LARGEST = 28  # operations and reads in a definition that others become parts of

OR, AND, NOT, COMPARE, SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(1, 10)
LEVELS = {"or": OR, "and": AND, "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE,
          ">": COMPARE, ">=": COMPARE, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
          "%": PRODUCT, "^": POWER}


def real(tensor: Tensor) -> Tensor:
    """The tensor that an alias stands for."""
    while tensor.alias is not None:
        tensor = tensor.alias
    return tensor


class Writer:
    """One text of a trace. results: the tensors that the function gives."""

    def __init__(self, trace: Trace, results: Sequence[Tensor]) -> None:
        self.trace = trace
        self.results = [real(r) for r in results]
        self.live: Set[int] = set()
        self.uses: Dict[int, List[Tuple[Optional[Tensor], Sequence[Index], Read]]] = {}
        self.inlined: Set[int] = set()
        self.weights: Dict[int, int] = {}
        self.names: Dict[int, str] = {}
        self.taken: Set[str] = set(RESERVED)
        self.lines: List[str] = []
        self.places: List[Place] = []
        self.depth = 0
        self.place: Place = ("", 0)
        self.loop_names: Dict[Index, str] = {}
        for g in trace.graphs.values():
            self.names[id(g.child)] = g.child.name
            self.taken.add(g.name)
        self.taken.update(trace.functions)
        for t in self.results:
            t.pinned = True
            self._use(t)
        self._decide()

    # ---- what is needed
    def _use(self, tensor: Tensor) -> None:
        stack: List[Any] = [real(tensor)]
        while stack:
            top = stack.pop()
            if id(top) in self.live:
                continue
            self.live.add(id(top))
            if isinstance(top, Statement):
                stack += self._used_by_statement(top)
            elif top.body is not None:
                stack += self._used_by_body(top)
            elif isinstance(top.source, Statement):
                stack.append(top.source)

    def _used_by_body(self, tensor: Tensor) -> List[Any]:
        found = []
        assert tensor.body is not None
        for r, loops in sites(tensor.body, list(tensor.indices)):
            target = real(r.tensor)
            self.uses.setdefault(id(target), []).append((tensor, loops, r))
            found.append(target)
        return found

    def _used_by_statement(self, statement: Statement) -> List[Any]:
        found = []
        for t in statement.uses():
            target = real(t)
            target.pinned = True
            found.append(target)
        for e in statement.expressions():
            for r, _ in sites(e, []):
                target = real(r.tensor)
                target.pinned = True
                found.append(target)
        for _, results in statement.blocks():
            for t in results:
                target = real(t)
                self.uses.setdefault(id(target), []).append((None, [], Read(target, ())))
                found.append(target)
        return found

    # ---- what becomes a part of something else
    def _decide(self) -> None:
        for item in _all_items(self.trace.top):
            if not isinstance(item, Tensor) or item.body is None or id(item) not in self.live:
                continue
            total = weight(item.body)
            for r, _ in sites(item.body, list(item.indices)):
                if id(real(r.tensor)) in self.inlined:
                    total += self.weights[id(real(r.tensor))]
            self.weights[id(item)] = total
            if self._is_part(item, total):
                self.inlined.add(id(item))

    def _is_part(self, t: Tensor, total: int) -> bool:
        uses = self.uses.get(id(t), [])
        if t.pinned or t.name or t.alias is not None or len(uses) != 1 or total > LARGEST:
            return False
        consumer, loops, site = uses[0]
        if consumer is None:
            return True
        if consumer.block is not t.block or site.other is not None:
            return False
        bare = [s.atom() for s in site.subscripts]
        if any(not isinstance(a, Index) for a in bare) or len(set(bare)) != len(bare):
            return False
        if set(bare) != set(loops):
            return False
        assert consumer.body is not None
        if t.kind in NARROW and len(loops) > len(consumer.indices):
            return False
        return weight(consumer.body) + total <= 2 * LARGEST

    # ---- names
    def name(self, tensor: Tensor) -> str:
        """The name of a tensor in the text."""
        t = real(tensor)
        known = self.names.get(id(t))
        if known is None and not t.name and isinstance(t.source, Statement):
            t.source.call_results(self)
        if known is None:
            wanted = t.name or t.weak_name
            known = self.names[id(t)] = self.fresh(wanted) if wanted else self._numbered()
        return known

    def _numbered(self) -> str:
        number = 1
        while f"t{number}" in self.taken:
            number += 1
        self.taken.add(f"t{number}")
        return f"t{number}"

    def fresh(self, wanted: str) -> str:
        """A name that nothing has yet, as near to the wanted one as the language allows."""
        base = re.sub(r"[^A-Za-z0-9_]", "_", "".join(map(_ascii, wanted)))
        if not base.strip("_") or base[0].isdigit():
            base = "t" + base.strip("_")
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}{number}" if not base[-1].isdigit() else f"{base}_{number}"
        self.taken.add(name)
        return name

    def size(self, symbol: Symbol) -> str:
        """The name of a size."""
        if not symbol.name:
            symbol.name = next((s for s in SIZES if s not in self.taken), "") or self.fresh("N")
            self.taken.add(symbol.name)
        return symbol.name

    # ---- lines
    def line(self, text: str, place: Optional[Place] = None) -> None:
        """Add a statement; it may have several lines."""
        for part in text.split("\n"):
            self.lines.append("  " * self.depth + part)
            self.places.append(place or self.place)

    def block(self, block: Block) -> None:
        """The definitions and statements of a block that are needed."""
        for item in block.items:
            if id(item) not in self.live:
                continue
            self.place = item.place
            if isinstance(item, Statement):
                item.write(self)
            elif id(item) not in self.inlined and item.alias is None:
                self.definition(item)

    def definition(self, t: Tensor, name: str = "", first: str = "") -> None:
        """A definition: name[i, j] : type = body. first: a word before it (next)."""
        self.line(first + self.definition_text(t, name or self.name(t)), t.place)

    def definition_text(self, t: Tensor, name: str) -> str:
        assert t.body is not None
        whole = self._whole(t)
        kind = self._declared(t)
        if whole and not kind:
            return f"{name} = {whole}"
        scribe = Scribe(self)
        for i in t.indices:
            scribe.letter(i)
        body = scribe.top(t.body)
        left = ", ".join(scribe.bounded(i) for i in t.indices)
        return f"{name}{f'[{left}]' if left else ''}{kind} = {body}"

    def _whole(self, t: Tensor) -> str:
        """The name of a tensor of which this one is a copy."""
        body = t.body
        if isinstance(body, Read) and body.other is None and not t.is_apart and \
                [s.atom() for s in body.subscripts] == list(t.indices) and \
                all(a == b for a, b in zip(t.extents, real(body.tensor).extents)) and \
                id(real(body.tensor)) not in self.inlined:
            return self.name(body.tensor)
        return ""

    def _declared(self, t: Tensor) -> str:
        assert t.body is not None
        if t.is_index and t.bound is not None:
            return f" : {self.bounded_kind(t)}"
        if t.kind != "bool" and (t.body.is_literal() or (
                t.kind in INTEGERS and isinstance(t.body, (Apply, Operator)) and
                any(isinstance(e, Literal) for e in walk(t.body)))):
            return f" : {t.kind}"  # x - x of integers is a literal to the compiler
        return ""

    def bounded_kind(self, t: Tensor) -> str:
        """A type with its bound: -5 <= i32 < 5."""
        if t.bound is None or t.kind == "bool":
            return t.kind
        low, high = (self.poly(b) for b in t.bound)
        return f"{t.kind} < {high}" if low == "0" else f"{low} <= {t.kind} < {high}"

    def poly(self, p: Poly, precedence: int = 0) -> str:
        """A size as text."""
        return polys.text(p, self._size_atom, precedence)

    def _size_atom(self, atom: Atom) -> str:
        assert isinstance(atom, Symbol), "an index outside of its definition"
        return self.size(atom)

    def shape(self, extents: Sequence[Poly]) -> str:
        """[N, 64], or nothing for a scalar."""
        return f"[{', '.join(self.poly(e) for e in extents)}]" if extents else ""

    def whole(self, tensor: Tensor) -> str:
        """A tensor as an argument."""
        return self.name(tensor)

    def scalar(self, e: Expr) -> str:
        """An expression without loops around it."""
        return Scribe(self).top(e)


def _ascii(c: str) -> str:
    """A letter in ASCII: pi for \u03c0, e for \u00e9."""
    if c.isascii():
        return c
    name = unicodedata.name(c, "").lower().split()
    if "greek" in name and "letter" in name:
        return name[name.index("letter") + 1]
    return unicodedata.normalize("NFKD", c)[0]


def sites(expr: Expr, loops: Sequence[Index]) -> Iterator[Tuple[Read, Sequence[Index]]]:
    """All reads of an expression, each with the loops around it."""
    if isinstance(expr, Read):
        yield expr, loops
    inner = [*loops, *expr.indices] if isinstance(expr, Reduce) else loops
    for p in expr.polys():
        for atom in p.atoms():
            if isinstance(atom, Element):
                yield from sites(atom.read, inner)
    for child in expr.children():
        yield from sites(child, inner)


def _all_items(block: Block) -> Iterator[Any]:
    for item in block.items:
        if isinstance(item, Statement):
            for inner, _ in item.blocks():
                yield from _all_items(inner)
        yield item


class Scribe:
    """Writes the expressions of one definition: it gives letters to loops, and finds their extents.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.letters: Dict[Index, str] = {}
        self.alone: Dict[Index, List[Poly]] = {}

    def top(self, e: Expr) -> str:
        """The whole right side of a definition."""
        return self.expr(e, 0, True)

    def letter(self, index: Index) -> str:
        known = self.letters.get(index) or self.writer.loop_names.get(index)
        if known is None:
            used = set(self.letters.values()) | self.writer.taken
            known = next((c for c in LETTERS if c not in used), "")
            number = 0
            while not known:
                number += 1
                if f"i{number}" not in used:
                    known = f"i{number}"
            self.letters[index] = known
        return known

    def bounded(self, index: Index, upper: Optional[Poly] = None) -> str:
        """An index as it is introduced: with its bound, unless what it reads alone says it."""
        name = self.letter(index)
        if upper is not None:
            less = (upper - 1).now()
            constant = less.constant()
            if constant is None and () not in less.terms:
                return f"{name} <= {self.poly(less)}"
            return f"{name} < {self.poly(upper)}"
        found = self.alone.get(index)
        if found and all(extent == index.extent for extent in found):
            return name
        return f"{name} < {self.poly(index.extent)}"

    def poly(self, p: Poly, precedence: int = 0) -> str:
        return polys.text(p, self._atom, precedence)

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Index):
            return self.letter(atom)
        if isinstance(atom, Symbol):
            return self.writer.size(atom)
        assert isinstance(atom, Element)
        return self.read(atom.read)

    # ---- expressions
    def expr(self, e: Expr, level: int, bare: bool) -> str:
        """An expression where an operator of this level takes it; bare: literals need no type."""
        if isinstance(e, Literal):
            return self._literal(e, level, bare)
        if isinstance(e, Read):
            return self._read(e, level)
        if isinstance(e, Operator):
            return self._operator(e, level, bare)
        if isinstance(e, Apply):
            return self._apply(e, bare)
        if isinstance(e, Reduce):
            return self._reduce(e, level)
        if isinstance(e, Condition):
            text = f"{self.poly(e.a)} {e.sign} {self.poly(e.b)}"
            return _wrapped(text, COMPARE, level)
        assert isinstance(e, Number)
        return f"{e.dtype}({self.poly(e.value)})"

    def _literal(self, e: Literal, level: int, bare: bool) -> str:
        text = number(e.value)
        if not bare and e.dtype not in ("f32", "bool"):
            return f"{e.dtype}({text})"
        return f"({text})" if text.startswith("-") and level > SUM or " " in text else text

    def _read(self, e: Read, level: int) -> str:
        t = real(e.tensor)
        if id(t) in self.writer.inlined:
            assert t.body is not None
            return self.expr(replaced(t.body, t.indices, e.subscripts), level, False)
        return self.read(e)

    def read(self, e: Read) -> str:
        """X[i, j], or (X[i, j] else 0)."""
        t = real(e.tensor)
        name = self.writer.name(t)
        parts = []
        for subscript, extent in zip(e.subscripts, t.extents):
            subscript = subscript.now()
            atom = subscript.atom()
            if isinstance(atom, Index) and e.other is None:
                self.alone.setdefault(atom, []).append(extent)
            parts.append(self.poly(subscript))
        text = f"{name}[{', '.join(parts)}]" if parts else name
        return text if e.other is None else f"({text} else {self.expr(e.other, 0, True)})"

    def _operator(self, e: Operator, level: int, bare: bool) -> str:
        if len(e.operands) == 1:
            if e.sign == "not":
                return _wrapped("not " + self.expr(e.operands[0], NOT, False), NOT, level)
            return _wrapped("-" + self.expr(e.operands[0], NEGATIVE, bare), NEGATIVE, level)
        mine = LEVELS[e.sign]
        a, b = e.operands
        if e.sign == "^":
            exponent = number(b.value) if isinstance(b, Literal) else self.expr(b, ATOM, True)
            exponent = f"({exponent})" if exponent.startswith("-") else exponent
            return _wrapped(f"{self.expr(a, ATOM, False)}^{exponent}", POWER, level)
        literal = bare and e.is_literal() and mine not in (COMPARE,)
        left = self.expr(a, mine + (mine == COMPARE), literal or not b.is_literal())
        tight = mine if mine == SUM and isinstance(self._shown(b), Reduce) else mine + 1
        right = self.expr(b, tight, literal or not a.is_literal())
        if e.sign in ("*",) and not _spaced(left) and not _spaced(right):
            return _wrapped(f"{left}*{right}", mine, level)
        if e.sign == "/" and not _spaced(left) and not _spaced(right):
            return _wrapped(f"{left}/{right}", mine, level)
        return _wrapped(f"{left} {e.sign} {right}", mine, level)

    def _shown(self, e: Expr) -> Expr:
        """The expression that is written: reads of inlined tensors become their definitions."""
        while isinstance(e, Read) and id(real(e.tensor)) in self.writer.inlined:
            e = real(e.tensor).body or e
        return e

    def _apply(self, e: Apply, bare: bool) -> str:
        if e.name == "select":
            values = e.arguments[1:]
            literal = bare and all(v.is_literal() for v in values)
            some = any(not v.is_literal() for v in values)
            parts = [self.expr(e.arguments[0], 0, False)]
            parts += [self.expr(v, 0, literal or some) for v in values]
        else:
            some = any(not a.is_literal() for a in e.arguments)
            conversion = e.name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8")
            parts = [self.expr(a, 0, some or (conversion and bare)) for a in e.arguments]
        parts += [e.options] if e.options else []
        return f"{e.name}({', '.join(parts)})"

    def _reduce(self, e: Reduce, level: int) -> str:
        test = e.name in ("any", "all")
        body = self.expr(e.body, COMPARE if test else PRODUCT, False)
        where = "" if e.where is None else f" where {self.expr(e.where, 0, False)}"
        loops = ", ".join(self.bounded(i, e.upper.get(i)) for i in e.indices)
        text = f"{e.name}[{loops}{where}] {body}"
        return _wrapped(text, NOT if test else SUM, level)


def _wrapped(text: str, mine: int, level: int) -> str:
    return f"({text})" if mine < level else text


def _spaced(text: str) -> bool:
    """Whether a factor has several subscripts, so that a product has spaces around its sign."""
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 1 and not text.startswith("("):
            return True
    return False


def number(value: Any) -> str:
    """A literal of the language."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 2**53:
        return "-0.0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return repr(float(value))
