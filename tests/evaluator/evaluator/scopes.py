"""Names: blocks of statements, what they define, and who sees it. Nothing is computed before it is asked for."""

from . import scalars, tape
from .errors import error
from .frames import Frame


class Lazy:
    """A value that is computed when it is asked for first."""

    def __init__(self, compute, line, optional=False):
        self.compute = compute
        self.optional = optional  # an input that may not be given
        self.line = line
        self.done = self.running = False
        self.result = None

    def get(self):
        if not self.done:
            if self.running:
                error(self.line, "this needs itself")
            self.running = True
            with tape.recording(True):  # whoever asks first may want the type alone
                self.result = self.compute()
            self.done, self.running, self.compute = True, False, None
        return self.result


class Block:
    """The names of a file, a function's call, a round or a branch.

    `frame` holds the axes of the statement from which the function is called; `prefix` begins the names of its
    parameters; `rounds` lists (round, of how many), outermost first, which stack them.
    """

    def __init__(self, program, parent=None, frame=None, prefix="", rounds=(), path=None):
        self.program = program
        self.parent = parent  # a View
        self.frame = frame if frame is not None else Frame()
        self.prefix = prefix
        self.rounds = rounds
        self.path = path  # of a module's file, for its imports
        self.names = {}  # name: (position, what)
        self.calls = {}  # how many calls of each name there are, by what they define
        self.key = ()  # the calls, rounds and branches that lead to it
        self.text = []  # its statements
        self.dots = None  # the extents for which `..` stands in the signature
        self.vertex = None  # in a vertex function: the call (vertices.py), and which vertex
        self.carries = False  # it has those of a loop, for a round
        self.loop_rounds = {}  # by the names of results of its loops: how many rounds these took
        self.trained = {}  # in an optimizer: the full name of the parameter, by the one that it has here
        self.types = {}  # what the type variables of the signature stand for
        self.kept = {}  # the full names of its parameters and states
        program.blocks.append(self)

    def define(self, name, what, position=-1, line=None):
        if name in self.names and name != "_":
            error(line, f"'{name}' is already defined")
        self.names[name] = (position, what)

    def view(self, position=float("inf")):
        return View(self, position)

    def qualified(self, name):
        return f"{self.prefix}.{name}" if self.prefix else name


class FunctionIn:
    """A function or an optimizer, and where its text stands."""

    def __init__(self, node, block, position):
        self.node = node
        self.block = block
        self.position = position


class View:
    """The names that a statement of a block sees: those above it, and those around the block."""

    def __init__(self, block, position):
        self.block = block
        self.position = position

    @property
    def frame(self):
        return self.block.frame

    def variable(self, name):
        """The type that a type variable stands for; None where there is none of this name."""
        view = self
        while view and name not in view.block.types:
            view = view.block.parent
        return view.block.types[name] if view else None

    def kind(self, written):
        """The type that is written; that of a variable is the call's."""
        name = self.variable(written.name) or written.name
        return scalars.WIDENED.get(name, name) if written.wide else name

    def dots(self):
        """The extents for which `..` stands in the signature of the function around."""
        view = self
        while view and view.block.dots is None:
            view = view.block.parent
        if not view:
            error(None, "'..' stands for nothing here")
        return tuple(view.block.dots)

    def find(self, name):
        """(block, what) of a name, or None."""
        entry = self.block.names.get(name)
        if entry and (entry[0] < self.position or isinstance(entry[1], FunctionIn)):
            return self.block, entry[1]
        return self.block.parent.find(name) if self.block.parent else None

    def lookup(self, names, line):
        """A size (an int), a Tensor, a FunctionIn or a module (a Block)."""
        found = self.find(names[0])
        if not found:
            builtin = self.block.program.builtin(names[0]) if len(names) == 1 else None
            if builtin is None:
                error(line, f"unknown name '{names[0]}'")
            return builtin
        block, what = found
        if isinstance(what, Block) and len(names) > 1:
            return what.view().lookup(names[1:], line)
        if len(names) > 1:
            return self._owned(block, what, names, line)
        return what.get() if isinstance(what, Lazy) else what

    def _owned(self, block, what, names, line):
        """h.W: the parameter of the call that defines h; h.rounds: of the loop that does."""
        if isinstance(what, Lazy):
            what.get()
        if names[1:] == ("rounds",) and names[0] in block.loop_rounds:
            return block.loop_rounds[names[0]]
        full = block.qualified(".".join(names))
        leaf = block.program.stored.get(full)
        if leaf is None:
            error(line, f"unknown name '{'.'.join(names)}'")
        for round_, _ in block.rounds:
            leaf = block.program.slice_of(leaf, round_)
        return leaf

    def is_function(self, path):
        found = self.find(path[0])
        if not found:
            return path == ("grad",)
        what = found[1]
        if isinstance(what, Block) and len(path) == 2:
            entry = what.names.get(path[1])
            return bool(entry) and isinstance(entry[1], FunctionIn)
        return isinstance(what, FunctionIn) and len(path) == 1


def as_size(what):
    return int(what.data.reshape(())) if isinstance(what, tape.Tensor) else what
