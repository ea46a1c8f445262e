"""tools/bench gpu --static: what the rows' kernels are made of and what bounds them, without a GPU.

Of each row a library is compiled, its record says what a call launches, a disassembly what that
executes, loop IR how often (bounds.py). All of it is kept in BUILD/gpu-static by what it comes
from, so that a second run compiles only what changed. nvdisasm is looked for in PATH and in
$NEO_NVDISASM; it comes with the CUDA toolkit, and as the package nvidia-cuda-nvdisasm of PyPI.
"""
import collections
import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

from gpu import bounds, looptext, prepare, sass
from measure.build import ROOT, Builder
from measure.process import Missing, run
from rows.gpu import PARTS

COMPILE_S = 1800
MANY = 0.5  # a row whose first kernel takes less of the kernels' time has others told of


def tool(name):
    found = os.environ.get("NEO_" + name.upper()) or shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed: it is in CUDA's toolkit (NEO_{name.upper()} names one)")
    return found


def version(name):
    text = run([tool(name), "--version"])
    return (re.search(r"release ([\d.]+)", text) or ["", "?"])[1]


# ---- what is compiled, and kept


class Store:

    def __init__(self, build, target):
        if not os.path.exists(os.path.join(build, "bin", "neoc")):
            raise Missing(f"{build}/bin/neoc is missing: build the release preset first")
        self.folder = os.path.join(build, "gpu-static")
        os.makedirs(self.folder, exist_ok=True)
        self.builder = Builder(build, self.folder, 0)
        self.target, self.nvdisasm = target, tool("nvdisasm")
        tool("ptxas")
        self.base = hashlib.sha256((self.builder.identity() + target + version("ptxas") +
                                    models_hash()).encode())

    def arguments(self, row):
        return [os.path.join(ROOT, row.model), "--prefix=net", "--target=" + prepare.target_of(row, self.target),
                *row.flags()]

    def files(self, row):
        """The folder with cubin, record.json and explain.txt of the row's library and entry."""
        key = self.base.copy()
        key.update(repr((self.arguments(row), row.entries)).encode())
        folder = os.path.join(self.folder, key.hexdigest()[:16])
        if not os.path.exists(os.path.join(folder, "record.json")):
            self.make(row, folder)
        return folder

    def make(self, row, folder):
        os.makedirs(folder, exist_ok=True)
        neoc, program = self.builder.neoc, self.builder.program("sides/kernels")
        run([neoc, "compile", "-q", *self.arguments(row), "--emit=so", "-o", folder], timeout=COMPILE_S)
        library = os.path.join(folder, "libnet.so")
        with open(os.path.join(folder, "explain.txt"), "w") as f:
            f.write(run([neoc, "explain", *self.arguments(row), "--groups", "--schedule", "--kernels"],
                        timeout=COMPILE_S))
        record = run([program, library, "net", row.entries, os.path.join(folder, "cubin")])
        os.remove(library)
        with open(os.path.join(folder, "record.json"), "w") as f:
            f.write(record)

    def disassembly(self, folder):
        return run([self.nvdisasm, os.path.join(folder, "cubin")]).splitlines()


def models_hash():
    """The hash of all texts that a row's model may import."""
    sha = hashlib.sha256()
    for top in ("models", os.path.join("tools", "benchmarks", "models")):
        for path, _, names in sorted(os.walk(os.path.join(ROOT, top))):
            for name in sorted(names):
                if name.endswith(".expr"):
                    with open(os.path.join(path, name), "rb") as f:
                        sha.update(f.read())
    return sha.hexdigest()


# ---- what a call launches


def schedules(text):
    """Number of a kernel -> its schedule's parameters."""
    kernels = [int(k) for k in re.findall(r"^group \d+ \S+: kernel (\d+),", text, re.M)]
    found = re.findall(r"^\S+: ([a-z_]+(?: \w+=-?\d+)*)$", text, re.M)
    return {k: {name: int(n) for name, n in re.findall(r"(\w+)=(-?\d+)", line)}
            for k, line in zip(kernels, found)}


def traffic(step, counts, blocks):
    """Bytes from memory to multiprocessors and back, and those of each tensor once. A block reads what
    it needs often from its own cache."""
    moved, once = [0, 0], collections.Counter()
    names = counts.params if len(counts.params) == len(step["args"]) else [None] * len(step["args"])
    for name, (whole, size, written) in zip(names, step["args"]):
        for table, is_written in ((counts.read, 0), (counts.written, 1)):
            bytes_of = step["units"] * table.get(name, 0) if name else size * (is_written == written)
            moved[is_written] += min(bytes_of, blocks * size)
            key = (whole or name, is_written)
            once[key] = max(once[key], min(bytes_of, size))
    return *moved, sum(once.values())


