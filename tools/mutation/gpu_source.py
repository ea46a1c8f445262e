"""Mutants of the code generator that the emulated device is to find: each changes the place that
writes an instruction both as PTX and for the emulator, so what it breaks is broken in both.

All are in one build, as those of tools/mutants; each meets a run or two that are near."""
import os
import re
import subprocess

from build import Tree
from given import Place, place_all
from suite import output_of


class SourceMutant:
    """A change of one place (given.py). kind: of kernels; runs: names of runs_of."""

    def __init__(self, name, kind, runs, file, old, new):
        self.name, self.kind, self.runs = name, kind, runs.split()
        self.file, self.places = file, [Place(file, old, new)]

    @property
    def id(self):
        return self.places[0].id

    def find(self, text):
        self.places[0].find(text, "gpu_mutants")


S = SourceMutant
KERNEL, BLOCK, SYNC, BULK, ROLES, GRID, GROUP = (f"codegen/llvm/nvptx/{n}.c" for n in (
    "kernel", "block", "sync", "tma", "specialize", "grid", "wgmma"))
PRODUCER, BOXES, STAGES, NEST = (f"codegen/lower/{n}.c" for n in (
    "gpu_tile/warpgroup", "gpu_tile/tma", "gpu_tile/pipeline", "gpu_nested/pipeline"))
