"""Integer expressions of a trace: extents, and the subscripts of reads.

A Poly is a polynomial with integer coefficients over atoms. An atom is an Index (a loop of a
definition), a Symbol (a size that is known when the program runs), or one of the terms that a
polynomial cannot say: a floored quotient, a remainder, an element of an integer tensor. Sums,
products and quotients that come out even are exact, so that what views do to subscripts is undone
by the views that undo them: x.reshape(a, b).reshape(a*b) reads x[i] again.

A Symbol may turn out to be a constant or another symbol while the program is traced (two axes that
an operation needs to be equal). Symbol.bind says so, and Poly.now() is a polynomial by what is
known then.
"""
from __future__ import annotations

import operator
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from .named import refused

IntLike = Union[int, "Poly"]
Monomial = Tuple[Any, ...]


class Atom:
    """A factor of a monomial; atoms are ordered by their creation."""

    count = 0

    def __init__(self) -> None:
        Atom.count += 1
        self.number = Atom.count

    def parts(self) -> Iterable["Poly"]:
        """The polynomials in it."""
        return ()

    def rebuild(self, parts: List["Poly"]) -> "Poly":
        """The same with other polynomials in it."""
        return Poly({(self,): 1})

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        """The least and the greatest value, where they are known."""
        return None, None


class Index(Atom):
    """A loop of a definition or of a reducer, from 0 up to its extent."""

    def __init__(self, extent: IntLike, hint: str = "") -> None:
        super().__init__()
        self.extent = poly(extent)
        self.hint = hint

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        return ZERO, self.extent - 1


class Symbol(Atom):
    """A size that is known when the program runs. `value` is what it is in this trace."""

    def __init__(self, value: int, low: int, high: int, origin: Tuple[int, int] = (0, 0)) -> None:
        super().__init__()
        self.value = value
        self.low = low
        self.high = high
        self.origin = origin
        self.name = ""
        self.first_low = low  # before comparisons of the trace
        self.bound: Optional[Poly] = None

    def bind(self, to: IntLike) -> None:
        """From now on this size is that one."""
        other = poly(to)
        symbol = other.symbol()
        if symbol is not None:
            symbol.low = max(symbol.low, self.low)
            symbol.high = max(symbol.high, self.high)
        self.bound = other

    def root(self) -> "Optional[Symbol]":
        """The size that it is one with, if it is no constant."""
        return poly(self).symbol()

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        return Poly({(): self.low}), Poly({(): self.high})


class Quotient(Atom):
    """The floor of a/b."""

    def __init__(self, a: "Poly", b: "Poly") -> None:
        super().__init__()
        self.a, self.b = a, b

    def parts(self) -> Iterable["Poly"]:
        return self.a, self.b

    def rebuild(self, parts: List["Poly"]) -> "Poly":
        return parts[0] // parts[1]

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        if _surely(self.a, ZERO) and _surely(self.b, ONE):
            high = greatest(self.a)
            return ZERO, None if high is None else high // self.b
        return None, None


class Remainder(Atom):
    """a - b*floor(a/b), which has the sign of b."""

    def __init__(self, a: "Poly", b: "Poly") -> None:
        super().__init__()
        self.a, self.b = a, b

    def parts(self) -> Iterable["Poly"]:
        return self.a, self.b

    def rebuild(self, parts: List["Poly"]) -> "Poly":
        return parts[0] % parts[1]

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        return (ZERO, self.b - 1) if _surely(self.b, ONE) else (None, None)


class Element(Atom):
    """An element of an integer tensor; `read` is an expression (expr.Read)."""

    def __init__(self, read: Any) -> None:
        super().__init__()
        self.read = read

    def parts(self) -> Iterable["Poly"]:
        subscripts: Iterable[Poly] = self.read.subscripts
        return subscripts

    def rebuild(self, parts: List["Poly"]) -> "Poly":
        return Poly({(Element(self.read.with_subscripts(parts)),): 1})

    def limits(self) -> Tuple[Optional["Poly"], Optional["Poly"]]:
        bound = self.read.tensor.bound
        return (None, None) if bound is None else (bound[0], bound[1] - 1)


