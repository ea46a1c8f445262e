"""Graph: batches of chains, trees and acyclic graphs for vertex functions.

    g = neoc.Graph.from_edges([0, 1], [2, 2])           # what 0 and 1 scatter is gathered by 2
    g = neoc.Graph.batch([g, g], features={"word": [3, 1, 4, 1, 5, 9]})
    m.step(G=g)                                          # of a model with graph G(...)

A graph is a table of children in the numbering of its source, and an order of the vertices in which
children stand before their parents, which is what compiled code needs. Who uses a graph sees its
own numbering alone: rows are arranged, and put back, where a graph is given to a model
(graph_entry.py) or to neoc.vertex (trace/vertices.py). A numbering that has children first already
stays as it is, and costs nothing.

No package of graphs is imported here: from_networkx and others read attributes of what they are
given.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from . import _core, checks
from .errors import ArgumentError, DTypeError, NeoError, RangeError, ShapeError, UnknownName
from .trace import tree
from .trace.named import method_of, told

__all__ = ["Graph"]

Features = Mapping[str, Any]
_MOST_CHILDREN = 1 << 20
_named = method_of("Graph")
MOST = 2**31 - 1  # vertices: numbers of vertices are int32


class _Edges(NamedTuple):
    """A list of edges, by parent, in the numbering of the source."""

    child: Any
    parent: Any
    features: dict[str, Any]

    def moved(self, first: int) -> _Edges:
        """The edges with vertices that are numbered from `first` on."""
        return self._replace(child=(self.child + first).astype(np.int32),
                             parent=(self.parent + first).astype(np.int32))

    def between(self, first: int, end: int) -> _Edges:
        """The edges of the vertices first to end - 1, which are then numbered from 0 on."""
        own = (self.parent >= first) & (self.parent < end)
        features = {name: value[own] for name, value in self.features.items()}
        return _Edges(self.child[own], self.parent[own], features).moved(-first)


class _Features(Dict[str, Any]):
    """A graph's features; a KeyError of a name that it does not have lists the others."""

    def __missing__(self, name: Any) -> Any:
        raise UnknownName(f"the graph has no feature {name!r}; it has {', '.join(self) or 'none'} "
                          "(with_features adds some)")


