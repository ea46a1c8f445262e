"""GraphEntry: an entry of a model that declares graphs, which takes neoc.Graph for each.

A graph G of the text is an input G.child and a size G.vertices. Where a Graph is given, its table
goes to the first, padded to the children that the text allows, and its features, of vertices and of
edges, to inputs of their names that were not given. Arrays are in the numbering of the graph's source: axes that count
G.vertices are arranged before the call, and put back in results, unless the source has children
first.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, NamedTuple, Tuple

import numpy as np

from . import arrays
from .errors import DTypeError, RangeError, ShapeError
from .graph import Graph
from .model import Entry

__all__ = ["Declared", "GraphEntry"]

Shape = Tuple["int | str | None", ...]


class Declared(NamedTuple):
    """graph NAME(children <= K, vertices <= N), or NAME(edges <= E, a.edges <= F, vertices <= N)."""

    children: int  # 0: they are in lists
    vertices: int
    types: Tuple[str, ...]  # of lists that have names


class Counted(NamedTuple):
    """The count of an axis: vertices or edges of a graph, with their number in the call."""

    graph: str
    what: str
    n: int
    order: Any


class GraphEntry(Entry):
    """An entry of a model with graphs: ``m.step(G=graph, word=w)``, else as Entry.

    graphs: those that the model declares, by name. shapes: of its inputs and outputs, by name.
    """

    graphs: Dict[str, Declared]
    shapes: Dict[str, Shape]

    def __call__(self, *args: Any, **named: Any) -> Any:
        try:
            return self._call(args, named)
        except RangeError as problem:
            raise self._told(problem) from None

    def _told(self, problem: RangeError) -> RangeError:
        """A table of the caller's that has parents first is told as that."""
        table = next((n for n in self.graphs if str(problem).startswith(f"{n}.child[")), None)
        if table is None:
            return problem
        said = re.sub(r" \([^()]*:\d+:\d+\)$", "", str(problem))
        return RangeError(f"{said}: children must stand before parents; neoc.Graph orders them: "
                          f"give {table}=neoc.Graph(child)")

    def _call(self, args: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
        if len(args) > len(self.inputs):
            return super().__call__(*args, **named)  # which tells
        for name, value in zip(self.inputs, args):
            if name in named:
                raise TypeError(f"{self.__name__}() got two values for the argument '{name}'")
            named[name] = value
        given = self._graphs_in(named)
        if not given:
            return super().__call__(**named)
        plain = self._filled(named, given)
        for name, graph in given.items():
            if f"{name}.vertices" in self.sizes:
                plain[f"{name}.vertices"] = graph.n
            for listed, kind in self._named_lists(name).items():
                if f"{listed}.edges" in self.sizes:
                    plain[f"{listed}.edges"] = len(graph.edges_of(kind)[0])
        moved = {name: graph for name, graph in given.items() if not graph.is_in_order}
        if not any(self._axes(output, moved) for output in self.outputs):
            return super().__call__(**plain)
        return self._restored(super().__call__(**plain), moved, plain.get("out"))

    def _takes(self) -> Tuple[str, ...]:
        names: Dict[str, str] = {}
        for name in self.graphs:
            for listed in (name, *self._named_lists(name)):
                names.update({f"{listed}.child": name, f"{listed}.begin": name})
        return tuple(dict.fromkeys(names.get(name, name) for name in self.inputs))

    def _named_lists(self, name: str) -> Dict[str, "str | None"]:
        """The lists of a graph, G or G.type, and the names of their types."""
        declared = self.graphs[name]
        types: Tuple["str | None", ...] = declared.types if declared.children else (None, *declared.types)
        return {name if kind is None else f"{name}.{kind}": kind for kind in types}

    def plain(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Inputs as arrays, where graphs are among them."""
        named = dict(values)
        given = self._graphs_in(named)
        return self._filled(named, given) if given else values

    def _graphs_in(self, named: Dict[str, Any]) -> Dict[str, Graph]:
        """Takes the graphs out of the arguments."""
        found: Dict[str, Graph] = {}
        for name in self.graphs:
            table = f"{name}.child"
            if name in named and table in named:
                raise TypeError(f"{self.__name__}() got two values for the graph '{name}'")
            if name in named and not isinstance(named[name], Graph):
                raise DTypeError(f"{name}: expected a neoc.Graph, given "
                                 f"{type(named[name]).__name__}; a table of children is '{table}'")
            key = name if name in named else table
            if isinstance(named.get(key), Graph):
                found[name] = named.pop(key)
        return found

    def _filled(self, named: Dict[str, Any], given: Mapping[str, Graph]) -> Dict[str, Any]:
        for name, graph in given.items():
            self._add_features(named, name, graph)
        for name in [n for n in named if n in self.shapes]:
            named[name] = self._arranged(name, named[name], given)
        for name, graph in given.items():
            declared = self.graphs[name]
            if graph.n > declared.vertices:
                raise ShapeError(f"{name}: {graph.n} vertices; the model takes at most "
                                 f"{declared.vertices}")
            if declared.children and f"{name}.child" in self.inputs:
                named[f"{name}.child"] = self._table(name, graph)
            for listed, kind in self._named_lists(name).items():
                tables = (f"{listed}.begin", f"{listed}.child")
                if any(table in self.inputs for table in tables):
                    lists = zip(tables, graph.lists_of(kind))
                    named.update({table: x for table, x in lists if table in self.inputs})
        return named

    def _table(self, name: str, graph: Graph) -> Any:
        try:
            return graph.table(self.graphs[name].children)
        except ShapeError as problem:
            told = getattr(problem, "untold", problem)  # without the method's name
            raise ShapeError(f"{name}: {told} by the model") from None

    def _add_features(self, named: Dict[str, Any], name: str, graph: Graph) -> None:
        of = {f"{name}.vertices": graph.features, f"{name}.edges": graph.edge_features}
        of.update({f"{name}.{kind}.edges": graph.edge_features_of(kind) for kind in graph.types})
        for extent, features in of.items():
            for feature, value in features.items():
                shape = self.shapes.get(feature, ())
                if feature in self.inputs and feature not in named and shape and shape[0] == extent:
                    named[feature] = value

    def _axes(self, tensor: str, given: Mapping[str, Graph]) -> list[tuple[int, Counted]]:
        """The axes that count vertices, or edges, of a graph."""
        counted = {}
        for name, graph in given.items():
            counted[f"{name}.vertices"] = Counted(name, "vertices", graph.n, graph.order)
            for listed, kind in self._named_lists(name).items():
                if kind is None or kind in graph.types:
                    order = graph.edge_order_of(kind)
                    counted[f"{listed}.edges"] = Counted(name, "edges", len(order), order)
        return [(axis, counted[extent]) for axis, extent in enumerate(self.shapes.get(tensor, ()))
                if isinstance(extent, str) and extent in counted]

    def _arranged(self, tensor: str, value: Any, given: Mapping[str, Graph]) -> Any:
        for axis, rows in self._axes(tensor, given):
            shape = np.shape(value)
            if len(shape) != len(self.shapes[tensor]):
                return value  # the call tells
            if shape[axis] != rows.n:
                raise ShapeError(f"{tensor}: dim {axis} is {shape[axis]}; the graph {rows.graph} has "
                                 f"{rows.n} {rows.what}")
            if not given[rows.graph].is_in_order:
                value = np.take(arrays.as_input(tensor, value), rows.order, axis)
        return value

    def _restored(self, values: Any, moved: Mapping[str, Graph], out: Any) -> Any:
        many = values if isinstance(values, tuple) else (values,)
        results = []
        for name, value in zip(self.outputs, many):
            for axis, rows in self._axes(name, moved):
                value = np.take(value, np.argsort(rows.order), axis)
            results.append(value)
        if out is not None:  # where the call has written them in the order of the vertices
            results = [self._moved_in(target, value) for target, value in zip(
                out if isinstance(out, tuple) else (out,), results)]
        return tuple(results) if isinstance(values, tuple) else results[0]

    @staticmethod
    def _moved_in(target: Any, value: Any) -> Any:
        if value is not target and target is not None:
            np.copyto(target, value)
        return value if target is None else target
