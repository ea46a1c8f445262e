"""Runs a kernel's protocol: groups of threads that go the same way, one after another, as far as their waits let them.

A branch that threads decide differently either splits their group, if one of the ways waits or does what warps do together (then
all begins anew with more groups), or both ways run, each for its threads. What a wait has waited for is known by the clocks of
memory.py, so that a race is found whatever the order of the groups was here. A first try_wait always fails: it may."""
from . import barriers, events
from .flow import Flow, registers, votes
from .text import PtxError
from .values import Choice, Machine, Vec, vec

STEPS, MOST_GROUPS = 4000000, 64
POINTER, MAP, SYMBOL = 1 << 40, 1 << 56, 1 << 60


class Split(Exception):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts


class Group:
    def __init__(self, number, threads):
        self.number, self.threads, self.n = number, threads, len(threads)
        self.registers = {}
        self.block, self.at = 0, 0
        self.stack = []          # (block where ways meet, threads then, [other ways])
        self.mask = None         # None: all; else a tuple of bools
        self.now = 0             # events so far
        self.waits = None        # a text, while it cannot go on
        self.over = False
        events.begin(self)


class Scenario:
    """The values that a launch gives: ctaid, nctaid, each word among the parameters, and each flag (a byte of global memory at an
    address that all threads share, or the result of a vote)."""

    def __init__(self, block, blocks, word, flag=1):
        self.block, self.blocks, self.word, self.flag = block, blocks, word, flag

    def __str__(self):
        return "block %d of %d, sizes of %d" % (self.block, self.blocks, self.word)


def may_be_flag(i):
    return i.parts[:2] == ["ld", "global"] and i.parts[-1] in ("b8", "u8", "s8") and isinstance(i.args[0], str)