class Graph:
    """Chains, trees or acyclic graphs, one or many, for vertex functions.

    child: a table [n, K] of whole numbers: the children of each vertex, -1 where there is none.
    Vertices are numbered from 0 on in any order; one may be the child of several others.
    features: arrays with a row for each vertex, by name. children: K, if it is to be larger than
    the most children that a vertex has. ArgumentError (a ValueError) where a vertex is below
    itself, RangeError where a child is no vertex, ShapeError.

    All that is given and returned has the numbering of the source, but for `child`. Graphs do not
    change.

    >>> import neoc
    >>> g = neoc.Graph([[1, 2], [-1, -1], [-1, -1]])
    >>> g
    <neoc.Graph: 3 vertices, 2 edges, at most 2 children>
    >>> g.order.tolist()                       # children first
    [1, 2, 0]
    >>> g.child.tolist()                       # in that order
    [[-1, -1], [-1, -1], [0, 1]]
    >>> g.roots.tolist()
    [0]
    """

    def __init__(self, child: Any, features: Features | None = None, *,
                 children: int | None = None) -> None:
        try:
            self._make(child, features, children)
        except (TypeError, ValueError, NeoError) as problem:
            raise told(problem, "neoc.Graph()", type(self), (child,), {}) from None

    def _make(self, child: Any, features: Features | None, children: int | None) -> None:
        table = _whole("child", child)
        if table.ndim != 2:
            raise ShapeError(f"child: expected a table [vertices, children], given the shape "
                             f"{table.shape}")
        if children is not None or table.shape[1] == 0:
            table = _of_width(table, _width(children, 1))
        self._fill(table, features, None, None)

    def _fill(self, table: Any, features: Features | None, labels: Sequence[Any] | None,
              start: Any) -> None:
        n = len(table)
        if n > MOST:
            raise ShapeError(f"{n} vertices; a graph has at most {MOST}")
        _check_range("child", table, -1, n)
        self._table = _constant(table.astype(np.int32))
        self._lists: dict[str, _Edges] = {}
        self._find_order()
        self._start = _constant(_starts(start, n))
        self._labels = None if labels is None else tuple(labels)
        self._features = _features_of(features, n)
        self._edge_features: dict[str, Any] = {}

    def _find_order(self) -> None:
        self._order = _constant(_ordered(self._table, list(self._lists.values())))
        self._place = _constant(_inverse(self._order))
        self._in_order = bool((self._order == np.arange(len(self._table))).all())
        self._child = self._table if self._in_order else _constant(self._arranged_table())

    def _arranged_table(self) -> Any:
        rows = self._table[self._order]
        return np.where(rows < 0, rows, self._place[rows]).astype(np.int32)

    @classmethod
    def _made(cls, table: Any, features: Features | None, labels: Sequence[Any] | None = None,
              start: Any = None) -> Graph:
        made = cls.__new__(cls)
        made._fill(table, features, labels, start)
        return made

    # ---- what it has

    @property
    def n(self) -> int:
        """The number of vertices; in a traced function a size."""
        return self._child.shape[0]  # type: ignore[no-any-return]

    @property
    def child(self) -> Any:
        """The children, as compiled code takes them: an array [n, K] of int32. Row k belongs to the vertex order[k],
        and its elements are numbers of rows that stand before it, or -1."""
        return self._child

    @property
    def order(self) -> Any:
        """The vertices in an order in which children come first: [n] of int32. That of the source
        if it is one; else that in which a search in depth from vertex 0, 1 ... leaves them."""
        return self._order

    @property
    def place(self) -> Any:
        """The position of each vertex in `order`: [n] of int32."""
        return self._place

    @property
    def is_in_order(self) -> bool:
        """Whether the source's numbering has children first already."""
        return self._in_order

    @property
    def edges(self) -> tuple[Any, Any]:
        """(children, parents): two arrays of int32, by parent, in the order of its children."""
        return self.edges_of()

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the lists of edges that with_edges gave it."""
        return tuple(self._lists)

    @_named
    def edges_of(self, type: str | None = None) -> tuple[Any, Any]:
        """`edges` of the list of this name; None: the others.

        >>> g = Graph.from_edges([0], [2]).with_edges("near", [1, 0], [2, 1])
        >>> [x.tolist() for x in g.edges_of("near")]
        [[0, 1], [1, 2]]
        """
        if type is not None:
            return self._list(type)[:2]
        parent, k = np.nonzero(self._table >= 0)
        return self._table[parent, k], parent.astype(np.int32)

    def _list(self, type: str) -> _Edges:
        if type not in self._lists:
            raise UnknownName(f"the graph has no list of edges {type!r}; it has "
                              f"{', '.join(self._lists) or 'none'} (with_edges adds some)")
        return self._lists[type]

    @_named
    def edge_features_of(self, type: str | None = None) -> dict[str, Any]:
        """`edge_features` of the list of this name, in the order of edges_of(type)."""
        return _Features(self._edge_features if type is None else self._list(type).features)

    @property
    def lists(self) -> tuple[Any, Any]:
        """The children as lists, as compiled code takes them for ``graph G(edges <= E)``: (begin, child), arrays of
        int32. Row k belongs to the vertex order[k] and has the edges begin[k] to begin[k + 1] - 1; child
        has the row of each edge's child.

        >>> [x.tolist() for x in Graph([[1, 2], [-1, -1], [-1, -1]]).lists]
        [[0, 0, 0, 2], [0, 1]]
        """
        return self.lists_of()

    @_named
    def lists_of(self, type: str | None = None) -> tuple[Any, Any]:
        """`lists` of the edges of this type, which ``graph G(type.edges <= E, vertices <= V)`` takes."""
        child, parent = self.edges_of(type)
        begin = np.zeros(len(self._order) + 1, np.int32)
        np.cumsum(np.bincount(parent, minlength=len(self._order))[self._order], out=begin[1:])
        return begin, self._place[child[self.edge_order_of(type)]]

    @property
    def edge_order(self) -> Any:
        """The edges in the order of `lists`, by their numbers in `edges`: [edges] of int32."""
        return self.edge_order_of()

    @_named
    def edge_order_of(self, type: str | None = None) -> Any:
        """The edges in the order of lists_of(type), by their numbers in edges_of(type)."""
        _, parent = self.edges_of(type)
        return np.argsort(self._place[parent], kind="stable").astype(np.int32)

    @property
    def features(self) -> dict[str, Any]:
        """Arrays with a row for each vertex, by name."""
        return _Features(self._features)

    @property
    def edge_features(self) -> dict[str, Any]:
        """Arrays with a row for each edge, in the order of `edges`, by name."""
        return _Features(self._edge_features)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The name of each vertex in the source: leaves of nested lists (None: a branch), nodes of
        networkx; None where it has numbers only."""
        return self._labels

    @property
    def start(self) -> Any:
        """Graph b of a batch has the vertices start[b] to start[b + 1] - 1: int64."""
        return self._start

    @property
    def roots(self) -> Any:
        """The vertices that are nobody's children."""
        is_root = np.ones(len(self._table), bool)
        is_root[self._table[self._table >= 0]] = False
        return np.flatnonzero(is_root).astype(np.int32)

    def __len__(self) -> int:
        """How many graphs the batch has."""
        return len(self._start) - 1

    def __repr__(self) -> str:
        graphs = f"{len(self)} graphs, " if len(self) != 1 else ""
        names = f"; {', '.join(self._features)}" if self._features else ""
        lists = "".join(f", {len(x.child)} {name}.edges" for name, x in self._lists.items())
        return (f"<neoc.Graph: {graphs}{len(self._table)} vertices, "
                f"{int((self._table >= 0).sum())} edges, at most {self._table.shape[1]} children"
                f"{lists}{names}>")

    # ---- others made of it

    @_named
    def with_features(self, **features: Any) -> Graph:
        """The same graph with further arrays, or others under these names.

        >>> g = Graph.from_trees([["a", ["b", "a"]]])
        >>> ids = {"a": 1, "b": 2, None: 0}
        >>> g.with_features(word=[ids[w] for w in g.labels]).features["word"].tolist()
        [1, 2, 1, 0, 0]
        """
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._features = {**self._features, **_features_of(features, len(self._table))}
        return made

    @_named
    def with_edge_features(self, **features: Any) -> Graph:
        """The same graph with further arrays that have a row for each edge, in the order of `edges`, or others
        under these names.

        >>> g = Graph.from_edges([0, 1], [2, 2]).with_edge_features(weight=[0.5, 1.5])
        >>> Graph.batch([g, g]).edge_features["weight"].tolist()
        [0.5, 1.5, 0.5, 1.5]
        """
        made = self.with_features()
        more = _features_of(features, int((self._table >= 0).sum()))
        made._edge_features = {**self._edge_features, **more}
        return made

    @_named
    def with_edges(self, type: str, src: Any, dst: Any, features: Features | None = None) -> Graph:
        """The same graph with a list of edges of another type, or another list of this name: dst[e]
        gathers what src[e] scatters. A model takes it as ``type.edges``, beside the other children.

        features: arrays with a row for each edge of src, by name; `edge_features_of` has them in the
        order of edges_of(type). ArgumentError where a vertex would be below itself.

        >>> g = Graph.from_edges([0, 1], [2, 2])
        >>> g = g.with_edges("near", [1, 0], [2, 1], {"d": [0.5, 1.5]})
        >>> g
        <neoc.Graph: 3 vertices, 2 edges, at most 2 children, 2 near.edges>
        >>> g.edge_features_of("near")["d"].tolist()
        [1.5, 0.5]
        """
        name, n = checks.word("type", type), len(self._table)
        child, parent = _ends_of(src, dst)
        _check_range("src", child, 0, n)
        _check_range("dst", parent, 0, n)
        by = np.argsort(parent, kind="stable")
        own = {k: v[by] for k, v in _features_of(features, len(by)).items()}
        made = self.with_features()
        made._lists = {**self._lists, name: _Edges(child[by], parent[by], own).moved(0)}
        made._find_order()
        return made

    @_named
    def table(self, children: int) -> Any:
        """`child` with room for so many children. ShapeError where a vertex has more."""
        return _of_width(self._child, _width(children, 1), self._order)

    @_named
    def arrange(self, rows: Any) -> Any:
        """Rows of the source's numbering in the order of `child`."""
        return _rows("rows", rows, len(self._table))[self._order]

    @_named
    def restore(self, rows: Any) -> Any:
        """Rows in the order of `child` in the source's numbering.

        >>> g = Graph([[1], [-1]])
        >>> g.arrange([10, 20]).tolist(), g.restore(g.arrange([10, 20])).tolist()
        ([20, 10], [10, 20])
        """
        return _rows("rows", rows, len(self._table))[self._place]

    @classmethod
    @_named
    def batch(cls, graphs: Iterable[Graph], features: Features | None = None) -> Graph:
        """Graphs one after the other as one graph; vertices of later ones are numbered on.

        Features of all are put together by name, and each graph has the same. features: further
        ones, of the whole batch.

        >>> a = Graph.from_edges([0], [1], features={"x": [1.0, 2.0]})
        >>> both = Graph.batch([a, a])
        >>> len(both), both.start.tolist(), both.features["x"].tolist()
        (2, [0, 2, 4], [1.0, 2.0, 1.0, 2.0])
        """
        if isinstance(graphs, (str, bytes, Graph)) or not isinstance(graphs, Iterable):
            raise DTypeError("graphs: expected a sequence of neoc.Graph, given "
                             f"{checks.shown(graphs)}")
        given = list(graphs)
        for k, g in enumerate(given):
            if not isinstance(g, Graph):
                raise DTypeError(f"graphs: graph {k}: expected a neoc.Graph, given "
                                 f"{checks.shown(g)}")
        table, first = _stacked([g._table for g in given])
        starts = [np.zeros(1, np.int64), *[g._start[1:] + n for g, n in zip(given, first)]]
        labels = None if any(g._labels is None for g in given) or not given else [
            label for g in given for label in g._labels or ()]
        more = {} if features is None else checks.mapping(
            "features", features, "a dict of arrays by name")
        merged = {**_together([g._features for g in given]), **more}
        made = cls._made(table, merged, labels, np.concatenate(starts))
        made._edge_features = _together([g._edge_features for g in given])
        made._lists = _lists_together(given, first.tolist())
        made._find_order()
        return made

    def unbatch(self) -> list[Graph]:
        """The graphs of a batch, each by itself.

        >>> [g.n for g in Graph.from_trees([[1, 2], [1, [2, 3]]]).unbatch()]
        [3, 5]
        """
        made = []
        edges = np.concatenate([[0], np.cumsum((self._table >= 0).sum(1))])
        for first, end in zip(self._start.tolist(), self._start[1:].tolist()):
            table = self._table[first:end].astype(np.int64)
            table = np.where(table < 0, table, table - first)
            labels = None if self._labels is None else self._labels[first:end]
            made.append(self._made(table, {k: v[first:end] for k, v in self._features.items()},
                                   labels))
            own = slice(edges[first], edges[end])
            made[-1]._edge_features = {k: v[own] for k, v in self._edge_features.items()}
            made[-1]._lists = {k: x.between(first, end) for k, x in self._lists.items()}
            made[-1]._find_order()
        return made

    # ---- sources

    @classmethod
    @_named
    def from_edges(cls, src: Any, dst: Any, n: int | None = None,
                   features: Features | None = None, *, children: int | None = None,
                   reverse: bool = False) -> Graph:
        """A graph of edges: src[e] is a child of dst[e], which gathers what it scatters.

        n: vertices; None: as many as the edges name. Children of a vertex stand in the order of
        the edges. reverse: edges go from parents to children. children: as of Graph; ShapeError
        where a vertex has more.

        >>> Graph.from_edges([3, 0], [1, 1]).edges[0].tolist()
        [3, 0]
        >>> Graph.from_edges([0, 1], [1, 0])
        Traceback (most recent call last):
        neoc.errors.ArgumentError: Graph.from_edges(): vertex 0 is below itself: 0 -> 1 -> 0
        """
        table = _table_of(src, dst, n, children, reverse)
        return cls._made(table, features)

    @classmethod
    @_named
    def from_trees(cls, trees: Iterable[Any], features: Features | None = None, *,
                   children: int | None = None) -> Graph:
        """A batch of trees, each of them nested lists or an array of parents.

        A list or tuple is a vertex, and its elements are its children: lists, or leaves, which are
        anything else and become `labels`. Vertices are numbered in the order in which lists end:
        children first, the root last. An array of whole numbers has the parent of each vertex, -1
        for a root.

        >>> g = Graph.from_trees([["the", ["cat", "sat"]]])
        >>> g.labels
        ('the', 'cat', 'sat', None, None)
        >>> g.child.tolist()
        [[-1, -1], [-1, -1], [-1, -1], [1, 2], [0, 3]]
        >>> import numpy as np
        >>> Graph.from_trees([np.array([2, 2, -1])]).child.tolist()
        [[-1, -1], [-1, -1], [0, 1]]
        """
        tables: list[Any] = []
        labels: list[Any] = []
        is_labelled = True
        wanted = "a sequence of trees: nested lists, or arrays of parents"
        if isinstance(trees, (str, bytes, Mapping)) or not isinstance(trees, Iterable):
            raise DTypeError(f"trees: expected {wanted}, given {checks.shown(trees)}")
        for k, one in enumerate(trees):
            is_array = hasattr(one, "dtype") and hasattr(one, "shape")
            table, its = _of_parents(k, one) if is_array else _of_lists(k, one)
            tables.append(table)
            labels += its or ()
            is_labelled = is_labelled and its is not None
        table, start = _stacked(tables)
        if children is not None:
            table = _of_width(table, _width(children, 1))
        return cls._made(table, features, labels if is_labelled and tables else None, start)

    @classmethod
    @_named
    def from_networkx(cls, graph: Any, features: Sequence[str] = (), *,
                      children: int | None = None, reverse: bool = False) -> Graph:
        """A directed graph of networkx; `labels` are its nodes, in its order.

        features: names of attributes that each node has. reverse, children: as of from_edges; trees
        of networkx mostly have edges from parents to children, so reverse=True.
        """
        _has("graph", graph, ("is_directed", "nodes", "edges"), "a graph of networkx")
        if not graph.is_directed():
            raise ArgumentError("graph: an undirected graph does not tell children from parents; "
                                "give a DiGraph")
        nodes = list(graph.nodes)
        number = {node: k for k, node in enumerate(nodes)}
        edges = [(number[u], number[v]) for u, v in graph.edges()]
        src, dst = np.asarray(edges, np.int64).reshape(len(edges), 2).T
        found = {name: _attribute(graph, nodes, name) for name in _names(features)}
        return cls._made(_table_of(src, dst, len(nodes), children, reverse), found, nodes)

    @classmethod
    @_named
    def from_scipy(cls, matrix: Any, features: Features | None = None, *,
                   children: int | None = None, reverse: bool = False) -> Graph:
        """A sparse matrix of scipy, of any format: an element that is stored at [i, j], whatever
        its value, is an edge from i to j. Further arguments are those of from_edges."""
        if not hasattr(matrix, "tocoo"):
            raise DTypeError("matrix: expected a sparse matrix of scipy, given "
                             f"{checks.shown(matrix)}")
        coo = matrix.tocoo()
        if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
            raise ShapeError("matrix: a matrix of edges is square; given the shape "
                             f"{tuple(coo.shape)}")
        table = _table_of(coo.row, coo.col, int(coo.shape[0]), children, reverse)
        return cls._made(table, features)

    @classmethod
    @_named
    def from_dgl(cls, graph: Any, features: Sequence[str] = (), *, children: int | None = None,
                 reverse: bool = False) -> Graph:
        """A graph of DGL with one type of nodes and edges, or a batch of such.

        features: names in its ndata. Further arguments are those of from_edges.
        """
        _has("graph", graph, ("edges", "ndata", "batch_num_nodes", "num_nodes"), "a graph of DGL")
        if not getattr(graph, "is_homogeneous", True):
            raise ArgumentError("graph: this graph has several types of nodes or edges; give "
                                "dgl.to_homogeneous(graph)")
        src, dst = graph.edges()
        found = {name: _of_frame(graph.ndata, name) for name in _names(features)}
        start = np.concatenate([[0], np.cumsum(_host(graph.batch_num_nodes()))])
        table = _table_of(src, dst, int(graph.num_nodes()), children, reverse)
        return cls._made(table, found, None, start)

    @classmethod
    @_named
    def from_pyg(cls, data: Any, features: Sequence[str] = (), *, children: int | None = None,
                 reverse: bool = False) -> Graph:
        """A Data or Batch of PyTorch Geometric, whose edges go from edge_index[0] to [1].

        features: names of its tensors, such as "x". Further arguments are those of from_edges.
        """
        _has("data", data, ("edge_index", "num_nodes"), "a Data or Batch of PyTorch Geometric")
        index = _host(data.edge_index)
        if index.ndim != 2 or len(index) != 2:
            raise ShapeError(f"edge_index: expected the shape (2, edges), given {index.shape}")
        found = {name: _of_frame(data, name) for name in _names(features)}
        start = getattr(data, "ptr", None)
        table = _table_of(index[0], index[1], int(data.num_nodes), children, reverse)
        return cls._made(table, found, None, None if start is None else _host(start))

    # ---- as an argument of traced functions

    @property
    def maps(self) -> tuple[Any, ...]:
        """`order` and `place`, or nothing where the graph is in order."""
        return () if self._in_order else (self._order, self._place)

    def _parts(self) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Its arrays and their names. A graph that is in order needs no maps."""
        names = () if self._in_order else ("order", "place")
        return ((self._child, *self.maps, *self._features.values()),
                ("child", *names, *self._features))

    @classmethod
    def _of_parts(cls, names: Any, parts: Sequence[Any]) -> Graph:
        """A stand-in for a graph in a traced function: child, features, n, arrange, restore."""
        made = _Traced.__new__(_Traced)
        maps = 2 if names[1:3] == ("order", "place") else 0
        made._child, made._in_order = parts[0], maps == 0
        made._order, made._place = parts[1:3] if maps else (None, None)
        made._features = dict(zip(names[1 + maps:], parts[1 + maps:]))
        return made


class _Traced(Graph):
    """A graph in a traced function, whose arrays are tensors."""

    def __getattr__(self, name: str) -> Any:
        if name in ("_table", "_start", "_labels"):
            raise NeoError("in a traced function a graph has child, features and n; others are "
                           "known outside of it only")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return "<neoc.Graph of a traced function>"

    def arrange(self, rows: Any) -> Any:
        """See Graph.arrange."""
        return rows if self._in_order else rows[self._order]

    def restore(self, rows: Any) -> Any:
        """See Graph.restore."""
        return rows if self._in_order else rows[self._place]


tree.register(Graph, Graph._parts, Graph._of_parts)
tree.register(_Traced, Graph._parts, Graph._of_parts)


# ---------------------------------------------------------------- arrays

def _constant(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def _host(value: Any) -> Any:
    """An array of numpy of what is one, a list, or a tensor of torch, on any device."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


