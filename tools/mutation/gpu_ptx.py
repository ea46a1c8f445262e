"""Single changes to generated PTX, and who finds them without a device: ptxas or tools/ptx_check.

What these cannot see says who does: `emulator`, the name of a mutant of gpu_source.py that makes the
same mistake in the code generator, where the emulated device sees it; or `hardware`, one of SEEN,
and why nobody else can. With `why` alone it is equivalent."""
import os
import re
import subprocess

from suite import output_of

# Kernels of each kind: file of tests/gpu/mutants, its options.
FILES = {
    "tiles": [], "wgmma": ["--math=tf32"], "large": [], "nested": ["--math=tf32"], "grid": [],
}
LEVEL = "sm_90a"
LIMIT_S = 60  # of the checker, which may have much to say of a broken kernel

# Tests on a device.
SEEN = {
    "products": "`device_products` (`tests/gpu/products`): bits of large products against the processor's, three times",
    "grids": "`device_grids`: small models with all that can be in persistent grids",
    "zoo": "`device_zoo_*`, `device_library`: answers of PyTorch",
    "memcheck": "`device_memcheck`: compute-sanitizer on small models",
}


class PtxMutant:
    """kernel: "file.kernel"; the nth match of the pattern becomes `new` (a template of re's)."""

    def __init__(self, kind, kernel, name, pattern, new, nth=0, emulator=None, hardware=None, why=""):
        self.kind, self.name, self.pattern, self.new, self.nth = kind, name, pattern, new, nth
        self.file, self.kernel = kernel.split(".")
        self.emulator, self.hardware, self.why = emulator, hardware, why

    def apply(self, text):
        for n, m in enumerate(re.finditer(self.pattern, text)):
            if n == self.nth:
                return text[:m.start()] + m.expand(self.new) + text[m.end():]
        raise SystemExit(f"gpu_mutants: {self.file}.{self.kernel} has no place for: {self.name}")


def asm(text):
    """A line of inline assembly, as LLVM frames it."""
    return r"\t// begin inline asm\n\t" + text + r"\n\t// end inline asm\n"


BAR = r"\tbar\.sync \t0;\n"
WAIT_EARLY = r"griddepcontrol\.wait; "
PROXY = asm(r"fence\.proxy\.async\.shared::cta;")
WAIT_GROUP = r"(cp\.async\.wait_group \t)1;"
WGMMA_WAIT = r"(wgmma\.wait_group\.sync\.aligned )1;"
COMMIT = r"\tcp\.async\.commit_group;\n"
FORM = 4611686293305360384  # of a descriptor: swizzle of 128 bytes, 1024 to the next eight rows
MMA = (r"(mma\.sync\S+\n\t\t\{[^}]*\},\n\t\t)\{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}(,\n\t\t)"
       r"\{(%r\d+), (%r\d+)\}")
TRY = (r"\t// begin inline asm\n\t\{\n\t\.reg \.pred p;\nagain:\n\tmbarrier\.try_wait[^\n]*\n"
       r"[^}]*\}\n\t// end inline asm\n")
ARRIVE = (r"\t// begin inline asm\n\t\{\n\t\.reg \.pred p;\n\tsetp\.eq\.u32 p, %r\d+, 0;\n"
          r"\t@p mbarrier\.arrive[^\n]*\n\t\}\n\t// end inline asm\n")
EXPECT_BYTES = r"(\tmov\.b32 \t%r\d+, )(12288|49152);"
PARITY = r"(try_wait\.parity\.shared::cta\.b64 p, \[%r\d+\], )(%r\d+);"
TURN = r"sub\.s64 \t(%rd\d+), 1, (%rd\d+);\n\tselp\.b64 \t(%rd\d+), %rd\d+, %rd\d+, (%p\d+);"


def descriptor(add):
    """Adds a number to the constant of a factor's first descriptor."""
    return rf"or\.b64( \t%rd\d+, %rd\d+), {FORM};", rf"or.b64\1, {FORM + add};"


