"""Counts what a kernel's loop IR does, from its text (`neoc explain --kernels`): multiplications of
sums, bytes of memory that are read and written, for each unit of work.
"""
import dataclasses
import re

BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1,
         "bool": 1}
LINE_BYTES = 128  # of the operands of a wgmma statement
WARP_PRODUCTS = {"tf32": 16 * 8 * 8, "bf16": 16 * 8 * 16, "f16": 16 * 8 * 16}

FOR = re.compile(r"for (\w+) in (.+?)\.\.(.+?)(?: step (\d+))?(?: (unit|unroll|vector|thread))?$")
PARAM = re.compile(r"([\w.]+): (\w+) (read|write|scratch)(?: (\d+))?")
REG = re.compile(r"reg ([\w.]+)\[([^\]]*)\]: (\w+)(?: threads (\d+))?")
READ = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\[")


@dataclasses.dataclass
class Counts:
    """Counts of one unit, or of a block if a unit is a block."""
    kinds: dict = dataclasses.field(default_factory=dict)  # products: "f32", "mma bf16", ...
    read: dict = dataclasses.field(default_factory=dict)  # bytes, by the kernel's parameters
    written: dict = dataclasses.field(default_factory=dict)
    params: list = dataclasses.field(default_factory=list)  # in the order of a step's buffers
    threads: int = 0

    def products(self):
        return sum(self.kinds.values())


def value(text, names):
    """The value of a bound, with variables in the middle of their ranges and 0 for loaded elements."""
    text = re.sub(r"[\w.]+(@\d+)?\[[^\]]*\]", "0", text).replace("/", "//")
    functions = {"min": min, "max": max, "select": lambda c, a, b: a if c else b}
    try:
        return int(eval(text, {"__builtins__": {}}, {**functions, **names}))
    except (SyntaxError, NameError, TypeError, ZeroDivisionError):
        return None


def bracketed(text, start):
    """`start`: behind an opening bracket; the end of what it encloses."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


class Reader:

    def __init__(self, header):
        self.params = {m[1]: (m[2], m[3]) for m in PARAM.finditer(header)}
        self.registers, self.out = {}, Counts()
        self.out.params = [name for name, (_, way) in self.params.items() if way != "scratch"]
        self.names, self.seen = {}, set()

    def loop(self, line):
        """The times that what is inside runs for each time that the loop does."""
        m = FOR.match(line)
        lo, hi = value(m[2], self.names), value(m[3], self.names)
        lo, hi = lo or 0, (lo or 0) + 1 if hi is None else hi
        self.names[m[1]] = (lo + hi) // 2
        if m[5] == "unit":
            return 1
        trips = max(0, -(-(hi - lo) // int(m[4] or 1)))
        if m[5] == "thread":
            self.out.threads = max(self.out.threads, trips)
        return trips

    def add(self, table, key, n):
        table[key] = table.get(key, 0) + n

    def memory(self, text, times, table):
        """Elements of the kernel's parameters that are named; the same one is loaded once."""
        for m in READ.finditer(text):
            kind, way = self.params.get(m[1], ("", "scratch"))
            whole = text[m.start():bracketed(text, m.end())]
            if way == "scratch" or (whole, times) in self.seen:
                continue
            self.seen.add((whole, times))
            self.add(table, m[1], times * BYTES.get(kind, 4))

    def copied(self, line, times):
        """copy N to = from ...; tma_copy to = X[.. box N, .. box M] on ..."""
        name = READ.search(line.split(" = ", 1)[1])
        kind = self.params.get(name[1], ("f32", ""))[0] if name else "f32"
        boxes = [int(n) for n in re.findall(r" box (\d+)", line)]
        n = int(line.split()[1]) if line.startswith("copy") else 1
        for box in boxes:
            n *= box
        if name:
            self.add(self.out.read, name[1], times * n * BYTES.get(kind, 4))

    def multiplied(self, line, times):
        words = line.replace(",", " ").split()
        if words[0] == "wgmma":
            shape, threads = self.registers.get(words[2], ((1,), 128))
            sums = threads
            for n in shape:
                sums *= n
            cell = 4 if words[1] == "tf32" else 2
            self.add(self.out.kinds, "wgmma " + words[1], times * sums * (LINE_BYTES // cell))
        else:
            self.add(self.out.kinds, "mma " + words[1],
                     times * self.out.threads // 32 * WARP_PRODUCTS[words[1]])

    def statement(self, line, times):
        if line.startswith("reg "):
            m = REG.match(line)
            shape = tuple(value(n, {}) or 1 for n in m[2].split(",") if n.strip())
            self.registers[m[1]] = (shape, int(m[4] or 1))
            self.out.threads = max(self.out.threads, int(m[4] or 0))
        elif line.startswith(("copy ", "tma_copy ")):
            self.copied(line, times)
        elif line.startswith(("mma ", "wgmma ")):
            self.multiplied(line, times)
        elif " = " in line:
            to, of = line.split(" = ", 1)
            self.memory(of, times, self.out.read)
            if "fma(" in of:
                self.add(self.out.kinds, "f32", times * of.count("fma("))
            elif re.match(re.escape(to) + r" \+ .*\*", of):
                self.add(self.out.kinds, "f32", times)
            self.memory(to, times, self.out.written)


def count(text):
    """Counts of the kernel in this text, from its line "kernel ..." on."""
    lines = text.splitlines()
    reader, stack = Reader(lines[0]), [(-1, 1)]  # how far a loop is to the right, times
    for line in lines[1:]:
        depth, body = len(line) - len(line.lstrip()), line.strip()
        while depth <= stack[-1][0]:
            stack.pop()
        if body.startswith("for "):
            reader.seen = set()
            stack.append((depth, stack[-1][1] * reader.loop(body)))
        elif body:
            reader.statement(body, stack[-1][1])
    return reader.out


def read(text):
    """symbol -> Counts, of all that `neoc explain --kernels` prints."""
    found = {}
    for part in re.split(r"^# ", text, flags=re.M)[1:]:
        symbol, rest = part.split("\n", 1)
        found[symbol.strip()] = count(rest[rest.index("kernel "):])
    return found