def _array(name: str, value: Any, wanted: str) -> Any:
    """An array of what is one. DTypeError, which names the argument."""
    try:
        return _host(value)
    except (TypeError, ValueError):
        raise DTypeError(f"{name}: expected {wanted}, given {checks.shown(value)}") from None


def _has(where: str, value: Any, names: Sequence[str], wanted: str) -> None:
    """Refuses what is no object of another package, by the attributes that are read of it."""
    if any(not hasattr(value, name) for name in names):
        raise DTypeError(f"{where}: expected {wanted}, given {checks.shown(value)}")


def _whole(name: str, value: Any) -> Any:
    """An array of whole numbers as int64."""
    array = _array(name, value, "an array of whole numbers")
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{name}: expected an array of whole numbers, given "
                         f"{checks.shown(value)} ({array.dtype})")
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(2**63 - 1))  # no number of a vertex anyway
    return array.astype(np.int64)


def _rows(name: str, value: Any, n: int) -> Any:
    array = _array(name, value, "an array with a row for each vertex")
    if array.dtype.kind in "OUSV" and array.dtype.name != "bfloat16":
        raise DTypeError(f"{name}: expected an array of numbers, given {checks.shown(value)}")
    if array.ndim == 0 or len(array) != n:
        raise ShapeError(f"{name}: expected a row for each of {n} vertices, given the shape "
                         f"{array.shape}")
    return array


