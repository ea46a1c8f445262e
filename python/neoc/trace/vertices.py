"""neoc.vertex: functions of one vertex of a batch of chains, trees or acyclic graphs.

The body is traced once, for one vertex, and becomes a vertex function of the text. The graph is an
argument of the traced function: its table of children is an input, and the number of vertices a
size of the run. What the body reads from outside becomes an argument of the vertex function.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import checks
from ..errors import NeoError, ShapeError, Unsupported
from . import scope, sizes, tree
from .control import collectable, is_number, same_as
from .expr import Expr, reads
from .make import lift
from .poly import Index, Poly, Symbol, poly
from .scope import Block, Place, Statement, Trace
from .tensor import Tensor, TraceError, define, read
from .text import Scribe, Writer, real


class VaryingSize(Exception):
    """An axis must be a size of the run; the trace begins again."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class GraphOfTrace:
    """A graph in the text: its name, table of children and number of vertices."""

    def __init__(self, trace: Trace, child: Tensor) -> None:
        self.child = child
        self.children = sizes.fix(child.extents[1])
        self.argument: Optional[int] = None
        count = len(trace.graphs)
        self.name = f"G{count + 1 if count else ''}"

    def head(self, writer: Writer, heads: List[Tuple[str, Place]]) -> List[Tuple[str, Any]]:
        """Its declaration; what the program is given for it."""
        symbol = self.child.extents[0].symbol()
        if symbol is None:
            raise NeoError("the number of vertices of a graph became a constant: an array or "
                           "tensor of known size stands where one row for each vertex is due")
        heads.append((f"graph {self.name}(children <= {self.children}, vertices <= {symbol.high})",
                      self.child.place))
        given = self.argument if self.argument is not None else self.child.value
        return [(f"{self.name}.child", given)]


class Vertex:
    """The argument of a vertex function's body: gathers from children, scatters to parents.

    `children` is how many there are (int32).
    """

    def __init__(self, statement: "VertexCall") -> None:
        self._statement = statement
        self.children = statement.count

    def gather(self, first: Any) -> Any:
        """The values that the children scattered, a tree like `first` with a first dimension of children.

        first: the values in place of a missing child: numbers, or tensors, which may be
        computed from the vertex's own values, and have gradients.
        """
        return self._statement.gather(first)

    def scatter(self, values: Any) -> None:
        """Sets the values that parents gather: a tree like that of gather."""
        self._statement.scatter(values)


class Given:
    """A source of tensors in the body: an argument, or a gathered value."""

    def __init__(self, place: Place) -> None:
        self.place = place


class Gather(Statement):
    """A gather of scattered values, with a value for missing children: gather h[k < 2, i] = h0[i].

    It stands in the body after the definitions of that value.
    """

    def __init__(self, call: "VertexCall", firsts: Sequence[Tensor]) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        trace.block.items.pop()
        call.body.items.append(self)
        self.firsts = list(firsts)
        self.loops = [[Index(e) for e in first.extents] for first in firsts]
        self.values = [read(first, loops) for first, loops in zip(firsts, self.loops)]
        self.children = Index(call.graph.children)
        for e in self.values:
            if not all(call.body.within(real(r.tensor).block) for r in reads(e)):
                raise TraceError("v.gather: what stands for a child that is not there is made "
                                 "inside of a loop or choice of the body; make it outside of it")
        self.results = [Tensor(trace, [poly(call.graph.children), *first.extents], first.kind,
                               source=self) for first in firsts]

    def expressions(self) -> Sequence[Expr]:
        return self.values

    def write(self, writer: Writer) -> None:
        for t, e, loops in zip(self.results, self.values, self.loops):
            scribe = Scribe(writer)
            left = ", ".join(f"{scribe.letter(i)} < {scribe.poly(i.extent)}"
                             for i in [self.children, *loops])
            kind = "" if t.kind == "f32" else f" : {t.kind}"
            writer.line(f"gather {writer.name(t)}[{left}]{kind} = {scribe.top(e)}", self.place)


