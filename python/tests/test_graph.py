"""neoc.Graph: sources, order, batches; graphs for traced functions, entries of models, training."""

import importlib.util
import pickle
import types
import unittest

import neoc
import numpy as np
from neoc import Graph

TEXT = """
import nn, optim
graph G(children <= 2, vertices <= 64)
input word[G.vertices] : i32 < 10
input label[G.vertices] : i32 < 5
param Emb[10, 4] = normal(0, 1)
vertex cell(x[E]; D) over G {
  gather h[2, D] = 0
  param W[E, D] = glorot(E, D)
  h2[j] = tanh((sum[e] W[e, j]*x[e]) + h[0, j] - 0.5*h[1, j])
  scatter h = h2
  push h2
}
X[v, e] = Emb[word[v], e]
H = cell(X, D = 4)
loss = nn.cross_entropy(nn.linear(H, out = 5), label)
output H
output test: loss
train loss using optim.adam(lr = 0.01)
"""


def child_sums(parents, x):
    """The sum of x over all that is below each vertex, and itself."""
    made = x.astype("d")
    for v in range(len(parents)):
        above = parents[v]
        while above >= 0:
            made[above] += x[v]
            above = parents[above]
    return made


def random_parents(n, seed):
    """A tree with at most two children of a vertex, numbered at random."""
    rng = np.random.default_rng(seed)
    parents, free = np.full(n, -1), [0, 0]
    for v in range(1, n):
        parents[v] = free.pop(rng.integers(len(free)))
        free += [v, v]
    names = rng.permutation(n)
    made = np.full(n, -1)
    made[names[1:]] = names[parents[1:]]
    return made


class Order(unittest.TestCase):
    def test_children_stand_before_parents_and_the_maps_are_each_other_s_inverse(self):
        for seed in range(20):
            parents = random_parents(int(np.random.default_rng(seed).integers(1, 40)), seed)
            g = Graph.from_trees([parents])
            n = len(parents)
            self.assertTrue((g.child < np.arange(n)[:, None]).all())
            np.testing.assert_array_equal(g.order[g.place], np.arange(n))
            for k, row in enumerate(g.child):
                found = sorted(g.order[row[row >= 0]].tolist())
                self.assertEqual(found, np.flatnonzero(parents == g.order[k]).tolist())
            x = np.arange(n)*10
            np.testing.assert_array_equal(g.restore(g.arrange(x)), x)
            self.assertEqual(g.roots.tolist(), np.flatnonzero(parents < 0).tolist())

    def test_a_numbering_that_has_children_first_stays(self):
        g = Graph.from_edges([0, 1], [2, 2])
        self.assertTrue(g.is_in_order)
        self.assertEqual(g.order.tolist(), [0, 1, 2])
        self.assertEqual((g.child.dtype, g.order.dtype), (np.int32, np.int32))

    def test_a_vertex_may_be_the_child_of_several_and_twice_of_one(self):
        g = Graph.from_edges([0, 0, 0], [1, 2, 2])
        self.assertEqual(g.child.tolist(), [[-1, -1], [0, -1], [0, 0]])

    def test_places_without_a_child_are_kept(self):
        g = Graph([[-1, 1], [-1, -1]])
        self.assertEqual(g.child.tolist(), [[-1, -1], [-1, 0]])

    def test_deep_chains_need_no_recursion(self):
        n = 200_000
        g = Graph.from_edges(np.arange(1, n), np.arange(n - 1))
        self.assertEqual(g.order[:3].tolist(), [n - 1, n - 2, n - 3])
        tree = "leaf"
        for _ in range(50_000):
            tree = [tree]
        self.assertEqual(Graph.from_trees([tree]).n, 50_001)

    def test_what_is_given_cannot_be_changed_afterwards(self):
        table = np.array([[-1], [0]], np.int32)
        g = Graph(table)
        table[0, 0] = 1
        self.assertEqual(g.child.tolist(), [[-1], [0]])
        self.assertRaises(ValueError, g.child.__setitem__, (0, 0), 1)

    def test_empty_graphs_have_no_vertices(self):
        for g in (Graph.from_edges([], []), Graph.batch([]), Graph.from_trees([])):
            self.assertEqual((g.n, g.child.shape[0], g.roots.tolist()), (0, 0, []))
        self.assertEqual(Graph.from_edges([], [], n=3).child.tolist(), [[-1]]*3)

    def test_pickle_keeps_graphs(self):
        g = pickle.loads(pickle.dumps(Graph([[1], [-1]], {"x": [1, 2]})))
        self.assertEqual((g.order.tolist(), g.features["x"].tolist()), ([1, 0], [1, 2]))


