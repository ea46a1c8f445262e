"""Calls of numpy's functions in the words of ours: np.clip(t, a_min=0) -> clip(t, low=0).

Arguments are bound to numpy's own signature, so that those by position are what numpy says. What
ours has no parameter for is refused by name, unless it is numpy's default or changes no element.
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ..checks import shown
from ..errors import Unsupported

# numpy's names of parameters that have other ones here; those of one function before others
OF_ONE = {("clip", "min"): "low", ("clip", "max"): "high", ("swapaxes", "axis1"): "a",
          ("swapaxes", "axis2"): "b", ("std", "correction"): "ddof", ("var", "correction"): "ddof"}
OF_ALL = {"fill_value": "value", "a_min": "low", "a_max": "high", "pad_width": "width",
          "indices_or_sections": "parts", "N": "n", "M": "m", "repeats": "count",
          "newshape": "shape"}
# where memory lies, by which way it is computed
WITHOUT_EFFECT = ("casting", "subok", "like", "kind", "stable", "optimize", "copy", "device")
MADE_ANEW = ("ones_like", "zeros_like", "full_like", "full", "ones", "zeros", "eye", "copy",
             "einsum", "tri")
Call = Tuple[List[Any], Dict[str, Any]]


def refuse(name: str, word: str, value: Any, known: Sequence[str] = ()) -> None:
    """Raises Unsupported, which names the parameter."""
    if word == "out":
        raise Unsupported(f"np.{name}(out=...): a tensor does not change")
    has = f"; there are {', '.join(known)}" if known else ""
    raise Unsupported(f"np.{name}({word}=...): {shown(value)} cannot be given for '{word}' where "
                      f"tensors are symbolic{has}")


def has_no_effect(name: str, word: str, value: Any) -> bool:
    """Whether an argument changes no element of the result."""
    if value is getattr(np, "_NoValue", inspect):
        return True
    if word == "out":
        return value is None or isinstance(value, tuple) and value == (None,)
    if word == "order":
        return value in (None, "C", "K", "A") or name in MADE_ANEW
    return word in WITHOUT_EFFECT and not (word == "copy" and name == "nan_to_num" and not value)


def _own_word(name: str, word: str) -> str:
    return OF_ONE.get((name, word)) or OF_ALL.get(word, word)


def _is_default(value: Any, default: Any) -> bool:
    return value is default or isinstance(value, (bool, int, str)) and \
        type(value) is type(default) and bool(value == default)


def _signature(func: Any) -> Optional[inspect.Signature]:
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):  # of numpy's functions in C; newer ones have them
        return None


class _Words:
    """The arguments of a call of one of our functions, one after the other."""

    def __init__(self, name: str, ours: Callable[..., Any]) -> None:
        self.name = name
        rows = inspect.signature(ours).parameters.values()
        self.known = [p.name for p in rows if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        self.many = any(p.kind is p.VAR_POSITIONAL for p in rows)
        self.args: List[Any] = []
        self.kwargs: Dict[str, Any] = {}

    def add(self, word: str, value: Any, default: Any) -> None:
        if value is getattr(np, "_NoValue", inspect):
            return
        own = _own_word(self.name, word)
        if own in self.known:
            if own in self.kwargs and not _is_default(value, default):
                refuse(self.name, word, value)
            self.kwargs.setdefault(own, value)
        elif not (_is_default(value, default) or has_no_effect(self.name, word, value)):
            refuse(self.name, word, value, self.known)

    def add_many(self, word: str, values: Sequence[Any]) -> None:
        if not self.many and len(values) > 1:
            refuse(self.name, word, values, self.known)
        self.args += values

    def bind(self, signature: inspect.Signature, args: Sequence[Any],
             kwargs: Mapping[str, Any]) -> None:
        given = signature.bind(*args, **kwargs).arguments
        for k, (word, p) in enumerate(signature.parameters.items()):
            if p.kind is p.VAR_POSITIONAL:
                self.add_many(word, given.get(word, ()))
            elif p.kind is p.VAR_KEYWORD:
                for more, value in given.get(word, {}).items():
                    self.add(more, value, inspect)
            elif word in given and (k == 0 or p.kind is p.POSITIONAL_ONLY):
                self.args.append(given[word])  # whatever it is called here
                self.known = self.known[1:]
            elif word in given:
                self.add(word, given[word], p.default)


def call_of(name: str, func: Any, ours: Callable[..., Any], args: Sequence[Any],
            kwargs: Mapping[str, Any]) -> Call:
    """Arguments for ours of a call np.name(*args, **kwargs)."""
    words, signature = _Words(name, ours), _signature(func)
    if signature is not None:
        words.bind(signature, args, kwargs)
    else:
        words.args = list(args)
        for word, value in kwargs.items():
            words.add(word, value, inspect)
    return words.args, words.kwargs