class Run:
    def __init__(self, plan, threads, parts, scenario, boxes, report):
        self.kernel, self.flow, self.kept, self.scenario = plan.kernel, plan.flow, plan.kept, scenario
        self.machine, self.report, self.threads = plan.machine, report, threads
        self.groups = [Group(k, p) for k, p in enumerate(parts)]
        self.state = barriers.State(self, plan.sums, boxes)
        self.constants, self.symbols, self.steps, self.progress = {}, {}, 0, 0
        self.blocks, self.events, self.prepared = plan.blocks, plan.events, plan.prepared
        self.engines = plan.engines

    # ---- values

    def value(self, g, x):
        if x in g.registers:
            return g.registers[x]
        if x[0] == "%":
            if x == "%tid.x":
                return vec(g.threads)
            if x == "%laneid":
                return vec(tuple(t % 32 for t in g.threads))
            special = {"%ctaid.x": self.scenario.block, "%nctaid.x": self.scenario.blocks, "%ntid.x": self.threads}
            return special.get(x, 0 if x.startswith(("%tid", "%ctaid")) else 1 if x.startswith(("%ntid", "%nctaid")) else None)
        if x not in self.constants:
            self.constants[x] = self.constant(x)
        return self.constants[x]

    def constant(self, x):
        if x[:2] in ("0f", "0F", "0d", "0D"):
            return int(x[2:], 16)
        try:
            return int(x, 0)
        except ValueError:
            pass
        if x in self.kernel.params:
            return MAP + (list(self.kernel.params).index(x) << 48)
        if x.startswith("neo_shared") or x in self.state.shared:
            return 0
        if x[0] in "_$" or x[0].isalpha():
            return SYMBOL + (self.symbols.setdefault(x, len(self.symbols)) << 48)
        return None

    def parameter(self, name):
        kind = self.kernel.params.get(name)
        if kind == "pointer":
            return POINTER * (1 + list(self.kernel.params).index(name))
        return self.scenario.word if kind == "word" else None

    def address(self, g, x):
        """The addresses of an operand: a list with one for each thread of the group, or an int for all; None: not
        known."""
        base = self.value(g, x[1])
        if isinstance(base, Choice):
            return Choice(tuple(self.moved(b, x[2]) for b in base.of))
        return self.moved(base, x[2])

    @staticmethod
    def moved(base, by):
        if base is None or isinstance(base, int):
            return None if base is None else base + by
        return vec(tuple(a + by for a in base.at)) if by else base

    def set(self, g, name, new, mask):
        if mask is not None and name in g.registers:
            old = g.registers[name]
            if old is None or new is None or isinstance(old, Choice) or isinstance(new, Choice):
                new = None
            else:
                olds = old.at if isinstance(old, Vec) else (old,) * g.n
                news = new.at if isinstance(new, Vec) else (new,) * g.n
                new = vec(tuple(b if m else a for a, b, m in zip(olds, news, mask)))
        g.registers[name] = new

    def guard(self, g, i):
        """The threads that execute the instruction: None for all of the group, False for none, else a tuple of bools.
        """
        mask = g.mask
        if not i.guard:
            return mask
        p = self.value(g, i.guard)
        if p is None or isinstance(p, Choice):
            raise PtxError(i.line, "whether %s happens depends on data" % i.op)
        if isinstance(p, int):
            return mask if bool(p) != i.negated else False
        mine = tuple(bool(x) != i.negated for x in p.at)
        if mask is not None:
            mine = tuple(a and b for a, b in zip(mine, mask))
        return mine if not all(mine) else None

    # ---- instructions

    def compute(self, g, i):
        mask = g.mask
        if i.guard:
            p = self.value(g, i.guard)
            if p is None:
                for r in registers(i.args[0]):
                    g.registers[r] = None
                return
            mask = self.guard(g, i)
            if mask is False:
                return
        kind = i.parts[0]
        if kind == "ld" and "param" in i.parts and isinstance(i.args[0], str):
            self.set(g, i.args[0], self.parameter(i.args[1][1]), mask)
        elif may_be_flag(i) and isinstance(self.address(g, i.args[1]), int):
            self.set(g, i.args[0], self.scenario.flag, mask)
        elif kind in ("ld", "ldu", "call", "shfl", "mma", "vote", "match", "activemask", "atom", "tex") or len(i.args) < 2 or \
                isinstance(i.args[0], tuple):
            for r in registers(i.args[0]):
                g.registers[r] = None
        elif "|" in i.args[0]:
            for r in registers(i.args[0]):
                g.registers[r] = None
        else:
            args = [self.value(g, x) if isinstance(x, str) else None for x in i.args[1:]]
            self.set(g, i.args[0], self.machine.apply(i.op, i.parts, args), mask)

    def branch(self, g, i):
        """Chooses the next block of a group that is at the end of block g.block."""
        n = g.block
        ways = self.flow.next[n]
        if i.guard and i.number in self.kept:
            p = self.value(g, i.guard)
            takes = None if p is None or isinstance(p, Choice) else self.takes(g, i, p)
            if takes is None:
                return self.both(g, i, n, ways)
            if isinstance(takes, tuple):
                return self.diverge(g, i, n, ways, takes)
            return self.go(g, ways[0] if takes else ways[1])
        return self.go(g, self.flow.meets[n] if len(ways) > 1 else ways[0])

    @staticmethod
    def takes(g, i, p):
        """The predicate as True or False if all threads agree, else as a tuple."""
        if isinstance(p, int):
            return bool(p) != i.negated
        mine = [bool(x) != i.negated for x in p.at]
        here = [x for x, m in zip(mine, g.mask or (True,) * g.n) if m]
        return here[0] if len(set(here)) == 1 else tuple(mine)

    def region(self, n):
        """The blocks between a branch and the block where its ways meet."""
        stop, work, found = self.flow.meets[n], list(self.flow.next[n]), set()
        while work:
            m = work.pop()
            if m != stop and m != self.flow.end and m not in found:
                found.add(m)
                work.extend(self.flow.next[m])
        return found

    def diverge(self, g, i, n, ways, takes):
        if any(events.together(x) for m in self.region(n) for x in self.blocks[m]):
            parts = [tuple(t for t, x in zip(g.threads, takes) if x == side) for side in (True, False)]
            raise Split([h.threads for h in self.groups if h is not g] + parts)
        here = g.mask or (True,) * g.n
        first = tuple(a and b for a, b in zip(takes, here))
        second = tuple(b and not a for a, b in zip(takes, here))
        self.fork(g, n, [(ways[0], first), (ways[1], second)])

    def both(self, g, i, n, ways):
        """Handles a branch with an unknown condition: if the ways contain accesses only, all threads take both."""
        region = self.region(n)
        if n in region or any(events.counts(x) for m in region for x in self.blocks[m]):
            raise PtxError(i.line, "a branch on data decides what happens to barriers, copies or products")
        self.fork(g, n, [(ways[0], g.mask), (ways[1], g.mask)])

    def fork(self, g, n, ways):
        g.stack.append((self.flow.meets[n], g.mask, ways[1:]))
        g.mask = ways[0][1]
        self.go(g, ways[0][0])

    def go(self, g, block):
        g.block, g.at = block, 0
        while g.stack and g.block == g.stack[-1][0]:
            meets, mask, others = g.stack.pop()
            if others:
                g.stack.append((meets, mask, others[1:]))
                g.block, g.mask = others[0]
            else:
                g.mask = mask
        if g.block == self.flow.end:
            g.over = True

    # ---- order

    def advance(self, g):
        """Runs a group until it waits or ends."""
        while not g.over:
            block = self.blocks[g.block]
            if g.at >= len(block):
                last = self.flow.blocks[g.block][-1]
                self.branch(g, last) if last.parts[0] == "bra" else self.go(g, self.flow.next[g.block][0])
                continue
            i = block[g.at]
            self.steps += 1
            if self.steps > STEPS:
                raise PtxError(i.line, "more than %d steps" % STEPS)
            kind = i.parts[0]
            if kind in ("bra", "ret", "exit", "trap"):
                if kind == "bra":
                    self.branch(g, i)
                else:
                    self.leave(g, i)
                continue
            if i.number not in self.events:
                self.compute(g, i)
                g.at += 1
                continue
            if not self.state.event(g, i):
                return
            g.at += 1

    def leave(self, g, i):
        if i.guard:
            raise PtxError(i.line, "a guarded end")
        self.go(g, self.flow.end)

    def run(self):
        while True:
            before = self.progress
            for g in self.groups:
                if not g.over:
                    self.advance(g)
            if all(g.over for g in self.groups):
                break
            if self.progress == before:
                self.state.deadlock()
                return
        self.state.end()


