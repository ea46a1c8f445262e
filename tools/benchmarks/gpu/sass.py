"""Reads a disassembly of nvdisasm: kernels, their instructions by kind, their loops.

Loops in which a thread only waits for others (a phase of an mbarrier, a grid's counter) or takes its
turn (ELECT) are none that work is in.
"""
import dataclasses
import re

from gpu import flow

KINDS = {  # by the first word of an instruction's name
    "fma": "FFMA FMUL FADD FFMA2 HFMA2 HADD2 HMUL2 FSWZADD",
    "f64": "DFMA DMUL DADD DSETP",
    "mma": "HMMA IMMA DMMA QMMA OMMA",
    "wgmma": "HGMMA IGMMA QGMMA",
    "lds": "LDS LDSM",
    "sts": "STS STSM ATOMS",
    "ldg": "LDG LD LDC LDU",
    "stg": "STG ST RED REDG ATOM ATOMG",
    "cp.async": "LDGSTS",
    "box": "UTMALDG UTMASTG UBLKCP",
    "spill": "LDL STL",
    "special": "MUFU I2F F2I F2F I2I FRND POPC FLO BREV",
    "shuffle": "SHFL VOTE REDUX MATCH VOTEU",
    "barrier": "BAR SYNCS DEPBAR LDGDEPBAR WARPGROUP MEMBAR FENCE ERRBAR CCTL ARRIVES ACQBULK PREEXIT "
               "UTMACMDFLUSH WARPSYNC BAR_SYNC ELECT",
    "branch": "BRA BRX JMP BSSY BSYNC EXIT CALL RET BREAK NANOSLEEP YIELD KILL BPT BMOV",
    "imad": "IMAD UIMAD IDP IMUL",
    "move": "MOV UMOV CS2R S2R S2UR R2UR ULDC P2R R2P PLOP3 UPLOP3 NOP",
}
KIND = {name: kind for kind, names in KINDS.items() for name in names.split()}
SHOWN = ("fma", "f64", "mma", "wgmma", "lds", "sts", "ldg", "stg", "cp.async", "box", "spill",
         "special", "shuffle", "imad", "int", "move", "branch", "barrier")
WAITS = ("SYNCS", "ELECT", "NANOSLEEP")
MOST_WAITING = 24  # instructions of a loop that only waits

LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)"
                  r"\s*([^;]*);")
LABEL = re.compile(r"^(\.L_x_\d+|\.text\.\S+):\s*$")
TARGET = re.compile(r"`\((\.L_x_\d+)\)")
INFO = re.compile(r"//----- nvinfo : (\w+)")
INDEX = re.compile(r"\.word\s+index@\((\S+)\)")
WORD = re.compile(r"\.word\s+0x([0-9a-f]+)")


@dataclasses.dataclass
class Instruction:
    name: str  # "HGMMA"
    suffix: str  # ".64x256x16.F32.BF16"
    operands: str
    predicate: str = ""

    @property
    def ends(self):
        """Does nothing behind it follow?"""
        return self.name in ("EXIT", "BRA", "RET", "BRX", "JMP", "KILL") and not (
            self.predicate or re.match(r"!?U?P\d", self.operands) or ".DIV" in self.suffix)

    @property
    def kind(self):
        if self.name == "IMAD" and self.suffix.startswith((".MOV", ".SHL", ".IADD")):
            return "move" if self.suffix.startswith(".MOV") else "imad"
        if self.name == "LDC":
            return "move"
        return KIND.get(self.name, "int")

    def bytes(self):
        """Bytes of one thread of a load or store; of LDSM, those that a thread gets."""
        if self.name in ("LDSM", "STSM"):
            return 4 * int((re.search(r"\.(\d)$", self.suffix) or [0, 1])[1])
        for end, n in ((".128", 16), (".64", 8), (".U8", 1), (".S8", 1), (".U16", 2), (".S16", 2)):
            if end in self.suffix:
                return n
        return 4

    def products(self):
        """Multiplications of one thread's instruction, of a warp's (mma), of a warpgroup's (wgmma)."""
        if self.name == "FFMA":
            return 1
        if self.name == "FFMA2":
            return 2
        if self.kind == "wgmma":
            m, n, k = map(int, re.search(r"\.(\d+)x(\d+)x(\d+)", self.suffix).groups())
            return m * n * k
        shape = re.search(r"\.(\d{3,5})", self.suffix) if self.kind == "mma" else None
        return {"1688": 1024, "16816": 2048, "1684": 512, "884": 256}.get(shape[1], 0) if shape else 0

    def type(self):
        """The type of the factors: "BF16", "TF32", "F16"."""
        found = re.findall(r"TF32|BF16|F16|F64|S8|E4M3|E5M2", self.suffix)
        return found[0] if found else "F16"


