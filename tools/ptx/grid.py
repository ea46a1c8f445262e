"""The barrier of all blocks of a persistent grid, a word in global memory; and setmaxnreg, the registers of a
warpgroup."""
from .text import PtxError

WARPGROUP, REGISTER_FILE = 128, 65536
MASK, LOOKS, WHOLE = (1 << 32) - 1, 4, (0, 1 << 31)


class Grid:
    """Part of barriers.State."""

    def grid(self, g, i, threads):
        """Executes an access to the barrier's word. The arrivals of all blocks add up to 2^31; the other blocks
        arrive between the first read and the second."""
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
