"""A program at given values: declarations, definitions, functions, modules, choices and rounds."""

import os

import numpy as np

from . import calls, edges, elements, loops, randoms, recurrences, scalars, tape, vertices
from .errors import ExprError, error
from .expressions import Expressions
from .frames import Axis, Frame
from .parser import parse
from .reads import children, names, reads
from .recurrences import settled
from .scopes import Block, FunctionIn, Lazy
from .tree import DOTS, Call, Case, Declare, Dim, Graph, Path, Range, Repeat, Variable, While


class Program:
    """`inputs` gives arrays for inputs, parameters, states and settings by name, `defines` values for sizes (-D and
    --size alike). `step`: finished training steps; `finished`: calls of output entries; both are keys of rand().
    `move(name, array, point)` gives the array, or Dual, in place of that of a float tensor outside of functions; of an
    element of it where its elements read each other, and `point` says which."""

    def __init__(self, text, inputs, defines=None, folders=(), folder=None, training=False, step=0, seed=0,
                 finished=0, move=None):
        self.inputs = dict(inputs)
        self.given_text = (text, inputs, defines, folders, folder)
        self.seed = seed  # of rand() and of initial values
        self.finished = finished  # calls of output entries
        self.move = move
        self.jitter = None  # a random generator: results of definitions get noise of jitter_unit, relatively
        self.jitter_unit = 1e-13
        self.opaque = False  # differences do not show its gradients: it has `stop`, or gradients of its own
        self.held = []  # carries of the rounds at hand: nothing flows through them
        self.numbering = False  # every part of every expression is evaluated, to find all of its calls
        self.sites = None
        self.defines = dict(defines or {})
        self.folders = list(folders)
        self.training = training
        self.step = step
        self.stored = {}  # parameters and states by their full names
        self.declared = {}  # the statements that declare one of a name: the second has a 2 behind it, and so on
        self.kinds = {}  # of them: param or state
        self.initial = {}  # the initial values of those that were not given, where they are not random
        self.drawn = set()  # the names of those that are
        self.updates = {}  # full name of a state: Lazy new value
        self.modules = {}
        self.settings = {}  # global_norm and the like while an optimizer runs
        self.used = set()  # names of inputs that were asked for
        self.blocks = []
        self.main = Block(self, path=folder)
        self.statements = parse(text)
        self.declare(self.statements, self.main)
        self._bind_sizes()

    # ---- names that are no definitions

    def builtin(self, name):
        if name in self.settings:
            return self.settings[name]
        if name == "training":
            return elements.bool_tensor(self.training)
        if name == "step":
            return tape.constant(self.step, "i64")
        return None

    def _bind_sizes(self):
        """Run-time sizes from the shapes of the inputs that are given."""
        for s in self.statements:
            if isinstance(s, Declare) and s.kind == "input" and s.variable.name in self.inputs:
                shape = np.shape(self.inputs[s.variable.name])
                for axis, n in zip(s.variable.axes or [], shape):
                    if isinstance(axis, Path) and axis.names[0] in self.sizes:
                        before = self.defines.setdefault(axis.names[0], n)
                        if before != n:
                            error(s, f"{s.variable.name}: an extent is {n}, but {axis.names[0]} = {before}")
            if isinstance(s, Graph):
                vertices.bind_sizes(self, s)

    @property
    def sizes(self):
        return {s.name for s in self.statements if isinstance(s, Dim) and s.value is None}

    # ---- statements

    def declare(self, statements, block):
        """Put the names of statements into a block."""
        for position, s in enumerate(statements):
            method = getattr(self, "_on_" + type(s).__name__.lower())
            method(s, block, position)

    def _on_import(self, s, block, position):
        for module, alias in s.names:
            block.define(alias, self.module(module, block, s), position, s.line)

    def module(self, name, block, s):
        for folder in [block.path] + self.folders:
            path = os.path.join(folder or ".", name + ".expr")
            if os.path.exists(path):
                path = os.path.realpath(path)
                if path not in self.modules:
                    self.modules[path] = Block(self, path=os.path.dirname(path))
                    with open(path, encoding="utf-8") as file:
                        self.declare(parse(file.read()), self.modules[path])
                return self.modules[path]
        error(s, f"module '{name}' not found")

    def _on_dim(self, s, block, position):
        def compute():
            if block is self.main and s.name in self.defines:
                return int(self.defines[s.name])
            if s.value is None:
                error(s, f"the value of size '{s.name}' is not known: give it, or an input that has it")
            return Expressions(block.view(position), self).size(s.value)
        block.define(s.name, Lazy(compute, s.line, True), position, s.line)

    def _on_assert(self, s, block, position):
        pass

    def _on_declare(self, s, block, position):
        if s.kind in ("param", "state"):
            self.kept_name(s, block)
        compute = {"input": self._input, "param": self._kept, "state": self._kept, "const": self._const}[s.kind]
        lazy = Lazy(lambda: self.moved(block, s.variable.name, compute(s, block, position)), s.line, s.kind == "input")
        block.define(s.variable.name, lazy, position, s.line)

    def _on_function(self, s, block, position):
        block.define(s.name, FunctionIn(s, block, position), position, s.line)

    _on_optimizer = _on_vertex = _on_function

    def _on_graph(self, s, block, position):
        block.define(s.name, vertices.graph(self, s, block, position), position, s.line)

    def _on_gather(self, s, block, position):
        for variable, value in s.bindings:
            block.define(variable.name, vertices.gathered(self, s, variable, value, block, position), position, s.line)

    def _on_output(self, s, block, position):
        pass

    _on_train = _on_collect = _on_push = _on_output

    def _on_bind(self, s, block, position):
        if s.kind == "update":
            for target, value in s.bindings:
                self._update(s, block, position, target, value)

    def _update(self, s, block, position, target, value):
        owner, what = block.view(position).find(target.name) or (None, None)
        if owner is None or not isinstance(what, Lazy) and target.name not in owner.trained:
            error(s, f"'{target.name}' is no state, so it cannot be updated")
        full = owner.trained.get(target.name) or owner.kept.get(target.name) or owner.qualified(target.name)

        def compute():
            before = what.get() if isinstance(what, Lazy) else what
            return self.define(target, value, block, position, before)
        self.updates.setdefault(full, []).append((owner.rounds, Lazy(compute, s.line)))

    def _on_define(self, s, block, position):
        names = [s.target.name] + s.more
        region = {Repeat: self._repeat, While: self._while, Case: self._case}.get(type(s.value))
        if region:
            everything = Lazy(lambda: region(s, names, block, position), s.line)
        elif s.more:
            everything = Lazy(lambda: self._several(s, names, block, position), s.line)
        else:
            everything = Lazy(lambda: [self.define(s.target, s.value, block, position, itself=True)], s.line)

        def one(k):
            return lambda: self.moved(block, names[k], everything.get()[k])
        for k, name in enumerate(names):
            block.define(name, Lazy(one(k), s.line), position, s.line)

    def moved(self, block, name, a, point=(), kept=False):
        """A tensor of the program, moved where the caller says so: it depends on what it did before. Parameters and
        states have full names, so they are moved wherever they stand; definitions that read themselves are moved a
        point at a time."""
        here = kept or block is self.main and name not in self.stored and not a.parts
        if self.move is None or not here or not scalars.is_float(a.type):
            return a
        data = self.move(name, a.data, point)
        if data is a.data:
            return a
        result = tape.node(data, a.type, a.lead, (a,), lambda g: (g,))
        result.edges = a.edges
        return result

    def _several(self, s, names, block, position):
        context = self.context(block, position, names[0], s.value)
        if not isinstance(s.value, Call):
            error(s, f"here are names for {len(names)} results")
        results = context.called(s.value, block.frame, len(names))
        if len(results) != len(names):
            error(s, f"{len(results)} results, here are names for {len(names)}")
        return results

    def context(self, block, position, target=None, direct=None):
        """The expressions of a statement; `direct`: the call that is all of what defines the target."""
        return Expressions(block.view(position), self, target, direct)

    # ---- declared tensors

    def _axes(self, variable, context):
        """The extents of a declaration, and the names of its axes."""
        extents, names = [], []
        for axis in variable.axes or []:
            if axis is DOTS:
                dots = context.view.dots()
                extents += dots
                names += [("..", k) for k in range(len(dots))]
                continue
            named = isinstance(axis, Range)
            extents.append(context.size(axis.upper) + int(axis.upper_closed) if named else context.size(axis))
            names.append(axis.name if named else None)
        return tuple(extents), names

    def bound(self, declared, context):
        """The exclusive bound of the elements; None: no bound, or each element has bounds of its own."""
        kind = declared.type
        indices = (declared.axes if isinstance(declared, Variable) else declared.indices) or []
        own = {a.name for a in indices if isinstance(a, Range)}
        if kind is None or kind.bound is None or kind.lower is not None or names(kind.bound) & own:
            return None
        return context.size(kind.bound) + int(kind.closed)

    def given(self, name, shape, kind, line, bound=None):
        """The array that the caller gives for a name, checked; None where there is none."""
        if name not in self.inputs:
            return None
        self.used.add(name)
        data = np.asarray(self.inputs[name])
        if data.shape != tuple(shape):
            error(line, f"{name}: shape is {list(data.shape)}, expected {list(shape)}")
        data = data.astype(scalars.dtype(kind))
        data = scalars.round_to(data, kind) if scalars.is_float(kind) else data
        if bound is not None and data.size and (data.min() < 0 or data.max() >= bound):
            error(line, f"{name}: an element is not in [0, {bound})")
        return tape.leaf(data, kind, bound)

    def _input(self, s, block, position):
        context = self.context(block, position)
        shape, _ = self._axes(s.variable, context)
        kind = context.view.kind(s.variable.type) if s.variable.type else "f32"
        result = self.given(s.variable.name, shape, kind, s.line, self.bound(s.variable, context))
        if result is None and s.value is not None:
            default = elements.convert(context.value(s.value, block.frame), kind)
            result = tape.leaf(default.data, kind)
        if result is None:
            error(s, f"input '{s.variable.name}' has no value: give it {kind} {list(shape)}")
        result.edges = edges.declared(context.view, s.variable.axes)
        return result

    def kept_name(self, s, block):
        full = block.qualified(s.variable.name)
        statements = self.declared.setdefault(full, [])
        if s not in statements:
            statements.append(s)
        number = statements.index(s) + 1
        block.kept[s.variable.name] = full if number == 1 else f"{full}{number}"
        return block.kept[s.variable.name]

    def _kept(self, s, block, position):
        """A parameter or state: a slice of what all rounds of its call have."""
        context = self.context(block, position)
        shape, names = self._axes(s.variable, context)
        kind = context.view.kind(s.variable.type) if s.variable.type else "f32"
        full = self.kept_name(s, block)
        bound = self.bound(s.variable, context)
        stacked = tuple(n for _, n in block.rounds) + shape
        if full not in self.stored:
            leaf = self.given(full, stacked, kind, s.line, bound)
            if leaf is None:
                leaf = self._initial(s, full, shape, names, stacked, kind, context)
                leaf.bound = bound
            self.stored[full] = self.moved(block, full, leaf, kept=True)
            self.kinds[full] = s.kind
        leaf = self.stored[full]
        for round_, _ in block.rounds:
            leaf = self.slice_of(leaf, round_)
        return leaf

    def slice_of(self, a, k):
        with tape.masked(None):
            result = tape.reshape(tape.cut(a, 0, k, k + 1), a.data.shape[1:], 0)
            result.bound = a.bound
            return result

    def _initial(self, s, full, shape, names, stacked, kind, context):
        if s.value is None or _draws(s.value):
            if s.value is None:
                error(s, f"{s.kind} '{full}' has no value: give it {kind} {list(stacked)}")
            return tape.leaf(np.full(stacked, 0.5), kind) if self.numbering else self._drawn(s, full, stacked, kind,
                                                                                           context)
        if stacked != shape and any(True for _ in reads(s.value)):
            error(s, "an initial value that reads tensors, in rounds, is not evaluated")
        value = elements.convert(context.value(s.value, _own_frame(names, shape, s.variable)), kind)
        leaf = tape.leaf(np.array(np.broadcast_to(value.data, stacked)), kind)
        self.initial[full] = leaf.data
        return leaf

    def _drawn(self, s, full, stacked, kind, context):
        """Random initial values: the generator alone, or numbers that are made of it."""
        self.number()
        call = s.value
        if not isinstance(call, Call):
            error(s, "an initial value made of random numbers is not evaluated")
        args = [float(context.value(a, Frame()).data) for _, a in call.args]
        flat = np.arange(int(np.prod(stacked, dtype=np.int64))).reshape(stacked)
        site = self.sites[context.view.block.key, id(call)]
        leaf = tape.leaf(scalars.round_to(randoms.drawn(call.path[-1], args, self, site, flat), kind), kind)
        self.initial[full] = leaf.data
        self.drawn.add(full)
        return leaf

    def _const(self, s, block, position):
        context = self.context(block, position)
        shape, names = self._axes(s.variable, context)
        kind = context.view.kind(s.variable.type) if s.variable.type else "f32"
        if isinstance(s.value, list):
            data = np.asarray(s.value)
            if data.shape != shape:
                error(s, f"the list has shape {list(data.shape)}, expected {list(shape)}")
            data = data.astype(scalars.dtype(kind))
            data = scalars.round_to(data, kind) if scalars.is_float(kind) else data
            return tape.leaf(data, kind, self.bound(s.variable, context))
        value = elements.convert(context.value(s.value, _own_frame(names, shape, s.variable)), kind)
        return tape.leaf(np.array(np.broadcast_to(value.data, shape)), kind, self.bound(s.variable, context))

    # ---- definitions

    def define(self, target, value, block, position, shaped=None, owner=True, itself=False):
        """The tensor that `target = value` defines. `shaped`: what it updates, whose extents decide. `owner`: the
        parameters of calls in it are named after the target. `itself`: its name in the value may mean it."""
        direct = value if owner and target.indices is None else None
        context = self.context(block, position, target.name if owner else None, direct)
        with tape.masked(block.frame.mask):
            if target.indices is None:
                result = context.whole(value, block.frame)
            elif itself and recurrences.reads_itself(target, value, context.view):
                result = recurrences.define(context, target, value, block.frame,
                                            lambda frame: self._axes_of(target, value, frame, context, None))
            else:
                result = self._indexed(target, value, block.frame, context, shaped)
            if target.type:
                bound = self.bound(target, context)
                marks = result.edges
                result = elements.convert(result, context.view.kind(target.type))
                result.bound = bound if bound is not None else result.bound
                result.edges = marks
        result = self.noisy(result)
        if scalars.is_float(result.type) and result.type not in scalars.LITERALS:
            result.tracked = True  # a tensor has gradients, whatever it was made of
        return result

    def noisy(self, a):
        if self.jitter is None or not scalars.is_float(a.type) or a.parts:
            return a
        noise = 1 + self.jitter_unit*self.jitter.uniform(-1, 1, np.shape(a.data))
        result = tape.node(a.data*noise, a.type, a.lead, (a,), lambda g: (g,))
        result.edges = a.edges
        return result

    def _axes_of(self, target, value, frame, context, shaped):
        """The frame with the indices on the left."""
        inner, dimension = frame, 0
        for r in target.indices:
            if r.name is DOTS:
                extents = self._dots(target, value, inner, context, shaped, dimension)
                inner = edges.pushed(inner, context.view, [("..", k) for k in range(len(extents))], extents, len(extents))
                dimension += len(extents)
                continue
            if r.upper is not None:
                extent = edges.Extent(context.size(r.upper) + int(r.upper_closed))
                extent.edges = None if r.upper_closed else edges.named(context.view, r.upper)
            elif shaped is not None:
                extent = edges.extent(shaped, dimension)
            else:
                extent = context.extent(r.name, [value], inner, r)
            inner = edges.pushed(inner, context.view, [r.name], [extent])
            dimension += 1
        return inner

    def _indexed(self, target, value, frame, context, shaped):
        inner = self._axes_of(target, value, frame, context, shaped)
        known = shaped.type if shaped is not None and shaped.type not in scalars.LITERALS else None
        element = settled(context.value(value, inner), context.view.kind(target.type) if target.type else known)
        with tape.masked(inner.mask):
            element = tape.expand(element, len(inner))
            lead = element.data.shape[:len(frame)] if element.data.ndim else (1,) * len(frame)
            element = tape.broadcast(element, lead + tuple(a.count for a in inner.axes[len(frame):]))
        result = tape.view(element, len(frame))
        result.bound = element.bound
        result.edges = edges.of_axes(inner.axes[len(frame):])
        return result

    def _dots(self, target, value, frame, context, shaped, dimension):
        if shaped is None:
            return context.dots([value], frame, target)
        after = sum(1 for r in target.indices if r.name is not DOTS)
        return shaped.shape[dimension:dimension + shaped.rank - after]

    # ---- regions

    def _case(self, s, names, block, position):
        return loops.case(self, s, names, block, position)

    def _repeat(self, s, names, block, position):
        return loops.Repeat(self, s, names, block, position).run()

    def _while(self, s, names, block, position):
        return loops.While(self, s, names, block, position).run()

    # ---- what expressions ask for

    def call(self, context, node, frame, count):
        return calls.call(self, context, node, frame, count)

    def quietly(self, compute):
        """Something that may fail because there are no points to compute it on: None then."""
        try:
            return compute()
        except ExprError:
            return None

    def random(self, block, node, frame):
        if self.numbering:
            return tape.constant(0.5, "f32")
        self.number()
        return randoms.rand(self, block, node, frame)

    def number(self):
        """Count the places of random numbers, in a program of the same text all of which is evaluated."""
        if self.sites is None:
            text, inputs, defines, folders, folder = self.given_text
            trial = Program(text, inputs, {**(defines or {}), **self.defines}, folders, folder, self.training,
                            self.step)
            trial.numbering = True
            trial.force()
            self.sites = randoms.sites(trial)

    def force(self):
        """Evaluate all that stands in the program's blocks, and whatever that leads to."""
        done = set()
        while True:
            waiting = [b for b in self.blocks if id(b) not in done]
            if not waiting:
                return
            for block in waiting:
                done.add(id(block))
                for _, what in list(block.names.values()):
                    if isinstance(what, Lazy) and not what.optional:
                        what.get()


def _draws(value):
    """Whether an initial value is drawn at random."""
    if isinstance(value, Call) and value.path[-1] in randoms.COUNTS:
        return True
    return any(_draws(c) for c in children(value)) if not isinstance(value, (list, int, float)) else False


def _own_frame(names, shape, variable):
    """The frame of an initial value: the indices that a declaration names."""
    dots = sum(isinstance(n, tuple) for n in names) if DOTS in (variable.axes or []) else None
    return Frame([Axis(n, 0, e) for n, e in zip(names, shape)], None, dots)