class Errors(unittest.TestCase):
    def fails(self, kind, says, make):
        with self.assertRaisesRegex(kind, says):
            make()

    def test_cycles_are_shown(self):
        self.fails(ValueError, "vertex 0 is below itself: 0 -> 2 -> 1 -> 0",
                   lambda: Graph.from_edges([0, 1, 2], [1, 2, 0]))
        self.fails(ValueError, "0 -> 0", lambda: Graph.from_edges([0], [0]))

    def test_numbers_that_are_no_vertex_are_named(self):
        self.fails(IndexError, r"src\[1\] is 5, which is not in \[0, 3\)",
                   lambda: Graph.from_edges([0, 5], [1, 1], n=3))
        self.fails(IndexError, r"dst\[0\] is -1", lambda: Graph.from_edges([0], [-1]))
        self.fails(IndexError, r"child\[0, 1\] is 2", lambda: Graph([[-1, 2], [-1, -1]]))
        self.fails(IndexError, r"parents\[1\] is -2",
                   lambda: Graph.from_trees([np.array([-1, -2])]))

    def test_more_children_than_allowed_are_told(self):
        self.fails(neoc.ShapeError, "vertex 3 has 3 children; at most 2 are allowed",
                   lambda: Graph.from_edges([0, 1, 2], [3, 3, 3], children=2))
        g = Graph.from_edges([1, 2, 3], [0, 0, 0])
        self.fails(neoc.ShapeError, "vertex 0 has 3 children; at most 1", lambda: g.table(1))
        self.fails(ValueError, "children: expected a whole number from 1",
                   lambda: Graph.from_edges([0], [1], children=0))

    def test_types_and_shapes_are_checked(self):
        self.fails(TypeError, "src: expected an array of whole numbers, given .*float64",
                   lambda: Graph.from_edges([0.5], [1]))
        self.fails(neoc.ShapeError, "as long as each other",
                   lambda: Graph.from_edges([0, 1], [2]))
        self.fails(neoc.ShapeError, r"'x'\]: expected a row for each of 2 vertices",
                   lambda: Graph.from_edges([0], [1], features={"x": [1, 2, 3]}))
        self.fails(neoc.ShapeError, "expected a table", lambda: Graph([1, 2]))
        self.fails(TypeError, "graph 1: expected a neoc.Graph, given int",
                   lambda: Graph.batch([Graph([[-1]]), 3]))
        self.fails(ValueError, "cannot be called 'order'",
                   lambda: Graph([[-1]], {"order": [1]}))

    def test_features_of_a_batch_are_those_of_all(self):
        a, b = Graph([[-1]], {"x": [1]}), Graph([[-1]])
        self.fails(KeyError, "graph 1 has the features none, graph 0 x",
                   lambda: Graph.batch([a, b]))
        self.fails(neoc.ShapeError, "rows of graph 1",
                   lambda: Graph.batch([a, Graph([[-1]], {"x": [1.5]})]))

    def test_a_list_that_may_be_parents_is_refused(self):
        self.fails(ValueError, r"give np.array", lambda: Graph.from_trees([[2, 2, -1]]))

    def test_a_list_within_itself_is_refused(self):
        tree = [1]
        tree.append(tree)
        self.fails(ValueError, "has itself", lambda: Graph.from_trees([tree]))
        twice = [1, 2]
        self.assertEqual(Graph.from_trees([[twice, twice]]).n, 7)


class Batches(unittest.TestCase):
    def test_graphs_follow_each_other_and_come_apart_again(self):
        graphs = [Graph.from_trees([random_parents(n, n)]).with_features(x=np.arange(n))
                  for n in (5, 1, 9)]
        both = Graph.batch(graphs)
        self.assertEqual((len(both), both.start.tolist()), (3, [0, 5, 6, 15]))
        self.assertEqual(both.features["x"].tolist(), [*range(5), 0, *range(9)])
        for a, b in zip(graphs, both.unbatch()):
            np.testing.assert_array_equal(a.order, b.order)
            np.testing.assert_array_equal(a.child, b.child[:, :a.child.shape[1]])
        firsts = np.searchsorted(both.start, both.order, "right")
        self.assertTrue((np.diff(firsts) >= 0).all())  # graphs stay together in the table

    def test_a_batch_of_batches_has_all_graphs(self):
        two = Graph.from_trees([["a", "b"], "c"])
        self.assertEqual(Graph.batch([two, two]).start.tolist(), [0, 3, 4, 7, 8])
        self.assertEqual(Graph.batch([two, two]).labels, ("a", "b", None, "c")*2)