@dataclasses.dataclass
class Loop:
    members: list  # numbers of the kernel's instructions
    inner: bool = True
    waits: bool = False


@dataclasses.dataclass
class Kernel:
    name: str
    code: list = dataclasses.field(default_factory=list)
    labels: dict = dataclasses.field(default_factory=dict)  # label -> number of an instruction
    found: list = None  # its loops, once they are known

    def body(self, loop=None):
        return [self.code[i] for i in loop.members] if loop else self.code

    def loops(self):
        """Natural loops, from the first on; `inner`: no other loop with work in it is inside."""
        if self.found is None:
            self.found = [Loop(members) for members in flow.loops(self.code, self.target)]
            for x in self.found:
                x.waits = is_waiting(self.body(x))
            for x in self.found:
                x.inner = not x.waits and not any(y is not x and not y.waits and
                                                  set(y.members) < set(x.members) for y in self.found)
        return self.found

    def target(self, i):
        """The target of a branch; None: no branch, or a target outside of the kernel."""
        x = self.code[i]
        label = TARGET.search(x.operands) if x.name in ("BRA", "WARPSYNC") else None
        return self.labels.get(label[1]) if label else None

    def hot(self):
        """The innermost loop with most products, else bytes from memory, else instructions; null:
        there is none."""
        inner = [x for x in self.loops() if x.inner]
        return max(inner, key=lambda x: weight(self.body(x)), default=None)


def is_waiting(body):
    work = [x for x in body if x.kind in ("fma", "mma", "wgmma", "stg", "lds", "sts", "cp.async", "f64")]
    return (len(body) <= MOST_WAITING and not work and
            any(x.name in WAITS or (x.name in ("LDG", "LD") and "STRONG" in x.suffix) for x in body))


def weight(body):
    products = sum(x.products() for x in body if x.kind in ("mma", "wgmma"))
    scalar = sum(x.products() for x in body if x.kind == "fma")
    memory = sum(x.bytes() for x in body if x.kind in ("ldg", "cp.async"))
    return products, scalar if scalar >= 16 else 0, memory, len(body)


def kinds(body):
    """How many of each kind, in the order of SHOWN."""
    n = dict.fromkeys(SHOWN, 0)
    for x in body:
        n[x.kind] += 1
    return {kind: count for kind, count in n.items() if count}


def longest_run(body):
    """The most bytes of loads of a thread with no use of any of them in between: what it has on the
    way at once."""
    best = run = 0
    pending = set()
    for x in body:
        registers = set(re.findall(r"\bR\d+\b", x.operands))
        if x.kind == "ldg" and x.name != "LDC":
            head = x.operands.split(",")[0]
            pending |= {f"R{int(r) + k}" for r in re.findall(r"\bR(\d+)\b", head)
                        for k in range(max(1, x.bytes() // 4))}
            run += x.bytes()
            best = max(best, run)
        elif registers & pending:
            run, pending = 0, set()
    return best


def read(lines):
    """The kernels of a disassembly, by their names."""
    found, kernel = {}, None
    for line in lines:
        label = LABEL.match(line)
        if label and label[1].startswith(".text."):
            kernel = found[label[1][6:]] = Kernel(label[1][6:])
        elif label and kernel:
            kernel.labels[label[1]] = len(kernel.code)
        elif kernel:
            x = LINE.match(line)
            if x:
                kernel.code.append(Instruction(x[3], x[4], x[5].strip(), x[2] or ""))
            elif line.startswith("//-------") and kernel.code:
                kernel = None
    return found


def registers(lines):
    """Registers of a thread of each kernel, from the disassembly's section .nv.info."""
    found, what, name = {}, "", None
    for line in lines:
        info, index, word = INFO.search(line), INDEX.search(line), WORD.search(line)
        if info:
            what, name = info[1], None
        elif what == "EIATTR_REGCOUNT" and index:
            name = index[1]
        elif name and word:
            found[name] = int(word[1], 16)
            name = None
    return found