class Poly:
    """A polynomial over atoms; it does not change after it is made."""

    __slots__ = ("terms",)

    def __init__(self, terms: Dict[Monomial, int]) -> None:
        self.terms = terms

    # ---- what it is
    def constant(self) -> Optional[int]:
        """Its value, where it is a number."""
        now = self.now().terms
        if not now:
            return 0
        return now[()] if len(now) == 1 and () in now else None

    def atom(self) -> Optional[Atom]:
        """The atom that it is, if it is nothing else."""
        if len(self.terms) == 1:
            (monomial, coefficient), = self.terms.items()
            if coefficient == 1 and len(monomial) == 1:
                found: Atom = monomial[0]
                return found
        return None

    def symbol(self) -> Optional[Symbol]:
        """The size that it is, if it is a size by itself."""
        atom = self.now().atom()
        return atom if isinstance(atom, Symbol) else None

    def atoms(self) -> Iterable[Atom]:
        """Its atoms and theirs, each perhaps several times."""
        for monomial in self.terms:
            for atom in monomial:
                yield atom
                for part in atom.parts():
                    yield from part.atoms()

    def value(self) -> int:
        """The value of a size in this trace."""
        return self.map(lambda a: Poly({(): a.value}) if isinstance(a, Symbol) else None).terms.get(
            (), 0)

    def map(self, change: Callable[[Atom], Optional["Poly"]]) -> "Poly":
        """The same with other polynomials in place of those atoms for which `change` has one."""
        result = ZERO
        for monomial, coefficient in self.terms.items():
            term = Poly({(): coefficient})
            for atom in monomial:
                term = term * _changed(atom, change)
            result = result + term
        return result

    def now(self) -> "Poly":
        """The same by what symbols are now."""
        if not any(isinstance(a, Symbol) and a.bound is not None for a in self.atoms()):
            return self
        return self.map(_bound)

    # ---- arithmetic
    def __add__(self, other: IntLike) -> "Poly":
        terms = dict(self.terms)
        for monomial, coefficient in poly(other).terms.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return _whole(terms)

    __radd__ = __add__

    def __neg__(self) -> "Poly":
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: IntLike) -> "Poly":
        return self + -poly(other)

    def __rsub__(self, other: IntLike) -> "Poly":
        return poly(other) + -self

    def __mul__(self, other: IntLike) -> "Poly":
        result: Dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in poly(other).terms.items():
                key = tuple(sorted(m + n, key=lambda a: a.number))
                result[key] = result.get(key, 0) + c * d
        return Poly({m: c for m, c in result.items() if c})

    __rmul__ = __mul__

    def __floordiv__(self, other: IntLike) -> "Poly":
        divisor = poly(other).now()
        whole, rest = _split(self.now(), divisor)
        if not rest.terms or (_surely(rest, ZERO) and _surely(divisor - 1, rest)):
            return whole
        value, by = rest.constant(), divisor.constant()
        if value is not None and by:
            return whole + value // by
        rest, divisor = _unnested(rest, divisor)
        return whole + Poly({(_interned(Quotient, rest, divisor),): 1})

    def __mod__(self, other: IntLike) -> "Poly":
        divisor = poly(other).now()
        rest = _split(self.now(), divisor)[1]
        if not rest.terms or (_surely(rest, ZERO) and _surely(divisor - 1, rest)):
            return rest
        value, by = rest.constant(), divisor.constant()
        if value is not None and by:
            return poly(value % by)
        return Poly({(_interned(Remainder, rest, divisor),): 1})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, Poly)) and not (self - poly(other)).now().terms

    def __hash__(self) -> int:
        return hash(frozenset(self.now().terms.items()))

    def __repr__(self) -> str:
        return text(self, lambda a: getattr(a, "name", "") or f"_{a.number}")


_atoms: "weakref.WeakValueDictionary[Any, Any]" = weakref.WeakValueDictionary()