class VertexCall(Statement):
    """A vertex function and its call: vertex f(x[3], W[3, 4]) over G { ... }  H = f(X, W)."""

    def __init__(self, name: str, graph: GraphOfTrace, down: bool) -> None:
        trace = scope.current()
        assert trace is not None
        super().__init__(trace)
        trace.block.items.pop()
        self.name, self.graph, self.down = name, graph, down
        self.body: Block = trace.open()
        self.source = Given(self.place)
        self.rows: List[Tuple[Tensor, Tensor]] = []
        self.gathered: Optional[Gather] = None
        self.structure: Optional[tree.Structure] = None
        self.scattered: List[Tensor] = []
        self.pushed: List[Tensor] = []
        self.count = Tensor(trace, [], "i32", source=self.source,
                            bound=(poly(0), poly(graph.children + 1)))

    # ---- while the body is traced
    def row(self, t: Tensor) -> Tensor:
        """The row of an argument that belongs to the vertex, or the whole of another one."""
        extents = t.extents
        trace = scope.current()
        assert trace is not None
        if extents and extents[0] == self.graph.child.extents[0]:
            inner = Tensor(trace, extents[1:], t.kind, source=self.source, bound=t.bound)
            self.rows.append((inner, t))
            return inner
        return t

    def gather(self, first: Any) -> Any:
        """See Vertex.gather."""
        if self.gathered is not None:
            raise TraceError("a vertex gathers once: give a tuple or dict to gather several")
        leaves, self.structure = tree.flatten(first)
        self.gathered = Gather(self, [lift(leaf) for leaf in leaves])
        return tree.unflatten(self.structure, self.gathered.results)

    def scatter(self, values: Any) -> None:
        """See Vertex.scatter."""
        leaves, its = tree.flatten(values)
        if self.gathered is None or its != self.structure:
            told = "nothing" if self.structure is None else tree.show(self.structure)
            raise ValueError(f"vertex: scatter gives {tree.show(its)}, gather takes {told}")
        for path, leaf, value in zip(tree.paths(its), leaves, self.gathered.firsts):
            t = lift(leaf, value.kind if is_number(leaf) else None)
            same_as("vertex", path, t, value)
            made = collectable(t)
            made.pinned = True
            self.scattered.append(made)

    def finish(self, results: Sequence[Any]) -> None:
        """The body has ended."""
        trace = scope.current()
        assert trace is not None
        if len(self.scattered) != len(self._gathered()):
            raise TraceError("vertex: what is gathered must be scattered, by v.scatter(...)")
        for leaf in results:
            made = collectable(lift(leaf))
            made.pinned = True
            self.pushed.append(made)
        trace.close()
        trace.block.items.append(self)
        vertices = self.graph.child.extents[0]
        self.results = [Tensor(trace, [vertices, *t.extents], t.kind, source=self)
                        for t in self.pushed]

    def _gathered(self) -> List[Tensor]:
        return [] if self.gathered is None else self.gathered.results

    # ---- for the writer
    def uses(self) -> Sequence[Tensor]:
        return [*[t for _, t in self.rows], self.graph.child]

    def blocks(self) -> Sequence[Tuple[Block, Sequence[Any]]]:
        return [(self.body, [*self._gathered(), *self.scattered, *self.pushed])]

    def _outside(self, writer: Writer) -> List[Tensor]:
        """Tensors that the body reads and that are made outside of it."""
        found: Dict[int, Tensor] = {}
        for t in [*_read_in(self.body, writer), *self.scattered, *self.pushed]:
            if not real(t).block.within(self.body):
                found.setdefault(id(real(t)), real(t))
        return list(found.values())

    def call_results(self, writer: Writer) -> None:
        """A result that no variable holds is called as what each vertex pushes, with an s."""
        for r, t in zip(self.results, self.pushed):
            r.name = r.name or (t.name or "pushed") + "s"

    def write(self, writer: Writer) -> None:
        outside = self._outside(writer)
        vertices = self.graph.child.extents[0]
        for t in outside:
            if t.extents and t.extents[0] == vertices and real(t) is not real(self.graph.child):
                raise Unsupported(
                    f"vertex: the body reads '{writer.name(t)}' from outside, which has a row for "
                    "each vertex: give it as an argument, and the body is given its row")
        name = writer.fresh(self.name)
        rows = [(inner, t) for inner, t in self.rows if id(inner) in writer.live]
        for inner, t in rows:
            inner.name = inner.name or writer.name(t)
        parameters = [_parameter(writer, writer.name(i), i.extents) for i, _ in rows]
        parameters += [_parameter(writer, writer.name(t), t.extents) for t in outside]
        down = " down" if self.down else ""
        writer.names[id(self.count)] = "children"
        writer.line(f"vertex {name}({', '.join(parameters)}) over {self.graph.name}{down} {{",
                    self.place)
        writer.depth += 1
        self._write_body(writer)
        writer.depth -= 1
        writer.line("}", self.place)
        inner_names = [writer.name(t) for _, t in rows] + [writer.name(t) for t in outside]
        results = ", ".join(writer.name(r) if id(r) in writer.live else "_" for r in self.results)
        writer.line(f"{results} = {name}({', '.join(inner_names)})", self.place)

    def _write_body(self, writer: Writer) -> None:
        writer.block(self.body)
        for t, scattered in zip(self._gathered(), self.scattered):
            writer.line(f"scatter {writer.name(t)} = {writer.name(scattered)}", self.place)
        for pushed in self.pushed:
            writer.line(f"push {writer.name(pushed)}", self.place)


def _parameter(writer: Writer, name: str, extents: Sequence[Poly]) -> str:
    axes = []
    for k, e in enumerate(extents):
        constant = e.constant()
        axes.append(str(constant) if constant is not None else f"{name}_{k}")
    return f"{name}[{', '.join(axes)}]" if axes else name


def _read_in(block: Block, writer: Writer) -> List[Tensor]:
    """The tensors that definitions and statements of a block read, with those of inner blocks."""
    found: List[Tensor] = []
    for item in block.items:
        if id(item) not in writer.live:
            continue
        if isinstance(item, Statement):
            found += [real(t) for t in item.uses()]
            found += [real(r.tensor) for e in item.expressions() for r in reads(e)]
            for inner, results in item.blocks():
                found += [*_read_in(inner, writer), *map(real, results)]
        elif item.body is not None:
            found += [real(r.tensor) for r in reads(item.body)]
    return found


