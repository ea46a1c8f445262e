"""Batches of the rows of dynamic.py, as sizes and arrays by the names of the models' inputs. Trees,
sentences and lattices are those of files below $NEO_DATA (../shared/data); where they are not there,
a row is missing."""
import collections
import functools
import importlib
import os
import re
import sys

from measure.build import ROOT
from measure.process import Missing

DATA = os.environ.get("NEO_DATA") or os.path.join(ROOT, os.pardir, "shared", "data")


def needed(module):
    """numpy, or what needs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Missing(f"skipped: no numpy in {sys.executable}") from None


def path(*names):
    found = os.path.join(DATA, *names)
    if not os.path.exists(found):
        raise Missing(f"skipped: {found} is not there")
    return found


def batches_of(graphs, batch, roots=True):
    structures = needed("structures")
    for k in range(0, len(graphs), batch):
        g = structures.joined(graphs[k:k + batch], roots)
        yield {"G.vertices": len(g.child)}, {"G.child": g.child, **g.vertex}


# ---- trees


@functools.cache
def treebank():
    structures = needed("structures")
    trees = structures.read_trees(path("sst", "train.txt"))
    return trees, structures.vocabulary(trees)


def sst_words():
    """The number of the treebank's words, and one for all other words."""
    return 1 + len(treebank()[1])


def sst(batch, count):
    """The first `count` trees."""
    structures = needed("structures")
    trees, words = treebank()
    return list(batches_of([structures.tree_graph(t, words) for t in trees[:count]], batch))


def random(batch, count, words=20000):
    """Binary trees of 1 to 40 leaves that were joined at random."""
    structures, np = needed("structures"), needed("numpy")
    rng = np.random.default_rng(1)
    return list(batches_of([structures.random_tree(rng, 40, words) for _ in range(count)], batch))


def complete(leaves, batch, hidden, count=2, kinds=0):
    """Complete trees, whose leaves have random vectors, and whose vertices are of so many kinds."""
    structures = needed("structures")
    np = needed("numpy")
    rng, tree, found = np.random.default_rng(1), structures.complete_tree(leaves), []
    for _ in range(count):
        g = structures.joined([tree] * batch, True)
        rows = np.flatnonzero(g.vertex["leaf"] >= 0)
        leaf = np.full(len(g.child), -1, np.int32)
        leaf[rows] = np.arange(len(rows))
        x = rng.uniform(-1, 1, (len(rows), hidden)).astype(np.float32)
        label = rng.integers(0, 2, batch).astype(np.int32)
        found.append(({"G.vertices": len(g.child), "LEAVES": len(rows), "TREES": batch},
                      {"G.child": g.child, "leaf": leaf, "root": g.vertex["root"], "X": x,
                       "label": label}))
        if kinds:
            found[-1][1]["kind"] = rng.integers(0, kinds, len(g.child)).astype(np.int32)
    return found


def listed(leaves, batch, hidden, places, count=2):
    """Complete trees whose children stand in so many places, and in lists."""
    structures = needed("structures")
    np = needed("numpy")
    rng, found = np.random.default_rng(1), []
    for _ in range(count):
        child = structures.joined([structures.complete_tree(leaves)] * batch).child
        n, has = len(child), child >= 0
        table = np.full((n, places), -1, np.int32)
        table[:, :child.shape[1]] = child
        begin = np.cumsum([0, *has.sum(1)]).astype(np.int32)
        found.append(({"G.vertices": n, "G.own.edges": int(begin[-1])},
                      {"G.child": table, "G.own.begin": begin, "G.own.child": child[has],
                       "x": rng.uniform(-1, 1, (n, hidden)).astype(np.float32),
                       "label": rng.integers(0, 2, n).astype(np.int32)}))
    return found


