"""Effects of events: the barriers of a run and their rules. Copies, products and grids are in files of their own."""
from . import events
from .copies import Copies
from .flow import votes
from .grid import LOOKS, WHOLE, Grid
from .memory import NEVER, Clocks, Shared
from .products import Products
from .text import PtxError
from .values import Vec, alternatives, uniform

AGENTS, WARP, BARRIERS = 64, 32, 16


class Phase:
    """The current phase of a barrier in memory: the arrivals so far."""

    def __init__(self, n):
        self.clocks, self.came = Clocks(n), {}
        self.announced = self.brought = 0
        self.line = 0


class Barrier:
    def __init__(self, at, line, count, agent, n):
        self.at, self.line, self.count, self.agent, self.n = at, line, count, agent, n
        self.over, self.missing, self.bytes = 0, count, 0
        self.phase = Phase(n)
        self.released, self.waits = [], []
        self.by, self.made, self.fenced = None, 0, False

    def state(self):
        text = "mbarrier at byte %d (line %d): phase %d has %d of %d arrivals" % (self.at, self.line, self.over,
                                                                              self.count - self.missing, self.count)
        if self.phase.announced or self.phase.brought:
            text += ", and %d bytes of %d announced" % (self.phase.brought, self.phase.announced)
        return text


class State(Copies, Products, Grid):
    def __init__(self, run, sums, boxes):
        self.run, self.sums, self.boxes = run, sums, boxes
        self.n = len(run.groups) + AGENTS
        self.clocks = [Clocks(self.n) for _ in run.groups]
        for g in run.groups:
            if g.n == 1:
                c = self.clocks[g.number]
                c.seen[g.number] = c.done[g.number] = NEVER - 1
        self.memory = Shared(self.conflict)
        self.barriers, self.bars = {}, {}
        self.words = 0  # bytes of mbarriers
        self.unread = {}  # where boxes came -> (bytes that no product has read, line)
        self.grids = {}  # place in global memory where blocks meet -> (value, looks at it since the last arrival)
        self.left_grid = self.arrived = 0  # lines of the last look, until the block meets, and of the last arrival
        self.shared, self.places, self.bounds = set(), {}, set()
        self.count, self.registers = {}, {}
        self.told = set()

    # ---- what is said

    def tell(self, rule, line, text):
        if self.run.report and (rule, line) not in self.told:
            self.told.add((rule, line))
            self.run.report(rule, line, text)

    def conflict(self, rule, new, old, text):
        if rule == "unwritten":
            if self.boxes is not None:
                self.tell("unwritten", new.line, text + self.vain_wait())
            return
        first = "%s of line %d" % (old.what, old.line)
        text = {
            "order": "%s meets %s %s: nothing that threads wait for orders the two" % (new.what, first, text),
            "pending": "%s meets %s %s, which nobody has waited for" % (new.what, first, text),
            "proxy": "%s meets %s %s: no fence.proxy.async shows it to the asynchronous proxy" % (new.what, first, text),
        }[rule]
        if rule == "order":
            text += self.vain_wait()
        self.tell({"order": "order", "pending": "wait_group", "proxy": "proxy"}[rule], new.line, text)

    def vain_wait(self):
        """A wait that waited for nothing is a likely cause."""
        for g in self.run.groups:
            for line, parity in g.vain.values():
                return "; the wait of line %d waits for nothing: its parity, %d, is that of a phase before" % (line, parity)
        return ""

    def note(self, i, name):
        self.count.setdefault(name, set()).add(i.line if isinstance(i.line, int) else 0)

    # ---- events; false: the group cannot go on

    def event(self, g, i):
        kind = i.parts[0]
        threads = self.run.guard(g, i)
        if threads is False:
            return True
        if events.together(i) and threads is not None and kind not in ("ldmatrix",):
            self.tell("aligned", i.line, "%s is done by all threads of a warp or group, and some do not come" % i.op)
        if events.touches(i, self.sums):
            self.touch(g, i)
        if self.left_grid and kind not in ("bar", "barrier"):
            self.tell("grid", self.left_grid, "no bar.sync stands behind this, where the other threads would wait for it")
            self.left_grid = 0
        known = {"mbarrier": self.mbarrier, "wgmma": self.product, "bar": self.bar, "barrier": self.bar, "fence": self.fence,
                 "cp": self.copy, "setmaxnreg": self.set_registers, "griddepcontrol": self.early}.get(kind)
        if known:
            g.now += 1
            if not known(g, i, threads):
                g.now -= 1
                return False
        elif events.of_grid(i):
            g.now += 1
            if not self.grid(g, i, threads):
                return False
        elif events.is_memory(i):
            g.now += 1
            self.plain(g, i, threads)
        if events.together(i):
            g.aligned = g.now
        self.run.progress += 1
        g.waits = None
        return True

    @staticmethod
    def active(g, threads):
        return g.threads if threads is None else tuple(t for t, m in zip(g.threads, threads) if m)

    def where(self, g, i, x, threads):
        """The addresses of an operand, ((thread, address), ...)."""
        at = self.run.address(g, x)
        if at is None:
            raise PtxError(i.line, "the address of %s is not known" % i.op)
        out = ()
        for one in alternatives(at):
            pairs = tuple(zip(g.threads, one.at if isinstance(one, Vec) else (one,) * g.n))
            out += pairs if threads is None else tuple(p for p, m in zip(pairs, threads) if m)
        return out

    def same(self, g, i, x, threads, what):
        """The address or number, which must be the same in all threads."""
        value = self.run.address(g, x) if isinstance(x, tuple) else self.run.value(g, x)
        if isinstance(value, Vec) and threads is not None:
            left = {v for v, m in zip(value.at, threads) if m}
            value = left.pop() if len(left) == 1 else value
        return uniform(value, i.line, what)

    # ---- mbarrier

    def barrier(self, g, i, x, threads):
        at = self.same(g, i, x, threads, "the address of an mbarrier")
        b = self.barriers.get(at)
        if b is None:
            self.tell("init", i.line, "%s at byte %d, where no mbarrier was made" % (i.op, at))
            return None
        if b.by is not g and self.clocks[g.number].seen[b.by.number] < b.made:
            self.tell("init", i.line, "nothing orders this behind mbarrier.init of line %d" % b.line)
        return b

    def mbarrier(self, g, i, threads):
        what = i.parts[1]
        if what == "init":
            return self.make(g, i, threads)
        if what == "arrive":
            return self.arrive(g, i, threads)
        if what in ("try_wait", "test_wait"):
            return self.wait(g, i, threads)
        raise PtxError(i.line, i.op)

    def make(self, g, i, threads):
        at = self.same(g, i, i.args[0], threads, "the address of an mbarrier")
        count = self.same(g, i, i.args[1], threads, "a number of arrivals")
        self.note(i, "mbarriers")
        if len(self.active(g, threads)) != 1:
            self.tell("init", i.line, "more than one thread makes this mbarrier")
        if at % 8 or at in self.barriers:
            self.tell("init", i.line, "byte %d is no place for an mbarrier, or has one" % at)
        if len(self.barriers) == AGENTS:
            raise PtxError(i.line, "more than %d mbarriers" % AGENTS)
        b = self.barriers[at] = Barrier(at, i.line, count, len(self.run.groups) + len(self.barriers), self.n)
        b.by, b.made = g, g.now
        self.words |= 255 << at
        return True

    def arrive(self, g, i, threads):
        x = next(a for a in i.args if isinstance(a, tuple))
        b = self.barrier(g, i, x, threads)
        self.note(i, "arrivals")
        come = self.active(g, threads)
        if b is None:
            return True
        b.phase.line = i.line
        if "expect_tx" in i.parts and self.boxes is not None:
            more = self.same(g, i, i.args[-1], threads, "a number of bytes") * len(come)
            b.bytes += more
            b.phase.announced += more
        n = len(come)
        if n > b.missing:
            self.tell("arrivals", i.line, "%d arrivals come to %s" % (n, b.state()))
        self.take_arrival(b, g, come)
        b.missing = max(b.missing - n, 0)
        self.complete(b, i)
        return True

    def knowledge(self, g):
        c = self.clocks[g.number].copy()
        if g.n == 1:
            c.seen[g.number] = c.done[g.number] = g.now
            c.fenced[g.number] = g.own_fence
        return c

    def take_arrival(self, b, g, come):
        b.phase.clocks.join(self.knowledge(g))
        threads, seen, done, fence = b.phase.came.get(g.number, (set(), g.now, g.aligned, g.own_fence))
        b.phase.came[g.number] = (threads | set(come), min(seen, g.now), min(done, g.aligned), min(fence, g.own_fence))

    def complete(self, b, i):
        if b.missing or b.bytes:
            return
        c = b.phase.clocks
        for h, (threads, seen, done, fence) in b.phase.came.items():
            g = self.run.groups[h]
            if len(threads) == g.n:
                c.seen[h], c.fenced[h] = max(c.seen[h], seen), max(c.fenced[h], fence)
                c.done[h] = max(c.done[h], seen)
            elif {t // WARP for t in threads} == {t // WARP for t in g.threads}:
                c.done[h] = max(c.done[h], done)
        c.seen[b.agent] = c.done[b.agent] = b.over + 1
        for phase, h, now, line in b.waits:
            if phase == b.over - 1 and max(c.done[h], c.seen[h]) < now:
                self.tell("overrun", line, "this wait for phase %d of the mbarrier of line %d may find that phase %d is over too "
                          "(arrival of line %d)" % (phase, b.line, b.over, b.phase.line))
        b.waits = [w for w in b.waits if w[0] >= b.over]
        b.released.append(c)
        b.over += 1
        b.missing, b.phase = b.count, Phase(self.n)

    def wait(self, g, i, threads):
        to, at, parity = i.args[0], i.args[1], i.args[2]
        if "parity" not in i.parts:
            raise PtxError(i.line, i.op)
        b = self.barrier(g, i, at, threads)
        self.note(i, "waits")
        key = (i.number, b and b.at)
        if b is None or key not in g.tried:
            g.tried.add(key)
            self.run.set(g, to, 0 if b else 1, threads)
            self.run.progress -= 1
            return True
        parity = self.same(g, i, parity, threads, "a parity") & 1
        c = self.clocks[g.number]
        known = c.seen[b.agent]
        wanted = known if parity == known & 1 else known - 1
        if (b.over - 1) & 1 != parity:
            g.waits = (i.line, "waits for parity %d of the %s" % (parity, b.state()))
            if b.over > wanted + 1:
                self.tell("overrun", i.line, "this wait is for phase %d of the mbarrier of line %d, and phase %d is over too" %
                          (wanted, b.line, b.over - 1))
            return False
        if wanted < known:
            g.vain[b.at] = (i.line, parity)
            if wanted >= 0:
                self.tell("parity", i.line, "this waits for parity %d of the mbarrier of line %d, whose phase %d was waited for "
                          "before: it waits for nothing" % (parity, b.line, wanted))
        else:
            c.join(b.released[wanted])
            b.waits.append((wanted, g.number, g.now, i.line))
        g.tried.discard(key)
        self.run.set(g, to, 1, threads)
        return True

    # ---- bar

    def bar(self, g, i, threads):
        if i.parts[1] in ("warp",):
            raise PtxError(i.line, i.op)
        args = i.args[1:-1] if votes(i) else i.args
        if i.parts[1] not in ("sync", "arrive", "red") and "cta" not in i.parts:
            raise PtxError(i.line, i.op)
        if "arrive" in i.parts or ("red" in i.parts and not votes(i)):
            raise PtxError(i.line, i.op)
        if votes(i):  # one for all threads, as a flag is
            self.run.set(g, i.args[0], self.run.scenario.flag, threads)
        name = self.same(g, i, args[0], threads, "the number of a barrier")
        count = self.same(g, i, args[1], threads, "a number of threads") if len(args) > 1 else self.run.threads
        self.note(i, "bars")
        if name >= BARRIERS:
            self.tell("bar", i.line, "a block has barriers 0 to %d, not %d" % (BARRIERS - 1, name))
        if count % WARP and len(args) > 1:
            self.tell("bar", i.line, "%d threads are no whole warps" % count)
        there = self.bars.setdefault(name, [])
        if any(h is g for h, _, _ in there):
            return False
        if there and there[0][2] != count:
            self.tell("bar", i.line, "barrier %d is for %d threads here, for %d in line %d" % (name, count, there[0][2], there[0][1]))
        there.append((g, i.line, count))
        self.run.progress += 1
        come = sum(h.n for h, _, _ in there)
        if come > count:
            self.tell("bar", i.line, "%d threads come to barrier %d, which is for %d" % (come, name, count))
        if come < count:
            g.waits = (i.line, "waits at barrier %d, where %d threads are of %d" % (name, come, count))
            return False
        self.meet(g, [h for h, _, _ in there])
        del self.bars[name]
        return True

    def meet(self, last, groups):
        c = Clocks(self.n)
        for h in groups:
            c.join(self.knowledge(h))
        for h in groups:
            c.seen[h.number] = c.done[h.number] = h.now
            c.fenced[h.number] = h.own_fence
        if len(groups) == len(self.run.groups):
            self.memory.settle(c, self.run.engines)
        self.left_grid = 0
        for value, looks in self.grids.values():
            if value not in WHOLE and looks < LOOKS:
                self.tell("grid", self.arrived, "the block goes on before all blocks have come")
        for h in groups:
            h.met = h.now
            own = self.clocks[h.number] = c.copy()
            if h.n == 1:
                own.seen[h.number] = own.done[h.number] = NEVER - 1
            if h is not last:
                h.at += 1
                h.waits = None

    # ---- fences

    def fence(self, g, i, threads):
        if i.parts[1] == "mbarrier_init":
            come = set(self.active(g, threads))
            for b in self.barriers.values():
                if b.by is g and come:
                    b.fenced = True
        elif i.parts[1:3] == ["proxy", "async"]:
            self.note(i, "fences")
            if threads is None:
                c = self.clocks[g.number]
                c.fenced = [max(x) for x in zip(c.fenced, [s if s < NEVER - 1 else g.now for s in c.seen])]
                g.own_fence = g.now
                for b in self.barriers.values():
                    b.fenced = b.fenced or b.by is g
        elif i.parts[1] not in ("acq_rel", "sc"):
            raise PtxError(i.line, i.op)
        return True

    def early(self, g, i, threads):
        return True

    # ---- ends

    def deadlock(self):
        if self.boxes is None:
            return
        for g in self.run.groups:
            if not g.over and g.waits:
                self.tell("deadlock", g.waits[0], "threads %d to %d: %s; nobody will come any more" %
                          (g.threads[0], g.threads[-1], g.waits[1]))
        self.bytes_and_registers()

    def bytes_and_registers(self):
        for b in self.barriers.values():
            if b.bytes:
                self.tell("bytes", b.phase.line or b.line, "%d bytes are announced to the mbarrier of line %d, and boxes bring %d" %
                          (b.phase.announced, b.line, b.phase.brought))
        self.end_registers()

    def end(self):
        if self.boxes is None:
            return
        for b in self.barriers.values():
            if b.missing != b.count and not b.bytes:
                self.tell("arrivals", b.phase.line, "at the end " + b.state())
        for g in self.run.groups:
            left = g.copies + [c for group, _ in g.copy_groups for c in group]
            if left:
                x = left[0]
                self.tell("wait_group", x.line, "this copy is still under way when its thread ends")
            if g.products or any(g.product_groups):
                x = (g.products or [c for group in g.product_groups for c in group])[0][0][0]
                self.tell("wait_group", x.line, "this product is still under way when its threads end")
        for to in self.unread:
            self.check_read(to)
        self.bytes_and_registers()
