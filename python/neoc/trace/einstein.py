"""einsum: letters are loops, those that the result lacks are summed."""
from __future__ import annotations

import re
from typing import Dict, List, Sequence, Tuple

from ..errors import ArgumentError, ShapeError
from . import sizes
from .expr import Expr
from .broadcast import operands_of
from .poly import Index, Poly, poly
from .products import _sum_of_products
from .tensor import Tensor, define, read


def einsum(subscripts: str, operands: Sequence[Tensor]) -> Tensor:
    """A tensor of sums of products; see functions.einsum."""
    tensors, kind = operands_of("einsum", operands)
    inputs, result, extents = _parsed(subscripts.replace(" ", ""), tensors)

    def body(indices: List[Index]) -> Expr:
        loops = dict(zip(result, indices))
        inner = {n: Index(extents[n]) for n in extents if n not in loops}
        loops.update(inner)
        factors = [read(t, [poly(0) if e.constant() == 1 else poly(loops[n])
                            for n, e in zip(names, t.extents)])
                   for names, t in zip(inputs, tensors)]
        return _sum_of_products(list(inner.values()), factors, kind)

    return define([extents[n] for n in result], kind, body)


def _parsed(text: str, tensors: Sequence[Tensor]) -> Tuple[
        List[List[str]], List[str], Dict[str, Poly]]:
    wrong = re.search(r"[^A-Za-z.,>-]", text) or re.search(r"(?<!\.)\.\.?(?!\.)|\.{4}", text)
    if wrong:
        raise ArgumentError(f"subscripts: expected letters, ',', '...' and '->', given {text!r}")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(f"einstein sum subscripts string names {len(terms)} operands, here are "
                         f"{len(tensors)}")
    inputs = [_names(term, t) for term, t in zip(terms, tensors)]
    extents: Dict[str, Poly] = {}
    for names, t in zip(inputs, tensors):
        for name, extent in zip(names, t.extents):
            _agree(extents, name, extent)
    dots = sorted({n for names in inputs for n in names if n.startswith(".")}, reverse=True)
    if not arrow:
        flat = [n for names in inputs for n in names]
        return inputs, dots + sorted(n for n in set(flat) if flat.count(n) == 1 and n[0] != "."), \
            extents
    result: List[str] = []
    before, ellipsis, behind = right.partition("...")
    result = list(before) + (dots if ellipsis else []) + list(behind)
    for name in result:
        if result.count(name) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{name}' "
                             "multiple times")
        if name not in extents:
            raise ValueError(f"einstein sum subscripts string included output subscript '{name}' "
                             "which never appeared in an input")
    return inputs, result, extents


def _names(term: str, t: Tensor) -> List[str]:
    before, ellipsis, behind = term.partition("...")
    rank = t.ndim - len(before) - len(behind)
    if rank < 0 or (rank and not ellipsis):
        raise ValueError(f"einstein sum subscripts string '{term}' does not fit an operand with "
                         f"{t.ndim} dimensions")
    return list(before) + [f".{rank - k:02d}" for k in range(rank)] + list(behind)


def _agree(extents: Dict[str, Poly], name: str, extent: Poly) -> None:
    known = extents.get(name)
    if known is None or known.constant() == 1:
        extents[name] = extent
    elif extent.constant() != 1 and not sizes.equal(known, extent):
        raise ShapeError(f"einsum: index '{name}' has extents {known.value()} and "
                         f"{extent.value()}")
