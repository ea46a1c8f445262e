"""Accesses to shared memory: by threads, by cp.async, and boxes of cp.async.bulk.tensor."""
from .memory import NEVER, Access, mask_of
from .text import PtxError

WARP, SHARED_END = 32, 1 << 32
NAMES = {"ld": "a load", "st": "a store", "ldmatrix": "ldmatrix", "stmatrix": "stmatrix", "cp": "cp.async"}


class Copies:
    """Part of barriers.State."""

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
        """Returns (pairs of thread and address, mask of the bytes, the rule broken and a text, or None)."""
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
        """The access; None if no thread accesses shared memory, or the address is impossible."""
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
        """Commits a group of copies. Commits on both ways of a branch are one group, complete when all threads have come."""
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
        self.check_read(to)
        self.unread[to] = (new.mask, i.line)
        b.bytes -= size * n
        b.phase.brought += size * n
        self.complete(b, i)
        return True

    def check_read(self, to):
        """Reports a box with a byte that no product reads before another box overwrites it or the kernel ends."""
        mask, line = self.unread.get(to, (0, 0))
        if mask:
            self.tell("unread", line, "byte %d of this box is read by no product" % ((mask & -mask).bit_length() - 1))

    def sizes_of_boxes(self):
        """The sizes of boxes: a box ends where the next object in shared memory begins."""
        at = sorted(self.bounds | set(self.barriers))
        out = {}
        for box, places in self.places.items():
            gaps = [min(y for y in at if y > x) - x for x in places if x < at[-1]]
            out[box] = min(gaps) if gaps else 0
        return out