class Plan:
    """The analysis of a kernel, which all runs of it share."""

    def __init__(self, kernel):
        self.kernel, self.flow, self.machine = kernel, Flow(kernel), Machine()
        self.sums = events.sums_of(kernel)
        self.events = {i.number: events.needs(i) for i in kernel.code if events.is_event(i, self.sums)}
        self.prepared = {}
        self.kept = self.flow.keep(self.events)
        self.blocks = [[i for i in b if i.number in self.kept] for b in self.flow.blocks]
        self.boxes = any("bulk" in i.parts for i in kernel.code)
        self.engines = self.boxes or any(i.parts[0] == "wgmma" for i in kernel.code)

    def depends(self):
        """Whether the protocol depends on values given by a launch."""
        for i in self.kernel.code:
            if i.number in self.kept and i.number not in self.events:
                for x in i.args:
                    if isinstance(x, str) and x.startswith(("%ctaid", "%nctaid")):
                        return True
                if i.parts[0] == "ld" and "param" in i.parts and self.kernel.params.get(i.args[1][1]) == "word":
                    return True
                if may_be_flag(i):
                    return True
            if votes(i):
                return True
        return False


def explore(plan, threads, scenario, report):
    """Runs the kernel repeatedly: until all groups are found, then for the sizes of boxes, then for errors."""
    parts, boxes = [tuple(range(threads))], None if plan.boxes else {}
    while True:
        run = Run(plan, threads, parts, scenario, boxes, report if boxes is not None else None)
        try:
            run.run()
        except Split as split:
            parts = sorted(split.parts)
            if len(parts) > MOST_GROUPS:
                raise PtxError(plan.kernel.line, "more than %d groups of threads" % MOST_GROUPS) from None
            continue
        if boxes is not None:
            return run
        boxes = run.state.sizes_of_boxes()
