"""Instances of the tasks of models/async, as sizes and arrays by the names of the models' inputs: what
is trained on, and what is tested. Images, sentences and molecules are those of files below $NEO_DATA
(../shared/data); where they are not there, a row is missing. Lists and deductions are generated.
"""
import functools
import gzip
import re
import struct

from measure.process import Missing
from rows import data

SEED = 1


def numpy():
    return data.needed("numpy")


# ---- digits


def idx(*names):
    """The first of these files below $NEO_DATA/mnist that is there, in the form IDX."""
    np = numpy()
    for k, name in enumerate(names):
        try:
            with gzip.open(data.path("mnist", name)) as f:
                content = f.read()
            break
        except Missing:
            if k == len(names) - 1:
                raise
    shape = struct.unpack(">" + "I" * content[3], content[4:4 + 4 * content[3]])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def images(part, batch, count):
    np = numpy()
    names = dict(train=["train"], test=["t10k", "t10k-first3000"])[part]
    x, y = (idx(*(f"{name}-{kind}.gz" for name in names))
            for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    x, y = x[:count].reshape(-1, 784), y[:count]
    for k in range(0, len(x) - batch + 1, batch):
        yield {"B": batch}, {"X": x[k:k + batch].astype(np.float32) / 255,
                             "Y": y[k:k + batch].astype(np.int32)}


def mnist(batch=100, count=60000, tests=10000):
    return list(images("train", batch, count)), list(images("test", 100, tests)) if tests else []


# ---- lists


def reduced(kind, x):
    """Answers for digits x[n, t], by the token `kind`: rounded, then modulo 10."""
    np = numpy()
    value = [lambda: x.mean(1),
             lambda: x[:, 0::2].mean(1) - (x[:, 1::2].mean(1) if x.shape[1] > 1 else 0),
             lambda: x.max(1) - x.min(1),
             lambda: np.full(len(x), x.shape[1])][kind]()
    return (np.floor(value + 0.5).astype(np.int64) % 10).astype(np.int32)


def lists(rng, batch, count, longest=10):
    """Batches of lists of one length each; all lengths occur equally often."""
    np = numpy()
    found = []
    for k in range(count // batch):
        length = 1 + k % longest
        x = rng.integers(0, 10, (batch, length))
        kind = rng.integers(0, 4, batch)
        y = np.choose(kind, [reduced(j, x) for j in range(4)])
        tokens = np.concatenate([kind[:, None] + 10, x], 1)
        found.append(({"B": batch, "T": length + 1},
                      {"X": tokens.astype(np.int32), "Y": y.astype(np.int32)}))
    return found


def list_reduction(batch=100, count=100000, tests=10000):
    rng = numpy().random.default_rng(SEED)
    return lists(rng, batch, count), lists(rng, 100, tests)


# ---- deduction


def deduction_graph(rng, vertices, kinds):
    """Edges (from, to, type), the vertex asked about, the answer. The numbers of vertices say nothing."""
    name = rng.permutation(vertices)
    feared = [int(rng.choice([j for j in range(kinds) if j != k])) for k in range(kinds)]
    of = rng.integers(0, kinds, vertices)
    edges = []
    for k in range(vertices):
        to, kind = (feared[k], 1) if k < kinds else (of[k], 0)
        edges += [(name[k], name[to], kind), (name[to], name[k], kind + 2)]
    asked = int(rng.integers(kinds, vertices))
    return edges, name[asked], name[feared[of[asked]]]


def deductions(rng, batch, count, vertices=54, kinds=8):
    np = numpy()
    found = []
    for _ in range(count // batch):
        graphs = [deduction_graph(rng, vertices, kinds) for _ in range(batch)]
        edges = np.array([(u + m * vertices, v + m * vertices, t)
                          for m, (some, _, _) in enumerate(graphs) for u, v, t in some], np.int32)
        found.append(({"B": batch, "M": len(edges)},
                      {"from": edges[:, 0].copy(), "to": edges[:, 1].copy(),
                       "type": edges[:, 2].copy(),
                       "asked": np.array([g[1] for g in graphs], np.int32),
                       "Y": np.array([g[2] for g in graphs], np.int32)}))
    return found


def deduction(batch=20, count=2000, tests=1000):
    rng = numpy().random.default_rng(SEED)
    return deductions(rng, batch, count), deductions(rng, 20, tests)


# ---- trees


@functools.cache
def treebank(part, words_of="train"):
    structures = data.needed("structures")
    words = structures.vocabulary(structures.read_trees(data.path("sst", words_of + ".txt")))
    trees = structures.read_trees(data.path("sst", part + ".txt"))
    return [structures.tree_graph(t, words) for t in trees]


def sentiment(batch=1, count=8544, tests=2210):
    """Each tree an instance; the parts are those of the treebank."""
    if batch != 1:
        raise Missing("trees are sent one by one")
    train, test = treebank("train")[:count], treebank("test")[:tests]
    return ([next(iter(data.batches_of([t], 1, roots=False))) for t in part]
            for part in (train, test))


# ---- molecules


RADII = dict(H=0.31, C=0.76, N=0.71, O=0.66, F=0.57)  # covalent ones, in angstrom
KINDS = list(RADII)


def molecule(lines):
    """Kinds of atoms, bonds by distance with their type by length, and the dipole moment."""
    np = numpy()
    moment = float(re.search(r"\bmu=(\S+)", lines[0])[1])
    atoms = [line.split() for line in lines[1:]]
    kind = np.array([KINDS.index(a[0]) for a in atoms], np.int32)
    at = np.array([[float(v) for v in a[1:4]] for a in atoms])
    radius = np.array([RADII[a[0]] for a in atoms])
    share = np.linalg.norm(at[:, None] - at[None], axis=2) / (radius[:, None] + radius[None])
    u, v = np.nonzero((share < 1.15) & ~np.eye(len(atoms), dtype=bool))
    order = np.digitize(share[u, v], [0.86, 0.92, 0.97]).astype(np.int32)
    return kind, u.astype(np.int32), v.astype(np.int32), order, moment


def molecules():
    with open(data.path("qm9", "qm9_3000.xyz"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    at = 0
    while at < len(lines) and lines[at].strip():
        n = int(lines[at])
        yield molecule(lines[at + 1:at + 2 + n])
        at += 2 + n


def qm9(batch=1, count=2700, tests=300):
    """Moments in deviations from their mean."""
    np = numpy()
    if batch != 1:
        raise Missing("molecules are sent one by one")
    all_of = list(molecules())
    moment = np.array([m[4] for m in all_of])
    y = ((moment - moment.mean()) / moment.std()).astype(np.float32)
    found = [({"V": len(kind), "M": len(u)},
              {"kind": kind, "from": u, "to": v, "type": order, "Y": y[k:k + 1]})
             for k, (kind, u, v, order, _) in enumerate(all_of)]
    return found[:count], found[count:count + tests]


# ---- tagged sentences


def tagged():
    with open(data.path("wikiner", "wikiner-dev.txt"), encoding="utf-8") as f:
        return [[pair.rsplit("|", 1) for pair in line.split()] for line in f if line.strip()]


def wikiner(batch=1, count=1500, tests=196):
    np = numpy()
    if batch != 1:
        raise Missing("sentences are sent one by one")
    sentences = tagged()
    words, tags = {}, {}
    for s in sentences[:count]:
        for w, _ in s:
            words.setdefault(w, 1 + len(words))
    for s in sentences:
        for _, t in s:
            tags.setdefault(t, len(tags))
    found = [({"B": 1, "T": len(s)},
              {"X": np.array([[words.get(w, 0) for w, _ in s]], np.int32),
               "len": np.array([len(s)], np.int32),
               "Y": np.array([[tags[t] for _, t in s]], np.int32)})
             for s in sentences if len(s) <= 128]
    return found[:count], found[count:count + tests]


def hops(count=1):
    return [({}, {"X": numpy().ones((1, 4), "f4")})] * count, []


MAKERS = dict(hops=hops, mnist=mnist, list_reduction=list_reduction, deduction=deduction, sentiment=sentiment,
              qm9=qm9, wikiner=wikiner)


def make(task, options, train, test):
    """Writes both files of a task; how many tests there are."""
    batches = data.needed("rows.batches")
    trained, tested = MAKERS[task](**options)
    batches.write(train, trained)
    if tested:
        batches.write(test, tested)
    return len(tested)