def _features_of(given: Features | None, n: int) -> dict[str, Any]:
    given = {} if given is None else checks.mapping(
        "features", given, "a dict of arrays by name")
    for name in given:
        if name in ("child", "order", "place"):
            raise ArgumentError(f"features: a feature cannot be called '{name}', as the graph has "
                                "that")
    return {name: _rows(f"features['{name}']", value, n) for name, value in given.items()}


def _starts(given: Any, n: int) -> Any:
    """The positions at which graphs of a batch begin, and at which the last one ends."""
    start = np.asarray([0, n] if given is None else given, np.int64)
    if start.ndim != 1 or len(start) == 0 or start[0] != 0 or start[-1] != n or \
            (np.diff(start) < 0).any():
        raise ShapeError(f"the graphs of this batch do not have its {n} vertices together")
    return start


def _check_range(name: str, array: Any, low: int, end: int) -> None:
    wrong = np.argwhere((array < low) | (array >= end))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise RangeError(f"{name}[{', '.join(map(str, at))}] is {int(array[at])}, which is not in "
                         f"[{low}, {end})")


def _inverse(order: Any) -> Any:
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def _ordered(table: Any, lists: Sequence[_Edges]) -> Any:
    """The order of neo_rt_graph_order: children of each vertex by its row, then by lists."""
    n, width = table.shape
    first = np.arange(n + 1, dtype=np.int64)*width
    if not lists:
        return _core.graph_order(n, first, np.ascontiguousarray(table))
    child = np.concatenate([table.reshape(-1), *[x.child for x in lists]])
    parent = np.concatenate([np.repeat(np.arange(n), width), *[x.parent for x in lists]])
    first[1:] = np.cumsum(np.bincount(parent, minlength=n))
    return _core.graph_order(n, first, child[np.argsort(parent, kind="stable")].astype(np.int32))


