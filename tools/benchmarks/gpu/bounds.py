"""Lower bounds of a kernel's time on an H200, from its instructions and bytes, without a GPU.

Each bound is the time that one resource needs if it is never idle; the kernel takes the largest,
divided by what programs reach of that resource. How far this is from the truth is what
`tools/bench gpu` tells on a device; it says which resource a change has to spare.
"""
import dataclasses
import math

from gpu import sass

CLOCK = 1.83e9  # Hz at which the data sheet's rates of matrix units hold
PROCESSORS, PARTS = 132, 4
DRAM, L2 = 4.8e12, 5.5e12  # bytes/s; L2's as microbenchmarks found it
SHARED_PER_CLOCK = 128  # bytes of a multiprocessor
REGISTERS, SHARED, THREADS, BLOCKS = 64 << 10, 228 << 10, 2048, 32
RESERVED = 1 << 10  # bytes of shared memory besides a block's own
MATRIX = {"BF16": 2048, "F16": 2048, "TF32": 1024}  # products of a clock and multiprocessor
LATENCY = 700  # clocks from memory, under load
LAUNCH_S, BESIDE_S, BARRIER_S = 1.2e-6, 0.4e-6, 1.1e-6  # codegen/plan/grid.def's EARLY, NODE, BARRIER
REACHED = {"wgmma": 0.96, "mma": 0.63, "issue": 0.95, "fma": 0.95, "int": 0.95, "special": 0.95,
           "f64": 0.95, "shared": 0.9, "memory": 0.9, "L2": 1.0, "latency": 1.0}
CLOCKS = {"fma": 1, "int": 2, "imad": 2, "special": 8, "f64": 2}  # of a part, for a warp's one
PEAK = {"f32": 2 * 128 * PROCESSORS * CLOCK, "tf32": 2 * 1024 * PROCESSORS * CLOCK,
        "bf16": 2 * 2048 * PROCESSORS * CLOCK, "f16": 2 * 2048 * PROCESSORS * CLOCK,
        "3xtf32": 2 * 1024 / 3 * PROCESSORS * CLOCK}  # floating-point operations/s


@dataclasses.dataclass
class Launch:
    """A kernel of an entry, as it is launched."""
    symbol: str
    blocks: int
    threads: int
    shared: int
    registers: int
    code: sass.Kernel
    schedule: dict
    products: float  # multiplications of its sums, in all
    product_kinds: dict
    loaded: float  # bytes that multiprocessors get from memory, in all
    moved: float  # the same, and what they write
    least: float  # bytes of what it reads and writes, each once


def resident(x):
    """Blocks that a multiprocessor has room for."""
    warps = math.ceil(x.threads / 32)
    each = warps * max(1, math.ceil(x.registers * 32 / 256)) * 256
    return max(1, min(REGISTERS // each, SHARED // (x.shared + RESERVED),
                      THREADS // (32 * warps), BLOCKS))


def consumers(x):
    """Threads that multiply: a producer's warpgroup does not."""
    return x.threads - 128 if x.schedule.get("producer") else x.threads


def work_of(body, x):
    """The count that gives a loop's iterations: products of a block in it, or else bytes that it reads."""
    threads = consumers(x)
    products = sum(i.products() * {"wgmma": threads / 128, "mma": threads / 32}.get(i.kind, 0)
                   for i in body)
    if not products and x.products:
        products = sum(i.products() for i in body if i.kind == "fma") * threads
    loaded = sum(i.bytes() for i in body if i.kind in ("ldg", "cp.async")) * threads
    return products, loaded


def trips(x):
    """How often the kernel's loops run in a block, and which they are: those with products where it
    has any, else those that read."""
    loops = [l for l in x.code.loops() if l.inner]
    if not loops:
        return 1, []
    which = 0 if any(work_of(x.code.body(l), x)[0] for l in loops) and x.products else 1
    loops = [l for l in loops if work_of(x.code.body(l), x)[which]]
    inside = sum(work_of(x.code.body(l), x)[which] for l in loops)
    whole = (x.products if which == 0 else x.loaded) / max(1, x.blocks)
    around = 0 if which == 0 else work_of(x.code.code, x)[1] - inside
    return (max(1, (whole - around) / inside), loops) if inside else (1, loops)


def executed(x):
    """Instructions that a warp executes, as (instruction, times)."""
    n, loops = trips(x)
    inside = {i for l in loops for i in l.members}
    return [(one, n if i in inside else 1) for i, one in enumerate(x.code.code)]


def operand_bytes(i):
    """Bytes of shared memory that a wgmma reads, for a warpgroup."""
    m, n, k = map(int, i.suffix.split(".")[1].split("x"))
    size = 4 if i.type() == "TF32" else 2
    from_memory = not i.operands.split(",")[1].strip().startswith("R")
    return size * k * (n + (m if from_memory else 0))


def shared_bytes(i, x):
    """Bytes that a thread reads. Threads that multiply one element after the other share reads with others
    of their half of a warp."""
    shared = i.name == "LDS" and i.bytes() == 16 and set(x.product_kinds) == {"f32"}
    return i.bytes() / 2 if shared else i.bytes()


def clocks(x):
    """Cycles of a multiprocessor for one block, by resource."""
    warps, groups = consumers(x) / 32, consumers(x) / 128
    out = dict.fromkeys(("issue", "fma", "int", "special", "f64", "shared", "mma", "wgmma"), 0.0)
    for i, times in executed(x):
        part = times * warps / PARTS
        out["issue"] += part
        if i.kind in CLOCKS and not i.name.startswith("U"):
            out["fma" if i.kind == "imad" else i.kind] += CLOCKS[i.kind] * part
        if i.kind == "wgmma":
            out["wgmma"] += times * groups * i.products() / MATRIX.get(i.type(), 2048)
            out["shared"] += times * groups * operand_bytes(i) / SHARED_PER_CLOCK
        elif i.kind == "mma":
            out["mma"] += times * warps * i.products() / MATRIX.get(i.type(), 2048)
        elif i.kind in ("lds", "sts", "cp.async"):
            out["shared"] += times * warps * 32 * shared_bytes(i, x) / SHARED_PER_CLOCK
    return out


def in_flight(x):
    """Bytes on their way to a multiprocessor at once."""
    stages = x.schedule.get("stages", 0)
    if stages:
        each = x.shared / stages * (stages - 1)
    else:
        loops = trips(x)[1]
        each = max([sass.longest_run(x.code.body(l)) for l in loops] +
                   [sass.longest_run(x.code.code)]) * x.threads
    return each * min(resident(x), math.ceil(x.blocks / PROCESSORS))


def bounds(x):
    """Seconds, by resource; the busiest multiprocessor's."""
    mine = math.ceil(x.blocks / PROCESSORS)
    out = {name: n * mine / CLOCK for name, n in clocks(x).items()}
    out["memory"], out["L2"] = x.least / DRAM, x.moved / L2
    share = x.loaded / max(1, x.blocks) * mine
    out["latency"] = max(1, share / max(x.threads, in_flight(x))) * LATENCY / CLOCK
    return {name: t / REACHED[name] for name, t in out.items()}


def expected(x):
    """Seconds without the launch, and what bounds it."""
    b = bounds(x)
    name = max(b, key=b.get)
    return b[name], name


def roof(x):
    """Seconds in which no program could be quicker: its products at the peak of their kind, each
    tensor once through memory."""
    compute = sum(2 * n / PEAK.get(kind.split()[-1], PEAK["f32"])
                  for kind, n in x.product_kinds.items())
    return max(compute, x.least / DRAM)
