"""Who has seen what of whom: clocks of groups and accesses to shared memory.

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
    """Bytes of accesses from each of these addresses on."""
    low = min(where)
    key = (tuple(x - low for x in where), width)
    if key not in masks:
        mask, one = 0, (1 << width) - 1
        for x in set(key[0]):
            mask |= one << x
        masks[key] = mask
    return masks[key] << low


def meet(a, wide_a, b, wide_b):
    """Do two different threads touch a byte? a and b: pairs (thread, address)."""
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
    """Shared memory: accesses that may still conflict with later ones."""

    def __init__(self, report):
        self.records, self.report, self.written, self.told = [], report, 0, set()

    def access(self, new, clocks, own_fence, now):
        """`now`: the group's events; `own_fence`: the last of them that fenced its own writes."""
        written = self.written
        if not new.write and new.mask & ~written:
            missing = new.mask & ~written
            self.tell("unwritten", new, None, "%s reads byte %d, which nothing has written" %
                      (new.what, (missing & -missing).bit_length() - 1))
        kept = []
        for old in self.records:
            if old.high <= new.low or new.high <= old.low or not old.mask & new.mask:
                kept.append(old)
                continue
            if old.write or new.write:
                self.check(old, new, clocks, own_fence, now)
            if new.write or (old.agent == new.agent and old.line == new.line and not old.write and old.end < NEVER):
                old.mask &= ~new.mask
                if not old.mask:
                    continue
            kept.append(old)
        kept.append(new)
        self.records = kept
        if new.write:
            self.written |= new.mask

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
        """Null, or the rule that is broken."""
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