def _width(children: int | None, least: int) -> int:
    return least if children is None else checks.number("children", children, 1, _MOST_CHILDREN)


def _of_width(table: Any, width: int, names: Any = None) -> Any:
    """The table with so many columns. names: those of the rows' vertices."""
    have = table.shape[1]
    count = (table >= 0).sum(axis=1)
    if have > width and (table[:, width:] >= 0).any():
        row = int(np.flatnonzero((table[:, width:] >= 0).any(axis=1))[0])
        vertex = row if names is None else int(names[row])
        what = f"has {int(count[row])} children" if int(count[row]) > width else \
            f"has a child at place {int(np.flatnonzero(table[row] >= 0)[-1])}"
        raise ShapeError(f"vertex {vertex} {what}; at most {width} are allowed")
    made = np.full((len(table), width), -1, table.dtype)
    made[:, :min(have, width)] = table[:, :width]
    return made


def _ends_of(src: Any, dst: Any) -> tuple[Any, Any]:
    child, parent = (_whole(name, value) for name, value in (("src", src), ("dst", dst)))
    if child.ndim != 1 or child.shape != parent.shape:
        raise ShapeError(f"src and dst are as long as each other; given the shapes {child.shape} "
                         f"and {parent.shape}")
    return child, parent


def _table_of(src: Any, dst: Any, n: int | None, children: int | None, reverse: bool) -> Any:
    """The table of children of edges."""
    reverse = checks.flag("reverse", reverse)
    if n is not None:
        n = checks.number("n", n, 0, MOST)
    child, parent = _ends_of(src, dst)
    count = max(child.max(initial=-1), parent.max(initial=-1)) + 1 if n is None else n
    if not 0 <= count <= MOST:
        raise ShapeError(f"{count} vertices; a graph has 0 to {MOST}")
    _check_range("src", child, 0, int(count))
    _check_range("dst", parent, 0, int(count))
    if reverse:
        child, parent = parent, child
    return _filled(child, parent, int(count), children)


