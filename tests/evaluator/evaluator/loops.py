"""Rounds and choices: `repeat`, `scan`, `while` and `case`, by executing their blocks one after the other.

The carries of a round stand in a block around the round's own, which may hide them. In a function that is called for
elements, every point of the frame has its own rounds: those that are done are masked.
"""

import numpy as np

from . import elements, scalars, tape
from .errors import error
from .expressions import Expressions
from .frames import Frame
from .recurrences import settled
from .scopes import Block
from .tree import Bind, Collect


class Loop:
    def __init__(self, program, s, names, block, position):
        self.program, self.s, self.region = program, s, s.value
        self.block, self.position = block, position
        self.prefix = block.qualified(names[0])
        self.context = program.context(block, position, names[0])
        self.collected = [n for b in self.region.body if isinstance(b, Collect) for n in b.names]
        self.stacks = {n: [] for n in self.collected}
        first = {t.name: program.define(t, v, block, position) for t, v in self.region.carries}
        self.carries = {n: self.carried(c) for n, c in first.items()}
        self.held = program.held

    def carried(self, c):
        return settled(c)

    def around(self, rounds, index=None):
        """A block with the carries, and the index of a round."""
        around = Block(self.program, self.block.view(self.position), self.block.frame, self.prefix, rounds)
        around.key = self.block.key + (id(self.s), "carries", len(self.program.blocks))
        around.carries = True
        if getattr(self.region, "kind", "while") != "repeat":  # gradients in the round end at its carries, whatever they were before
            self.carries = {n: begun(c) for n, c in self.carries.items()}
            self.program.held = self.held + list(self.carries.values())
        for n, c in self.carries.items():
            around.define(n, c)
        if index is not None:
            around.define(self.region.index, index)
        return around

    def round(self, around, k, frame):
        """The block of round k, declared."""
        body = Block(self.program, around.view(), frame, self.prefix, around.rounds)
        body.key, body.text = self.block.key + (id(self.s), k), self.region.body
        self.program.declare(self.region.body, body)
        return body

    def next(self, body):
        result = dict(self.carries)
        for position, b in enumerate(self.region.body):
            if not isinstance(b, Bind) or b.kind != "next":
                continue
            for target, value in b.bindings:
                if target.name not in self.carries:
                    error(b, f"'{target.name}' is no carry")
                result[target.name] = self.fitting(b, target, value, body, position)
        return result

    def fitting(self, b, target, value, body, position):
        before = self.carries[target.name]
        new = self.program.define(target, value, body, position, self.shaped(before), owner=False)
        if before.type in scalars.LITERALS:
            return new
        if new.type in scalars.LITERALS:
            new = elements.convert(new, before.type)
        if new.shape != before.shape:
            error(b, f"'{target.name}' has another shape in this iteration than in the first")
        if new.type != before.type:
            error(b, f"'{target.name}' is carried as {before.type}, its next value is {new.type}")
        return new

    def shaped(self, before):
        """The value whose extents `next` has if nothing else gives them."""
        return before

    def values(self, body):
        """The collected values at the end of an iteration; of a carry the new value, unless a definition hides it."""
        return {n: self.carries[n] if n in self.carries and n not in body.names else
                body.view().lookup((n,), self.s.line) for n in self.collected}

    def trial(self, around):
        """Zeros for what is collected, where no round says its shape: a round on no point at all."""
        frame = self.block.frame
        nothing = frame.under(np.zeros((1,) * len(frame), bool)) if len(frame) else Frame((), np.zeros((), bool))
        with tape.recording(False):
            found = self.values(self.round(around, "trial", nothing))
        return {n: zeros_like(settled(f), len(frame)) for n, f in found.items()}

    def results(self):
        self.program.held = self.held
        lead = len(self.block.frame)
        with tape.masked(self.block.frame.mask):
            carries = [begun(c) for c in self.carries.values()]  # results of their own: what reads a stack reads no result
            return carries + [stacked(self.stacks[n], lead) for n in self.collected]


class Repeat(Loop):
    """`repeat`, whose rounds own their parameters, and `scan`, whose rounds share them."""

    def carried(self, c):
        return c if self.region.kind == "repeat" and not c.rank else settled(c)

    def run(self):
        region, block = self.region, self.block
        count = self.context.size(region.count)
        for r in range(count):
            k = count - 1 - r if region.down else r
            rounds = block.rounds + (((k, count),) if region.kind == "repeat" else ())
            body = self.round(self.around(rounds, k), k, block.frame)
            self.carries = self.next(body)
            for n, v in self.values(body).items():
                self.stacks[n].append(v)
        if region.down:
            self.stacks = {n: list(reversed(v)) for n, v in self.stacks.items()}
        if not count and self.collected:
            for n, v in self.trial(self.around(block.rounds, 0)).items():
                self.stacks[n] = emptied(v)
        return self.results()