def _interned(kind: Any, a: Poly, b: Poly) -> Atom:
    """The quotient or remainder of a and b: the same atom each time, so that terms cancel."""
    key = kind, frozenset(a.terms.items()), frozenset(b.terms.items())
    found = _atoms.get(key)
    if found is None:
        found = _atoms[key] = kind(a, b)
    return found  # type: ignore[no-any-return]


def _unnested(a: Poly, b: Poly) -> Tuple[Poly, Poly]:
    """(x/n)/b as x/(n*b): also where one is 0, of which all quotients are 0."""
    inner = a.atom()
    if isinstance(inner, Quotient) and _surely(inner.b, ZERO) and _surely(b, ZERO):
        return inner.a, inner.b * b
    return a, b


def _whole(terms: Dict[Monomial, int]) -> Poly:
    """A sum, in which b*(a/b) + a % b is a."""
    for monomial, coefficient in terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], Remainder):
            a, b = monomial[0].a, monomial[0].b
            x, n = _unnested(a, b)
            quotient = _atoms.get((Quotient, frozenset(x.terms.items()),
                                   frozenset(n.terms.items())))
            part = {} if quotient is None else (poly(quotient) * b * coefficient).terms
            if part and all(terms.get(m) == c for m, c in part.items()):
                rest = {m: c for m, c in terms.items() if m not in part and m != monomial}
                return Poly(rest) + a * coefficient
    return Poly(terms)


ZERO = Poly({})
ONE = Poly({(): 1})