def _filled(child: Any, parent: Any, n: int, children: int | None) -> Any:
    count = np.bincount(parent, minlength=n)
    most = int(count.max(initial=0))
    width = _width(children, max(most, 1))
    if most > width:
        raise ShapeError(f"vertex {int(count.argmax())} has {most} children; at most {width} are "
                         "allowed")
    by = np.argsort(parent, kind="stable")
    first = np.concatenate([[0], np.cumsum(count)])
    table = np.full((n, width), -1, np.int64)
    table[parent[by], np.arange(len(by)) - first[parent[by]]] = child[by]
    return table


def _stacked(tables: Sequence[Any]) -> tuple[Any, Any]:
    """Tables of graphs one after the other, and where each begins and the last one ends."""
    width = max((table.shape[1] for table in tables), default=1)
    start = np.concatenate([[0], np.cumsum([len(table) for table in tables], dtype=np.int64)])
    if start[-1] > MOST:
        raise ShapeError(f"{start[-1]} vertices; a graph has at most {MOST}")
    made = np.full((int(start[-1]), width), -1, np.int32)
    for table, first in zip(tables, start.tolist()):
        rows = made[first:first + len(table), :table.shape[1]]
        np.add(table, first, out=rows, where=table >= 0, casting="unsafe")
    return made, start


