"""rand() and random initial values: docs/language.md, "Random numbers".

Every rand() has a number, its site: they are counted in the order of the text, anew for each call of a function and
each round. A block knows by its `key` which call, round or branch it is; `sites` walks the text of a program all of
whose blocks have been made.
"""

import numpy as np

from . import tape
from .errors import error
from .reads import children
from .tree import Bind, Call, Case, Declare, Define, Repeat, Train

COUNTS = {"uniform": 1, "glorot": 1, "normal": 2, "he": 2}
_LOW = np.uint64(0xFFFFFFFF)


def philox(key, counter):
    """The first word of Philox 4x32-10; counter: four arrays of uint64 that hold 32 bits each."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    half = np.uint64(32)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> half) ^ c1 ^ np.uint64(k0), b & _LOW, (a >> half) ^ c3 ^ np.uint64(k1), a & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0


def numbers(seed, step, call, site, element):
    """The numbers in [0, 1) of an array of elements."""
    element = np.asarray(element, np.uint64)
    word = [np.full(element.shape, n, np.uint64) for n in (step & 0xFFFFFFFF, site)]
    second = (element >> np.uint64(32)) ^ np.uint64((call << 8) & 0xFFFFFFFF)
    first = philox((seed & 0xFFFFFFFF, seed >> 32), (element & _LOW, second, word[0], word[1]))
    return (first >> np.uint64(8)).astype(np.float64) * 2.0 ** -24


def element(frame):
    """The row-major number of the indices of a frame, each counted from 0, or from a lower bound below it, up to
    its extent."""
    result = np.zeros((1,) * len(frame), np.int64)
    for k, axis in enumerate(frame.axes):
        low = min(axis.lower, 0)
        end = axis.lower + axis.count if axis.end is None else axis.end
        result = result * (end - low) + frame.grid(k) - low
    return result


def drawn(name, args, program, site, flat):
    """An initial value: the numbers of elements `flat` of a distribution."""
    def uniform(k):
        return numbers(program.seed, 0, 0, site + k, flat)
    if name in ("uniform", "glorot"):
        low, high = args if name == "uniform" else (-np.sqrt(6 / sum(args)), np.sqrt(6 / sum(args)))
        return low + (high - low) * uniform(0)
    mean, deviation = args if name == "normal" else (0.0, np.sqrt(2 / args[0]))
    return mean + deviation * np.sqrt(-2 * np.log1p(-uniform(0))) * np.cos(2 * np.pi * uniform(1))


def sites(program):
    """{(key of a block, id of a call): the number of its first site}."""
    walk = _Walk({b.key: b for b in program.blocks})
    walk.statements(program.main, program.statements)
    for s in program.statements:
        for _, value in s.args if isinstance(s, Train) else []:  # these come last
            walk.expression(program.main, value)
    return walk.found


class _Walk:
    def __init__(self, blocks):
        self.blocks = blocks
        self.found = {}
        self.next = 0

    def statements(self, block, statements):
        for s in statements:
            if isinstance(s, Declare):
                # Parameters of rounds are one tensor, which is counted in the first.
                if s.value is not None and not isinstance(s.value, list) and not any(k for k, _ in block.rounds):
                    self.expression(block, s.value)
            elif isinstance(s, Bind):
                for _, value in s.bindings:
                    self.expression(block, value)
            elif isinstance(s, Define):
                self.value(block, s)

    def value(self, block, s):
        if isinstance(s.value, Repeat):
            for _, value in s.value.carries:
                self.expression(block, value)
            k = 0
            while block.key + (id(s), k) in self.blocks:
                self.statements(self.blocks[block.key + (id(s), k)], s.value.body)
                k += 1
        elif isinstance(s.value, Case):
            branch = self.blocks.get(block.key + (id(s),))
            if branch:
                self.statements(branch, branch.text)
        else:
            self.expression(block, s.value)

    def expression(self, block, node):
        for child in children(node):
            self.expression(block, child)
        if isinstance(node, Call):
            inner = self.blocks.get(block.key + (id(node),))
            if inner:
                self.statements(inner, inner.text)
            elif node.path[-1] == "rand" or node.path[-1] in COUNTS:
                self.found[block.key, id(node)] = self.next
                self.next += COUNTS.get(node.path[-1], 1)


def rand(program, block, node, frame):
    """The value of a rand() at every point of a frame."""
    site = program.sites.get((block.key, id(node)))
    if site is None:
        error(node, "the place of this rand() is not known")
    data = numbers(program.seed, program.step, program.finished, site, element(frame))
    return tape.Tensor(data, "f32", len(frame))
