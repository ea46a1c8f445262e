"""The syntax tree. Every node knows its line; DOTS stands for `..` among indices, subscripts and axes."""

from dataclasses import dataclass, field
from typing import Any


class _Dots:
    def __repr__(self):
        return ".."

    def __reduce__(self):
        return "DOTS"


DOTS = _Dots()


@dataclass(eq=False)
class Number:
    line: int
    value: Any  # int, float or bool


@dataclass(eq=False)
class Path:
    line: int
    names: tuple


@dataclass(eq=False)
class Call:
    line: int
    path: tuple
    args: list  # of (name or None, expression)


@dataclass(eq=False)
class Read:
    line: int
    base: Any  # Path or Call
    subscripts: list  # of expressions and DOTS


@dataclass(eq=False)
class Unary:
    line: int
    op: str  # - or not
    a: Any


@dataclass(eq=False)
class Binary:
    line: int
    op: str
    a: Any
    b: Any


@dataclass(eq=False)
class Range:
    """An index of a reducer or of a left side: lower [<|<=] name [<|<=] upper; the bounds may be None."""
    line: int
    name: Any  # a str or DOTS
    lower: Any = None
    lower_open: bool = False  # lower < name
    upper: Any = None
    upper_closed: bool = False  # name <= upper


@dataclass(eq=False)
class Reduce:
    line: int
    kind: str
    ranges: list
    where: Any
    body: Any


@dataclass(eq=False)
class Else:
    line: int
    read: Any
    value: Any


@dataclass(eq=False)
class Type:
    name: str  # a type, or a variable of a signature
    bound: Any = None  # an expression: elements are below it
    closed: bool = False  # or equal to it
    lower: Any = None  # they are not below this; 0 where nothing is written
    wide: bool = False  # wide(name): what a sum of it gathers in


@dataclass(eq=False)
class Variable:
    """A declared tensor: its axes are DOTS, Ranges (named, with a bound) or expressions."""
    line: int
    name: str
    axes: Any  # None for a scalar
    type: Any = None


@dataclass(eq=False)
class Target:
    line: int
    name: str
    indices: Any  # None, or Ranges with names or DOTS
    type: Any = None


@dataclass(eq=False)
class Import:
    line: int
    names: list  # of (module, alias)


@dataclass(eq=False)
class Dim:
    line: int
    name: str
    value: Any  # None for a size that is known when the model runs
    lower: Any = None
    upper: Any = None


@dataclass(eq=False)
class Assert:
    line: int
    condition: Any


@dataclass(eq=False)
class Declare:
    line: int
    kind: str  # input, param, state, const
    variable: Variable
    value: Any  # an expression, nested lists of numbers, or None


@dataclass(eq=False)
class Define:
    line: int
    target: Target
    more: list  # further names of results
    value: Any  # an expression or a region


@dataclass(eq=False)
class Repeat:
    line: int
    kind: str  # repeat or scan
    index: str
    count: Any
    carries: list  # of (Target, expression)
    body: list
    down: bool = False


@dataclass(eq=False)
class While:
    line: int
    condition: Any
    limit: Any
    carries: list
    body: list


@dataclass(eq=False)
class Case:
    line: int
    value: Any
    branches: list  # of (label, body); the label None is `else`


@dataclass(eq=False)
class Bind:
    line: int
    kind: str  # next, update or scatter
    bindings: list  # of (Target, expression)


@dataclass(eq=False)
class Collect:
    line: int
    names: list


@dataclass(eq=False)
class Graph:
    line: int
    name: str
    edges: list  # of (a list, the name of its type or None, the most): else they are places for children
    vertices: Any


@dataclass(eq=False)
class Gather:
    line: int
    bindings: list  # of (Variable, expression, None along a list of edges)


@dataclass(eq=False)
class Push:
    line: int
    name: str


@dataclass(eq=False)
class Function:
    line: int
    name: str
    parameters: list  # of Variables
    options: list  # of (name, default or None, is an input, type or None)
    results: list
    body: list
    grad_parameters: list = field(default_factory=list)
    grad_results: list = field(default_factory=list)
    grad_body: Any = None


@dataclass(eq=False)
class Vertex:
    """A vertex function; its results are what it pushes."""
    line: int
    name: str
    parameters: list
    options: list
    graph: str
    down: bool
    body: list


@dataclass(eq=False)
class Optimizer:
    line: int
    name: str
    parameters: list
    options: list
    body: list


@dataclass(eq=False)
class Output:
    line: int
    entry: str
    paths: list
    updates: list


@dataclass(eq=False)
class Train:
    line: int
    entry: str
    loss: tuple
    over: Any  # None or patterns
    excepted: Any
    using: tuple
    args: list