def _together(features: Sequence[Features]) -> dict[str, Any]:
    """Features of graphs, one after the other."""
    if not features:
        return {}
    names = list(features[0])
    for k, own in enumerate(features):
        if set(own) != set(names):
            raise UnknownName(f"graph {k} has the features {', '.join(own) or 'none'}, "
                             f"graph 0 {', '.join(names) or 'none'}")
    return {name: _joined(name, [own[name] for own in features]) for name in names}


def _lists_together(graphs: Sequence[Graph], first: Sequence[int]) -> dict[str, _Edges]:
    """Lists of edges of graphs, one after the other."""
    made = {}
    for name in graphs[0].types if graphs else ():
        for k, g in enumerate(graphs):
            if set(g.types) != set(graphs[0].types):
                raise UnknownName(f"graph {k} has the lists {', '.join(g.types) or 'none'}, graph 0 "
                                 f"{', '.join(graphs[0].types)}")
        lists = [g._lists[name].moved(n) for g, n in zip(graphs, first)]
        made[name] = _Edges(np.concatenate([x.child for x in lists]),
                            np.concatenate([x.parent for x in lists]),
                            _together([x.features for x in lists]))
    return made


def _joined(name: str, arrays: Sequence[Any]) -> Any:
    first = arrays[0]
    for k, array in enumerate(arrays):
        if array.shape[1:] != first.shape[1:] or array.dtype != first.dtype:
            raise ShapeError(f"{name}: rows of graph {k} are {array.dtype} of shape "
                             f"{array.shape[1:]}, those of graph 0 {first.dtype} of "
                             f"{first.shape[1:]}")
    return np.concatenate(arrays)


