"""Vector clocks of groups of threads, and accesses to shared memory.

A group of threads counts its events. seen[g][h] = n says that all threads of g know all that all threads of h did up to their event
n; done[g][h] is the same of what warps do together (wgmma, its ends, waits), for which the arrival of one lane speaks for its warp;
fenced[g][h]: writes up to n, which fence.proxy.async has shown to the asynchronous proxy on the way. The entry of a group for itself
is of its other threads. A barrier in memory (mbarrier) is an agent too, whose events are its completed phases.

Two accesses to a byte, of which one writes, by two threads or engines, must be ordered by these clocks: PTX ISA, "Memory
consistency model" (causality order; proxies), "Async proxy", and "Asynchronous operations"."""

NEVER = 1 << 60


class Clocks:
    def __init__(self, agents):
        self.seen = [0] * agents
        self.done = [0] * agents
        self.fenced = [0] * agents

    def copy(self):
        c = Clocks(0)
        c.seen, c.done, c.fenced = self.seen[:], self.done[:], self.fenced[:]
        return c

    def join(self, other):
        self.seen = [max(x) for x in zip(self.seen, other.seen)]
        self.done = [max(x) for x in zip(self.done, other.done)]
        self.fenced = [max(x) for x in zip(self.fenced, other.fenced)]


class Access:
    __slots__ = ("write", "proxy", "agent", "end", "mask", "low", "high", "where", "width", "line", "what")

    def __init__(self, write, proxy, agent, end, mask, where, width, line, what):
        self.write, self.proxy, self.agent, self.end, self.mask = write, proxy, agent, end, mask
        self.where, self.width, self.line, self.what = where, width, line, what
        self.low = (mask & -mask).bit_length() - 1
        self.high = mask.bit_length()


masks, meetings = {}, {}


def mask_of(where, width):
    """A mask of the bytes accessed: `width` bytes from each of these addresses on."""
    low = min(where)
    key = (tuple(x - low for x in where), width)
    if key not in masks:
        mask, one = 0, (1 << width) - 1
        for x in set(key[0]):
            mask |= one << x
        masks[key] = mask
    return masks[key] << low


def meet(a, wide_a, b, wide_b):
    """Whether two different threads access the same byte. a and b: pairs (thread, address)."""
    key = (a, wide_a, b, wide_b)
    if key not in meetings:
        meetings[key] = find_meeting(a, wide_a, b, wide_b)
    return meetings[key]


def find_meeting(a, wide_a, b, wide_b):
    unit, owner = min(wide_a, wide_b), {}
    for thread, at in a:
        for k in range(at // unit, (at + wide_a - 1) // unit + 1):
            owner[k] = thread if owner.get(k, thread) == thread else None
    for thread, at in b:
        for k in range(at // unit, (at + wide_b - 1) // unit + 1):
            if owner.get(k, thread) != thread:
                return True
    return False


class Shared:
    """Shared memory: the accesses that may still conflict with later ones."""

    def __init__(self, report):
        self.writes, self.reads, self.number = [], {}, 0
        self.report, self.written, self.told = report, 0, set()

    def access(self, new, clocks, own_fence, now):
        """`now`: the group's events; `own_fence`: the last of them that fenced its own writes."""
        if not new.write and new.mask & ~self.written:
            missing = new.mask & ~self.written
            self.tell("unwritten", new, None, "%s reads byte %d, which nothing has written" %
                      (new.what, (missing & -missing).bit_length() - 1))
        for old in self.meeting(self.writes, new):
            self.check(old, new, clocks, own_fence, now)
        if not new.write:
            self.number += 1
            key = (new.agent, new.line, id(new.where), new.mask) if new.where and new.end < NEVER else self.number
            self.reads[key] = new  # in place of the same threads' one before
            return
        for old in self.meeting(self.reads.values(), new):
            self.check(old, new, clocks, own_fence, now)
        self.writes = self.without(self.writes, new.mask) + [new]
        if any(x.mask & new.mask for x in self.reads.values()):
            self.without(self.reads.values(), new.mask)
            self.reads = {k: x for k, x in self.reads.items() if x.mask}
        self.written |= new.mask

    @staticmethod
    def meeting(records, new):
        return [x for x in records if x.low < new.high and new.low < x.high and x.mask & new.mask]

    @staticmethod
    def without(records, mask):
        """Removes these bytes from the records: an access ordered after the new write is ordered after the old
        accesses, too."""
        for x in records:
            x.mask &= ~mask
        return [x for x in records if x.mask]

    def settle(self, clocks, engines):
        """All threads have these clocks now: what they order needs no look any more. `engines`: are there any that use the
        asynchronous proxy?"""
        def is_open(x):
            known = clocks.seen if x.proxy == "generic" else clocks.done
            return known[x.agent] < x.end or (engines and x.write and x.proxy == "generic" and clocks.fenced[x.agent] < x.end)
        self.writes = [x for x in self.writes if is_open(x)]
        self.reads = {k: x for k, x in self.reads.items() if is_open(x)}

    def check(self, old, new, clocks, own_fence, now):
        why = self.unordered(old, new, clocks, own_fence, now)
        if why:
            byte = old.mask & new.mask
            self.tell(why, new, old, "at byte %d" % ((byte & -byte).bit_length() - 1))

    def tell(self, rule, new, old, text):
        key = (rule, new.line, old and old.line)
        if key not in self.told:
            self.told.add(key)
            self.report(rule, new, old, text)

    @staticmethod
    def unordered(old, new, clocks, own_fence, now):
        """The rule that the two accesses break; None: they are ordered."""
        h, alone = old.agent, False
        if h == new.agent and old.where and new.where:
            alone = not meet(old.where, old.width, new.where, new.width)
        if old.end > now and h == new.agent and old.end == NEVER:
            return "pending"
        if alone:
            return None
        known = clocks.seen[h] if old.proxy == "generic" else max(clocks.seen[h], clocks.done[h])
        if known < old.end:
            return "order"
        if old.proxy == "generic" and old.write and new.proxy == "async":
            shown = clocks.fenced[h]
            if shown < old.end:
                return "proxy"
        return None
