"""The value of an expression on the grid of the indices around it.

`value` computes an element for every point of a frame: an array with an axis for each index, of extent 1 where it does
not depend on it. `whole` computes a tensor: what stands as an argument, or alone behind `=`. What lies outside of the
frame's mask has no meaning and is computed as it comes; reads there go to some element, and gradients stop there.
"""

import numpy as np

from . import duals, edges, elements, reducers, scalars, tape
from .elements import bool_tensor
from .errors import error
from .frames import Frame
from .reads import dots_dimensions, names, places, reads
from .tree import DOTS, Call, Path, Read


class Expressions:
    """The expressions of one statement. `view` looks names up; `caller` calls functions and knows the program."""

    def __init__(self, view, caller, target=None, direct=None):
        self.view = view
        self.caller = caller
        self.target = target  # what the statement defines, after which parameters of its calls are named
        self.direct = direct  # the call that is all of the right side
        self.itself = None  # the tensor that is defined, where it reads itself
        self.results = {}  # of calls that depend on no index

    # ---- sizes

    def size(self, node):
        """A size as an int."""
        result = self.value(node, self.view.frame)
        if not scalars.is_integer(result.type):
            error(node, "this is no size")
        if result.data.size != 1:
            error(node, "this depends on an index")
        return int(result.data.reshape(()))

    # ---- elements

    def value(self, node, frame, wide=False):
        """`wide`: within a sum, elements of narrow types count as those in which it gathers. EXACT: within a subscript or
        bound, integers of all types count as i64."""
        with tape.masked(frame.mask):
            method = getattr(self, "_" + type(node).__name__.lower())
            return method(node, frame, wide)

    def _number(self, node, frame, wide):
        if isinstance(node.value, bool):
            return bool_tensor(node.value)
        kind = "int" if isinstance(node.value, int) else "float"
        return tape.constant(node.value, kind)

    def _path(self, node, frame, wide):
        k = frame.find(node.names[0]) if len(node.names) == 1 else None
        if k is not None:
            return frame.index(k)
        found = self.tensor(node)
        if found.rank:
            error(node, f"'{'.'.join(node.names)}' is a tensor of rank {found.rank}, not a number")
        if wide and found.unrounded is not None:  # global_norm
            return tape.constant(found.unrounded, "f64" if found.type == "f64" else "f32")
        return _widened(self._element(found, [], frame, node), wide)

    def tensor(self, node):
        """The tensor that a path names."""
        if self.itself and node.names == (self.itself.name,):
            return self.itself
        found = self.view.lookup(node.names, node.line)
        if isinstance(found, int):
            return tape.constant(found, "index")
        if not isinstance(found, tape.Tensor):
            error(node, f"'{'.'.join(node.names)}' is not a value")
        return found

    def _unary(self, node, frame, wide):
        if node.op == "not":
            return bool_tensor(~self.condition(node.a, frame))
        return elements.negate(self.value(node.a, frame, wide))

    def condition(self, node, frame):
        """A bool array over the frame."""
        result = self.value(node, frame)
        if result.type != "bool":
            error(node, f"this needs a bool, it is {result.type}")
        return tape.expand(result, len(frame)).data

    def _binary(self, node, frame, wide):
        if node.op in ("and", "or"):
            a = self.condition(node.a, frame)
            inner = frame.under(a if node.op == "and" else ~a)
            b = self.condition(node.b, inner)
            return bool_tensor(a & b if node.op == "and" else a | b)
        if node.op in ("==", "!=", "<", "<=", ">", ">="):
            return elements.compare(node.op, self.value(node.a, frame), self.value(node.b, frame), node)
        a, b = self.value(node.a, frame, wide), self.value(node.b, frame, wide)
        return elements.arithmetic(node.op, a, b, node)

    def _reduce(self, node, frame, wide):
        return reducers.reduce(self, node, frame, wide)

    def _call(self, node, frame, wide):
        if self.view.is_function(node.path):
            result = self.called(node, frame, at_element=True)[0]
            if result.rank:
                error(node, f"'{'.'.join(node.path)}' gives a tensor of rank {result.rank}, not a number")
            return _widened(self._element(result, [], frame, node), wide)
        name = self.view.variable(node.path[0]) or node.path[0]
        if len(node.path) != 1 or name not in elements.NAMES:
            error(node, f"'{'.'.join(node.path)}' is not a function")
        args = [a for _, a in node.args]
        if name == "select":
            return self._select(node, args, frame, wide)
        if name == "rand":
            return self.caller.random(self.view.block, node, frame)
        if name == "stop":
            result = self.value(args[0], frame, wide)
            self.caller.opaque = True
            return tape.Tensor(duals.primal(result.data), result.type, result.lead, bound=result.bound)
        if name == "wide":
            return _widened(_wide(self.value(args[0], frame, wide or True)), wide)
        if name in elements.CONVERSIONS:  # a conversion rounds, within a sum too
            inner = scalars.EXACT if wide == scalars.EXACT else False
            return _widened(elements.function(name, [self.value(a, frame, inner) for a in args], node), wide)
        return elements.function(name, [self.value(a, frame, wide) for a in args], node)

    def _select(self, node, args, frame, wide):
        condition = self.condition(args[0], frame)
        active = condition if frame.mask is None else frame.mask & condition
        if condition.size and condition.all() and not self.caller.numbering:
            return self._branch(args, 1, frame, wide)
        if condition.size and not active.any() and not self.caller.numbering:
            return self._branch(args, 2, frame, wide)
        a = self.value(args[1], frame.under(condition), wide)
        b = self.value(args[2], frame.under(~condition), wide)
        return elements.choose(condition, a, b, node)

    def _branch(self, args, taken, frame, wide):
        """A select of which one branch is taken everywhere: a literal still takes the type of the other branch."""
        result = self.value(args[taken], frame, wide)
        if result.type not in scalars.LITERALS:
            return result
        kind = self.type_of(args[3 - taken], frame, wide)
        return elements.retype(result, kind) if kind and kind not in scalars.LITERALS + ("bool",) else result

    def type_of(self, node, frame, wide):
        """The type of an expression whose value is not wanted: it is computed on no point at all."""
        nothing = frame.under(np.zeros((1,) * len(frame), dtype=bool)) if len(frame) else Frame((), np.zeros((), bool))
        with tape.recording(False):
            return self.caller.quietly(lambda: self.value(node, nothing, wide).type)

    def _else(self, node, frame, wide):
        if not isinstance(node.read, Read):
            return self._guarded_call(node, frame, wide)
        tensor = self.base(node.read, frame)
        subscripts = self._subscripts(node.read, tensor, frame)
        inside = self._inside(tensor, subscripts, frame)
        if inside.all():
            return _widened(self._element(tensor, subscripts, frame, node), wide)
        with tape.masked(frame.under(inside).mask):
            read = _widened(self._element(tensor, subscripts, frame.under(inside), node), wide)
        value = self.value(node.value, frame.under(~inside), wide)
        return elements.choose(inside, read, value, node)

    def _guarded_call(self, node, frame, wide):
        error(node, "'else' gives the value of a read outside its tensor; this is no read of an element")

    # ---- reads

    def _read(self, node, frame, wide):
        tensor = self.base(node, frame)
        return _widened(self._element(tensor, self._subscripts(node, tensor, frame), frame, node), wide)

    def base(self, node, frame):
        return self.called(node.base, frame)[0] if isinstance(node.base, Call) else self.tensor(node.base)

    def _subscripts(self, node, tensor, frame):
        """The subscripts of a read as integer arrays, one for each dimension."""
        result = []
        for s in node.subscripts:
            if s is not DOTS:
                result.append(self._subscript(s, frame))
                continue
            if frame.dots is None:
                error(node, "'..' is bound neither on the left nor by a reducer")
            result += [frame.grid(frame.find(("..", k))) for k in range(frame.dots)]
        if len(result) != tensor.rank:
            error(node, f"the tensor has {tensor.rank} dimensions, here are {len(result)} subscripts")
        return result

    def _subscript(self, node, frame):
        result = self.value(node, frame, scalars.EXACT)
        if not scalars.is_integer(result.type):
            error(node, f"a subscript is an integer, this is {result.type}")
        return tape.expand(result, len(frame)).data

    def _inside(self, tensor, subscripts, frame):
        inside = np.ones((1,) * len(frame), dtype=bool)
        for s, extent in zip(subscripts, tensor.shape):
            inside = inside & (s >= 0) & (s < extent)
        return inside

    def _element(self, tensor, subscripts, frame, node):
        """The elements of a tensor at every point of the frame."""
        if tensor is self.itself:
            return tensor.element(subscripts, frame, node)
        if not tensor.rank:
            return tape.expand(tensor, len(frame)) if tensor.lead else tensor
        if tensor.lead > len(frame):
            error(node, "this tensor belongs to a call within other indices")
        shape, flat = tensor.data.shape, np.zeros((1,) * len(frame), dtype=np.int64)
        for k in range(tensor.lead):
            flat = flat * shape[k] + (frame.grid(k, True) if shape[k] != 1 else 0)
        for d, (s, extent) in enumerate(zip(subscripts, tensor.shape)):
            outside = (s < 0) | (s >= extent)
            if outside.any():
                self._refuse(outside & frame.active(outside.shape), s, d, extent, frame, node)
                s = np.where(outside, 0, s)
            flat = flat * extent + s
        return tape.gather(tensor, flat, len(frame))

    def _refuse(self, outside, subscript, dimension, extent, frame, node):
        if outside.any() and frame.has_points():
            where = np.unravel_index(int(np.argmax(outside)), outside.shape)
            value = np.broadcast_to(subscript, outside.shape)[where]
            error(node, f"a read lies outside dimension {dimension} of extent {extent}: it reads {value}")

    # ---- whole tensors

    def whole(self, node, frame):
        """A tensor: a name, a slice, what a call gives; else an element as a scalar."""
        if isinstance(node, Path) and frame.find(node.names[0]) is None:
            return self.tensor(node)
        if self.is_conversion(node, frame):
            return self.converted(node, frame)
        if isinstance(node, Call) and self.view.is_function(node.path):
            return self.called(node, frame)[0]
        if self.is_slice(node, frame):
            return self.slice_of(self.base(node, frame), node, frame)
        return self.value(node, frame)

    def is_conversion(self, node, frame):
        """real(X) or wide(X) of a whole tensor or a slice."""
        if not isinstance(node, Call) or self.view.is_function(node.path) or len(node.path) > 1 or len(node.args) != 1:
            return False
        name, argument = self.view.variable(node.path[0]) or node.path[0], node.args[0][1]
        if name != "wide" and name not in elements.CONVERSIONS:
            return False
        named = isinstance(argument, Path) and frame.find(argument.names[0]) is None
        return self.is_slice(argument, frame) or named and self.tensor(argument).rank > 0

    def converted(self, node, frame):
        a = self.whole(node.args[0][1], frame)
        name = self.view.variable(node.path[0]) or node.path[0]
        return elements.convert(a, scalars.WIDENED.get(a.type, a.type) if name == "wide" else name)

    def is_slice(self, node, frame):
        return isinstance(node, Read) and frame.dots is None and any(s is DOTS for s in node.subscripts)

    def slice_of(self, tensor, node, frame):
        dimensions = dots_dimensions(node, tensor.rank)
        extents = [edges.extent(tensor, d) for d in dimensions]
        names = [("..", k) for k in range(len(extents))]
        inner = edges.pushed(frame, self.view, names, extents, len(extents))
        with tape.masked(inner.mask):
            element = self._element(tensor, self._subscripts(node, tensor, inner), inner, node)
        result = tape.view(element, len(frame))
        result.edges = edges.of_axes(inner.axes[len(frame):])
        return result

    def called(self, node, frame, count=1, at_element=False):
        """The results of a call. One that is called at an element is called for each of them, others that depend on no index of the
        statement once for all."""
        own = {a.name for a in frame.axes if isinstance(a.name, str)}
        mentioned = set().union(*[names(a) for _, a in node.args]) if node.args else set()
        if mentioned & own or at_element and frame.axes or (DOTS in mentioned and frame.dots is not None):
            return self.caller.call(self, node, frame, count)
        if id(node) not in self.results:
            self.results[id(node)] = self.caller.call(self, node, self.view.frame, count)
        return self.results[id(node)]

    # ---- extents

    def extent(self, name, nodes, frame, line):
        """The extent of an index without a bound: that of the dimensions which it subscripts alone."""
        free, guarded = [], []
        for node in nodes:
            for read, is_guarded in reads(node):
                if not any(True for _ in places(read, name, 0)):
                    continue
                tensor = self._try_base(read, frame, name)
                if tensor is not None:
                    found = [edges.extent(tensor, d) for d in places(read, name, tensor.rank)]
                    (guarded if is_guarded else free).extend(found)
        decided = set(free or guarded)
        if len(decided) != 1:
            error(line, f"index '{name}' has {'two extents: ' + str(sorted(decided)) if decided else 'no extent'}")
        return next((n for n in free or guarded if n.edges), decided.pop())

    def _try_base(self, read, frame, name):
        """The tensor of a read; None where it is the result of a call that depends on this index, or is being
        defined."""
        if isinstance(read.base, Call):
            if any(name in names(a) for _, a in read.base.args):
                return None
            return self.called(read.base, frame)[0]
        tensor = self.tensor(read.base)
        return None if tensor is self.itself else tensor

    def dots(self, nodes, frame, line):
        """The extents of the indices for which `..` stands."""
        found = []
        for node in nodes:
            for read, is_guarded in reads(node):
                if any(s is DOTS for s in read.subscripts):
                    tensor = self._try_base(read, frame, DOTS)
                    if tensor is not None:
                        found.append(tuple(edges.extent(tensor, d) for d in dots_dimensions(read, tensor.rank)))
        if not found:
            error(line, "nothing says how many indices '..' stands for")
        if any(f != found[0] for f in found):
            error(line, f"'..' stands for different indices: extents {found[0]} and "
                        f"{next(f for f in found if f != found[0])}")
        return tuple(next((n for n in same if n.edges), same[0]) for same in zip(*found))


def _wide(a):
    """The result of wide(): an element converted to the type in which sums are accumulated."""
    kind = scalars.SUMMED.get(a.type)
    return elements.retype(a, scalars.WIDENED[kind]) if kind else a


def _widened(a, wide):
    if wide == scalars.EXACT:
        narrow = scalars.is_integer(a.type) and a.type not in ("int", "index")
        return elements.retype(a, "i64") if narrow else a
    kind = scalars.WIDE.get(a.type) if wide else None
    return elements.retype(a, kind) if kind else a