# ---------------------------------------------------------------- sources

def _of_parents(number: int, given: Any) -> tuple[Any, None]:
    parents = _whole(f"tree {number}", given)
    if parents.ndim != 1:
        raise ShapeError(f"tree {number}: parents are an array of one dimension, given the shape "
                         f"{parents.shape}")
    _check_range(f"tree {number}: parents", parents, -1, len(parents))
    child = np.flatnonzero(parents >= 0)
    return _filled(child, parents[child], len(parents), None), None


def _of_lists(number: int, given: Any) -> tuple[Any, list[Any]]:
    """Table and labels of nested lists, by a stack: they may be deep."""
    _refuse_parents(number, given)
    rows: list[list[int]] = []
    labels: list[Any] = []
    stack: list[tuple[Any, list[int]]] = []
    within: set[int] = set()

    def close(label: Any, row: list[int]) -> None:
        rows.append(row)
        labels.append(label)
        if stack:
            stack[-1][1].append(len(rows) - 1)

    def enter(one: Any) -> None:
        if not isinstance(one, (list, tuple)):
            return close(one, [])
        if id(one) in within:
            raise ArgumentError(f"tree {number}: a list has itself as an element")
        within.add(id(one))
        stack.append((iter(one), []))
        opened.append(id(one))

    opened: list[int] = []
    nothing = object()
    enter(given)
    while stack:
        one = next(stack[-1][0], nothing)
        if one is not nothing:
            enter(one)
            continue
        within.remove(opened.pop())
        close(None, stack.pop()[1])
    child = np.asarray([c for row in rows for c in row], np.int64)
    parent = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return _filled(child, parent, len(rows), None), labels


def _refuse_parents(number: int, given: Any) -> None:
    """A list such as [2, 2, -1] may be meant as parents."""
    if isinstance(given, (list, tuple)) and -1 in [v for v in given if type(v) is int] and \
            all(type(v) is int for v in given):
        raise ArgumentError(f"tree {number}: if this list has the parents of vertices, give "
                            "np.array(...) of it; as a vertex with leaves it has a leaf -1, which "
                            "is to be called otherwise")


def _names(features: Sequence[str]) -> Sequence[str]:
    return checks.names("features", features)


def _attribute(graph: Any, nodes: Sequence[Any], name: str) -> Any:
    for node in nodes:
        if name not in graph.nodes[node]:
            raise UnknownName(f"node {node!r} has no attribute '{name}'")
    return np.asarray([graph.nodes[node][name] for node in nodes])


def _of_frame(frame: Any, name: str) -> Any:
    try:
        found = frame[name]
    except (KeyError, AttributeError):
        found = None
    if found is None:
        raise UnknownName(f"the graph has no feature '{name}'")
    return _host(found)
