"""Tracebacks of traced functions: the user's frames, and the last one of neoc.

Between a line of the user's and the next one, or where an error is raised, there are ten frames of
this package and more. They are cut out where the exception leaves neoc; the environment's
NEO_TRACEBACK=full keeps them.
"""
from __future__ import annotations

import functools
import os
from types import TracebackType
from typing import Any, Callable, List, Optional, TypeVar

from . import scope

F = TypeVar("F", bound=Callable[..., Any])


def shortened(problem: BaseException) -> BaseException:
    """The exception without frames of neoc but the last, where that is what raised it.

    Within a trace it stays: the function that is traced cuts it.
    """
    if scope.is_tracing() or os.environ.get("NEO_TRACEBACK") == "full":
        return problem
    before = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    if before is not None and before.__traceback__ is not None:
        shortened(before)
    links: List[TracebackType] = []
    link = problem.__traceback__
    while link is not None:
        links.append(link)
        link = link.tb_next
    made: Optional[TracebackType] = None
    for k, one in reversed(list(enumerate(links))):
        inside = scope.is_inside(one.tb_frame.f_code.co_filename)
        if not inside or k == len(links) - 1:
            made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return problem.with_traceback(made)


def short(f: F) -> F:
    """The function, whose exceptions have short tracebacks."""
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as problem:
            raise shortened(problem)
    made: Any = call
    return made  # type: ignore[no-any-return]
