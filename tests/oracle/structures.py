"""Chains, trees and lattices as graphs in neo's form: for each vertex the vertices of its children,
which stand before it, or -1; and the same vertices by levels. Needs numpy alone.
"""
import collections
import re

import numpy as np

# Features of vertices are arrays by name, such as "word" or "label"; features of graphs,
# as "root", too. `child` is [vertices, places].
Graph = collections.namedtuple("Graph", "child vertex", defaults=({},))


def joined(graphs, roots=False):
    """One graph of several, behind each other. "root": the last vertex of each."""
    sizes = [len(g.child) for g in graphs]
    starts = np.cumsum([0, *sizes])
    child = np.concatenate([np.where(g.child < 0, -1, g.child + s)
                            for g, s in zip(graphs, starts)]).astype(np.int32)
    vertex = {k: np.concatenate([g.vertex[k] for g in graphs]) for k in graphs[0].vertex}
    if roots:
        vertex["root"] = (starts[1:] - 1).astype(np.int32)
    return Graph(child, vertex)


# ---- the treebank: (LABEL WORD) or (LABEL TREE TREE), a tree a line


def read_tree(text):
    """Children, labels, and the word of each vertex or None."""
    child, label, word, open_ones = [], [], [], []
    for m in re.finditer(r"\(\s*(\d+)|(\))|([^ \t\r\n()]+)", text):
        if m[1]:
            open_ones.append((int(m[1]), [], []))
        elif m[3]:
            open_ones[-1][2].append(m[3])
        else:
            at, below, words = open_ones.pop()
            if len(below) + len(words) == 0 or (below and words) or len(words) > 1:
                raise ValueError("a vertex has either trees or one word: " + text[:60])
            if open_ones:
                open_ones[-1][1].append(len(child))
            child.append(below)
            label.append(at)
            word.append(words[0] if words else None)
    if open_ones or not child:
        raise ValueError("brackets that do not match: " + text[:60])
    return child, label, word


def read_trees(path):
    with open(path, encoding="utf-8") as f:
        return [read_tree(line) for line in f if line.strip()]


def vocabulary(trees):
    """Words by their number, from 1 on; 0 is for others."""
    words = {}
    for _, _, word in trees:
        for w in word:
            if w is not None:
                words.setdefault(w, 1 + len(words))
    return words


def tree_graph(tree, words, places=2):
    child, label, word = tree
    c = np.full((len(child), places), -1, np.int32)
    for v, below in enumerate(child):
        c[v, :len(below)] = below
    numbers = [-1 if w is None else words.get(w, 0) for w in word]
    return Graph(c, dict(word=np.array(numbers, np.int32), label=np.array(label, np.int32)))


# ---- lattices of words over characters


def read_lattices(path, arcs=4):
    """How many; then of each its length, the tags of its vertices, and a line for each vertex: the number
    of arcs that end there, and of each where it begins and what it reads. The first arc, if there is
    one, is the character behind the vertex before."""
    with open(path) as f:
        lines = (line.split() for line in f)
        count = int(next(lines)[0])
        return [read_lattice(lines, arcs) for _ in range(count)]


def read_lattice(lines, arcs):
    n = next(int(line[0]) for line in lines if line)
    tags = np.array(next(lines), np.int32)
    child = np.full((n, 1 + arcs), -1, np.int32)
    char, word = np.full(n, -1, np.int32), np.full((n, arcs), -1, np.int32)
    for v in range(n):
        numbers = [int(x) for x in next(lines)]
        ends = list(zip(numbers[1::2], numbers[2::2]))
        for k, (origin, what) in enumerate(ends[:1 + arcs]):
            child[v, k] = origin
            if k:
                word[v, k - 1] = what
            else:
                char[v] = what
    return Graph(child, dict(char=char, word=word, tag=tags))


# ---- others


def chain(length, **vertex):
    return Graph(np.arange(-1, length - 1, dtype=np.int32)[:, None], vertex)


def random_tree(rng, leaves, words, labels=5):
    """A tree of 1 to `leaves` leaves, neighbours of which are joined at random."""
    n = int(rng.integers(1, leaves + 1))
    child, waiting = [[-1, -1]] * n, list(range(n))
    while len(waiting) > 1:
        k = int(rng.integers(len(waiting) - 1))
        child.append(waiting[k:k + 2])
        waiting[k:k + 2] = [len(child) - 1]
    word = np.full(len(child), -1, np.int32)
    word[:n] = rng.integers(words, size=n)
    label = rng.integers(labels, size=len(child)).astype(np.int32)
    return Graph(np.array(child, np.int32), dict(word=word, label=label))


def complete_tree(leaves):
    """A binary tree in which all leaves are as deep, or one level apart; "leaf" counts them."""
    child, waiting = [], collections.deque()
    for _ in range(leaves):
        waiting.append(len(child))
        child.append([-1, -1])
    while len(waiting) > 1:
        pair = [waiting.popleft(), waiting.popleft()]
        waiting.append(len(child))
        child.append(pair)
    leaf = [k if k < leaves else -1 for k in range(len(child))]
    return Graph(np.array(child, np.int32), dict(leaf=np.array(leaf, np.int32)))


# ---- levels


def depths(child):
    """The distance of each vertex of a forest from its root."""
    depth = np.zeros(len(child), np.int64)
    for v in range(len(child) - 1, -1, -1):
        for c in child[v]:
            if c >= 0:
                depth[c] = depth[v] + 1
    return depth
