#!/usr/bin/env python3
"""Writes tests/zoo/expected/*.txt: what PyTorch in f64 computes for models/zoo at small sizes.

Needs PyTorch (2.0 or later):  python3 tests/zoo/make_expected.py [CASE...]
To choose the seed of a case:  python3 tests/zoo/make_expected.py --seeds CASE...
Of real trees and lattices:    python3 tests/zoo/make_expected.py --data DATA FOLDER
which writes cases of files below DATA to FOLDER, with the graphs among what is set.

A case is a network of tests/oracle/networks.py at some sizes. Its file says what to set, then, one
tensor a line, the outputs of `forward` and `test`, loss and gradients of `grad`, losses of ten
training steps, all parameters and states after them; see test_zoo.c and tests/oracle/expected.h.
"""
import itertools
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
import sequences  # its networks
import structures
import torch_ops
import vertices  # its networks
from networks import ADAM, NETWORKS, Net, f32, sizes_of
from oracle import Adam, bn, gradients, line, momentum, sgd

import torch

STEPS = 10
SUMS = 3
MASK = 2**64 - 1

# ---- values


def mix(a, b):
    """expected_hash of tests/oracle/expected.c"""
    z = ((a + 1) * 0x9e3779b97f4a7c15 + b * 0xd1342543de82ef95) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def hashes(seed, name, shape):
    for c in name.encode():
        seed = mix(seed, c)
    return [mix(k, seed) for k in range(math.prod(shape))]


def power(x):
    """The nearest power of 2, so that products with it are exact."""
    return 2.0**round(math.log2(x))


def summed(entry, name, t):
    """A line of values, or of their norm and signed sums where there are many."""
    t = torch.as_tensor(t).detach().reshape(-1)
    if t.numel() <= SUMS + 1:
        return line(entry, name, t)
    x = t.tolist()
    sums = [math.fsum(-v if mix(k, j) >> 63 else v for k, v in enumerate(x)) for j in range(SUMS)]
    values = [math.sqrt(math.fsum(v * v for v in x))] + sums
    return f"{entry} {name} {len(x)} ~ " + " ".join(f"{v:.12g}" for v in values)


# ---- the frame


class Case(Net):
    """A net whose tensors are made when they are asked for the first time."""

    def __init__(self, seed, sizes, dtype=torch.float64, given=None):
        super().__init__(torch_ops, sizes)
        self.dtype, self.seed, self.given = dtype, seed, given or {}
        self.lines = [line("given", k, v) for k, v in self.given.items()]
        self.params, self.states, self.inputs, self.pending = {}, {}, {}, {}

    def make(self, name, shape, center, scale):
        if (center, scale) != (0, 1):
            self.lines.append(line("fill", name, torch.tensor([center, scale])))
        v = [center + scale * (h % 63 - 31) / 32 for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=self.dtype).reshape(shape)

    def input(self, name, shape, center=0.0, scale=1.0):
        if name not in self.inputs:
            self.inputs[name] = self.make(name, shape, center, scale)
        return self.inputs[name]

    def ints(self, name, shape, bound):
        if name in self.given:
            return self.given[name]
        v = [h % bound for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=torch.int64).reshape(shape)

    def ranged(self, name, shape, ends):
        """Between the ends that a function gives for the indices of an element."""
        if name in self.given:
            return self.given[name]
        places = itertools.product(*map(range, shape))
        v = [low + h % (high - low)
             for h, (low, high) in zip(hashes(self.seed, name, shape), (ends(*p) for p in places))]
        return torch.tensor(v, dtype=torch.int64).reshape(shape)

    def stacked(self, shape):
        return (self.round[1], *shape) if self.round else shape

    def here(self, t):
        return t[self.round[0]] if self.round else t

    def param(self, name, shape, center=0.0, scale=1.0):
        if name not in self.params:
            t = self.make(name, self.stacked(shape), center, scale)
            self.params[name] = t.requires_grad_(True)
        return self.here(self.params[name])

    def weight(self, name, shape, fan):
        """Scaled so that sums over `fan` products keep the size of their input."""
        return self.param(name, shape, scale=power(1.6 / math.sqrt(fan)))

    def state(self, name, shape, value):
        if name not in self.states:
            self.states[name] = torch.full(self.stacked(shape), float(value), dtype=self.dtype)
        return self.here(self.states[name])

    def update(self, name, value):
        """Takes effect when the run ends, in training."""
        if self.training:
            t = self.pending.setdefault(name, self.states[name].clone())
            self.here(t).copy_(value.detach())

    def batch_norm(self, name, x, gain=1.0, shift=0.0):
        """With running variances as the library has them."""
        p = {k: self.param(k, (x.shape[1],), center, 0.25 * gain)
             for k, center in ((name + ".g", gain), (name + ".b", shift))}
        st = {k: self.state(k, (x.shape[1],), value)
              for k, value in ((name + ".mu", 0), (name + ".va", 1))}
        y = bn(p, st, name, x, f32(1e-5), f32(0.1), self.training)
        for k, value in st.items():
            self.update(k, value)
        return y

    def run(self, f, training):
        self.training, self.pending = training, {}
        r = f(self)
        if training:
            self.states.update(self.pending)
        return r