def poly(value: Any) -> Poly:
    """A polynomial of an integer, of an atom, or of one that is one."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, Atom):
        return Poly({(value,): 1})
    if hasattr(value, "poly"):
        return value.poly  # type: ignore[no-any-return]
    try:
        number = operator.index(value)
    except TypeError:
        raise refused(value, "an integer or a size") from None
    return Poly({(): number}) if number else ZERO


def _bound(atom: Atom) -> Optional[Poly]:
    if isinstance(atom, Symbol) and atom.bound is not None:
        return atom.bound.now()
    return None


def _changed(atom: Atom, change: Callable[[Atom], Optional[Poly]]) -> Poly:
    other = change(atom)
    if other is not None:
        return other
    parts = list(atom.parts())
    if not parts:
        return Poly({(atom,): 1})
    changed = [part.map(change) for part in parts]
    if all(a is b or a.terms == b.terms for a, b in zip(parts, changed)):
        return Poly({(atom,): 1})
    return atom.rebuild(changed)


def _split(a: Poly, b: Poly) -> Tuple[Poly, Poly]:
    """whole and rest with a = whole*b + rest, where terms of a are multiples of b."""
    value = b.constant()
    if value is not None:
        if not value:
            return ZERO, a
        whole = {m: c // value for m, c in a.terms.items() if m and c // value}
        rest = {m: c % value for m, c in a.terms.items() if m and c % value}
        last = a.terms.get((), 0)
        base = Poly({m: c for m, c in rest.items()})
        return _carry(Poly(whole), base, last, value)
    if len(b.terms) != 1:
        return (ONE, ZERO) if a == b else (ZERO, a)
    (monomial, coefficient), = b.terms.items()
    result: Dict[Monomial, int] = {}
    left: Dict[Monomial, int] = {}
    for m, c in a.terms.items():
        without = _without(m, monomial)
        if without is None or c % coefficient:
            left[m] = c
        else:
            result[without] = c // coefficient
    return Poly(result), Poly(left)


def _carry(whole: Poly, rest: Poly, last: int, by: int) -> Tuple[Poly, Poly]:
    """A constant goes with the rest; what of it is a multiple goes to the whole."""
    if last % by:
        return whole + last // by, rest + last % by
    return whole + last // by, rest


def _without(m: Monomial, part: Monomial) -> Optional[Monomial]:
    left = list(m)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def least(p: Poly) -> Optional[Poly]:
    """A lower bound of p that is a polynomial of sizes; None: none is found."""
    return _extreme(p.now(), 0)


def greatest(p: Poly) -> Optional[Poly]:
    """An upper bound of p that is a polynomial of sizes; None: none is found."""
    return _extreme(p.now(), 1)


def _extreme(p: Poly, end: int) -> Optional[Poly]:
    result = ZERO
    for monomial, coefficient in p.terms.items():
        term = Poly({(): coefficient})
        for atom in monomial:
            if isinstance(atom, Symbol):
                term = term * poly(atom)
                continue
            limits = atom.limits()
            if limits[0] is None or not _surely(limits[0], ZERO):
                if len(monomial) > 1:
                    return None
            limit = limits[end if coefficient > 0 else 1 - end]
            if limit is None:
                return None
            term = term * limit.now()
        result = result + term
    if any(isinstance(a, Index) for m in result.terms for a in m):
        return _extreme(result, end)
    return result


def at_least(a: IntLike, b: IntLike) -> bool:
    """Whether a >= b is known, whatever the sizes are: from their bounds, and from what the trace
    has assumed of them (Trace.guards)."""
    p = (poly(a) - poly(b)).now()
    return _never_negative(p) or _follows(p, _assumed(p), 2)


def _surely(a: IntLike, b: IntLike) -> bool:
    """The same from the bounds of sizes alone, which arithmetic asks for: what a quotient is does
    not change while a function is traced."""
    return _never_negative((poly(a) - poly(b)).now())


def _follows(p: Poly, assumed: List[Poly], depth: int) -> bool:
    """Whether p is a sum of some of these, which are not negative, and of what is not either."""
    for k, fact in enumerate(assumed):
        rest = p - fact
        if _never_negative(rest) or depth > 1 and _follows(rest, assumed[k + 1:], depth - 1):
            return True
    return False


def _assumed(p: Poly) -> List[Poly]:
    """Polynomials that are not negative, by comparisons of sizes that the trace has answered."""
    from . import scope
    trace = scope.current()
    if trace is None or not trace.guards or not any(isinstance(a, Symbol) for a in p.atoms()):
        return []
    result = []
    for a, sign, b in trace.guards:
        if sign != "!=":
            more, less = (a, b) if sign[0] == ">" else (b, a)
            result.append((more - less - (len(sign) == 1)).now())
    return result


def _never_negative(p: Poly) -> bool:
    low = _extreme(p, 0)
    if low is None:
        return False
    total = 0
    for monomial, coefficient in low.terms.items():
        value = coefficient
        for atom in monomial:
            if not isinstance(atom, Symbol):
                return False
            value *= max(atom.low, 0) if coefficient > 0 else atom.high
        total += value
    return total >= 0


def text(p: Poly, name: Callable[[Atom], str], precedence: int = 0) -> str:
    """How p is written. precedence: 0: as a sum, 1: as a factor, 2: as an operand of / and %."""
    p = p.now()
    if not p.terms:
        return "0"
    pieces = [_term(m, c, name) for m, c in _ordered(p)]
    result = pieces[0]
    for piece in pieces[1:]:
        result += f" - {piece[1:]}" if piece.startswith("-") else f" + {piece}"
    single = len(pieces) == 1
    simple = single and not any(s in result for s in "*/% -")
    if precedence == 0 or (precedence == 1 and single and result[0] != "-" and "%" not in result
                           and "/" not in result) or simple:
        return result
    return f"({result})"


def _ordered(p: Poly) -> List[Tuple[Monomial, int]]:
    items = list(p.terms.items())
    items.sort(key=lambda item: (not item[0], item[1] < 0))
    return items


def _term(m: Monomial, c: int, name: Callable[[Atom], str]) -> str:
    if not m:
        return str(c)
    factors = [_atom(a, name, len(m) > 1 or c != 1) for a in m]
    if abs(c) != 1:
        factors.insert(0, str(abs(c)))
    return ("-" if c < 0 else "") + "*".join(factors)


def _atom(a: Atom, name: Callable[[Atom], str], within: bool) -> str:
    if isinstance(a, (Quotient, Remainder)):
        sign = "/" if isinstance(a, Quotient) else " % "
        result = text(a.a, name, 1) + sign + text(a.b, name, 2)
        return f"({result})" if within else result
    return name(a)
