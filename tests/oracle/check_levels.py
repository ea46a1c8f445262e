#!/usr/bin/env python3
"""Batched by level (levels.py), losses and gradients are those of the networks vertex by vertex
(vertices.py), on random trees and chains in f64. Prints what differs; the exit code is then 1.

Needs PyTorch:  python3 tests/oracle/check_levels.py
"""
import sys

import levels
import numpy as np
import structures
import torch
import torch_ops
import vertices  # its networks
from networks import NETWORKS, Net

del vertices
torch.set_default_dtype(torch.float64)
RNG = np.random.default_rng(3)
TREES = dict(WORDS=11, CLASSES=5, E=6, D=4, CHILDREN=2)


class Given(Net):
    """A net whose inputs are given, and whose parameters are random."""

    def __init__(self, sizes, inputs):
        super().__init__(torch_ops, sizes)
        self.inputs, self.params = inputs, {}

    def param(self, name, shape, *_):
        if name not in self.params:
            self.params[name] = torch.from_numpy(RNG.normal(0, 0.5, shape)).requires_grad_(True)
        return self.params[name]

    def input(self, name, *_):
        return torch.from_numpy(self.inputs[name])

    def ints(self, name, *_):
        return torch.from_numpy(self.inputs[name]).long()

    ranged = ints


def trees(count=9):
    made = [structures.random_tree(RNG, 12, TREES["WORDS"]) for _ in range(count)]
    g = structures.joined(made, True)
    return TREES, {"G.child": g.child, **g.vertex}


def complete(count=3, leaves=7):
    g = structures.joined([structures.complete_tree(leaves)] * count, True)
    rows = np.flatnonzero(g.vertex["leaf"] >= 0)
    leaf = np.full(len(g.child), -1, np.int32)
    leaf[rows] = RNG.permutation(len(rows))
    sizes = dict(D=4, CLASSES=2, LEAVES=len(rows), TREES=count)
    return sizes, {"G.child": g.child, "root": g.vertex["root"], "leaf": leaf,
                   "X": RNG.normal(size=(len(rows), 4)), "label": RNG.integers(0, 2, count)}


def chains(lengths):
    words = [RNG.integers(TREES["WORDS"], size=n + 1) for n in lengths]
    g = structures.joined([structures.chain(len(w) - 1, word=w[:-1], after=w[1:]) for w in words])
    return TREES, {"G.child": g.child, **g.vertex}


CASES = {
    "tree_lstm": [trees(), trees(1)],
    "tree_lstm_sum": [trees(), trees(1)],
    "tree_fc": [complete(), complete(2, 8), complete(1, 1)],
    "chain_lstm": [chains([3, 1, 7, 7]), chains([5, 5, 5])],
}


def check(name, sizes, inputs):
    """Compares two implementations that split the parameters differently by gradients of the joined parameters."""
    slow = Given({**sizes, "G.vertices": len(inputs["G.child"])}, inputs)
    want = NETWORKS[name].run(slow)["loss"]
    fast = levels.NETWORKS[name]({k: v.detach() for k, v in slow.params.items()})
    fast.rules(0.1)  # an LSTM's parameters are then among the others
    got = fast.loss(fast.arrange(inputs))
    if abs(got - want) > 1e-12 * abs(want):
        print(f"{name}: the loss is {got.item()}, not {want.item()}")
        return False
    g = torch.autograd.grad(got, list(fast.p.values()), allow_unused=True)
    got_norm = sum(float(t.to_dense().pow(2).sum()) for t in g if t is not None) if g else 0
    w = torch.autograd.grad(want, list(slow.params.values()), allow_unused=True)
    want_norm = sum(float(t.pow(2).sum()) for t in w if t is not None)
    if abs(got_norm - want_norm) > 1e-10 * want_norm:
        print(f"{name}: the gradients' norm is {got_norm**0.5}, not {want_norm**0.5}")
    return abs(got_norm - want_norm) <= 1e-10 * want_norm


def main():
    return 0 if all([check(name, *case) for name, cases in CASES.items() for case in cases]) else 1


sys.exit(main())