SOURCES = [
    S("no proxy fence", "wgmma, by registers and cp.async", "wgmma", SYNC,
      "«g->open[b] & WRITES && g->matrix[b]»", "false"),
    S("no barrier between loops of threads", "tiles, mma.sync, wgmma, nested sums",
      "tiles wgmma nested", SYNC, "  fence(g);\n  «neo_ll_gpu_barrier(g);»", None),
    S("kernels do not wait for those before", "all", "graphs", KERNEL,
      "  if (neo_target_waits(&g->l->target))\n    «neo_ll_gpu_wait(g);»", None),
    S("a named barrier counts a warp more", "cooperative grids", "grid", BLOCK,
      "some ? «g->threads» : 0", "g->threads + 32"),
    S("a phase of bytes takes two arrivals", "boxes", "wgmma", BULK,
      "what[b] == OF_BYTES ? «1»", "2"),
    S("no fence behind making phases", "boxes", "wgmma", BULK,
      '«neo_ll_tell(g->l, "neo_gpu_fence_phases", NULL, 0);»', None),
    S("no barrier behind making phases", "boxes", "wgmma", BULK,
      "  «neo_ll_gpu_barrier(g);»\n}", None),
    S("all threads but the first ask for boxes", "boxes", "wgmma", BULK,
      "«LLVMIntEQ»", "LLVMIntNE"),
    S("nobody waits for boxes", "boxes", "wgmma", BULK,
      "  else\n    «wait_for(g, s);»", None),
    S("a stage takes an arrival of each thread", "producer", "producer", BLOCK,
      "return «g->threads / NEO_WARP»;", "g->threads"),
    S("every second warp arrives", "producer", "producer", ROLES,
      "«WARP - 1»", "2 * WARP - 1"),
    S("consumers take eight registers more", "producer", "registers", ROLES,
      "«s->specialize.registers[more]»;",
      "s->specialize.registers[more] + (more ? 8 : 0)"),
    S("a block begins with eight registers more", "producer", "registers", ROLES,
      "«(all + groups - 1)» / groups", "(all + 2 * groups - 1)"),
    S("the whole warpgroup asks for boxes", "producer", "producer", ROLES,
      "«LLVMIntEQ», lane, threads", "LLVMIntUGE"),
    S("the producer waits for the turn at hand", "producer", "producer", PRODUCER,
      "*before = «lx_add(l, lx_mul(l, r->parity, -1), lx_int(l, 1))»", "r->parity"),
    S("the producer waits a stage late", "producer", "producer", PRODUCER,
      "not_before(l, «x->stages * x->p.block_k», k)", "(x->stages + 1) * x->p.block_k"),
    S("consumers free the stage at hand", "producer", "producer", PRODUCER,
      "«lx_add(l, stage, lx_int(l, -1))»", "stage"),
    S("a stage is freed before its product has ended", "producer", "producer", PRODUCER,
      "neo_ls_wgmma_wait(l->k, body, x->p.acc, «1»);", "2"),
    S("sums are read before the last product has ended", "producer", "producer", PRODUCER,
      "  neo_lower_close(l);\n  neo_ls_wgmma_wait(l->k, in, x->p.acc, «0»);", "1"),
    S("a stage is not free at first", "persistent", "persistent", PRODUCER,
      "s < «x->stages»; s++", "x->stages - 1"),
    S("the last stage of a tile is not freed", "persistent", "persistent", PRODUCER,
      "  if (x->persistent)\n    «arrive_before(x, in, 1, x->steps);»", None),
    S("blocks leave out every second of their tiles", "persistent", "persistent",
      "codegen/llvm/core/emit.c", "«neo_ll_gpu_place(g, NEO_GPU_BLOCKS)»",
      "LLVMBuildAdd(g->l->b, neo_ll_gpu_place(g, NEO_GPU_BLOCKS), "
      "neo_ll_gpu_place(g, NEO_GPU_BLOCKS), \"\")"),
    S("bytes of one operand are announced", "boxes", "wgmma", BOXES,
      "«(x->p.o[0].block + x->p.o[1].block)»", "x->p.o[0].block"),
    S("a turn changes a stage early", "boxes", "wgmma", BOXES,
      "choice(l, r->stage, «last», other, r->parity)", "last - 1"),
    S("boxes begin at the first step", "boxes", "wgmma", BOXES,
      "neo_btile_set_own(x, «from», lx_int(l, 0), NULL)", "lx_int(l, 0)"),
    S("boxes come to the stage that is multiplied", "boxes", "wgmma", BOXES,
      "*before = «lx_add(l, stage, lx_int(l, -2))»", "stage"),
    S("the product of the block before is not waited for", "boxes", "wgmma", BOXES,
      "neo_ls_wgmma_wait(l->k, body, x->p.acc, «1»);", "2"),
    S("boxes are by the other axis' strides", "boxes", "wgmma", BOXES,
      "«o->box.stride[d]»", "o->box.stride[b.rank - 1 - d]"),
    S("eight rows are half as far apart (SBO)", "wgmma", "wgmma", "codegen/loop/wgmma.c",
      "stride = «8 * NEO_WGMMA_BYTES / UNIT»", "4 * NEO_WGMMA_BYTES / UNIT"),
    S("blocks of 64 rows are half as far apart (LBO)", "wgmma", "wide", "codegen/loop/wgmma.c",
      "«NEO_WGMMA_SIDE * NEO_WGMMA_BYTES / UNIT»",
      "NEO_WGMMA_SIDE * NEO_WGMMA_BYTES / UNIT / 2"),
    S("pieces are exchanged in 64 bytes (mode)", "wgmma", "wgmma", "codegen/loop/wgmma.c",
      "(uint64_t)«ROWS_128» <<", "2"),
    S("a factor's base offset is 1", "wgmma", "wgmma", "codegen/loop/wgmma.c",
      "«leading << LEADING»", "(leading << LEADING | (uint64_t)1 << BASE)"),
    S("the next step of an operand is 16 bytes on", "wgmma", "wgmma", "codegen/loop/wgmma.c",
      ": «NEO_WGMMA_STEP_BYTES»;", "NEO_WGMMA_STEP_BYTES / 2"),
    S("steps of one operand are shuffled", "wgmma", "wgmma", GROUP,
      "moved(g, columns, «k» *", "(k ^ 1)"),
    S("warpgroups' columns are their rows", "producer", "registers", GROUP,
      '«LLVMBuildURem(b, w, across, "")»', 'LLVMBuildUDiv(b, w, across, "")'),
    S("pieces of what threads copy lie one further (swizzle)", "wgmma, by registers and cp.async",
      "wgmma", "codegen/lower/gpu_tile/wgmma.c", "lx_mod(l, «line», lx_int(l, PIECES))",
      "lx_add(l, line, lx_int(l, 1))"),
    S("copies are waited for a group late", "tiles, mma.sync, wgmma", "tiles wgmma", STAGES,
      "neo_ls_copy_wait(x->p.l->k, in, «prefetch_distance(x) - 1»);", "prefetch_distance(x)"),
    S("copies of a block of steps close no group", "tiles, mma.sync, wgmma", "tiles wgmma",
      STAGES, "«neo_ls_copy_commit(x->p.l->k, in);»", None),
    S("the product of the block before is not waited for", "wgmma, by cp.async", "wgmma", STAGES,
      "neo_ls_wgmma_wait(x->p.l->k, in, x->p.acc, «1»);", "2"),
    S("the next stage is the same one", "tiles, mma.sync, wgmma", "tiles wgmma",
      "codegen/lower/gpu_block/block.c", "lx_int(l, «next ? 1 : -1»)", "next ? 0 : -1"),
    S("blocks of keys are waited for a group late", "nested sums", "nested", NEST,
      "neo_ls_copy_wait(l->k, x->body, «x->stages - 2»);", "x->stages - 1"),
    S("blocks of keys close no group", "nested sums", "nested", NEST,
      "«neo_ls_copy_commit(l->k, x->body);»", None),
    S("the bound of units negated", "threads that divide rows", "tiles", "codegen/llvm/core/emit.c",
      "LLVMBuildICmp(b, «LLVMIntSLT», x, g->units", "LLVMIntSGE"),
    S("a shuffle from fewer lanes on", "points", "tiles", "codegen/lower/gpu_rows/join.c",
      "NEO_SHUFFLE_DOWN, «n * stride», of", "n * stride > 1 ? n * stride / 2 : 1"),
    S("a shuffle of half a warp", "points", "tiles", "codegen/llvm/nvptx/shuffle.c",
      "«neo_ll_int32(g->l, -1)»", "neo_ll_int32(g->l, 65535)"),
    S("a step is multiplied by another one's", "tiled FFMA", "tiles", "codegen/lower/gpu_tile/fma.c",
      "get_values(x, in, &x->p.o[k], place[k], block, «step»);",
      "k ? lx_sub(l, lx_int(l, x->p.block_k - 1), step) : step"),
    S("steps of a factor are shuffled", "mma.sync", "tiles", "codegen/lower/gpu_block/fragments.c",
      "*far = rows ? «lx_div(l, matrix, 2)»", "lx_sub(l, lx_int(l, 1), lx_div(l, matrix, 2))"),
    S("a matrix is not transposed", "mma.sync", "tiles", "codegen/lower/gpu_block/fragments.c",
      "NEO_LDMATRIX_X2 : «NEO_LDMATRIX_X2_TRANS»", "NEO_LDMATRIX_X2"),
    S("a factor is not transposed", "wgmma, by cp.async", "wgmma",
      "codegen/lower/gpu_tile/wgmma.c", "(const bool[]){«x->p.o[0].transposed»", "false"),
    S("a box of the other tensor", "boxes", "wgmma", BOXES,
      "in, o->buf, to, «o->from_buf»,", "x->p.o[0].from_buf"),
    S("the grid's counter is one off", "cooperative grids", "grid", GRID,
      '«LLVMBuildSub(b, grid_size, neo_ll_int64(x->l, 1), "")»', "grid_size"),
    S("all blocks but the first add what is missing", "cooperative grids", "grid", GRID,
      "«LLVMIntEQ», neo_ll_gpu_place(&x->gen[0], NEO_GPU_BLOCK)", "LLVMIntNE"),
    S("threads go on before all blocks have come", "cooperative grids", "grid", GRID,
      "  LLVMPositionBuilderAtEnd(b, after);\n  «meet_threads(x);»\n}", None),
    S("a grid's blocks take those of the next", "cooperative grids", "grid", GRID,
      'LLVMBuildNSWAdd(b, block, «neo_ll_gpu_place(g, NEO_GPU_BLOCKS)», "")',
      "neo_ll_int64(x->l, 1)"),
]


