"""Tells which instructions are events of the protocol."""
from .flow import registers, votes

TOGETHER = ("wgmma", "bar", "barrier", "setmaxnreg", "ldmatrix", "stmatrix")


def sums_of(kernel):
    """Registers to which products of warpgroups are added."""
    return {r for i in kernel.code if "mma_async" in i.op for r in registers(i.args[0])}


def space_of(i):
    """The state space of an ld or st: 'shared', 'generic' or another one."""
    for part in i.parts[1:4]:
        if part.startswith(("shared", "global", "param", "local", "const")):
            return part.split("::")[0]
    return "generic"


def orders(i):
    return any(x in i.parts for x in ("acquire", "release", "acq_rel"))


def is_memory(i):
    """Whether the instruction accesses memory that is checked. Relaxed accesses to global memory, including atomic
    ones, are not checked."""
    kind = i.parts[0]
    if kind in ("ld", "st", "atom", "red"):
        return space_of(i) in ("shared", "generic") or orders(i)
    return kind in ("ldmatrix", "stmatrix")


def of_grid(i):
    """Whether the instruction is part of a barrier of all blocks, a word in global memory."""
    return ("acq_rel" in i.parts or "acquire" in i.parts) and "global" in i.parts


def touches(i, sums):
    """Whether an instruction other than a product reads or writes sums."""
    return bool(sums) and i.parts[0] != "wgmma" and any(r in sums for x in i.args for r in registers(x))


def is_event(i, sums):
    kind = i.parts[0]
    if kind in ("mbarrier", "wgmma", "bar", "barrier", "fence", "setmaxnreg", "griddepcontrol", "membar"):
        return True
    if kind == "cp" or is_memory(i):
        return True
    return touches(i, sums)


def needs(i):
    """Registers that determine what the event does to the protocol; not data, nor addresses of data."""
    kind, args = i.parts[0], i.args
    if kind == "cp":
        args = [i.args[0], i.args[1][1], i.args[2]] if "bulk" in i.parts and len(i.args) == 3 else i.args[:1]
    elif of_grid(i) and kind == "atom":
        args = i.args[1:]
    elif is_memory(i):
        args = [x for x in i.args if isinstance(x, tuple) and x[0] == "["]
    elif kind == "wgmma":
        args = i.args[1:3]
    elif votes(i):
        args = i.args[1:-1]
    elif kind not in ("mbarrier", "bar", "barrier", "setmaxnreg"):
        args = []
    return [r for x in args for r in registers(x)] + ([i.guard] if i.guard else [])


def counts(i):
    """Whether the event is more than an access: it waits, or others wait for it."""
    return i.parts[0] in ("mbarrier", "wgmma", "bar", "barrier", "fence", "setmaxnreg", "griddepcontrol", "cp") or \
        (i.parts[0] in ("atom", "red") and is_memory(i))


def together(i):
    """Whether the event waits, or is executed by whole warps."""
    return i.parts[0] in TOGETHER or (i.parts[0] == "mbarrier" and "wait" in i.parts[1])


def begin(g):
    g.tried = set()
    g.copies, g.copy_groups = [], []        # cp.async: open, closed
    g.products, g.product_groups = [], []   # wgmma: open, closed
    g.touched, g.fence, g.aligned, g.own_fence = {}, -1, 0, 0
    g.met = 0                               # the last event where all threads of the block have met
    g.vain = {}                             # barrier -> line of a wait that waited for nothing
