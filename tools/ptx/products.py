"""Products of warpgroups: their order, their sums, and what they read."""
from . import wgmma
from .flow import registers, writes
from .memory import NEVER, Access
from .text import PtxError
from .values import Vec

WARPGROUP = 128


class Products:
    """Part of barriers.State."""

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
        transposed = [int(x) for x in i.args[-2:]] if "tf32" not in i.op else [0, 0]
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
                mask |= wgmma.factor_bytes(mine.pop(), rows, steps, transposed[k])
            new = Access(False, "async", g.number, NEVER, mask, None, 16, i.line, "a product")
            self.memory.access(new, self.clocks[g.number], g.own_fence, g.now)
            for to, (left, line) in self.unread.items():
                self.unread[to] = (left & ~mask, line)
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