def rules_of(model, lr, params):
    """The rules of its optimizers, each with the parameters that it trains."""
    _, rate, mu, decay = NETWORKS[model]
    if model not in ADAM:
        return [(momentum(lr or rate, mu, decay=decay) if mu else sgd(rate), params)]
    tables = {k: params[k] for k in ADAM[model]}
    dense = {k: v for k, v in params.items() if k not in tables}
    rules = [(Adam(rate), dense)]
    return rules + [(Adam(rate, "sparse_adam"), tables)] if tables else rules


def expected(case, given=None, steps=STEPS):
    model, defines, batch, seed, lr = case
    known = batch if isinstance(batch, dict) else {"B": batch}
    f = NETWORKS[model].run
    net = Case(seed, {**sizes_of(model, defines), **known}, given=given)
    r = net.run(f, False)
    loss = r.pop("loss")
    values = [summed("forward", k, t) for k, t in r.items()] + [line("test", "loss", loss)]
    states = dict(net.states)
    loss = net.run(f, True)["loss"]
    values.append(line("grad", "loss", loss))
    values += [summed("grad", "grad:" + k, g) for k, g in gradients(loss, net.params).items()]
    net.states = states
    rules = rules_of(model, lr, net.params)
    for rule, params in rules:
        rule.begin(params)
    for _ in range(steps):
        loss = net.run(f, True)["loss"]
        values.append(line("step", "loss", loss))
        g = gradients(loss, net.params)
        for rule, params in rules:
            rule.step({k: g[k] for k in params})
    after = [line for rule, _ in rules for line in rule.after()]
    kept = [*net.params.items(), *after, *net.states.items()]
    values += [summed("after", k, t) for k, t in kept]
    head = [f"model {model}", f"seed values {seed}"]
    head += [f"define {k} {v}" for k, v in defines.items()]
    head += [f"size {k} {v}" for k, v in known.items()]
    head += [line("set", "lr", lr)] if lr else []
    return head + net.lines + values


def gradients_in(dtype, case, seed):
    model, defines, batch, *_ = case
    known = batch if isinstance(batch, dict) else {"B": batch}
    net = Case(seed, {**sizes_of(model, defines), **known}, dtype)
    return gradients(net.run(NETWORKS[model].run, True)["loss"], net.params)


def print_seeds(name):
    """The seeds with which f32 is nearest to f64."""
    errors = []
    for seed in range(50):
        wide, narrow = (gradients_in(t, CASES[name], seed) for t in (torch.float64, torch.float32))
        off = [float((g - narrow[k]).norm()) / max(float(g.norm()), 1e-2) for k, g in wide.items()]
        errors.append((max(off), seed))
    for error, seed in sorted(errors)[:5]:
        print(f"{name}: seed {seed}, gradients in f32 are within {error:.2g}")


# ---- the cases