def runs_of(build, source):
    """{name: (command, environment)}"""
    verify = lambda name, *more: [f"{build}/bin/neoc", "verify", "-q",
                                  f"{source}/tests/gpu/mutants/{name}.expr",
                                  "--target=nvptx:sm_90a+host", "--records=none", *more]
    producer = lambda pattern: [f"{build}/tests/test_pipeline_gpu_producer", pattern]
    graphs = {"NEO_TEST_TARGET": "nvptx:sm_90a+host", "NEO_CUDA_GRAPHS": "2"}
    return {
        "wgmma": (verify("wgmma", "--math=tf32"), {}),
        "tiles": (verify("tiles"), {}),
        "nested": (verify("nested", "--math=tf32"), {}),
        "producer": (producer("products_of_every_layout*"), {}),
        "persistent": (producer("so_many_are_launched*"), {}),
        "registers": (producer("so_do_those_of_every*"), {}),
        "wide": (producer("so_do_wide*"), {}),
        "graphs": ([f"{build}/tests/test_zoo_zoo", "mlp"], graphs),
        "grid": ([f"{build}/tests/test_zoo_zoo", "mlp"], dict(graphs, NEO_TEST_GRIDS="1")),
    }


TARGETS = ["neoc", "neo_gpu_emulator", "test_pipeline_gpu_producer", "test_zoo_zoo"]