def launch_of(step, code, registers, counted, schedule):
    units, symbol = step["units"], step["symbol"]
    blocks = max(1, -(-units // max(1, step["block_units"])))
    counts = counted.get(symbol, looptext.Counts())
    loaded, stored, least = traffic(step, counts, blocks)
    return bounds.Launch(
        symbol, blocks, step["threads"], step["shared"], registers.get(symbol, 32), code[symbol],
        schedule.get(int(re.search(r"_k(\d+)_", symbol)[1]), {}), units * counts.products(),
        {kind: n * units for kind, n in counts.kinds.items()}, loaded, loaded + stored, least)


@dataclasses.dataclass
class Call:
    """The launches of one call of a row's entry."""
    launches: list  # of kernels, also those of grids
    nodes: int  # what the driver launches: kernels, grids, copies
    levels: int  # so many of them wait for one another
    waits_s: float  # of grids, between their phases

    def launched_s(self):
        return (self.waits_s + self.levels * bounds.LAUNCH_S +
                (self.nodes - self.levels) * bounds.BESIDE_S)

    def seconds(self):
        return sum(bounds.expected(x)[0] for x in self.launches) + self.launched_s()

    def roof(self):
        return sum(bounds.roof(x) for x in self.launches)

    def kernels(self):
        """The kernels, the most expensive first, with all launches of each: (the longest, share
        of all kernels' time, how many)."""
        total, of = collections.Counter(), collections.defaultdict(list)
        for x in self.launches:
            total[x.symbol] += bounds.expected(x)[0]
            of[x.symbol].append(x)
        every = sum(total.values())
        return [(max(of[symbol], key=lambda x: bounds.expected(x)[0]), t / every, len(of[symbol]))
                for symbol, t in total.most_common()]


def read_call(store, row):
    folder = store.files(row)
    with open(os.path.join(folder, "explain.txt")) as f:
        text = f.read()
    with open(os.path.join(folder, "record.json")) as f:
        record = json.load(f)
    lines = store.disassembly(folder)
    code, registers = sass.read(lines), sass.registers(lines)
    counted, schedule = looptext.read(text), schedules(text)
    steps = record["steps"]
    inside = {i for g in record["grids"] for i in range(g["first"], g["first"] + g["n"])}
    kept = all(s["keep"] for s in steps if "symbol" in s)  # all is made of parameters, once
    called = [s for s in steps if kept or not s["keep"]]
    launches = [launch_of(s, code, registers, counted, schedule) for s in called if "symbol" in s]
    nodes = sum(i not in inside and s in called for i, s in enumerate(steps)) + len(record["grids"])
    waits = sum(g["phases"] - 1 for g in record["grids"]) * bounds.BARRIER_S
    chain = re.search(rf"^{row.entries}: \d+ steps, (\d+) of them one after", text, re.M)
    return Call(launches, nodes, min(nodes, int(chain[1]) if chain else nodes), waits)


# ---- the table


def row_roof(row, call):
    """The least seconds of the row's work by its bytes or operations; if unknown, of its kernels."""
    if row.bytes:
        return row.bytes / bounds.DRAM
    flop = re.match(r"([\d.e+]+) GFLOP", row.unit)
    if flop:
        math = next((o.split("=")[1] for o in row.options if o.startswith("--math=")), "f32")
        kind = math if math != "f32" else row.arguments.get("torch", {}).get("kind", math)
        return float(flop[1]) * 1e9 / bounds.PEAK[kind]
    return call.roof()


def way_of(x):
    """How the kernel works, in a few words."""
    p = x.schedule
    made = {1: "warps", 2: "warpgroups"}.get(p.get("products", 0))
    if p.get("block_m", 0) > 1:
        words = [f"{p['block_m']}x{p['block_n']}x{p['block_k']}", made or "threads"]
        words += [f"{p['stages']} stages"] if p.get("stages") else ["registers"]
        words += [name for name in ("tma", "producer", "persistent") if p.get(name)]
        return ", ".join(words)
    return made or ("points" if p.get("lanes", 0) > 1 else "plain")


def facts(row, call):
    most = call.kernels()
    x, share, times = most[0]
    n, loops = bounds.trips(x)
    body = x.code.body(max(loops, key=lambda l: sass.weight(x.code.body(l)))) if loops else x.code.code
    _, bound = bounds.expected(x)
    seconds, roof = call.seconds(), row_roof(row, call)
    return dict(
        name=row.name, part=row.part, launches=call.nodes, kernel=x.symbol[4:], times=times,
        share=share, way=way_of(x), bound=bound, expected_us=1e6 * seconds, roof_us=1e6 * roof,
        ratio=roof / seconds, launched=call.launched_s() / seconds,
        most=[(y.symbol[4:], n, part, way_of(y), bounds.expected(y)[1]) for y, part, n in most[:6]],
        kinds=sass.kinds(body), trips=round(n) if loops else 0,
        in_flight=bounds.in_flight(x), registers=x.registers, shared=x.shared,
        spills=sum(i.bytes() for k in {y.symbol: y for y in call.launches}.values()
                   for i in k.code.code if i.kind == "spill"),
        blocks=x.blocks, resident=bounds.resident(x),
        waves=x.blocks / (bounds.PROCESSORS * bounds.resident(x)),
        bounds_us={name: round(1e6 * t, 3) for name, t in bounds.bounds(x).items()},
        kernels=[dict(symbol=y.symbol, us=1e6 * bounds.expected(y)[0],
                      bound=bounds.expected(y)[1], registers=y.registers, blocks=y.blocks)
                 for y in call.launches])


def short(seconds_us):
    return f"{seconds_us:.1f}" if seconds_us < 100 else f"{seconds_us:.0f}"


def summary(f):
    times = f" x {f['times']}" if f["times"] > 1 else ""
    return (f"| {f['name']} | {f['launches']} | `{f['kernel']}`{times} | {f['share']:.0%} | {f['way']} | "
            f"{f['bound']} | {short(f['expected_us'])} | {short(f['roof_us'])} | {f['ratio']:.2f} |")


def detail(f):
    mix = ", ".join(f"{n} {kind}" for kind, n in f["kinds"].items())
    return (f"| {f['name']} | {f['trips'] or 'none'} | {mix} | {f['in_flight'] / 1024:.0f} | "
            f"{f['registers']} | {f['shared'] / 1024:.0f} | {f['spills']} | {f['blocks']} | "
            f"{f['resident']} | {f['waves']:.2f} |")


def spread(f):
    """The table's line of a row of many kernels, with the largest of them."""
    kernels = ", ".join(f"`{name}`{f' x {n}' if n > 1 else ''}: {share:.0%} ({way}; {bound})"
                        for name, n, share, way, bound in f["most"])
    return f"| {f['name']} | {f['launched']:.0%} | {kernels} |"


HEAD = """# GPU kernels, read without a GPU

Made by `tools/bench gpu --static FILE.md` on {date}: {compiler}, CUDA {cuda} (ptxas), {target}. Nothing
here was measured: what a call launches is in its library's record, what it executes in its machine code,
how often in the loop IR, and what bounds it follows from the rates of an H200 ({processors} multiprocessors,
{clock:.2f} GHz, 4.8 TB/s). docs/measuring.md says how it is counted; read it to see what a change does to
the instructions, not how long a call takes.

- *launches*: nodes of a call's graph; *kernel*: the one that takes most of the kernels' time, *share* of that;
- *bound*: the resource that is busy longest; *expected*: all kernels one after the other, and their launches;
- *roof*: the row's operations at the peak of their kind, or its bytes at the rate of memory, where the row says
  how many there are, else those of its kernels; *ratio*: roof over expected;
- *rounds* of the hottest loop in a block, and what a thread executes in one; *in flight*: KB on their way to a
  multiprocessor at once; *shared*: KB of a block; *spills*: bytes, of all the row's kernels; *resident*: blocks
  that a multiprocessor has room for; *waves*: blocks over all that the device has room for;
- where the time goes: *launches*, of all time; kernels, their launches together, of the kernels' time.
"""


def markdown(found, missing, head):
    out = [head]
    for part, name in PARTS.items():
        rows = [f for f in found if f["part"] == part]
        if not rows:
            continue
        out += [f"## {part} {name}\n", "| row | launches | kernel | share | how | bound | expected us | "
                "roof us | ratio |", "|---|---:|---|---:|---|---|---:|---:|---:|"]
        out += [summary(f) for f in rows]
        out += ["", f"### {part} {name}: the kernel's hottest loop\n",
                "| row | rounds | instructions of a round | in flight | registers | shared | spills | "
                "blocks | resident | waves |", "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"]
        out += [detail(f) for f in rows] + [""]
        many = [f for f in rows if f["share"] < MANY]
        if many:
            out += [f"### {part} {name}: where the time goes\n", "| row | launches | kernels |",
                    "|---|---:|---|", *(spread(f) for f in many), ""]
    out += [f"- {name}: {why}" for name, why in missing.items()]
    return "\n".join(out).rstrip() + "\n"


def main(o, rows, build):
    try:
        store = Store(build, o.target)
        compiler = run([store.builder.neoc, "--version"]).splitlines()[0]
        head = HEAD.format(date=time.strftime("%Y-%m-%d", time.gmtime()), compiler=compiler,
                           cuda=version("ptxas"), target=o.target, clock=bounds.CLOCK / 1e9,
                           processors=bounds.PROCESSORS)
    except Missing as why:
        print(f"bench: {why}")
        return 4
    found, missing = [], {}
    for row in rows:
        try:
            found.append(facts(row, read_call(store, row)))
            print(summary(found[-1]), flush=True)
        except (Missing, subprocess.TimeoutExpired) as why:
            missing[row.name] = str(why)
            print(f"{row.name}: {why}", flush=True)
    if o.static != "-":
        with open(o.static, "w") as f:
            f.write(markdown(found, missing, head))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(found, f, indent=1)
    return 1 if missing else 0