LR = 2**-9  # at the models' rates, ten steps of nets that are so narrow multiply roundings by 1e8
NARROW = {"IMAGE": 48, "WIDTH": 2, "CLASSES": 7}
SHUFFLED = {**NARROW, "WIDTH": 24, "FIRST": 6, "GROUPS": 3, "UNITS": 1}
ENCODER = {"T": 5, "WIDTH": 8, "HEADS": 2, "HIDDEN": 12, "LAYERS": 3, "DROPOUT": 0}
BLOCKS = {"BLOCKS1": 2, "BLOCKS2": 2, "BLOCKS3": 3, "BLOCKS4": 2}
CAPSULES = {"H": 11, "C": 4, "M": 3, "D": 4, "R": 3, "E": 5}
CAPSULE = {"H": 9, "C": 3, "M": 4, "R": 3, "I": 2, "K": 3, "J": 2}
PADDED = {"H": 6, "C": 3, "M": 4, "R": 3, "J": 5, "stride": 1, "pad": 1}
CELL = {"I": 6, "H": 5}
CONTEXT = {**CELL, "K": 3}
STEPPED = {"T": 4}
TAGGER = {"WORDS": 9, "TAGS": 3, "E": 4, "H": 3}
TRANSLATOR = {"WORDS": 9, "E": 4, "H": 4}

TREES = {"WORDS": 17, "E": 5, "D": 4}
LATTICE = {"CHARS": 9, "WORDS": 17, "TAGS": 5, "ARCS": 3, "E": 5, "D": 4}
MOLECULES = {"KINDS": 3, "TYPES": 2, "D": 5, "ROUNDS": 3}
VERTICES = {"G.vertices": 20}
BELOW = [[], [], [0], [], [2, 1, 3], [4], [], [], [6, 7], [], [9], [0, 1, 2, 3, 5, 8, 8], [], [12],
         [13, 11, 10], [], [14, 15], [16], [], [17, 18]]  # one has many, one twice the same
ARCS = {**VERTICES, "G.edges": sum(map(len, BELOW))}

CASES = {  # model, its sizes, batch (or all run-time sizes), seed, rate where it is not the model's
    "mlp": ("mlp", {"WIDTH": 7, "CLASSES": 5}, 4, 0, None),
    "resnet18": ("resnet18", NARROW, 3, 19, LR),
    "resnet50": ("resnet50", {**NARROW, **BLOCKS}, 3, 9, LR),
    "mobilenet": ("mobilenet", {**NARROW, "ROUNDS": 2}, 3, 30, LR),
    "shufflenet": ("shufflenet", SHUFFLED, 3, 35, LR),
    "bert": ("bert", ENCODER, 2, 0, None),
    "capsule_conv": ("capsule_conv", CAPSULE, 3, 0, None),
    "capsule_conv_padded": ("capsule_conv", PADDED, 2, 0, None),
    "capsulenet": ("capsulenet", CAPSULES, 3, 0, None),
    "capsulenet_conv": ("capsulenet_conv", CAPSULES, 3, 0, None),
    "milstm": ("milstm", CELL, 4, 0, None),
    "milstm_unrolled": ("milstm_unrolled", {**STEPPED, **CELL}, 3, 0, None),
    "scrnn": ("scrnn", CONTEXT, 4, 0, None),
    "scrnn_unrolled": ("scrnn_unrolled", {**STEPPED, **CONTEXT}, 3, 0, None),
    "sublstm": ("sublstm", CELL, 4, 0, None),
    "sublstm_unrolled": ("sublstm_unrolled", {**STEPPED, **CELL}, 3, 0, None),
    "lltm": ("lltm", CELL, 4, 0, None),
    "lltm_unrolled": ("lltm_unrolled", {**STEPPED, **CELL}, 3, 0, None),
    **{f"{k}_scan": (f"{k}_scan", {**STEPPED, **(CONTEXT if k == "scrnn" else CELL)}, 3, 0, None)
       for k in ("milstm", "scrnn", "sublstm", "lltm")},
    "mamba": ("mamba", {"WIDTH": 6, "STATE": 3, "WORDS": 7}, {"B": 2, "T": 5}, 0, None),
    "mamba_step": ("mamba", {"WIDTH": 6, "STATE": 3, "WORDS": 7}, {"B": 2, "T": 1}, 0, None),
    "tagger": ("tagger", TAGGER, {"B": 4, "T": 5}, 0, None),
    "seq2seq": ("seq2seq", TRANSLATOR, {"B": 3, "S": 4, "T": 5}, 0, None),
    "wave": ("wave", {"N": 11, "T": 40}, 3, 0, None),
    "gotoh": ("gotoh", {"N": 7, "M": 6, "K": 20}, 4, 0, None),
    "tree_lstm": ("tree_lstm", TREES, VERTICES, 0, None),
    "tree_lstm_leaf": ("tree_lstm", TREES, {"G.vertices": 1}, 0, None),
    "tree_lstm_sum": ("tree_lstm_sum", TREES, VERTICES, 0, None),
    "tree_lstm_sum_5": ("tree_lstm_sum", {**TREES, "CHILDREN": 5}, VERTICES, 0, None),
    "tree_gru": ("tree_gru", TREES, VERTICES, 0, None),
    "dependency_lstm": ("dependency_lstm", {**TREES, "TYPES": 3}, ARCS, 0, None),
    "mv_rnn": ("mv_rnn", {"WORDS": 17, "D": 4, "R": 2}, VERTICES, 0, None),
    "tree_fc": ("tree_fc", {"D": 5, "CLASSES": 3}, {"TREES": 3, "LEAVES": 7, **VERTICES}, 0, None),
    "chain_lstm": ("chain_lstm", TREES, VERTICES, 0, None),
    "lattice_lstm": ("lattice_lstm", LATTICE, VERTICES, 0, None),
    "ggnn": ("ggnn", MOLECULES, {"B": 3, "V": 12, "M": 25}, 0, None),
}
GIVEN = {  # what hashes do not draw
    "dependency_lstm": {"G.begin": torch.tensor([0, *itertools.accumulate(map(len, BELOW))]),
                        "G.child": torch.tensor(sum(BELOW, []))},
}