class While(Loop):
    """Each point of the frame goes on as long as its condition holds."""

    def run(self):
        limit, frame = self.context.size(self.region.limit), self.block.frame
        alive = np.ones((1,) * len(frame), bool)
        took = np.zeros(alive.shape, np.int64)
        zeros = None
        for r in range(limit):
            around = self.around(self.block.rounds)
            alive = alive & Expressions(around.view(), self.program).condition(self.region.condition,
                                                                               frame.under(alive))
            if not alive.any():
                break
            took = took + alive
            zeros = self.take(self.round(around, r, frame.under(alive)), alive)
        self.fill(zeros, limit)
        rounds = elements.integer_tensor(took, "i32")
        rounds.lead = len(frame)
        self.block.loop_rounds.update({n: rounds for n in [self.s.target.name] + self.s.more})
        return self.results()

    def take(self, body, alive):
        """Stores the results of an iteration where it ran. Returns zeros of the collected values' shapes."""
        new = self.next(body)
        with tape.masked(self.block.frame.mask):
            self.carries = {n: tape.choose(alive, new[n], c) for n, c in self.carries.items()}
        zeros = {}
        for n, v in self.values(body).items():
            v = settled(v)
            zeros[n] = tape.Tensor(np.zeros(v.data.shape, scalars.dtype(v.type)), v.type, v.lead)
            with tape.masked(self.block.frame.mask):
                self.stacks[n].append(tape.choose(alive, v, zeros[n]))
        return zeros

    def fill(self, zeros, limit):
        if not self.collected:
            return
        zeros = zeros or self.trial(self.around(self.block.rounds))
        for n in self.collected:
            rows = self.stacks[n]
            rows += [zeros[n]] * (limit - len(rows))
            self.stacks[n] = rows or emptied(zeros[n])


def begun(carry):
    """A carry as a tensor of the round, with respect to which gradients can be formed."""
    result = tape.view(carry, carry.lead)
    result.tracked = scalars.is_float(carry.type)
    result.edges = carry.edges
    return result


def zeros_like(a, lead):
    """Zeros that belong to each point of a frame of so many indices, whether or not `a` depends on them."""
    shape = a.data.shape if a.lead == lead else (1,) * lead + a.shape
    return tape.Tensor(np.zeros(shape, scalars.dtype(a.type)), a.type, lead)


def emptied(a):
    """No round of what would be like this."""
    shape = a.data.shape[:a.lead] + (0,) + a.data.shape[a.lead:]
    return tape.Tensor(np.zeros(shape, scalars.dtype(a.type)), a.type, a.lead)


def stacked(parts, lead):
    if isinstance(parts, tape.Tensor):
        return parts
    shapes = np.broadcast_shapes(*[p.data.shape[:lead] for p in parts]) if parts else ()
    rows = []
    for p in parts:
        p = tape.broadcast(settled(p), tuple(shapes) + p.shape)
        shape = p.data.shape
        rows.append(tape.reshape(p, shape[:lead] + (1,) + shape[lead:], lead))
    return tape.concatenate(rows, lead)


# ---- choices


def case(program, s, names, block, position):
    """One branch, where one value decides; else each for the points whose value it is for."""
    value = program.context(block, position).value(s.value.value, block.frame)
    if value.data.size == 1:
        one = value.data.reshape(()).item()
        for label, body in s.value.branches:
            if label is None or label == one:
                return _branch(program, s, names, block, position, body, block.frame)
        error(s, f"no branch of this case is for {one}")
    left, results = np.ones(value.data.shape, bool), None
    for label, body in s.value.branches:
        here = left & (value.data == label) if label is not None else left
        left = left & ~here
        if here.any() or not here.size and results is None:  # of no point, the first says types and shapes
            found = _branch(program, s, names, block, position, body, block.frame.under(here))
            results = found if results is None else [_chosen(here, f, r, s) for f, r in zip(found, results)]
    return results


def _chosen(here, found, others, s):
    result = elements.choose(here, found, others, s)
    result.edges = found.edges
    return result


def _branch(program, s, names, block, position, body, frame):
    branch = Block(program, block.view(position), frame, block.prefix, block.rounds)
    branch.calls = block.calls
    branch.key, branch.text = block.key + (id(s),), body
    program.declare(body, branch)
    return [branch.view().lookup((n,), s.line) for n in names]