SBO, LBO, BASE, MODE = 1 << 32, 1 << 16, 1 << 49, 1 << 62
PLAIN, POINTS, TILE, WARP = ("threads that divide rows", "points", "tiled FFMA", "mma.sync, cp.async stages")
REGS, STAGE, BOX, PROD = ("wgmma, by registers", "wgmma, cp.async stages", "wgmma, boxes", "producer")
KEEP, NEST, GRID = ("persistent", "nested sums", "cooperative grid")
P = PtxMutant
EARLY = "kernels do not wait for those before"
BARRIER = "no barrier between loops of threads"
LATE = "copies are waited for a group late"

PTX = [
    # ---- threads that divide rows
    P(PLAIN, "tiles.map", "the wait for kernels before dropped", WAIT_EARLY, "", emulator=EARLY),
    P(PLAIN, "tiles.map", "the bound of units negated", r"@(%p\d+ bra)", r"@!\1", emulator="the bound of units negated"),
    P(PLAIN, "tiles.map", "the bound of units dropped", r"\t@%p\d+ bra[^\n]*\n", "", hardware="memcheck",
      why="threads write behind the tensor, to memory that is there: results are right unless another tensor lies there"),
    P(PLAIN, "tiles.map", "an output that is not aligned", r"(st\.global\.)b32( \t\[%rd\d+)\]", r"\1b32\2+2]",
      hardware="zoo", why="an address is no number to ptxas; the device stops with a misaligned address"),
    # ---- points
    P(POINTS, "tiles.columns", "the first barrier dropped", BAR, "", 0, emulator=BARRIER),
    P(POINTS, "tiles.columns", "the second barrier dropped", BAR, "", 1, emulator=BARRIER),
    P(POINTS, "tiles.columns", "a shuffle from 8 lanes on for 16", r"(shfl\.sync\.down\.b32 \t%r\d+, %r\d+, )16", r"\g<1>8",
      emulator="a shuffle from fewer lanes on"),
    P(POINTS, "tiles.columns", "a shuffle of half a warp", r"(shfl\.sync\.down[^\n]*31, )-1;", r"\g<1>65535;",
      emulator="a shuffle of half a warp"),
    # ---- tiled FFMA
    P(TILE, "tiles.tile", "a group less is waited for", WAIT_GROUP, r"\g<1>2;", 0, emulator=LATE),
    P(TILE, "tiles.tile", "a group less is waited for, in the loop", WAIT_GROUP, r"\g<1>2;", 1, emulator=LATE),
    P(TILE, "tiles.tile", "the barrier before the loop dropped", BAR, "", 0, emulator=BARRIER),
    P(TILE, "tiles.tile", "the barrier of the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(TILE, "tiles.tile", "the group of a block of steps is not closed", COMMIT, "", 3,
      emulator="copies of a block of steps close no group"),
    P(TILE, "tiles.tile", "copies come a stage further on", r"selp\.b64 (\t%rd\d+), 640,", r"selp.b64 \1, 320,", 0,
      emulator="the next stage is the same one"),
    P(TILE, "tiles.tile", "the stage never starts again at the first", r"selp\.b64 (\t%rd\d+), 0, (%rd\d+), %p\d+;", r"mov.b64 \1, \2;", 0,
      emulator="the next stage is the same one"),
    P(TILE, "tiles.tile", "a step is multiplied by another one's", r"(ld\.shared\.b32 \t%r\d+, \[%rd\d+\+)3920", r"\g<1>4000",
      emulator="a step is multiplied by another one's"),
    P(TILE, "tiles.tile", "copies of rows beyond the end", r"selp\.b32 (\t%r\d+), 4, 0, (%p\d+);", r"mov.b32 \1, 4;", 0,
      hardware="memcheck", why="what is read behind the tensor is memory that is there, and goes into no result"),
    # ---- mma.sync
    P(WARP, "tiles.warps", "a group less is waited for, in the loop", WAIT_GROUP, r"\g<1>2;", 1, emulator=LATE),
    P(WARP, "tiles.warps", "the barrier of the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(WARP, "tiles.warps", "the group of a block of steps is not closed", COMMIT, "", 2,
      emulator="copies of a block of steps close no group"),
    P(WARP, "tiles.warps", "steps of a factor are shuffled", MMA, r"\1{\4, \5, \2, \3}\6{\7, \8}",
      emulator="steps of a factor are shuffled"),
    P(WARP, "tiles.warps", "a matrix is not transposed", r"ldmatrix\.sync\.aligned\.m8n8\.x2\.trans", "ldmatrix.sync.aligned.m8n8.x2",
      emulator="a matrix is not transposed"),
    P(WARP, "tiles.warps", "the second half of the steps twice", r"(ldmatrix[^\n]*\[%rd\d+)\+32\]", r"\1]",
      emulator="steps of a factor are shuffled"),
    P(WARP, "tiles.warps", "the stage that is read is the next one", r"(mul\.lo\.s64 \t%rd\d+, %rd\d+, )1280;", r"\g<1>2560;", 0,
      emulator="the next stage is the same one"),
    # ---- wgmma, by registers
    P(REGS, "wgmma.registers", "the first proxy fence dropped", PROXY, "", 0, emulator="no proxy fence"),
    P(REGS, "wgmma.registers", "a proxy fence in the loop dropped", PROXY, "", 1, emulator="no proxy fence"),
    P(REGS, "wgmma.registers", "a barrier in the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(REGS, "wgmma.registers", "fence and barrier exchanged", "(" + PROXY + ")(" + BAR + ")", r"\2\1", 0, emulator="no proxy fence"),
    P(REGS, "wgmma.registers", "wgmma.fence dropped", r"\twgmma\.fence\.sync\.aligned;\n", "", 0,
      hardware="products", why="sums may be multiplied into before they are written"),
    P(REGS, "wgmma.registers", "the group is not closed", r"\twgmma\.commit_group\.sync\.aligned;\n", "", 0,
      emulator="sums are read before the last product has ended"),
    P(REGS, "wgmma.registers", "a product is not waited for", r"wait_group\.sync\.aligned 0", "wait_group.sync.aligned 1", 0,
      emulator="sums are read before the last product has ended"),
    P(REGS, "wgmma.registers", "a piece lies 16 bytes further on", r"(st\.shared\.v4\.b32 \t\[%rd\d+)\]", r"\1+16]", 0,
      emulator="pieces of what threads copy lie one further (swizzle)"),
    # ---- wgmma, cp.async
    P(STAGE, "wgmma.stages", "the proxy fence before the loop dropped", PROXY, "", 0, emulator="no proxy fence"),
    P(STAGE, "wgmma.stages", "the proxy fence of the loop dropped", PROXY, "", 1, emulator="no proxy fence"),
    P(STAGE, "wgmma.stages", "the barrier of the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(STAGE, "wgmma.stages", "a group less is waited for", WAIT_GROUP, r"\g<1>2;", 1, emulator=LATE),
    P(STAGE, "wgmma.stages", "the product of the block before is not waited for", WGMMA_WAIT, r"\g<1>2;", 0,
      emulator="the product of the block before is not waited for"),
    P(STAGE, "wgmma.stages", "stride of eight rows (SBO) halved", *descriptor(-32 * SBO), 0, emulator="eight rows are half as far apart (SBO)"),
    P(STAGE, "wgmma.stages", "leading offset (LBO) other", *descriptor(3 * LBO), 0,
      why="equivalent: the field is not looked at where pieces are exchanged and steps lie together"),
    P(STAGE, "wgmma.stages", "mode of 64 bytes", *descriptor(MODE), 0, emulator="pieces are exchanged in 64 bytes (mode)"),
    P(STAGE, "wgmma.stages", "base offset 1", *descriptor(BASE), 0, emulator="a factor's base offset is 1"),
    P(STAGE, "wgmma.stages", "steps of one factor are shuffled", rf"{FORM + 2}", f"{FORM + 4}", 0, emulator="steps of one operand are shuffled"),
    P(STAGE, "wgmma.stages", "the second step 16 bytes on", rf"{FORM + 2}", f"{FORM + 1}", 0, emulator="the next step of an operand is 16 bytes on"),
    P(STAGE, "wgmma.stages", "copies come a stage further on", r"selp\.b64 (\t%rd\d+), 3, (%rd\d+), (%p\d+);", r"selp.b64 \1, 2, \2, \3;", 1,
      emulator="boxes come to the stage that is multiplied"),
    P(KEEP, "large.across", "leading offset (LBO) halved, of operands across the steps", rf"or\.b64( \t%rd\d+, %rd\d+), {FORM + 511 * LBO};",
      rf"or.b64\1, {FORM + 255 * LBO};", 0, emulator="blocks of 64 rows are half as far apart (LBO)"),
    P(STAGE, "wgmma.across", "a factor is not transposed", r"p, 1, 1, 1, 0;", "p, 1, 1, 0, 0;", 0, emulator="a factor is not transposed"),
    # ---- boxes
    P(BOX, "wgmma.boxes", "fewer bytes announced", EXPECT_BYTES, r"\g<1>8192;", 0, emulator="bytes of one operand are announced"),
    P(BOX, "wgmma.boxes", "more bytes announced", EXPECT_BYTES, r"\g<1>16384;", 0, emulator="bytes of one operand are announced"),
    P(BOX, "wgmma.boxes", "a phase takes two arrivals", r"(mbarrier\.init[^\n]*, )1;", r"\g<1>2;", 0, emulator="a phase of bytes takes two arrivals"),
    P(BOX, "wgmma.boxes", "the fence behind making phases dropped", asm(r"fence\.mbarrier_init\.release\.cluster;"), "", 0,
      emulator="no fence behind making phases"),
    P(BOX, "wgmma.boxes", "the barrier behind making phases dropped", BAR, "", 0, emulator="no barrier behind making phases"),
    P(BOX, "wgmma.boxes", "the barrier of the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(BOX, "wgmma.boxes", "the wait for boxes dropped", TRY, "", 0, emulator="nobody waits for boxes"),
    P(BOX, "wgmma.boxes", "the other parity is waited for", TURN, r"mov.b64 \t\1, \2;\n\tselp.b64 \t\3, \1, \2, \4;", 0,
      emulator="a turn changes a stage early"),
    P(BOX, "wgmma.boxes", "all threads but the first ask for boxes", r"setp\.ne\.b32( \t%p1, %r1, 0)", r"setp.eq.b32\1", 0,
      emulator="all threads but the first ask for boxes"),
    P(BOX, "wgmma.boxes", "a box comes to the stage beside", r"(add\.s64 \t%rd\d+, %rd\d+, )8192;", r"\g<1>16384;", 0,
      emulator="boxes come to the stage that is multiplied"),
    P(BOX, "wgmma.boxes", "a box's step and row exchanged", r"\{(%r\d+), (%r\d+)\}\], \[(%r\d+)\];", r"{\2, \1}], [\3];", 2,
      emulator="boxes begin at the first step"),
    P(BOX, "wgmma.boxes", "a box of the other tensor", r"(\.b64 \t%rd\d+, wgmma_k\d+_boxes_param_)8", r"\g<1>7", 0, emulator="a box of the other tensor"),
    P(BOX, "wgmma.boxes", "the product of the block before is not waited for", WGMMA_WAIT, r"\g<1>2;", 0,
      emulator="the product of the block before is not waited for"),
    # ---- producer
    P(PROD, "large.producer", "a stage takes an arrival of each thread", r"(mbarrier\.init[^\n]*, )8;", r"\g<1>256;", 0,
      emulator="a stage takes an arrival of each thread"),
    P(PROD, "large.producer", "a stage takes an arrival less", r"(mbarrier\.init[^\n]*, )8;", r"\g<1>7;", 1,
      emulator="a stage takes an arrival of each thread"),
    P(PROD, "large.producer", "every thread arrives", r"setp\.eq\.u32( p, %r\d+, 0;\n\t@p mbarrier)", r"setp.ge.u32\1", 0,
      emulator="every second warp arrives"),
    P(PROD, "large.producer", "31 of 32 threads arrive", r"setp\.eq\.u32( p, %r\d+, 0;\n\t@p mbarrier)", r"setp.ne.u32\1", 0,
      emulator="every second warp arrives"),
    P(PROD, "large.producer", "the arrival dropped", ARRIVE, "", 0, emulator="the last stage of a tile is not freed"),
    P(PROD, "large.producer", "the stage at hand is freed", r"selp\.b64 (\t%rd\d+), 24, (%rd\d+), %p\d+;", r"add.s64 \1, \2, 8;", 0,
      emulator="consumers free the stage at hand"),
    P(PROD, "large.producer", "the product of the block before is not waited for", WGMMA_WAIT, r"\g<1>2;", 0,
      emulator="a stage is freed before its product has ended"),
    P(PROD, "large.producer", "the producer's parity inverted", r"sub\.s32 (\t%r\d+), 1, (%r\d+);", r"mov.b32 \1, \2;", 0,
      emulator="the producer waits for the turn at hand"),
    P(PROD, "large.producer", "the producer does not wait", r"(setp\.lt\.u64 \t%p\d+, %rd\d+, )256;", r"\g<1>2048;", 0,
      emulator="the producer waits a stage late"),
    P(PROD, "large.producer", "consumers take more registers", r"(setmaxnreg\.inc\.sync\.aligned\.u32 )232", r"\g<1>240", 0,
      emulator="consumers take eight registers more"),
    P(PROD, "large.producer", "registers that are no multiple of 8", r"(setmaxnreg\.dec\.sync\.aligned\.u32 )40", r"\g<1>44", 0,
      emulator="consumers take eight registers more"),
    P(PROD, "large.producer", "the block begins with more registers", r"\.maxnreg 168", ".maxnreg 176", 0,
      emulator="a block begins with eight registers more"),
    P(PROD, "large.producer", "no registers are given up", asm(r"setmaxnreg\.dec\.sync\.aligned\.u32 40;"), "", 0,
      emulator="consumers take eight registers more"),
    P(PROD, "large.producer", "the whole warpgroup asks for boxes", r"setp\.ne\.b32( \t%p\d+, %r1, 256;)", r"setp.lt.u32\1", 0,
      emulator="the whole warpgroup asks for boxes"),
    P(PROD, "large.producer", "fewer bytes announced", EXPECT_BYTES, r"\g<1>49136;", 0, emulator="bytes of one operand are announced"),
    # ---- persistent
    P(KEEP, "large.persistent", "a stage is not free at first", ARRIVE, "", 0, emulator="a stage is not free at first"),
    P(KEEP, "large.persistent", "the last stage of a tile is not freed", ARRIVE, "", 4, emulator="the last stage of a tile is not freed"),
    P(KEEP, "large.persistent", "consumers take tiles one after the other", r"mov\.u32 (\t%r\d+), %nctaid\.x;", r"mov.u32 \1, 1;", 0,
      emulator="blocks leave out every second of their tiles"),
    P(KEEP, "large.persistent", "the producer takes tiles one after the other", r"mov\.u32 (\t%r\d+), %nctaid\.x;", r"mov.u32 \1, 1;", 1,
      emulator="blocks leave out every second of their tiles"),
    P(KEEP, "large.persistent", "the turn of free stages never changes", TURN, r"mov.b64 \t\1, \2;\n\tselp.b64 \t\3, \1, \2, \4;", 1,
      emulator="a turn changes a stage early"),
    # ---- nested sums
    P(NEST, "nested.nested_z", "the barrier before the loop dropped", BAR, "", 0, emulator=BARRIER),
    P(NEST, "nested.nested_z", "the barrier of the loop dropped", BAR, "", 1, emulator=BARRIER),
    P(NEST, "nested.nested", "the barrier before the product dropped", BAR, "", 2, emulator=BARRIER),
    P(NEST, "nested.nested_z", "the group of a block of steps is not closed", COMMIT, "", 2, emulator="blocks of keys close no group"),
    P(NEST, "nested.nested_z", "a group less is waited for", WAIT_GROUP, r"\g<1>2;", 1,
      emulator="blocks of keys are waited for a group late"),
    P(NEST, "nested.nested_z", "steps of a factor are shuffled", MMA, r"\1{\4, \5, \2, \3}\6{\7, \8}",
      emulator="steps of a factor are shuffled"),
    # ---- grids
    P(GRID, "grid.g0_step", "the counter is one off", r"-2147483647", "-2147483648", 0, emulator="the grid's counter is one off"),
    P(GRID, "grid.g0_step", "all blocks but the first add what is missing", r"selp\.b32 (\t%r\d+), (%r\d+), 1, (%p\d+);(\n\t// begin inline asm\n\t\{\n\.reg \.pred early)",
      r"selp.b32 \1, 1, \2, \3;\4", 0, emulator="all blocks but the first add what is missing"),
    P(GRID, "grid.g0_step", "threads go on before all blocks have come", r"(@early bra again;\n\}\n\t// end inline asm\n\$L\w+:\n(?:\tsetp[^\n]*\n)?)" + BAR,
      r"\1", 0, emulator="threads go on before all blocks have come"),
    P(GRID, "grid.g0_step", "adding releases nothing", r"atom\.add\.acq_rel\.gpu", "atom.add.relaxed.gpu", 0, hardware="grids",
      why="the emulator runs one thread at a time, so the next one sees all that was written"),
    P(GRID, "grid.g0_step", "waiting acquires nothing", r"ld\.acquire\.gpu", "ld.relaxed.gpu", 0, hardware="grids",
      why="the same"),
    P(GRID, "grid.g0_step", "the wait for kernels before dropped", WAIT_EARLY, "", emulator=EARLY),
]


def compile_all(neoc, source, to):
    """The PTX of each file of FILES, in the folder."""
    for name, options in FILES.items():
        command = [neoc, "compile", "-q", f"{source}/tests/gpu/mutants/{name}.expr", "-I", f"{source}/models/zoo",
                   f"--target=nvptx:{LEVEL}", "--records=none", "--emit=ptx", "-o", to, *options]
        if name != "grid":
            command.append("--no-fuse=grid")
        status, said = output_of(command, os.environ, 120)
        if status:
            raise SystemExit(f"gpu_mutants: {name}.expr: {said}")


def kernel_of(text, file, kernel):
    """The text before the first kernel, without declarations of later functions, and the named kernel alone."""
    head, *kernels = re.split(r"(?m)(?=^\.visible \.entry )", text)
    head = re.sub(r"(?m)^\.func [^;]*\n;\n", "", head)
    for k in kernels:
        if re.match(rf"\.visible \.entry {file}_(k\d+_)?{kernel}\(", k):
            return head + k[:k.index("\n\n}\n") + 4]
    raise SystemExit(f"gpu_mutants: {file}.expr has no kernel {kernel}")


class PtxJudge:
    """The unchanged kernels, which ptxas and the checker accept."""

    def __init__(self, source, work, neoc):
        self.checker = os.path.join(source, "tools", "ptx_check")
        self.work, self.texts, self.accepted, self.threads = work, {}, {}, ""
        compile_all(neoc, source, work)

    def text(self, mutant):
        key = (mutant.file, mutant.kernel)
        if key not in self.texts:
            with open(os.path.join(self.work, mutant.file + ".ptx"), encoding="utf-8") as f:
                self.texts[key] = kernel_of(f.read(), *key)
        return self.texts[key]

    def judges(self, mutant):
        """The judges, ptxas and the checker, that accept the unchanged kernel; the checker needs the number of
        threads of a block."""
        key, text = (mutant.file, mutant.kernel), self.text(mutant)
        if key not in self.accepted:
            _, said = output_of([self.checker, self.write(text)], os.environ, 120)
            threads = re.search(r"clean: (\d+) threads", said)
            threads = threads.group(1) if threads else "0"
            judges = (self.ptxas, lambda text: self.check(text, threads))
            self.accepted[key] = [who for who in judges if not who(text)]
        return self.accepted[key]

    def write(self, text):
        path = os.path.join(self.work, "mutant.ptx")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def ptxas(self, text):
        """The verdict of ptxas, an error or a warning; the unchanged kernel has none."""
        status, said = output_of(["ptxas", "-v", f"-arch={LEVEL}", "-o", "/dev/null", self.write(text)],
                                 os.environ, 120)
        if status:
            return "ptxas"
        warned = re.search(r"warning|setmaxnreg|serialized", said)
        return "ptxas (warning)" if warned else ""

    def check(self, text, threads):
        status, said = output_of([self.checker, "-q", "--threads", threads, self.write(text)], os.environ, LIMIT_S)
        rule = re.search(r"mutant\.ptx:\d+: (?:[\w$]+: )?([^:\n]+)", said)
        return f"ptx_check: {rule.group(1)}" if status == 1 and rule else ""

    def found(self, mutant):
        for who in self.judges(mutant):
            said = who(self.broken(mutant))
            if said:
                return said
        return ""

    def broken(self, mutant):
        text = self.text(mutant)
        broken = mutant.apply(text)
        if broken == text:
            raise SystemExit(f"gpu_mutants: {mutant.name} changes nothing")
        return broken
