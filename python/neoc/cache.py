"""The cache of compiled code (docs/code-cache.md): what is in it, and making it smaller.

Operators and models that this user compiled before, in any process, are loaded from it. The
environment's NEO_CODE_CACHE names another folder, or is "none".
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import checks
from .compiler import run_command
from .errors import CacheError

__all__ = ["Info", "clear", "info", "prune"]


class Info(NamedTuple):
    """The contents of the cache: whole models (builds), single kernels and schedules of kernels, and how
    often entries that were asked for were there (hits) or not (misses)."""

    folder: str
    bytes: int
    limit_bytes: int
    builds: int
    kernels: int
    schedules: int
    hits: int
    misses: int


def _ask(*words: str) -> dict[str, Any]:
    code, out, why = run_command(["cache", "code", *words, "--format=json"])
    if code:
        raise CacheError(why or "neoc cache code has failed")
    answer: dict[str, Any] = json.loads(out)
    return answer


def info() -> Info:
    """How much the cache has. CacheError where there is none, or it cannot be read."""
    answer = _ask()
    return Info(*(answer[name] for name in Info._fields))


def prune(bytes: int | None = None, *, older_than: int | None = None) -> int:
    """Removes what was not used for longest until at most so many bytes are left (None: the
    cache's limit), and what was not used for ``older_than`` days. Returns how many entries went.
    """
    where, words = "neoc.cache.prune()", []
    if bytes is not None:
        words.append(f"--max-bytes={checks.number(f'{where}: bytes', bytes)}")
    if older_than is not None:
        words.append(f"--older-than={checks.number(f'{where}: older_than', older_than, 0, 10**6)}")
    return int(_ask("prune", *words)["removed"])


def clear() -> int:
    """Removes all entries, and returns how many there were."""
    return int(_ask("clear")["removed"])
