"""What events do: barriers, copies, products and accesses of a run, each with its rule."""
from . import events, wgmma
from .flow import registers, writes
from .memory import NEVER, Access, Clocks, Shared, mask_of
from .text import PtxError
from .values import Choice, Vec, alternatives, uniform

AGENTS, WARP, WARPGROUP, BARRIERS, REGISTER_FILE = 64, 32, 128, 16, 65536
SHARED_END, MASK, LOOKS, WHOLE = 1 << 32, (1 << 32) - 1, 4, (0, 1 << 31)
NAMES = {"ld": "a load", "st": "a store", "ldmatrix": "ldmatrix", "stmatrix": "stmatrix", "atom": "atom", "red": "red", "cp": "cp.async"}


class Phase:
    """Of a barrier in memory: who has come to the one that is under way."""

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


class State:
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
        """((thread, address), ...) of an operand."""
        at = self.run.address(g, x)
        if at is None:
            raise PtxError(i.line, "the address of %s is not known" % i.op)
        out = ()
        for one in alternatives(at):
            pairs = tuple(zip(g.threads, one.at if isinstance(one, Vec) else (one,) * g.n))
            out += pairs if threads is None else tuple(p for p, m in zip(pairs, threads) if m)
        return out

    def same(self, g, i, x, threads, what):
        """The address or number that all threads name."""
        value = self.run.address(g, x) if isinstance(x, tuple) else self.run.value(g, x)
        if isinstance(value, Vec) and threads is not None:
            left = {v for v, m in zip(value.at, threads) if m}
            value = left.pop() if len(left) == 1 else value
        return uniform(value, i.line, what)

    # ---- plain accesses

    def plain(self, g, i, threads):
        if i.parts[0] in ("atom", "red") or "acquire" in i.parts or "release" in i.parts:
            raise PtxError(i.line, i.op)
        x = next((a for a in i.args if isinstance(a, tuple) and a[0] == "["), None)
        if x is None:
            raise PtxError(i.line, i.op)
        self.access(g, i, x, threads, i.parts[0] in ("st", "stmatrix", "atom", "red"), self.width(i), g.now)

    @staticmethod
    def width(i):
        if i.parts[0] == "cp":
            return int(i.args[2])
        if "matrix" in i.parts[0]:
            return 16
        n = next((int(p[1]) for p in i.parts if p in ("v2", "v4")), 1)
        return n * int(i.parts[-1][1:]) // 8

    def prepare(self, g, i, x, threads, width):
        """(Who accesses what, its bytes, what is wrong with that)."""
        pairs = tuple(p for p in self.where(g, i, x, threads) if p[1] < SHARED_END)
        if i.parts[0] == "ldmatrix":
            rows = 8 * int(next(q for q in i.parts if q in ("x1", "x2", "x4"))[1])
            pairs = tuple(p for p in pairs if p[0] % WARP < rows)
        bad = [at for _, at in pairs if at < 0 or at % width]
        if bad:
            return pairs, 0, ("address", "byte %d is no multiple of %d" % (bad[0], width))
        mask = mask_of([at for _, at in pairs], width) if pairs else 0
        if i.parts[0] in ("st", "cp") and len(set(at for _, at in pairs)) < len(set(pairs)):
            return pairs, mask, ("order", "two threads write one place")
        return pairs, mask, None

    def access(self, g, i, x, threads, write, width, end):
        """The access; None: there is none to shared memory, or none that is possible."""
        key = (i.number, g.threads, self.run.address(g, x), threads)
        if key not in self.run.prepared:
            self.run.prepared[key] = self.prepare(g, i, x, threads, width)
        pairs, mask, wrong = self.run.prepared[key]
        if wrong:
            self.tell(wrong[0], i.line, wrong[1])
        if not mask:
            return None
        self.note(i, "copies" if i.parts[0] == "cp" else "accesses")
        what = NAMES[i.parts[0]]
        if self.boxes is None:
            self.bounds.add((mask & -mask).bit_length() - 1)
        if mask & self.words:
            self.tell("address", i.line, "%s where an mbarrier is" % what)
        new = Access(write, "generic", g.number, end, mask, None if i.parts[0] == "ldmatrix" else pairs, width, i.line, what)
        self.memory.access(new, self.clocks[g.number], g.own_fence, g.now)
        return new

    # ---- cp.async

    def copy(self, g, i, threads):
        if i.parts[1] != "async":
            raise PtxError(i.line, i.op)
        if "bulk" in i.parts:
            return self.bulk(g, i, threads)
        if i.parts[2] in ("commit_group", "wait_group", "wait_all"):
            self.close_or_wait(g, i, threads)
            return True
        if i.parts[2] not in ("ca", "cg"):
            raise PtxError(i.line, i.op)
        new = self.access(g, i, i.args[0], threads, True, self.width(i), NEVER)
        if new:
            g.copies.append(new)
        return True

    def close_or_wait(self, g, i, threads):
        if i.parts[2] == "commit_group":
            self.close(g, i, threads)
            return
        if threads is not None or any(come is not None for _, come in g.copy_groups):
            raise PtxError(i.line, "%s, where threads have different groups" % i.op)
        left = int(i.args[0]) if i.args else 0
        if i.parts[2] == "wait_all":
            self.close(g, i, threads)
        self.note(i, "waits")
        cut = max(len(g.copy_groups) - left, 0)
        for group, _ in g.copy_groups[:cut]:
            for x in group:
                x.end = g.now
        g.copy_groups = g.copy_groups[cut:]

    @staticmethod
    def close(g, i, threads):
        """Where a branch has a commit on both ways, the two are one group: it is whole when all threads have come."""
        last = g.copy_groups[-1] if g.copy_groups else ([], None)
        if threads is None or last[1] is None:
            g.copy_groups.append((g.copies, threads))
        else:
            if any(a and b for a, b in zip(last[1], threads)):
                raise PtxError(i.line, "%s, where threads have different groups" % i.op)
            both = tuple(a or b for a, b in zip(last[1], threads))
            g.copy_groups[-1] = (last[0] + g.copies, None if all(both) else both)
        g.copies = []

    # ---- cp.async.bulk.tensor

    def bulk(self, g, i, threads):
        if "tensor" not in i.parts or len(i.args) != 3 or "complete_tx::bytes" not in i.op.replace(":: ", "::"):
            raise PtxError(i.line, i.op)
        to = self.same(g, i, i.args[0], threads, "where a box goes")
        box = self.same(g, i, i.args[1][1], threads, "the map of a box")
        b = self.barrier(g, i, i.args[2], threads)
        self.note(i, "boxes")
        n = len(self.active(g, threads))
        if self.boxes is None:
            self.places.setdefault(box, set()).add(to)
            self.bounds.add(to)
        if b is None:
            return True
        if not b.fenced:
            self.tell("init", i.line, "the copy engine is given an mbarrier (line %d) which no fence.mbarrier_init has shown it" % b.line)
        if to % 128:
            self.tell("address", i.line, "a box goes to byte %d, which is no multiple of 128" % to)
        if self.boxes is None:
            return True
        size = self.boxes.get(box)
        if not size:
            raise PtxError(i.line, "how large the boxes of this map are")
        new = Access(True, "async", b.agent, b.over + 1, ((1 << size) - 1) << to, None, size, i.line, "a box")
        c = self.clocks[g.number]
        self.memory.access(new, c, g.own_fence, g.now)
        b.bytes -= size * n
        b.phase.brought += size * n
        self.complete(b, i)
        return True

    def sizes_of_boxes(self):
        """Boxes lie side by side: one ends where the next thing in shared memory begins."""
        at = sorted(self.bounds | set(self.barriers))
        out = {}
        for box, places in self.places.items():
            gaps = [min(y for y in at if y > x) - x for x in places if x < at[-1]]
            out[box] = min(gaps) if gaps else 0
        return out

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
        if i.parts[1] != "sync" and i.parts[1] != "arrive" and "cta" not in i.parts:
            raise PtxError(i.line, i.op)
        if "arrive" in i.parts or "red" in i.parts:
            raise PtxError(i.line, i.op)
        name = self.same(g, i, i.args[0], threads, "the number of a barrier")
        count = self.same(g, i, i.args[1], threads, "a number of threads") if len(i.args) > 1 else self.run.threads
        self.note(i, "bars")
        if name >= BARRIERS:
            self.tell("bar", i.line, "a block has barriers 0 to %d, not %d" % (BARRIERS - 1, name))
        if count % WARP and len(i.args) > 1:
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
            g.now += 1
            g.aligned = g.now
            return self.undo(g)
        self.meet(g, [h for h, _, _ in there])
        del self.bars[name]
        return True

    @staticmethod
    def undo(g):
        """The event counts when the others have come, too."""
        g.now += 1
        g.now -= 1
        return False

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

    # ---- blocks of a grid that stays

    def grid(self, g, i, threads):
        """All blocks' arrivals add up to 2^31. Those of the others come between the first look and the second."""
        arrives = i.parts[0] == "atom"
        if (arrives and i.parts[:4] != ["atom", "add", "acq_rel", "gpu"]) or (not arrives and i.parts[:3] != ["ld", "acquire", "gpu"]):
            raise PtxError(i.line, i.op)
        place = self.same(g, i, i.args[1], threads, "where blocks meet")
        value, looks = self.grids.get(place, (0, 0))
        self.run.set(g, i.args[0], value, threads)
        if arrives:
            self.note(i, "meetings")
            self.arrived = i.line
            if len(self.active(g, threads)) != 1:
                self.tell("grid", i.line, "more than one thread arrives for its block")
            if g.met != g.now - 1 or not g.met:
                self.tell("grid", i.line, "no bar.sync stands before this, where it would wait for what the other threads wrote")
            more = self.same(g, i, i.args[2], threads, "what an arrival adds")
            self.grids[place] = ((value + more) & MASK, 0)
            return True
        s = self.run.scenario
        if looks == 1:
            others = s.blocks - 1 if s.block == 0 else (1 << 31) - (s.blocks - 1) + s.blocks - 2
            value = (value + others) & MASK
            if value not in WHOLE:
                self.tell("grid", i.line, "the arrivals of %d blocks do not add up to 2^31, but leave %d" % (s.blocks, value & (MASK >> 1)))
        if looks > LOOKS:
            g.waits = (i.line, "waits for blocks that have all come")
            return False
        self.run.set(g, i.args[0], value, threads)
        self.grids[place] = (value, looks + 1)
        self.left_grid = i.line if value in WHOLE else 0
        return True

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

    # ---- registers

    def set_registers(self, g, i, threads):
        n = self.same(g, i, i.args[0], threads, "a number of registers")
        self.note(i, "registers")
        each = self.run.kernel.directives.get("maxnreg", 0)
        if n % 8 or n < 24 or n > 256:
            self.tell("setmaxnreg", i.line, "%d registers are no multiple of 8 from 24 to 256" % n)
        if not each:
            self.tell("setmaxnreg", i.line, "the kernel has no .maxnreg, which says what each thread begins with")
        elif (n < each) != (i.parts[1] == "dec"):
            self.tell("setmaxnreg", i.line, "%s to %d registers from %d" % (i.parts[1], n, each))
        for t in self.active(g, threads):
            self.registers[t] = (n, i.line)
        return True

    def end_registers(self):
        each, want = self.run.kernel.directives.get("maxnreg", 0), 0
        if not self.registers:
            return
        line = max(line for _, line in self.registers.values())
        for first in range(0, self.run.threads, WARPGROUP):
            counts = {self.registers.get(t, (each, 0))[0] for t in range(first, first + WARPGROUP)}
            want += max(counts) * WARPGROUP
            if len(counts) > 1:
                self.tell("setmaxnreg", line, "threads %d to %d, a warpgroup, do not all set as many registers" %
                          (first, first + WARPGROUP - 1))
        have = each * self.run.threads
        if want > have:
            self.tell("setmaxnreg", line, "the warpgroups want %d registers, and begin with %d" % (want, have))
        if have > REGISTER_FILE:
            self.tell("setmaxnreg", line, "%d registers are more than a multiprocessor has" % have)

    # ---- products of warpgroups

    @staticmethod
    def whole_warpgroups(g):
        first = g.threads[0]
        return not first % WARPGROUP and not g.n % WARPGROUP and g.threads == tuple(range(first, first + g.n))

    def product(self, g, i, threads):
        what = i.parts[1]
        if not self.whole_warpgroups(g):
            self.tell("aligned", i.line, "%s is done by part of a warpgroup" % i.op)
        if what == "fence":
            g.fence = g.now
        elif what == "commit_group":
            g.product_groups.append(g.products)
            g.products = []
        elif what == "wait_group":
            self.note(i, "waits")
            cut = max(len(g.product_groups) - int(i.args[0]), 0)
            for group in g.product_groups[:cut]:
                for accesses, _ in group:
                    for x in accesses:
                        x.end = g.now
            g.product_groups = g.product_groups[cut:]
        elif what == "mma_async":
            self.multiply(g, i)
        else:
            raise PtxError(i.line, i.op)
        return True

    def multiply(self, g, i):
        self.note(i, "products")
        sums = registers(i.args[0])
        late = max([g.touched.get(r, 0) for r in sums] or [0])
        if g.fence < max(late, 0):
            self.tell("wgmma.fence", i.line, "no wgmma.fence stands between this product and what wrote its sums before")
        columns, steps = wgmma.shape_of(i)
        turned = [int(x) for x in i.args[-2:]] if "tf32" not in i.op else [0, 0]
        accesses = []
        for k, rows in ((0, wgmma.ROWS), (1, columns)):
            if isinstance(i.args[1 + k], tuple):
                raise PtxError(i.line, "a factor in registers")
            d = self.run.value(g, i.args[1 + k])
            if d is None:
                raise PtxError(i.line, "a descriptor is not known")
            mask = 0
            for w in range(0, g.n, WARPGROUP):
                mine = set(d.at[w:w + WARPGROUP]) if isinstance(d, Vec) else {d}
                if len(mine) != 1:
                    self.tell("aligned", i.line, "threads of a warpgroup name different descriptors")
                mask |= wgmma.factor_bytes(mine.pop(), rows, steps, turned[k])
            new = Access(False, "async", g.number, NEVER, mask, None, 16, i.line, "a product")
            self.memory.access(new, self.clocks[g.number], g.own_fence, g.now)
            accesses.append(new)
        g.products.append((accesses, frozenset(sums)))

    def touch(self, g, i):
        used = {r for x in i.args for r in registers(x) if r in self.sums}
        for group in g.product_groups + [g.products]:
            for _, sums in group:
                if used & sums:
                    self.tell("wait_group", i.line, "%s uses sums to which a product still adds: no wgmma.wait_group has waited for it"
                              % i.op)
        for r in writes(i):
            if r in self.sums:
                g.touched[r] = g.now + 1

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
        self.bytes_and_registers()
