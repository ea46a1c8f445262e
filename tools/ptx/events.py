"""Which instructions are events of the protocol."""
from .flow import registers, votes

TOGETHER = ("wgmma", "bar", "barrier", "setmaxnreg", "ldmatrix", "stmatrix")


def sums_of(kernel):
    """Registers to which products of warpgroups are added."""
    return {r for i in kernel.code if "mma_async" in i.op for r in registers(i.args[0])}


def space_of(i):
    """'shared', 'generic', or another state space, of an ld or st."""
    for part in i.parts[1:4]:
        if part.startswith(("shared", "global", "param", "local", "const")):
            return part.split("::")[0]
    return "generic"


def orders(i):
    return any(x in i.parts for x in ("acquire", "release", "acq_rel"))


def is_memory(i):
    """Does it access memory that is looked at? A relaxed access to global memory, also an atomic one, is none."""
    kind = i.parts[0]
    if kind in ("ld", "st", "atom", "red"):
        return space_of(i) in ("shared", "generic") or orders(i)
    return kind in ("ldmatrix", "stmatrix")


def of_grid(i):
    """Blocks meet at a place in global memory."""
    return ("acq_rel" in i.parts or "acquire" in i.parts) and "global" in i.parts


def touches(i, sums):
    """Does another instruction than a product read or write sums?"""
    return bool(sums) and i.parts[0] != "wgmma" and any(r in sums for x in i.args for r in registers(x))


def is_event(i, sums):
    kind = i.parts[0]
    if kind in ("mbarrier", "wgmma", "bar", "barrier", "fence", "setmaxnreg", "griddepcontrol", "membar"):
        return True
    if kind == "cp" or is_memory(i):
        return True
    return touches(i, sums)


def needs(i):
    """Registers that say what the event does to the protocol: not data, nor where data come from."""
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
    """More than an access: something others wait for, or that waits."""
    return i.parts[0] in ("mbarrier", "wgmma", "bar", "barrier", "fence", "setmaxnreg", "griddepcontrol", "cp") or \
        (i.parts[0] in ("atom", "red") and is_memory(i))


def together(i):
    """It waits, or is done by warps as a whole."""
    return i.parts[0] in TOGETHER or (i.parts[0] == "mbarrier" and "wait" in i.parts[1])


def begin(g):
    g.tried = set()
    g.copies, g.copy_groups = [], []        # cp.async: open, closed
    g.products, g.product_groups = [], []   # wgmma: open, closed
    g.touched, g.fence, g.aligned, g.own_fence = {}, -1, 0, 0
    g.met = 0                               # the last event where all threads of the block have met
    g.vain = {}                             # barrier -> line of a wait that waited for nothing
