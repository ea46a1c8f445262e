"""A model: sizes, inputs, definitions; its text, its arguments and its values."""

from .tree import Outside, Values, text


class Input:
    def __init__(self, name, kind, extents, bounds, values):
        self.name, self.kind, self.extents, self.bounds, self.values = name, kind, extents, bounds, values

    def line(self):
        declared = "" if self.kind == "f32" else f" : {declare(self.kind, self.bounds)}"
        return f"input {self.name}[{', '.join(str(x) for x in self.extents)}]{declared}"


class Definition:
    """name[index < extent] = body; with `bounds` [low, high) declared. `itself`: body reads elements before its own."""

    def __init__(self, name, kind, index, extent, bounds, body):
        self.name, self.kind, self.index, self.extent, self.bounds, self.body = name, kind, index, extent, bounds, body

    def line(self):
        declared = f" : {declare(self.kind, self.bounds)}" if self.bounds else ""
        return f"{self.name}[{self.index} < {self.extent}]{declared} = {text(self.body)}"


def declare(kind, bounds):
    if bounds is None:
        return kind
    low, high = bounds
    return f"{kind} < {high}" if low == 0 else f"{low} <= {kind} < {high}"


def nested(values, extents):
    """The list of lists that `neoc run` takes."""
    if len(extents) == 1:
        return "[" + ",".join(str(values[(k,)]) for k in range(extents[0])) + "]"
    return "[" + ",".join("[" + ",".join(str(values[(k, j)]) for j in range(extents[1])) + "]"
                          for k in range(extents[0])) + "]"


class Model:
    def __init__(self, size, runtime, inputs, definitions):
        self.size, self.runtime, self.inputs, self.definitions = size, runtime, inputs, definitions
        self.wrong = None
        self.results = {}
        self.evaluate()

    def extent(self, x):
        return self.size if x == "N" else x

    def evaluate(self):
        names = {"N": self.size}
        tensors = {x.name: x.values for x in self.inputs}
        values = Values(names, tensors)
        for d in self.definitions:
            made = tensors[d.name] = {}
            for at in range(self.extent(d.extent)):
                names[d.index] = at
                try:
                    x = values.of(d.body)
                except Outside as read:
                    self.wrong = self.wrong or f"{read} is outside"
                    x = 0
                made[(at,)] = x
                if d.bounds and not d.bounds[0] <= x < d.bounds[1]:
                    self.wrong = self.wrong or f"{d.name} has {x}"
            names.pop(d.index, None)
            self.results[d.name] = [made[(at,)] for at in range(self.extent(d.extent))]

    def text(self):
        size = f"dim 0 <= N <= 9" if self.runtime else f"dim N = {self.size}"
        lines = [size] + [x.line() for x in self.inputs] + [d.line() for d in self.definitions]
        return "\n".join(lines) + "\noutput " + ", ".join(d.name for d in self.definitions) + "\n"

    def arguments(self):
        return [f"{x.name}={self._value(x)}" for x in self.inputs]

    def _value(self, x):
        return nested(x.values, [self.extent(e) for e in x.extents])
