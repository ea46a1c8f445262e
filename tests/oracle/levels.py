"""Trees and sequences in PyTorch, batched by hand: what the networks of trees.py compute, with one
product for all vertices of a level and no Python for a single vertex.

All leaves are one product. A level is all vertices that are equally far from their root, so children
are on the next one, and no state of an earlier level has to be kept at hand: a level's states lie in
the order in which its parents read them, which is a view where all of them are branches, and else one
`index_select`. Weights are joined and their gates in the order in which one sigmoid serves most.
"""
import numpy as np
import torch
import torch.nn.functional as F

# ---- arrangement: by numpy, from arrays of children as neo is given them


def tensors_of(arrays):
    """On PyTorch's default device."""
    device = torch.get_default_device()
    return [None if a is None else torch.from_numpy(np.ascontiguousarray(a)).to(device)
            for a in arrays]


class Arranged:
    """The levels of a batch of binary trees. `leaf`: all leaves, the deepest first; `levels`, from the deepest
    up: how many of them are of that level, how many branches, and how to order branches, then leaves,
    for their parents (None: as they are). `order`: leaves, then branches in the order in which they
    are computed. A leaf's place among all of them tells its word."""

    def __init__(self, child, root):
        # -1: no parent. Roots are the first level, each next one the children of it.
        at, found = root, []
        while len(at):
            branch = child[at, 0] >= 0
            branches, leaves = at[branch], at[~branch]
            places = np.empty(len(at), np.int64)
            places[branch] = np.arange(len(branches))
            places[~branch] = len(branches) + np.arange(len(leaves))
            mixed = len(branches) and len(leaves)
            found.append((branches, leaves, places if mixed else None))
            at = child[branches].reshape(-1)
        found.reverse()
        self.counts = [len(leaves) for _, leaves, _ in found]
        self.branches = [len(branches) for branches, _, _ in found]
        self.places = tensors_of([places for _, _, places in found])
        self.leaf = np.concatenate([leaves for _, leaves, _ in found])
        self.order = np.concatenate([self.leaf, *(b for b, _, _ in found)])


def places(arranged, k, branches, leaves):
    """The states of a level in the order of its parents."""
    if branches is None:
        return leaves
    if arranged.places[k] is None:
        return branches
    return torch.cat([branches, leaves]).index_select(0, arranged.places[k])


def upward(arranged, leaves, cell):
    """`leaves`: tensors of all leaves' states; `cell` makes those of branches of their children's, the
    two beside each other. Returns the same tensors for each level's branches, and of the roots."""
    split = [t.split(arranged.counts) for t in leaves]
    states, computed = None, []
    for k in range(len(arranged.counts)):
        branches = [None] * len(leaves)
        if arranged.branches[k]:
            branches = cell(*states)
            computed.append(branches)
        states = [places(arranged, k, b, s[k]) for b, s in zip(branches, split)]
    return computed, states


# ---- networks: parameters by the names that neo gives them, arrays of a batch, what is arranged


def columns(w, gates):
    """[from, gate, to] as one matrix, with gates in this order."""
    return w[..., gates, :].reshape(-1, len(gates) * w.shape[-1]).contiguous()


class Network:
    """`trained`: parameters as they are trained, in a form that suits PyTorch; the rows of those in
    `tables` have sparse gradients."""

    tables = ()

    def __init__(self, given):
        self.p = {k: v.detach().clone().contiguous().requires_grad_(True)
                  for k, v in self.made_of(given).items()}

    def words(self, name, index):
        return F.embedding(index, self.p[name], sparse=True)

    def classify(self, h, label):
        return F.cross_entropy(torch.addmm(self.p["L.b"], h, self.p["L.W"]), label)

    def rules(self, lr):
        dense = [v for k, v in self.p.items() if k not in self.tables]
        rules = [torch.optim.Adam(dense, lr=lr, fused=True)]
        if self.tables:
            rules.append(torch.optim.SparseAdam([self.p[k] for k in self.tables], lr=lr))
        return rules


def kept(given, *names):
    return {k: given[k] for k in names}


class Trees(Network):
    tables = ("T",)

    def arrange(self, batch):
        a = Arranged(batch["G.child"], batch["root"])
        a.word, a.label = tensors_of([batch["word"][a.leaf].astype(np.int64),
                                      batch["label"][a.order].astype(np.int64)])
        return a

    def loss(self, a):
        leaves = self.leaf(self.words("T", a.word))
        computed, _ = upward(a, leaves, self.branch)
        return self.classify(torch.cat([leaves[0], *(states[0] for states in computed)]), a.label)


