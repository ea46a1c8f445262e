"""Sources of programs: drawn ones (tests/relations), files, examples of the manual, programs of tests/pairs."""

import glob
import json
import os
import random
import re

import numpy as np

from evaluator import compare as described
from relations import draw, options, rewrites
from relations.model import Model
from relations.printer import text_of
from relations.syntax import Call, Define, Output, Repeat, names_in, nodes, parse

from .task import Case

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
_NUMPY = {"bool": np.bool_, "i64": np.int64, "i32": np.int64, "i8": np.int64, "u8": np.int64}


def jobs(a):
    """The cases to examine: (a function that makes the case of a seed, its arguments, seed)."""
    low, high = map(int, a.seeds.split(".."))
    found = [("file", f) for f in a.models]
    found += [("zoo", f) for f in sorted(glob.glob(os.path.join(ROOT, "tests/zoo/expected/*.txt")))
              if a.zoo and (a.zoo == "all" or os.path.basename(f)[:-4] in a.zoo.split(","))]
    found += [("example", k) for k in range(len(examples()))] if a.examples else []
    if a.programs:
        with open(a.programs, encoding="utf-8") as file:
            return [("program", line, json.loads(line)["seed"]) for line in file]
    return [(*f, s) for f in found or [("drawn",)] for s in range(low, high)]


def label(job):
    kind, *more = job
    name = {"drawn": lambda: "", "program": lambda: "program", "file": lambda: more[0],
            "zoo": lambda: os.path.basename(more[0])[:-4], "example": lambda: f"example {more[0]}"}[kind]()
    return f"{name} seed {job[-1]}".strip()


def case(job, neoc, floats):
    """The case of a job, or None."""
    kind, *arguments = job
    return {"drawn": drawn, "file": file, "zoo": zoo, "example": example, "program": paired}[kind](neoc, floats, *arguments)


def chosen(seed, share):
    return random.Random(seed ^ 0xD1FF).random() < share


def modes(arguments, seed):
    """Options of neoc's runs, by name; the first always is the interpreter."""
    r = random.Random(seed ^ 0xD0A1)
    found = {"interp": ["--interp"]}
    if r.random() < arguments.compiled:
        found["code"] = []
    if r.random() < arguments.options:
        chosen = r.choice(options.TABLE)[1](r)
        found[" ".join(chosen)] = ["--interp", *chosen]
    return found


# ---- drawn programs


def drawn(neoc, floats, seed):
    program = draw.program(seed)
    if program is None or program.special:
        return None
    r = random.Random(seed ^ 0x6AAD)
    if r.random() < 0.6 or _of_loops(program):
        program = ungraded(program)
    if floats == "f64" or floats == "mixed" and r.random() < 0.7:
        program = wide(program) or program
    values = {n: np.asarray(v).reshape(shape) for n, (v, shape) in program.values.items()}
    return Case(program.text, values, program.sizes, program.floats)


def _of_loops(program):
    """Whether it asks for gradients with respect to what loops give."""
    statements = parse(program.text)
    given = {n for s in statements if isinstance(s, Define) and isinstance(s.value, Repeat) for n in [s.target.name, *s.more]}
    return any(names_in([a for _, a in n.args[1:]]) & given for n in nodes(statements)
               if isinstance(n, Call) and n.path == ("grad",))


def wide(program):
    """The program in f64, or None."""
    if program.floats == "f64":
        return program
    m = Model(program, 0)
    if not rewrites.other_floats(m):
        return None
    return draw.Program(m.text(), m.values, m.sizes, "f64", program.special, program.seed)


def ungraded(program):
    """The program without gradients of its own, and what is made of them: then second derivatives are of it itself."""
    statements, gone = [], set()
    for s in parse(program.text):
        graded = isinstance(s, Define) and any(isinstance(n, Call) and n.path == ("grad",) for n in nodes(s))
        if graded or isinstance(s, Define) and names_in(s.value) & gone:
            gone |= {s.target.name, *s.more}
            continue
        if isinstance(s, Output):
            s.paths = [p for p in s.paths if p[0] not in gone]
        if not isinstance(s, Output) or s.paths:
            statements.append(s)
    return draw.Program(text_of(statements), program.values, program.sizes, program.floats, program.special, program.seed)


# ---- files


def remarks(text):
    """Sizes and values that a model asks for in lines such as `# size E=0` and `# value x=[1,nan]`."""
    sizes, values = {}, {}
    for line in text.split("\n"):
        name, _, value = line[8:].strip().partition("=")
        if line.startswith("# size "):
            sizes[name.strip()] = int(value)
        elif line.startswith("# value "):
            values[name] = eval(value, {"__builtins__": {}}, {"inf": np.inf, "nan": np.nan, "true": True, "false": False})
    return sizes, values


def file(neoc, floats, path, seed, defines=None, sizes=None):
    """A model at small sizes, with values from a seed."""
    with open(path, encoding="utf-8") as f:
        return described_case(neoc, path, f.read(), seed, defines or {}, sizes or {})


def described_case(neoc, path, text, seed, defines, sizes):
    folder = os.path.dirname(os.path.abspath(path))
    info = described.describe(neoc, path, [f"-D{n}={v}" for n, v in defines.items()])
    asked, given = remarks(text)
    sizes = described.sizes_of(info, {**asked, **sizes})
    values = described.values(info, sizes, seed)
    kinds = {t["name"]: t["type"] for t in info["tensors"]}
    values.update({n: np.asarray(v).astype(_NUMPY.get(kinds[n], np.float64)) for n, v in given.items()})
    roles = {t["name"]: t["role"] for t in info["tensors"]}
    values = {n: v for n, v in values.items() if roles[n] != "setting" and not n.endswith(".step")}
    sizes = {n: v for n, v in sizes.items() if re.fullmatch(r"[\w.]+", n)}
    floats = next((k for k in ("f16", "bf16", "f32") if k in kinds.values()), "f64")
    return Case(text, values, sizes, floats, folder, defines)


def zoo(neoc, floats, case_file, seed):
    """A model of the zoo at the sizes of its case."""
    words = [line.split() for line in open(case_file, encoding="utf-8")]
    model = next(w[1] for w in words if w and w[0] == "model")
    defines = {w[1]: int(w[2]) for w in words if w and w[0] == "define"}
    sizes = {w[1]: int(w[2]) for w in words if w and w[0] == "size"}
    return file(neoc, floats, os.path.join(ROOT, "models/zoo", f"{model}.expr"), seed, defines, sizes)


def examples():
    """The complete models of docs/language.md."""
    found, block = [], None
    for line in open(os.path.join(ROOT, "docs/language.md"), encoding="utf-8"):
        if line.startswith("```"):
            if block is not None:
                found.append("".join(block))
            block = [] if line.strip() == "```expr" and block is None else None
        elif block is not None:
            block.append(line)
    return found


def example(neoc, floats, k, seed):
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"example-{os.getpid()}.expr")
    with open(path, "w", encoding="utf-8") as f:
        f.write(examples()[k])
    try:
        return file(neoc, floats, path, seed)
    finally:
        os.remove(path)


# ---- programs of tests/pairs


def paired(neoc, floats, line, seed):
    """A line that test_pairs_random --json writes."""
    program = json.loads(line)
    values, found = {}, "f64"
    for x in program["inputs"]:
        values[x["name"]] = np.array(x["data"], dtype=_NUMPY.get(x["type"], np.float64)).reshape(x["shape"])
        found = x["type"] if x["type"] in ("f16", "bf16") or found == "f64" and x["type"] == "f32" else found
    return Case(program["text"], values, program["sizes"], found)