def typed(leaves, batch, hidden, types, count=2):
    """Complete trees whose edges have types, in lists, and as a graph in which each edge is a vertex before its parent."""
    structures = needed("structures")
    np = needed("numpy")
    rng, found = np.random.default_rng(1), []
    for _ in range(count):
        table = structures.joined([structures.complete_tree(leaves)] * batch).child
        n, has = len(table), table >= 0
        begin, child = np.cumsum([0, *has.sum(1)]), table[has]
        owner = np.repeat(np.arange(n), has.sum(1))
        kind = rng.integers(0, types, len(child)).astype(np.int32)
        edge, row = np.arange(len(child)) + owner, np.arange(n) + begin[1:]
        of, at = np.zeros(n + len(child), np.int32), np.zeros(n + len(child), np.int32)
        of[edge], at[edge], at[row] = kind + 1, owner, np.arange(n)
        below = [None]*len(of)
        for e, r in enumerate(edge):
            below[r] = [row[child[e]]]
        for v, r in enumerate(row):
            below[r] = list(edge[begin[v]:begin[v + 1]])
        ends = np.cumsum([0, *map(len, below)]).astype(np.int32)
        found.append(({"G.vertices": n, "G.edges": len(child), "H.vertices": len(of),
                       "H.edges": int(ends[-1])},
                      {"G.begin": begin.astype(np.int32), "G.child": child.astype(np.int32),
                       "H.begin": ends, "H.child": np.concatenate(below).astype(np.int32),
                       "kind": kind, "of": of, "vertex_of": at, "row_of": row.astype(np.int32),
                       "x": rng.uniform(-1, 1, (n, hidden)).astype(np.float32),
                       "label": rng.integers(0, 2, n).astype(np.int32)}))
    return found


def edges(vertices, edges, given, wanted, count=2):
    """Edges between vertices at random, with features that are given and wanted of each vertex."""
    np = needed("numpy")
    rng, found = np.random.default_rng(1), []
    for _ in range(count):
        ends = rng.integers(0, vertices, (2, edges)).astype(np.int32)
        x, target = (rng.uniform(-1, 1, (vertices, n)).astype(np.float32) for n in (given, wanted))
        found.append(({"V": vertices, "M": edges},
                      {"src": ends[0], "dst": ends[1], "x": x, "target": target}))
    return found


# ---- sentences


@functools.cache
def book(words):
    """Sentences of a book, as numbers of its most frequent words; 0 is for the others."""
    with open(path("text", "warandpeace.txt"), encoding="utf-8", errors="replace") as f:
        sentences = [re.findall(r"\w+|[^\w\s]", s) for s in re.split(r"(?<=[.!?])\s+", f.read())]
    often = collections.Counter(w for s in sentences for w in s).most_common(words - 1)
    number = {w: 1 + k for k, (w, _) in enumerate(often)}
    return [[number.get(w, 0) for w in s] for s in sentences]


def chains(sentences, batch):
    """Each word but the last, and the one behind it."""
    structures = needed("structures")
    np = needed("numpy")
    graphs = [structures.chain(len(s) - 1, word=np.array(s[:-1], np.int32),
                               after=np.array(s[1:], np.int32)) for s in sentences]
    return list(batches_of(graphs, batch, roots=False))


def sentences(words, batch, count, least=5, most=80):
    """Whole ones, of 5 to 80 words."""
    chosen = [s for s in book(words) if least < len(s) <= most + 1]
    return chains(chosen[:batch * count], batch)


def pieces(words, batch, count, length=64):
    """Pieces of the text, all as long."""
    text = [w for s in book(words) for w in s]
    return chains([text[k * length:(k + 1) * length + 1] for k in range(batch * count)], batch)


MAKERS = dict(sst=sst, random=random, complete=complete, listed=listed, typed=typed, edges=edges,
              sentences=sentences, pieces=pieces)


def make(workload, file):
    """Writes the batches of a workload, (maker, arguments...)."""
    batches = needed("rows.batches")
    maker, *arguments = workload
    batches.write(file, MAKERS[maker](*arguments))


def vertices(file):
    """The number of vertices of all batches in a file of batches."""
    with open(file, "rb") as f:
        lines = iter(f.readline, b"end\n")
        return sum(int(line.split()[2]) for line in lines if line.startswith(b"size G.vertices "))