class TreeLstm(Trees):
    """N-ary, of two children. Gates i, o, f of either child, then u."""

    def made_of(self, g):
        made = kept(g, "T", "L.W", "L.b")
        made["W"] = columns(g["h.W"], [0, 1, 2])
        made["U"] = columns(g["h.U"], [0, 1, 3, 4, 2])
        made["b"] = g["h.b"].reshape(-1)
        return made

    def leaf(self, x):
        b, size = self.p["b"], self.p["W"].shape[1] // 3
        z = torch.addmm(b[:3 * size], x, self.p["W"])
        i, o = z[:, :2 * size].sigmoid().chunk(2, 1)
        c = i * z[:, 2 * size:].tanh()
        return o * c.tanh(), c

    def branch(self, h, c):
        size = h.shape[1]
        i, o, u, f = self.p["b"].split(size)
        bias = torch.cat([i, o, f, f, u])
        z = torch.addmm(bias, h.view(-1, 2 * size), self.p["U"])
        i, o, f, g = z[:, :4 * size].sigmoid().chunk(4, 1)
        left, right = c.view(-1, 2, size).unbind(1)
        c2 = torch.addcmul(torch.addcmul(i * z[:, 4 * size:].tanh(), f, left), g, right)
        return o * c2.tanh(), c2


class ChildSum(Trees):
    """A leaf, which has no children, needs no f, and a branch no word."""

    def made_of(self, g):
        made = kept(g, "T", "L.W", "L.b")
        made["W"] = columns(g["h.W"], [0, 1, 2])
        made["U"] = columns(g["h.U"], [0, 1, 2])
        made["F"] = g["h.Uf"]
        made["b"], made["f"] = g["h.b"].reshape(-1), g["h.bf"]
        return made

    def gates(self, z):
        size = self.p["F"].shape[1]
        i, o = z[:, :2 * size].sigmoid().chunk(2, 1)
        return i * z[:, 2 * size:].tanh(), o

    def leaf(self, x):
        c, o = self.gates(torch.addmm(self.p["b"], x, self.p["W"]))
        return o * c.tanh(), c

    def branch(self, h, c):
        size = h.shape[1]
        new, o = self.gates(torch.addmm(self.p["b"], h.view(-1, 2, size).sum(1), self.p["U"]))
        f = torch.addmm(self.p["f"], h, self.p["F"]).sigmoid()
        c2 = new + (f * c).view(-1, 2, size).sum(1)
        return o * c2.tanh(), c2


class TreeFc(Network):

    def made_of(self, g):
        made = kept(g, "L.W", "L.b")
        made["W"] = g["H.W"].reshape(-1, g["H.W"].shape[-1])
        made["b"] = g["H.b"]
        return made

    def arrange(self, batch):
        a = Arranged(batch["G.child"], batch["root"])
        rows = batch["leaf"][a.leaf].astype(np.int64)
        a.x, a.rows, a.label = tensors_of([batch["X"], rows, batch["label"].astype(np.int64)])
        a.as_it_is = np.array_equal(rows, np.arange(len(a.x)))
        return a

    def branch(self, h):
        return (torch.addmm(self.p["b"], h.view(-1, 2 * h.shape[1]), self.p["W"]).relu(),)

    def loss(self, a):
        leaves = a.x if a.as_it_is else a.x.index_select(0, a.rows)
        _, (roots,) = upward(a, (leaves,), self.branch)
        return self.classify(roots, a.label)

    def rules(self, lr):
        return [torch.optim.SGD(self.p.values(), lr=lr, fused=True)]


class ChainLstm(Network):
    """PyTorch's layer: on a packed sequence, or, of equal lengths, on one tensor, time first."""

    tables = ("T",)

    def made_of(self, g):
        size = g["h.U"].shape[0]
        self.layer = torch.nn.LSTM(g["h.W"].shape[0], size)
        with torch.no_grad():
            self.layer.weight_ih_l0.copy_(columns(g["h.W"], range(4)).T)
            self.layer.weight_hh_l0.copy_(columns(g["h.U"], range(4)).T)
            self.layer.bias_ih_l0.copy_(g["h.b"].reshape(-1))
            self.layer.bias_hh_l0.zero_()
        self.layer.bias_hh_l0.requires_grad_(False)  # there is one bias
        return kept(g, "T", "L.W", "L.b")

    def arrange(self, batch):
        """Words by their place in a sentence, those of long sentences first."""
        a = type("Sequences", (), {})()
        child = batch["G.child"][:, 0]
        starts = np.flatnonzero(child < 0)
        lengths = np.diff([*starts, len(child)])
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = starts[order], lengths[order]
        sizes = (lengths[:, None] > np.arange(lengths[0])).sum(0)
        at = np.concatenate([starts[:n] + t for t, n in enumerate(sizes)])
        a.equal = len(starts) if (sizes == len(starts)).all() else 0
        a.word, a.after = tensors_of([batch["word"][at].astype(np.int64),
                                      batch["after"][at].astype(np.int64)])
        a.sizes = torch.from_numpy(sizes)  # which a packed sequence has on the processor
        return a

    def loss(self, a):
        x = self.words("T", a.word)
        if a.equal:
            h = self.layer(x.view(-1, a.equal, x.shape[1]))[0].reshape(len(x), -1)
        else:
            h = self.layer(torch.nn.utils.rnn.PackedSequence(x, a.sizes))[0].data
        return self.classify(h, a.after)

    def rules(self, lr):
        self.p.update((k, v) for k, v in self.layer.named_parameters() if v.requires_grad)
        return super().rules(lr)


NETWORKS = {"tree_lstm": TreeLstm, "tree_lstm_sum": ChildSum, "tree_fc": TreeFc,
            "chain_lstm": ChainLstm}