class SourceJudge:
    """One build with all mutants in it."""

    def __init__(self, source, work, mutants, jobs):
        tree = Tree(source, work, ["-DCMAKE_C_FLAGS=-w"], jobs)
        tree.sync(place_all(tree, mutants, "gpu_mutants"))
        tree.configure()
        tree.make(TARGETS)
        self.runs = runs_of(tree.build, tree.copy)
        self.environment = {"NEO_SOURCE_DIR": tree.copy, "NEO_BUILD_DIR": tree.build,
                            "NEO_CUDA_DRIVER": f"{tree.build}/tests/libneo_gpu_emulator.so"}

    def run(self, name, mutant, limit_s=120):
        command, environment = self.runs[name]
        return output_of(command, dict(os.environ, **self.environment, **environment,
                                       NEO_MUTANT=str(mutant)), limit_s)

    def check_baseline(self, names):
        for name in sorted(names):
            status, said = self.run(name, 0)
            if status:
                raise SystemExit(f"gpu_mutants: {name} fails without a mutant: {said[-400:]}")

    def found(self, mutant):
        """The text with which the emulated device reports the mutant; empty: it finds nothing."""
        for name in mutant.runs:
            status, said = self.run(name, mutant.id)
            if status:
                return how(status, said)
        return ""


# Short names for the messages with which the emulated device ends a launch.
RULES = (("fence.proxy.async", "proxy fence"), ("no barrier stands between", "proxy fence"),
         ("uses an mbarrier", "making of an mbarrier"), ("makes more than", "making of an mbarrier"),
         ("nobody can go on", "deadlock"), ("arrives", "arrivals"), ("nobody has waited", "arrivals"),
         ("announced", "bytes"), ("registers", "registers"), ("product of warp", "write of what is read"),
         ("under way", "something left under way"), ("come early", "early launch"),
         ("by the mask", "mask of a shuffle"), ("blocks meet", "grid"), ("threads", "barrier"))


def how(status, said):
    told = re.search(r"emulator: [^:\n]*, block \d+[^:\n]*: (.*)", said)
    if told:
        return "emulator: " + next((rule for text, rule in RULES if text in told.group(1)), told.group(1))
    return "emulator: no end" if status == -1 else "emulator: results"