class Sources(unittest.TestCase):
    def check(self, g):
        """Edges 2 -> 0, 1 -> 0, 3 -> 1 of four vertices."""
        self.assertEqual(sorted(zip(*(e.tolist() for e in g.edges))), [(1, 0), (2, 0), (3, 1)])
        self.assertEqual(g.n, 4)

    def test_edges_may_go_from_parents_to_children(self):
        self.check(Graph.from_edges([2, 1, 3], [0, 0, 1]))
        self.check(Graph.from_edges([0, 0, 1], [2, 1, 3], reverse=True))

    @unittest.skipUnless(importlib.util.find_spec("networkx"), "networkx is not installed")
    def test_networkx(self):
        import networkx as nx
        one = nx.DiGraph([("c", "a"), ("b", "a"), ("d", "b")])
        for k, node in enumerate(one.nodes):
            one.nodes[node]["x"] = float(k)
        g = Graph.from_networkx(one, features=["x"])
        self.assertEqual(g.labels, ("c", "a", "b", "d"))
        self.assertEqual([(g.labels[s], g.labels[d]) for s, d in zip(*g.edges)],
                         [("c", "a"), ("b", "a"), ("d", "b")])
        self.assertEqual(g.features["x"].tolist(), [0, 1, 2, 3])
        back = Graph.from_networkx(one.reverse(), reverse=True)
        self.assertEqual(back.n, 4)
        self.assertRaisesRegex(ValueError, "DiGraph", Graph.from_networkx, nx.Graph([(0, 1)]))
        self.assertRaisesRegex(KeyError, "no attribute 'y'", Graph.from_networkx, one, "y")
        self.assertRaises(ValueError, Graph.from_networkx, nx.DiGraph([(0, 1), (1, 0)]))
        several = nx.MultiDiGraph([(0, 1), (0, 1)])
        self.assertEqual(Graph.from_networkx(several).child.tolist(), [[-1, -1], [0, 0]])

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "scipy is not installed")
    def test_scipy(self):
        import scipy.sparse as sparse
        for kind in (sparse.coo_matrix, sparse.csr_matrix, sparse.csc_matrix, sparse.lil_matrix):
            matrix = kind(sparse.coo_matrix(([1, 1, 1], ([2, 1, 3], [0, 0, 1])), (4, 4)))
            self.check(Graph.from_scipy(matrix))
            self.check(Graph.from_scipy(matrix.T, reverse=True))
        self.assertRaisesRegex(neoc.ShapeError, "square", Graph.from_scipy,
                               sparse.coo_matrix((2, 3)))

    def test_stand_ins_for_a_network_and_a_sparse_matrix(self):
        class Nodes(dict):
            pass
        one = types.SimpleNamespace(is_directed=lambda: True, nodes=Nodes.fromkeys("abcd", {}),
                                    edges=lambda: [("c", "a"), ("b", "a"), ("d", "b")])
        self.check(Graph.from_networkx(one))
        coo = types.SimpleNamespace(row=np.array([2, 1, 3]), col=np.array([0, 0, 1]), shape=(4, 4))
        self.check(Graph.from_scipy(types.SimpleNamespace(tocoo=lambda: coo)))
        self.assertRaises(TypeError, Graph.from_scipy, [[0, 1], [0, 0]])

    def test_dgl(self):
        class Tensor:
            def __init__(self, value):
                self.value = np.asarray(value)

            def detach(self):
                return self

            cpu = detach

            def __array__(self, *args, **kwargs):
                return self.value

        one = types.SimpleNamespace(
            is_homogeneous=True, edges=lambda: (Tensor([2, 1, 3]), Tensor([0, 0, 1])),
            num_nodes=lambda: 4, ndata={"x": Tensor([[1.0]]*4)},
            batch_num_nodes=lambda: Tensor([4]))
        g = Graph.from_dgl(one, features=["x"])
        self.check(g)
        self.assertEqual(g.features["x"].shape, (4, 1))
        self.assertRaisesRegex(KeyError, "no feature 'y'", Graph.from_dgl, one, ["y"])
        one.is_homogeneous = False
        self.assertRaisesRegex(ValueError, "to_homogeneous", Graph.from_dgl, one)

    def test_pytorch_geometric(self):
        class Data(types.SimpleNamespace):
            def __getitem__(self, name):
                return getattr(self, name)

        one = Data(edge_index=np.array([[2, 1, 3], [0, 0, 1]]), num_nodes=4, x=np.ones((4, 2)))
        g = Graph.from_pyg(one, "x")
        self.check(g)
        self.assertEqual((g.features["x"].shape, len(g)), ((4, 2), 1))
        one.ptr, one.num_nodes = np.array([0, 4, 6]), 6
        self.assertEqual(len(Graph.from_pyg(one)), 2)
        one.ptr = np.array([0, 4])
        self.assertRaisesRegex(neoc.ShapeError, "vertices together", Graph.from_pyg, one)

    def test_nothing_of_other_packages_is_imported(self):
        import subprocess
        import sys
        done = subprocess.run([sys.executable, "-c", "import neoc, sys; neoc.Graph; print([n for n "
                               "in ('networkx', 'scipy', 'torch', 'dgl') if n in sys.modules])"],
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


@neoc.function
def sums(g):
    def body(v, x):
        s = x + v.gather(neoc.zeros(2)).sum(0)
        v.scatter(s)
        return s
    return neoc.vertex(body, g)(g.features["x"])


class Traced(unittest.TestCase):
    def test_rows_and_results_have_the_numbering_of_the_source(self):
        for n in (2, 1, 7, 12, 2, 13):
            parents = random_parents(n, n)
            x = np.random.default_rng(n).random((n, 2)).astype("f")
            y = sums(Graph.from_trees([parents], {"x": x}, children=2))
            np.testing.assert_allclose(y, child_sums(parents, x), rtol=1e-5)

    def test_a_graph_in_order_costs_nothing(self):
        g = Graph.from_edges([0, 1], [2, 2], features={"x": np.ones((3, 2), "f")})
        text = sums.text(g)
        self.assertNotIn("order", text)
        self.assertIn("graph G(children <= 2", text)
        self.assertIn("input x[G.vertices, 2]", text)

    def test_other_numbers_of_vertices_compile_nothing(self):
        f = neoc.function(sums.f)
        for n in (3, 5, 6, 7):
            g = Graph.from_edges(np.arange(n - 1), np.arange(1, n),
                                 features={"x": np.ones((n, 2), "f")})
            np.testing.assert_array_equal(f(g)[:, 0], np.arange(1, n + 1))
        self.assertLessEqual(f.cache_info().compiled, 2)

    def test_gradients_are_those_of_differences(self):
        rng = np.random.default_rng(0)
        g = Graph.from_trees([random_parents(6, 3)])
        self.assertFalse(g.is_in_order)

        def wide(g, x, w):
            def body(v, x):
                s = neoc.tanh(x @ w + v.gather(neoc.zeros(2, "float64")).sum(0))
                v.scatter(s)
                return s
            k = neoc.arange(1, g.n + 1).astype("float64")
            return (neoc.vertex(body, g)(x)**2*k[:, None]).sum()

        x, w = rng.random((6, 2)), rng.random((2, 2))
        f = neoc.function(wide)
        dx, dw = neoc.function(neoc.grad(wide, argnums=(1, 2)))(g, x, w)
        for array, d in ((x, dx), (w, dw)):
            for at in np.ndindex(array.shape):
                e = np.zeros_like(array)
                e[at] = 1e-5
                up, down = ((x + e, w), (x - e, w)) if array is x else ((x, w + e), (x, w - e))
                self.assertAlmostEqual(float(d[at]), float(f(g, *up) - f(g, *down))/2e-5, 6)

    def test_what_a_trace_does_not_know_is_told(self):
        f = neoc.function(lambda g: g.roots)
        with self.assertRaisesRegex(neoc.NeoError, "in a traced function a graph has child"):
            f(Graph([[-1]]))


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = neoc.compile(TEXT)

    def setUp(self):
        self.m.reset(1)
        self.parents = random_parents(9, 4)
        self.word = np.random.default_rng(1).integers(10, size=9).astype("i")
        self.label = np.arange(9, dtype="i") % 5
        self.g = Graph.from_trees([self.parents])
        self.assertFalse(self.g.is_in_order)

    def plain(self, g, word):
        """H by a table and rows in its order, put back."""
        return self.m.forward(**{"G.child": g.table(2), "word": word[g.order]})[g.place]

    def test_an_entry_takes_a_graph_and_rows_of_its_numbering(self):
        want = self.plain(self.g, self.word)
        np.testing.assert_array_equal(self.m.forward(G=self.g, word=self.word), want)
        np.testing.assert_array_equal(self.m.forward(self.g, self.word), want)
        np.testing.assert_array_equal(self.m.forward(**{"G.child": self.g}, word=self.word), want)
        out = np.empty_like(want)
        self.assertIs(self.m.forward(G=self.g, word=self.word, out=out), out)
        np.testing.assert_array_equal(out, want)

    def test_results_do_not_depend_on_the_numbering(self):
        h = self.m.forward(G=self.g, word=self.word)
        child = self.g.order[self.g.child]
        child[self.g.child < 0] = -1
        table = np.empty_like(child)
        table[self.g.order] = child
        names = np.random.default_rng(2).permutation(9)
        moved, word = np.full_like(table, -1), np.empty_like(self.word)
        moved[names] = np.where(table < 0, -1, names[table])
        word[names] = self.word
        np.testing.assert_array_equal(self.m.forward(G=Graph(moved), word=word)[names], h)

    def test_features_fill_the_inputs_of_their_name(self):
        g = self.g.with_features(word=self.word, label=self.label, other=self.label)
        self.assertEqual(self.m.test(G=g),
                         self.m.test(G=self.g, word=self.word, label=self.label))
        zero = np.zeros(9, "i")
        np.testing.assert_array_equal(self.m.forward(G=g, word=zero),
                                      self.m.forward(G=self.g, word=zero))

    def test_fewer_children_than_the_model_allows_are_padded(self):
        chain = Graph.from_edges([0], [1])
        self.assertEqual(self.m.forward(G=chain, word=self.word[:2]).shape, (2, 4))
        empty = Graph.from_edges([], [])
        self.assertEqual(self.m.forward(G=empty, word=self.word[:0]).shape, (0, 4))

    def test_what_does_not_fit_is_told(self):
        wide = Graph.from_edges([0, 1, 2], [3, 3, 3])
        for kind, says, make in (
                (neoc.ShapeError, "G: vertex 3 has 3 children; at most 2 are allowed by the model",
                 lambda: self.m.forward(G=wide, word=self.word[:4])),
                (neoc.ShapeError, "word: dim 0 is 4; the graph G has 9 vertices",
                 lambda: self.m.forward(G=self.g, word=self.word[:4])),
                (neoc.ShapeError, "G: 65 vertices; the model takes at most 64",
                 lambda: self.m.forward(G=Graph([[-1]]*65), word=np.zeros(65, "i"))),
                (TypeError, "needs the input 'word'", lambda: self.m.forward(G=self.g)),
                (TypeError, "G: expected a neoc.Graph, given list",
                 lambda: self.m.forward(G=[[-1]], word=self.word)),
                (TypeError, "two values", lambda: self.m.forward(
                    self.g, G=self.g, word=self.word)),
                (TypeError, "unexpected argument 'Q'", lambda: self.m.forward(
                    G=self.g, word=self.word, Q=self.g)),
                (TypeError, "expected int32", lambda: self.m.forward(
                    G=self.g, word=self.word.astype("int64")))):
            with self.assertRaisesRegex(kind, says):
                make()

    def test_a_table_that_has_parents_first_is_told_as_that(self):
        table = np.full((2, 2), -1, "int32")
        table[0, 0] = 1
        with self.assertRaisesRegex(neoc.RangeError, "children must stand before parents; "
                                    r"neoc.Graph orders them: give G=neoc.Graph\(child\)"):
            self.m.forward(**{"G.child": table, "word": np.zeros(2, "int32")})

    def test_a_feature_that_a_graph_does_not_have_is_told_with_those_it_has(self):
        g = Graph([[-1], [0]], features={"x": [1, 2]})
        with self.assertRaisesRegex(neoc.UnknownName, "no feature 'word'; it has x"):
            g.features["word"]
        self.assertRaises(KeyError, lambda: g.features["word"])
        self.assertIsNone(g.features.get("word"))
        self.assertEqual(neoc.function(lambda f: f["x"]*2)(g.features).tolist(), [2, 4])

    def test_a_batch_gives_what_its_graphs_give(self):
        graphs = [Graph.from_trees([random_parents(n, n)]) for n in (3, 8, 5)]
        words = [self.word[:n] for n in (3, 8, 5)]
        whole = self.m.forward(G=Graph.batch(graphs), word=np.concatenate(words))
        parts = [self.m.forward(G=g, word=w) for g, w in zip(graphs, words)]
        np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-6, atol=1e-7)

    def test_fit_takes_batches_with_graphs(self):
        data = []
        for k in range(4):
            graphs = [Graph.from_trees([random_parents(n, n + k)]) for n in (4, 6)]
            g = Graph.batch(graphs)
            word = np.random.default_rng(k).integers(10, size=10)
            data.append({"G": g.with_features(word=word), "label": word % 5})
        history = self.m.fit(data, epochs=30, validation=data)
        self.assertLess(history["loss"][-1], 0.7*history["loss"][0])
        self.assertEqual(self.m.steps, 120)
        self.assertAlmostEqual(history["val_loss"][-1],
                               np.mean([self.m.test(G=b["G"].with_features(
                                   word=b["G"].features["word"].astype("i")),
                                   label=b["label"].astype("i")) for b in data]), 5)
        with self.assertRaisesRegex(TypeError, "graphs are given in batches"):
            self.m.fit(data[0])

    def test_clones_take_graphs_too(self):
        np.testing.assert_array_equal(self.m.clone().forward(G=self.g, word=self.word),
                                      self.m.forward(G=self.g, word=self.word))


