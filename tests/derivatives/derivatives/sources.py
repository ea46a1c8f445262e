"""Where programs come from: drawn ones (tests/relations), and files."""

import os
import random

import numpy as np

from evaluator.errors import ExprError
from relations import draw, models, options, rewrites
from relations.model import Model
from relations.printer import text_of
from relations.syntax import Call, Define, Output, names_in, nodes, parse

from .task import Case


def jobs(arguments):
    low, high = map(int, arguments.seeds.split(".."))
    if arguments.models:
        return [(f, s) for f in arguments.models for s in range(low, high)]
    return list(range(low, high))


def modes(arguments, seed):
    """Options of neoc's runs, by name; the first always is the interpreter."""
    r = random.Random(seed ^ 0xD0A1)
    found = {"interp": ["--interp"]}
    if r.random() < arguments.compiled:
        found["code"] = []
    if r.random() < arguments.options:
        chosen = r.choice(options.TABLE)[1](r)
        found[" ".join(chosen)] = ["--interp", *chosen]
    return found


def wide(program):
    """The program in f64, or None."""
    if program.floats == "f64":
        return program
    m = Model(program, 0)
    if not rewrites.other_floats(m):
        return None
    return draw.Program(m.text(), m.values, m.sizes, "f64", program.special, program.seed)


def ungraded(program):
    """The program without gradients of its own, and what is made of them: then second derivatives are of it itself."""
    statements, gone = [], set()
    for s in parse(program.text):
        if isinstance(s, Define) and (any(isinstance(n, Call) and n.path == ("grad",) for n in nodes(s)) or
                                      names_in(s.value) & gone):
            gone |= {s.target.name, *s.more}
            continue
        if isinstance(s, Output):
            s.paths = [p for p in s.paths if p[0] not in gone]
        statements.append(s)
    return draw.Program(text_of([s for s in statements if not isinstance(s, Output) or s.paths]), program.values, program.sizes,
                        program.floats, program.special, program.seed)


def case(job, neoc, floats):
    """(case, seed, its floats) of a job."""
    name, seed = job if isinstance(job, tuple) else (None, job)
    program = models.load(neoc, name, seed) if name else draw.program(seed)
    if program is None or program.special:
        return None, seed, None
    if not name and random.Random(seed ^ 0x6AAD).random() < 0.6:
        program = ungraded(program)
    if floats == "f64":
        program = wide(program) or program
    return of(program, name), seed, program.floats


def of(program, name=None):
    values = {n: np.asarray(v).reshape(shape) for n, (v, shape) in program.values.items()}
    folder = os.path.dirname(os.path.abspath(name)) if name else None
    return Case(program.text, values, program.sizes, program.floats, folder, name or "")
