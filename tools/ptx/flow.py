"""Control flow: blocks, postdominators, and the instructions on which the protocol depends.

An instruction is kept if it is an event of the protocol, computes a register that a kept one reads, or is a branch that decides
whether a kept one runs. All other code is arithmetic of the model, which is passed over."""
import re

from .text import PtxError

WRITES_NOTHING = ("st", "red", "bar", "barrier", "fence", "membar", "bra", "ret", "exit", "trap", "cp", "griddepcontrol", "setmaxnreg",
                  "prefetch", "prefetchu", "call", "discard")


REGISTER = re.compile(r"%[a-z]+\d+$|\d+\.[a-z]\w*$")


def registers(x):
    """All registers in an operand."""
    if isinstance(x, tuple):
        return [r for y in x if isinstance(y, (str, tuple)) for r in registers(y)]
    return [r for r in x.split("|") if REGISTER.match(r)]


def votes(i):
    """Whether the instruction is a barrier that also returns whether a predicate holds in any thread."""
    return i.parts[0] in ("bar", "barrier") and i.parts[-3:] == ["red", "or", "pred"]


def writes(i):
    kind = i.parts[0]
    if votes(i):
        return registers(i.args[0])
    if kind in WRITES_NOTHING or not i.args or (kind == "mbarrier" and "try_wait" not in i.op and "test_wait" not in i.op):
        return []
    if kind == "wgmma":
        return registers(i.args[0]) if "mma_async" in i.op else []
    return registers(i.args[0])


def reads(i):
    rest = i.args if not writes(i) or i.parts[0] == "wgmma" else i.args[1:]
    out = [r for x in rest for r in registers(x)]
    return out + [i.guard] if i.guard else out


def ends_block(i):
    return i.parts[0] in ("bra", "ret", "exit", "trap")


class Flow:
    """Blocks are numbered; block len(blocks) is the end of the kernel."""

    def __init__(self, kernel):
        self.kernel, code = kernel, kernel.code
        starts = {0} | set(kernel.labels.values()) | {i.number + 1 for i in code if ends_block(i)}
        starts = sorted(s for s in starts if s < len(code))
        self.blocks = [code[a:b] for a, b in zip(starts, starts[1:] + [len(code)])]
        self.end = len(self.blocks)
        self.block_at = {a: n for n, a in enumerate(starts)}
        self.next = [self.successors(n) for n in range(self.end)]
        self.find_postdominators()

    def target(self, i):
        if i.args[0] not in self.kernel.labels:
            raise PtxError(i.line, "a branch to %s, which is no label" % i.args[0])
        return self.block_at.get(self.kernel.labels[i.args[0]], self.end)

    def successors(self, n):
        last, after = self.blocks[n][-1], n + 1
        if last.parts[0] == "bra":
            return [self.target(last)] + ([after] if last.guard else [])
        if last.parts[0] in ("ret", "exit", "trap"):
            return [self.end] + ([after] if last.guard else [])
        return [after]

    def find_postdominators(self):
        everything = (1 << (self.end + 1)) - 1
        behind = [everything] * self.end + [1 << self.end]
        changed = True
        while changed:
            changed = False
            for n in reversed(range(self.end)):
                both = everything
                for s in self.next[n]:
                    both &= behind[s]
                both |= 1 << n
                if both != behind[n]:
                    behind[n], changed = both, True
        self.behind = behind
        self.meets = [self.nearest(n) for n in range(self.end)]

    def nearest(self, n):
        """The first block that lies on all ways from n to the end."""
        rest = self.behind[n] & ~(1 << n)
        for m in range(self.end + 1):
            if rest >> m & 1 and self.behind[m] == rest:
                return m
        return self.end

    def deciders(self):
        """By block: the set of blocks whose branch decides whether it runs."""
        out = [set() for _ in range(self.end + 1)]
        for n in range(self.end):
            if len(self.next[n]) < 2:
                continue
            for s in self.next[n]:
                m = s
                while m != self.meets[n] and m != self.end:
                    out[m].add(n)
                    m = self.meets[m]
        return out

    def keep(self, events):
        """The numbers of the instructions that are kept. events: {number of an event: registers that it needs}."""
        code, deciders = self.kernel.code, self.deciders()
        of_block, writers = {}, {}
        for n, block in enumerate(self.blocks):
            for i in block:
                of_block[i.number] = n
                for r in writes(i):
                    writers.setdefault(r, []).append(i.number)
        work, kept, wanted = list(events), set(), set()
        while work:
            k = work.pop()
            if k in kept:
                continue
            kept.add(k)
            for r in events[k] if k in events else reads(code[k]):
                if r not in wanted:
                    wanted.add(r)
                    work.extend(writers.get(r, ()))
            for n in deciders[of_block[k]]:
                work.append(self.blocks[n][-1].number)
        return kept
