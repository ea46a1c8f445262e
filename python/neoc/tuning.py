"""neoc.tune: a search for quicker schedules of an operator's kernels, as `neoc tune` makes it."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Sequence

from . import checks
from .compiler import run_command
from .errors import NeoError
from .op import Op
from .programs import forget_programs


def tune(op: Op, args: Sequence[Any], *, seconds: float = 20, quiet: bool = True) -> Op:
    """Searches for quicker schedules for arguments such as these, and returns the operator, which
    uses them from its next call on.

    What is found is kept in the user's own file of records (docs/records.md), for other processes
    too; results stay the same up to rounding. ``quiet``: no progress on stderr. NeoError.
    """
    where = "neoc.tune()"
    if not isinstance(op, Op):
        raise checks.wrong_type(f"{where}: op", "an operator of neoc.op", op)
    if not isinstance(args, (tuple, list)):
        raise checks.wrong_type(f"{where}: args", "a tuple of the operator's arguments", args)
    if len(args) != len(op.arguments):
        raise TypeError(f"{where}: args: {op!r} takes {len(op.arguments)} arguments, {len(args)} "
                        "were given")
    checks.real(f"{where}: seconds", seconds, "a number of seconds, above 0 and up to 10^7",
                lambda x: 0 < x <= 1e7)
    checks.flag(f"{where}: quiet", quiet)
    op._specialize(op._key(args))
    with tempfile.TemporaryDirectory(prefix="neoc-") as folder:
        model = os.path.join(folder, "op.expr")
        with open(model, "w", encoding="utf-8") as file:
            file.write(op._last_module().text)
        words = ["tune", *op._options, f"--time={max(1, round(seconds))}s", model]
        code, _, why = run_command(words, quiet)
        if code:
            raise NeoError(f"tune: the search has failed: {why}")
    op._options = tuple(w for w in op._options if not w.startswith("--records")) + (
        "--records=user",)
    forget_programs()
    op._renew()
    return op