def vertex(f: Callable[..., Any], graph: Any, down: bool = False) -> Callable[..., Any]:
    """f for every vertex of a graph: vertex(f, graph)(x, ...) gives what f returns, a row a vertex.

    f(v, x, ...) is the function of one vertex: v.gather(first) is what its children scattered, with
    a dimension of children in front and `first` where there is no child; v.scatter(values) gives
    it to the parents; v.children counts. Arguments have a row for each vertex, and are given row by
    row; what all vertices share is used by its name. graph: an argument of the traced function, an
    array child[vertices, K] of
    int32 (-1: no child; children stand before parents), or what has one as `child`, as neoc.Graph.
    With a neoc.Graph rows have the numbering of its source, in arguments and results.
    down: from the vertices behind to those before; gather is then of parents, summed.

    >>> import neoc
    >>> @neoc.function
    ... def sums(child, x):
    ...     def body(v, x):
    ...         s = x + v.gather(neoc.zeros(3)).sum(0)
    ...         v.scatter(s)
    ...         return s
    ...     return neoc.vertex(body, child)(x)
    >>> print(sums.text("i32[5, 2]", (5, 3)), end="")
    graph G(children <= 2, vertices <= 32)
    input x[G.vertices, 3]
    vertex body(x2[3]) over G {
      gather t1[i < 2, j < 3] = 0
      s[i] = x2[i] + sum[j] t1[j, i]
      scatter t1 = s
      push s
    }
    ss = body(x)
    output ss
    """
    checks.function("neoc.vertex(): f", f, "a function of a vertex")
    down = checks.flag("neoc.vertex(): down", down)
    if not isinstance(graph, Tensor) and not hasattr(graph, "child"):
        raise checks.wrong_type("neoc.vertex(): graph", "a neoc.Graph or a table of children that "
                                "is an argument of the traced function", graph)

    def call(*args: Any) -> Any:
        trace = scope.current()
        if trace is None or trace.eager:
            raise TraceError("neoc.vertex is for functions that are traced: @neoc.function")
        if trace.block is not trace.top:
            raise Unsupported("neoc.vertex within the body of a loop, a case or another vertex")
        known = _graph(trace, graph)
        leaves, structure = tree.flatten(args)
        tensors = [_row_argument(known, lift(v), graph) for v in leaves]
        statement = VertexCall(getattr(f, "__name__", "body"), known, down)
        rows = tree.unflatten(structure, [statement.row(t) for t in tensors])
        results, its = tree.flatten(f(Vertex(statement), *rows))
        statement.finish(results)
        restore = getattr(graph, "restore", None)
        made = [restore(t) for t in statement.results] if restore else statement.results
        return tree.unflatten(its, made)

    return call


def _row_argument(graph: GraphOfTrace, t: Tensor, given: Any) -> Tensor:
    """An argument has a row for each vertex: a tensor of its own, with that size.

    What all vertices share is no argument: by its extent alone it could not be told from rows in a
    call with as many vertices.
    """
    vertices = graph.child.extents[0]
    if not t.extents or t.extents[0].value() != vertices.value():
        raise ShapeError(
            f"an argument of neoc.vertex has shape {list(t.shape)}, and no row for each of the "
            f"{vertices.value()} vertices: what all vertices share is used in the body by its "
            "name, not handed over")
    if not t.extents[0] == vertices and t.extents[0].symbol() is not None:
        sizes.equal(t.extents[0], vertices)
    if not t.extents[0] == vertices:
        raise ShapeError(f"an argument of neoc.vertex has always {vertices.value()} rows, but the "
                         "graph has as many vertices in this call alone")
    if hasattr(given, "arrange"):
        t = given.arrange(t)  # a neoc.Graph: rows are in the numbering of its source
    if t.is_view:
        made = define(t.extents, t.kind, lambda i: read(t, i), t.bound)
        made.pinned = True
        return made
    t.pinned = t.pinned or t.body is not None
    return t


def _graph(trace: Trace, graph: Any) -> GraphOfTrace:
    child = lift(getattr(graph, "child", graph))
    known = trace.graphs.get(id(child))
    if known is not None:
        return known  # type: ignore[no-any-return]
    if child.ndim != 2 or child.kind != "i32":
        raise ShapeError("a graph is a table child[vertices, children] of int32, here is "
                         f"{child.kind}{list(child.shape)}")
    if not getattr(child.source, "may_be_bounded", False):
        raise NeoError("the graph of neoc.vertex is an argument of the traced function")
    if child.extents[0].symbol() is None:
        raise VaryingSize(child.extents[0].value())
    symbol = child.extents[0].symbol()
    assert isinstance(symbol, Symbol)
    made = GraphOfTrace(trace, child)
    child.name = f"{made.name}.child"
    symbol.name, symbol.low = f"{made.name}.vertices", 0
    for t in getattr(graph, "maps", ()):
        sizes.equal(lift(t).extents[0], child.extents[0])
    trace.graphs[id(child)] = made
    return made
