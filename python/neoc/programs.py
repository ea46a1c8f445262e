"""Programs of operators' modules, in a table of the process: the same text is compiled once."""

from __future__ import annotations

import threading
from collections import OrderedDict

from . import _core
from .text import PATH

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Callable

_programs: "OrderedDict[tuple[Any, ...], _core.Program]" = OrderedDict()
_programs_lock = threading.Lock()
_MOST_PROGRAMS = 512


def _known_program(key: tuple[Any, ...]) -> _core.Program | None:
    with _programs_lock:
        found = _programs.get(key)
        if found is not None:
            _programs.move_to_end(key)
        return found


def _keep_program(key: tuple[Any, ...], program: _core.Program) -> None:
    with _programs_lock:
        _programs[key] = program
        while len(_programs) > _MOST_PROGRAMS:
            _programs.popitem(last=False)


def forget_programs() -> None:
    """Texts are compiled anew from now on; programs that are in use stay."""
    with _programs_lock:
        _programs.clear()


def program_of(text: str, options: tuple[str, ...] = (), threads: int = 0,
               look: Callable[[_core.Build], None] | None = None) -> _core.Program | _core.Build:
    """The program of a module's text; where it has errors the build, which has them.

    The same text compiled before in this process is not compiled again. ``look`` is given a build
    that is good before it is loaded, as it may have warnings.
    """
    key = (text, options, threads)
    program = _known_program(key)
    if program is not None:
        return program
    build = _core.Build(PATH, text, options)
    if build.status:
        return build
    if look is not None:
        look(build)
    program = build.load(threads)
    _keep_program(key, program)
    return program