LISTS = """
graph G(edges <= 200, vertices <= 64)
input x[G.vertices, 3]
input w[G.edges]
vertex cell(x[J]) over G {
  gather h[G.edges, J]
  s[j] = sum[e] w[e]*h[e, j]
  h2[j] = tanh(x[j] + s[j])
  scatter h = h2
  push h2
}
H = cell(x)
twice[e] = 2*w[e]
output H, twice
"""


class Lists(unittest.TestCase):
    """Graphs whose vertices have children in lists of any length."""

    @classmethod
    def setUpClass(cls):
        cls.m = neoc.compile(LISTS)

    @staticmethod
    def graph(n, seed):
        rng = np.random.default_rng(seed)
        names = rng.permutation(n)
        pairs = [(names[a], names[b]) for b in range(n)
                 for a in rng.permutation(b)[:rng.integers(5)]]
        src, dst = np.array(pairs, "i").reshape(-1, 2).T
        return Graph.from_edges(src, dst, n)

    def test_entries_take_graphs_of_any_numbers_of_children_in_their_numbering(self):
        for n in (1, 2, 9, 40):
            g = self.graph(n, n)
            rng = np.random.default_rng(n)
            children, parents = g.edges
            x = rng.standard_normal((n, 3)).astype("f")
            w = rng.standard_normal(len(children)).astype("f")
            want = np.zeros((n, 3))
            for v in g.order:
                own = parents == v
                want[v] = np.tanh(x[v] + w[own] @ want[children[own]])
            H, twice = self.m.forward(G=g, x=x, w=w)
            np.testing.assert_allclose(H, want, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(twice, 2*w)

    def test_features_of_edges_follow_their_graphs_into_a_batch_and_out_of_it(self):
        graphs, rng = [], np.random.default_rng(4)
        for n in (1, 9, 2, 20):
            g = self.graph(n, n)
            graphs.append(g.with_features(x=rng.standard_normal((n, 3)).astype("f")).with_edge_features(
                w=rng.standard_normal(len(g.edges[0])).astype("f")))
        both = Graph.batch(graphs)
        H, twice = self.m.forward(G=both)
        np.testing.assert_array_equal(twice, 2*np.concatenate([g.edge_features["w"] for g in graphs]))
        for g, back, first in zip(graphs, both.unbatch(), both.start):
            np.testing.assert_array_equal(back.edge_features["w"], g.edge_features["w"])
            np.testing.assert_array_equal(self.m.forward(G=g)[0], H[first:first + g.n])
        with self.assertRaisesRegex(KeyError, "graph 1 has the features none, graph 0 w"):
            Graph.batch([graphs[1], self.graph(9, 9).with_features(x=graphs[1].features["x"])])
        with self.assertRaisesRegex(neoc.ShapeError, r"features\['w'\]"):
            graphs[1].with_edge_features(w=[1.0])

    def test_lists_of_several_types_are_taken_in_the_numbering_of_the_source(self):
        m = neoc.compile("""
            graph G(children <= 2, mod.edges <= 400, near.edges <= 400, vertices <= 99)
            input x[G.vertices, 3]
            input w[G.mod.edges]
            vertex cell(x[J]) over G {
              gather c[2, J] = 0
              gather h[G.mod.edges, J], g[G.near.edges, J]
              h2[j] = tanh(x[j] + (sum[k] c[k, j]) + (sum[e] w[e]*h[e, j]) - 0.5*sum[e] g[e, j])
              scatter c = h2, h = h2, g = h2
              push h2
            }
            H = cell(x)
            twice[e] = 2*w[e]
            output H, twice
            """)
        graphs, rng = [], np.random.default_rng(7)
        for n in (1, 9, 30):
            names = rng.permutation(n)
            pairs = np.array([(names[a], names[b]) for b in range(n) for a in range(b)], "i").reshape(-1, 2)

            def drawn(most):
                return pairs[rng.permutation(len(pairs))[:most]].T
            table = np.full((n, 2), -1)
            table[names[1:], 0] = names[:-1]
            w = rng.standard_normal(min(40, len(pairs))).astype("f")
            g = Graph(table).with_edges("mod", *drawn(40), {"w": w}).with_edges("near", *drawn(20))
            graphs.append(g.with_features(x=rng.standard_normal((n, 3)).astype("f")))
        for g in (*graphs, Graph.batch(graphs), *Graph.batch(graphs).unbatch()):
            w, want = g.edge_features_of("mod")["w"], np.zeros((g.n, 3))
            (src, dst), (near, to) = g.edges_of("mod"), g.edges_of("near")
            for v in g.order:
                below = g.edges[0][g.edges[1] == v]
                want[v] = np.tanh(g.features["x"][v] + want[below].sum(0) + w[dst == v] @ want[src[dst == v]]
                                  - 0.5*want[near[to == v]].sum(0))
            H, twice = m.forward(G=g)
            np.testing.assert_allclose(H, want, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(twice, 2*w)
        self.assertEqual(graphs[0].types, ("mod", "near"))
        with self.assertRaisesRegex(KeyError, "no list of edges 'mod'; it has none"):
            m.forward(G=Graph([[-1, -1]]), x=np.zeros((1, 3), "f"), w=np.zeros(0, "f"))
        with self.assertRaisesRegex(neoc.ArgumentError, "vertex . is below itself"):
            Graph([[1], [-1]]).with_edges("mod", [0], [1])
        with self.assertRaisesRegex(KeyError, "graph 1 has the lists none, graph 0 mod, near"):
            Graph.batch([graphs[0], Graph([[-1]], {"x": np.zeros((1, 3), "f")})])

    def test_graphs_whose_lists_all_have_names_are_taken(self):
        m = neoc.compile("""
            graph G(near.edges <= 400, vertices <= 99)
            input x[G.vertices]
            vertex cell(x) over G {
              gather h[G.near.edges]
              y = x + sum[e] h[e]
              scatter h = y
              push y
            }
            H = cell(x)
            output H
            """)
        g = Graph.from_edges([], [], 3).with_edges("near", [2, 1], [1, 0])
        np.testing.assert_array_equal(m.forward(G=g, x=np.array([1, 2, 3], "f")), [6, 5, 3])

    def test_lists_that_are_none_are_told(self):
        x, w = np.zeros((3, 3), "f"), np.zeros(2, "f")
        for begin, told in (([0, 1, 1, 2], r"G.child\[0\]: vertex 0 is not before vertex 0"),
                            ([0, 0, 2, 1], r"G.begin\[3\]: value 1 is less than 2"),
                            ([1, 1, 1, 2], r"G.begin\[0\]: value 1 is not 0"),
                            ([0, 0, 1, 1], r"G.begin\[3\]: value 1 is not the number")):
            lists = {"G.begin": np.array(begin, "i"), "G.child": np.zeros(2, "i")}
            with self.assertRaisesRegex(neoc.RangeError, told):
                self.m.forward(**lists, x=x, w=w)
        with self.assertRaisesRegex(neoc.ShapeError, "w: dim 0 is 1; the graph G has 2 edges"):
            self.m.forward(G=Graph([[1, 2], [-1, -1], [-1, -1]]), x=x, w=w[:1])


if __name__ == "__main__":
    unittest.main()
