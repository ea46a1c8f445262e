#!/usr/bin/env python3
"""Writes a small treebank: treebank.py FILE TREES SEED [WORDS]. Words are good or bad in some degree, or turn what
follows around; the label of a branch follows from its children, so a tree cell can learn it and a bag of words
cannot. WORDS: so many words more that mean nothing and occur seldom."""
import random
import sys

path, trees, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
more = int(sys.argv[4]) if len(sys.argv) > 4 else 0
rng = random.Random(seed)
PLAIN = {0: ["awful", "worst"], 1: ["weak", "dull"], 2: ["film", "the", "it"], 3: ["nice", "good"], 4: ["superb", "best"]}


def leaf(label):
    if label == 2 and more and rng.random() < 0.2:
        return label, f"(2 rare{rng.randrange(more)})"
    return label, f"({label} {rng.choice(PLAIN[label])})"


def tree(depth):
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng.choice((0, 1, 2, 2, 3, 4)))
    if rng.random() < 0.25:
        label, text = tree(depth - 1)
        return 4 - label, f"({4 - label} (2 not) {text})"
    (a, x), (b, y) = tree(depth - 1), tree(depth - 1)
    label = a if abs(a - 2) >= abs(b - 2) else b
    return label, f"({label} {x} {y})"


with open(path, "w", encoding="utf-8") as f:
    for k in range(trees):
        f.write(tree(1 + k % 5)[1] + "\n")