# ---- real graphs


def from_data(model, defines, g):
    """A case, and what it is given. Numbers of words are made as small as they can be."""
    given = {"G.child": torch.from_numpy(g.child).long()}
    defines = dict(defines)
    for name, v in g.vertex.items():
        given[name] = torch.from_numpy(v).long()
        if count := {"word": "WORDS", "char": "CHARS"}.get(name):
            seen, numbers = given[name].unique(return_inverse=True)
            none = int(seen[0] < 0)
            given[name], defines[count] = numbers - none, len(seen) - none
    return (model, defines, {"G.vertices": len(g.child)}, 0, None), given


def data_cases(data):
    trees = structures.read_trees(os.path.join(data, "sst", "dev.txt"))
    words = structures.vocabulary(trees)
    graphs = [structures.tree_graph(t, words) for t in trees]
    for model in ("tree_lstm", "tree_lstm_sum", "tree_gru"):
        yield f"sst_{model}", *from_data(model, {"E": 6, "D": 7}, structures.joined(graphs[:24]))
    yield "sst_mv_rnn", *from_data("mv_rnn", {"D": 4, "R": 2}, structures.joined(graphs[:8]))
    lattices = structures.read_lattices(os.path.join(data, "lattice", "dev.txt"))
    yield "lattice_lattice_lstm", *from_data("lattice_lstm", {"E": 5, "D": 6},
                                             structures.joined(lattices[:12]))


def write(folder, name, lines):
    with open(os.path.join(folder, name + ".txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def main():
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    if sys.argv[1:2] == ["--seeds"]:
        for name in sys.argv[2:]:
            print_seeds(name)
    elif sys.argv[1:2] == ["--data"]:
        for name, case, given in data_cases(sys.argv[2]):
            write(sys.argv[3], name, expected(case, given, steps=2))
    else:
        for name in sys.argv[1:] or CASES:
            write(os.path.join(HERE, "expected"), name, expected(CASES[name], GIVEN.get(name)))


main()
