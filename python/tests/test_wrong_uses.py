"""Wrong uses: what is no value of an argument is refused at the call, by name.

For each public function and method, and for each of its parameters, the values of BAD stand in
place of a good one. Such a call either succeeds, as 3 is a number of threads, or raises an
exception that is meant for users, and whose message names the parameter or the function. Who adds a
public function adds its good arguments here; `test_all_that_is_public_is_tried` tells.
"""

import contextlib
import copy
import inspect
import os
import pickle
import tempfile
import unittest

import neoc
import numpy as np
from neoc import fit as fit_module
from neoc import names as trace_names
from neoc.trace import module_text
from neoc.trace import tree

NAN = float("nan")
BAD = [None, 3, -1, 3.5, "foo", b"x", [], [None], object(), 10**30, NAN, "\ud800", {}, (),
       {"x": None}]
MEANT = (TypeError, ValueError, neoc.NeoError, OverflowError, IndexError)
INSIDE = (AttributeError, AssertionError, RecursionError, SystemError, UnicodeError)

TEXT = "y[i] = 2*x[i]"
MODEL = """
import optim
input x[4]
param w[4] = 0
l = sum[i] (w[i] - x[i])^2
output test: l
train l using optim.sgd(lr = 0.1)
"""
SIZED = "dim B <= 8\ninput x[B]\ny[i] = 2*x[i]\noutput y"


def wrong(problem, words):
    """Why an exception is not one that is meant for users; None if it is."""
    told, kind = str(problem), type(problem)
    if isinstance(problem, INSIDE) or not isinstance(problem, MEANT):
        return f"is of the class {kind.__name__}"
    if kind is KeyError or kind is IndexError and "()" not in told:
        return f"is a bare {kind.__name__}"
    if isinstance(problem, neoc.CompileError) and problem.diagnostics:
        return None  # which have the place in the text
    if "bug in neoc" in told:
        return "says that it is a bug"
    if not any(word in told for word in words):
        return f"names none of {', '.join(words)}"
    return None


@contextlib.contextmanager
def in_a_folder():
    """A folder that is the working directory: a path such as "foo" is as good as another."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


@neoc.function
def decorated(x):
    return 2*x


def plain(x):
    return 2*x


class Tried:
    """A function with good arguments: by name, and under "*name" a list of those by position.

    told: words that name the function. use: what shows that what a call made is of use. few: of
    BAD only these many for each parameter, other ones for the next.
    """

    drawn = 0

    def __init__(self, label, call, good, told=None, use=None, few=len(BAD)):
        self.label, self.call, self.good = label, call, good
        self.told = [told or label.rsplit(".", 1)[-1], label]
        self.use, self.few = use, few

    def bad(self):
        first = Tried.drawn
        Tried.drawn += self.few
        return [BAD[k % len(BAD)] for k in range(first, first + self.few)]

    def failures(self):
        for name in self.good:
            values = self.good[name]
            places = range(len(values)) if name.startswith("*") else [None]
            for place in places:
                for bad in self.bad():
                    given = dict(self.good)
                    given[name] = bad if place is None else [
                        *values[:place], bad, *values[place + 1:]]
                    why = self._failure(given, name.lstrip("*"))
                    if why:
                        yield f"{self.label}({name.lstrip('*')}={bad!r:.40}): {why}"

    def _failure(self, given, name):
        args = next((v for k, v in given.items() if k.startswith("*")), [])
        named = {k: v for k, v in given.items() if not k.startswith("*")}
        try:
            made = self.call(*args, **named)
        except BaseException as problem:
            why = wrong(problem, [*self.told, name])
            return why and f"the exception {why}: {type(problem).__name__}: {problem!s:.200}"
        if self.use is not None:
            try:
                self.use(made)
            except BaseException as problem:
                return f"fails later: {type(problem).__name__}: {problem!s:.200}"
        return None


def traced(f, *shapes):
    """A call within a trace: names of arguments whose values are "$0" are those of the trace."""
    def call(*args, **named):
        def body(*tensors):
            def real(value):
                if isinstance(value, str) and value[:1] == "$":
                    return tensors[int(value[1:])]
                return [real(v) for v in value] if type(value) is list else value
            f(*[real(a) for a in args], **{k: real(v) for k, v in named.items()})
            return tensors[0]
        return neoc.function(body).text(*shapes)
    return call


SHAPES = ((4, 4), (4, 4), "i32[4, 4]", "bool[4, 4]")
# Good arguments of numpy's functions, by the name of the parameter.
GOOD = {
    "x": "$0", "a": "$0", "b": "$1", "axis": 0, "keepdims": True, "where": "$3", "start": 0,
    "stop": 5, "step": 1, "dtype": "float32", "decimals": 1, "shape": (4, 4), "low": 0, "high": 1,
    "xs": ["$0", "$1"], "k": 1, "offset": 1, "n": 2, "subscripts": "ij,jk->ik", "optimize": None,
    "m": 3, "value": 2, "num": 5, "endpoint": True, "source": 0, "destination": 1, "nan": 0.0,
    "posinf": 1.0, "neginf": -1.0, "width": 1, "mode": "wrap", "constant_values": 0, "axes": (1, 0),
    "shift": 1, "parts": 2, "ddof": 1, "indices": "$2", "reps": 2, "condition": "$3",
}
GOOD_OF = {"swapaxes": {"a": 0, "b": 1}, "moveaxis": {"a": 0, "b": 1}, "squeeze": {"x": "$0"},
           "invert": {"x": "$3"}, "tensordot": {"axes": 1}, "broadcast_arrays": {"*xs": ["$0", "$1"]},
           "einsum": {"*operands": ["ij,jk->ik", "$0", "$1"]}, "arange": {"stop": 5},
           "take": {"indices": [0, 1]}, "take_along_axis": {"indices": [[0, 1, 0, 1]]*4}}
GOOD_OF.update({name: {"a": "$3", "b": "$3"}
                for name in ("bitwise_and", "bitwise_or", "bitwise_xor")})


def numpy_functions():
    for name in trace_names.NUMPY + trace_names.MORE:
        f = getattr(neoc, name)
        good = {}
        for p in inspect.signature(f).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                good["*" + p.name] = GOOD_OF[name]["*" + p.name]
            elif "einsum" != name:
                good[p.name] = GOOD_OF.get(name, {}).get(p.name, GOOD.get(p.name))
        yield Tried(f"neoc.{name}", traced(f, *SHAPES), good)


def library_functions():
    """The functions of models/std, with tensors of the ranks of their signatures."""
    for module in trace_names.MODULES:
        for name, f in vars(getattr(neoc, module)).items():
            definition = getattr(f, "definition", None)
            if definition is None:
                continue
            shapes, good = [], {}
            for k, v in enumerate(definition.arguments):
                axes = [a for a in v.axes or [] if a != ".."]
                kind = v.kind.partition("<")[0].strip()
                kind = kind if kind in ("i32", "i64", "bool", "f32") else "f32"
                extents = [int(a) if a.isdecimal() else 4 for a in axes]
                shapes.append(f"{kind}[{', '.join(map(str, extents))}]" if extents else kind)
                good[v.name] = f"${k}"
            for o in definition.options:
                good[o.name] = True if o.value in ("true", "false") else 2
            yield Tried(f"neoc.{module}.{name}", traced(f, *shapes), good, few=4)


def optimizers():
    for name in neoc.optim.__all__:
        make = getattr(neoc.optim, name)
        if not callable(make) or hasattr(make, "definition") or inspect.isclass(make):
            continue
        good = {p: 1.0 for p in inspect.signature(make).parameters}
        yield Tried(f"neoc.optim.{name}", make, good)
    adam = neoc.optim.adam(lr=0.1)
    params = {"w": np.zeros(3, "f")}
    yield Tried("Optimizer.init", adam.init, {"params": params})
    states = adam.init(params)
    update = lambda gradients, states, params: neoc.function(
        lambda g: (adam.update(g if gradients == "$0" else gradients, states, params), g)[1]
    ).text({"w": (3,)})
    yield Tried("Optimizer.update", update,
                {"gradients": "$0", "states": states, "params": params})


def controls():
    step = lambda c, v: (c, v)
    row = "$0"
    yield Tried("neoc.scan", traced(neoc.scan, *SHAPES),
                {"f": step, "init": row, "xs": row, "length": 4, "reverse": True})
    yield Tried("neoc.repeat", traced(neoc.repeat, *SHAPES),
                {"f": step, "init": row, "xs": row, "length": 4})
    yield Tried("neoc.while_", traced(neoc.while_, *SHAPES),
                {"cond": lambda c: c.sum() > 0, "body": lambda c: c, "init": row, "limit": 4})
    yield Tried("neoc.case", traced(lambda i, branches: neoc.case(i, branches), *SHAPES),
                {"i": 1, "branches": [lambda: 1.0, lambda: 2.0]})
    loss = lambda x: neoc.sum(neoc.square(x))
    for name in ("grad", "value_and_grad"):
        yield Tried(f"neoc.{name}", getattr(neoc, name), {"f": loss, "argnums": 0, "has_aux": False})
        yield Tried(f"neoc.{name}", traced(lambda x, name=name: getattr(neoc, name)(loss)(x),
                                           *SHAPES), {"x": row})
    yield Tried("neoc.vjp", traced(lambda f, x, has_aux: neoc.vjp(f, x, has_aux=has_aux), *SHAPES),
                {"f": loss, "x": row, "has_aux": False})
    yield Tried("neoc.jvp", traced(neoc.jvp, *SHAPES),
                {"f": loss, "primals": [row], "tangents": [row]})
    yield Tried("neoc.checkpoint", neoc.checkpoint, {"f": loss})
    yield Tried("neoc.stop", traced(neoc.stop, *SHAPES), {"x": row})
    yield Tried("neoc.array", traced(neoc.array, *SHAPES), {"value": row, "dtype": "f32"})
    yield Tried("neoc.expr", traced(neoc.expr, *SHAPES),
                {"text": "C[i, j] = A[i, j]", "out": "C", "A": row})
    yield Tried("neoc.vertex", traced(neoc.vertex, *SHAPES),
                {"f": lambda v, x: x, "graph": "$2", "down": False})
    yield Tried("neoc.train_step", neoc.train_step,
                {"loss": loss, "optimizer": neoc.optim.sgd(), "has_aux": False, "sizes": "fixed",
                 "math": "f32"})
    yield Tried("neoc.function", neoc.function,
                {"f": loss, "static_argnames": (), "sizes": "auto", "math": "f32", "threads": 1},
                use=lambda f: isinstance(f, neoc.Function) and f(np.ones(3, "f")))
    yield Tried("neoc.eager", neoc.eager, {})


def tensors():
    """Methods of tensors, and x.at[key]."""
    methods = {"reshape": {"*shape": [2, 8]}, "transpose": {"*axes": [1, 0]},
               "swapaxes": {"a": 0, "b": 1}, "squeeze": {"axis": None}, "astype": {"dtype": "i32"},
               "repeat": {"count": 2, "axis": 0}, "take": {"indices": [0], "axis": 0},
               "clip": {"low": 0, "high": 1}, "round": {"decimals": 1}, "dot": {"other": "$1"},
               "argmax": {"axis": 0, "keepdims": True}, "cumsum": {"axis": 0},
               "var": {"axis": 0, "ddof": 1, "keepdims": True}}
    for name in ("sum", "prod", "mean", "max", "min", "any", "all"):
        methods[name] = {"axis": 0, "keepdims": True}
    for name, good in methods.items():
        call = lambda x, *a, name=name, **k: getattr(x, name)(*a, **k)
        inner = traced(call, *SHAPES)
        yield Tried(f"Tensor.{name}", lambda *a, inner=inner, **k: inner("$0", *a, **k), good)
    yield Tried("x[key]", traced(lambda key: 0, *SHAPES), {})
    for name in ("set", "add", "multiply", "min", "max"):
        call = lambda values, name=name: values
        inner = traced(lambda x, values, name=name: getattr(x.at[0], name)(values), *SHAPES)
        yield Tried(f"x.at[key].{name}", lambda inner=inner, **k: inner("$0", **k),
                    {"values": 1.0})
    inner = traced(lambda x, f: x.at[0].apply(f), *SHAPES)
    yield Tried("x.at[key].apply", lambda inner=inner, **k: inner("$0", **k), {"f": lambda v: v})


def trees():
    structure = tree.flatten([1, 2])[1]
    yield Tried("tree.map", tree.map, {"*f": [lambda a, b: a, [1, 2], [3, 4]]})
    yield Tried("tree.flatten", tree.flatten, {"tree": [1, 2]})
    yield Tried("tree.unflatten", tree.unflatten, {"structure": structure, "leaves": [1, 2]})
    yield Tried("tree.register", tree.register,
                {"kind": type("Own", (), {}), "flatten_one": lambda v: ((), ()),
                 "unflatten_one": lambda n, p: None})


def operators(folder):
    x = np.ones(3)
    sized = neoc.op("y[i < N] = sum[k < 2] x[i + k]")
    yield Tried("neoc.op", neoc.op, {"text": TEXT, "out": "y", "static": (), "types": {"x": "f64"},
                                     "math": "f32", "threads": 1, "device": "cpu"},
                use=lambda op: op._specialize(op._key([x])))
    double = neoc.op(TEXT)
    yield Tried("op()", double, {"x": x, "out": None}, "y()")
    yield Tried("op(N)", sized, {"x": x, "N": 2}, "y()")
    loss = neoc.op("l = sum[i] x[i]*z[i]")
    yield Tried("op.grad", loss.grad, {"argnums": 0})
    yield Tried("op.vjp", loss.vjp, {"argnums": 0})
    yield Tried("op.jvp", loss.jvp, {"argnums": 0})
    yield Tried("op.vmap", loss.vmap, {"in_axes": 0, "out_axes": 0})
    yield Tried("op.vmap", lambda **k: loss.vmap(list(k.values())), {"a": 0, "b": 0}, "in_axes")
    yield Tried("op.text", double.text, {"*shapes": [(3,)]}, "x")
    yield Tried("op.text", sized.text, {"*shapes": [(3,), 2]}, "x")
    yield Tried("op.compile", lambda *a: a[0] == "3" or double.text(*a), {"*shapes": [(3,)]}, "x")
    double(x)
    yield Tried("op.explain", double.explain, {"what": "groups"})
    yield Tried("op.save", double.save, {"path": os.path.join(folder, "a.expr")})
    yield Tried("op.emit", lambda folder, name, emit: double.emit(folder, name=name, emit=emit),
                {"folder": os.path.join(folder, "out"), "name": "a", "emit": "h"})
    yield Tried("op.verify", lambda rtol: rtol is None or double.verify(None, rtol=rtol),
                {"rtol": 0.1}, "x")
    yield Tried("neoc.tune", lambda **k: neoc.tune(**{**k, "args": ()} if all(
        k[n] is g[n] for n in ("op", "quiet", "args")) else k),
                g := {"op": double, "args": (x,), "seconds": 0.5, "quiet": True}, "x")


def texts():
    yield Tried("neoc.check", neoc.check, {"text": SIZED, "imports": {"a": "fn f(x) = x"}})
    yield Tried("neoc.format", neoc.format, {"text": TEXT})
    yield Tried("neoc.set_threads", neoc.set_threads, {"n": 0})


def models(folder):
    m = neoc.compile(MODEL)
    path = os.path.join(folder, "m.expr")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SIZED)
    good = {"text": SIZED, "imports": {"a": "fn f(x) = x"}, "seed": 3, "threads": 1,
            "device": "cpu", "sizes": {}}
    yield Tried("neoc.compile", neoc.compile, {**good, "math": "f32", "B": None})
    yield Tried("neoc.Model", neoc.Model, {**good, "path": "m.expr", "options": {}})
    yield Tried("neoc.load", neoc.load, {"path": path, "seed": 3, "threads": 1, "device": "cpu",
                                         "options": {}, "B": 4})
    x = np.ones(4, "f")
    yield Tried("m.step", m.step, {"x": x, "lr": 0.1, "out": None}, "step")
    sized = neoc.compile(SIZED)
    yield Tried("m.forward", sized.forward, {"x": np.ones(3, "f"), "out": None, "B": 3}, "forward")
    saved = os.path.join(folder, "m.safetensors")
    m.save(saved)
    yield Tried("Model.reset", m.reset, {"seed": 3})
    yield Tried("Model.explain", m.explain, {"what": "groups"})
    yield Tried("Model.save", m.save, {"path": saved, "extra": {"a": "b"}})
    yield Tried("Model.load", m.load, {"path": saved}, "foo")
    yield Tried("Model.loaded", m.loaded, {"key": "a"})
    yield Tried("Model.load_weights", m.load_weights,
                {"path": saved, "only": "w", "rename": {"w": "w"}}, "foo")
    yield Tried("Model.load_state_dict", m.load_state_dict,
                {"values": m.state_dict(), "strict": True})
    yield Tried("Model.trace", lambda path: m.trace(path).close(),
                {"path": os.path.join(folder, "t.json")})
    yield Tried("Model.params", lambda w: m.params.__setitem__("w", w), {"w": x})
    yield Tried("Model.params", lambda name: m.params[name] if isinstance(name, str) else 0,
                {"name": "w"}, "none of w")
    yield Tried("Model.settings", lambda lr: m.settings.__setitem__("lr", lr), {"lr": 0.1})
    rows = {"x": x}
    data = [rows]
    yield Tried("Model.fit", m.fit, {
        "data": data, "epochs": 1, "batch_size": None, "entry": "step", "shuffle": True,
        "validation": data, "validation_entry": "test", "callbacks": (), "seed": 0,
        "progress": False, "allow_nan": True})
    yield Tried("fit.fit", lambda model: fit_module.fit(model, data, epochs=0), {"model": m})
    yield Tried("fit.checkpoint", fit_module.checkpoint, {"path": saved, "best": "loss"})
    yield Tried("fit.early_stopping", fit_module.early_stopping, {"value": "loss", "patience": 3})
    m.reset().settings["lr"] = 0.1
    history = m.fit(data, epochs=1, progress=False)
    yield Tried("History.plot_loss", history.plot_loss, {"path": os.path.join(folder, "a.svg")})


def graphs():
    G = neoc.Graph
    child = [[1, 2], [-1, -1], [-1, -1]]
    rows = {"x": [1.0, 2.0, 3.0]}
    g = G(child)
    yield Tried("neoc.Graph", G, {"child": child, "features": rows, "children": 3})
    yield Tried("Graph.from_edges", G.from_edges, {
        "src": [0, 1], "dst": [2, 2], "n": 3, "features": rows, "children": 2, "reverse": False})
    yield Tried("Graph.from_trees", G.from_trees,
                {"trees": [["a", "b"]], "features": rows, "children": 2})
    yield Tried("Graph.batch", G.batch, {"graphs": [g], "features": rows})
    yield Tried("Graph.with_features", g.with_features, {"x": [1.0, 2.0, 3.0]}, "features")
    yield Tried("Graph.table", g.table, {"children": 2})
    yield Tried("Graph.arrange", g.arrange, {"rows": [1, 2, 3]})
    yield Tried("Graph.restore", g.restore, {"rows": [1, 2, 3]})
    yield Tried("Graph.from_networkx", G.from_networkx, {"graph": None})
    yield Tried("Graph.from_scipy", G.from_scipy, {"matrix": None})
    yield Tried("Graph.from_dgl", G.from_dgl, {"graph": None})
    yield Tried("Graph.from_pyg", G.from_pyg, {"data": None})


# Names that take no argument, are exceptions or modules, or are tried under another name.
APART = {"CacheInfo", "Function", "Tensor", "TraceError", "TrainStep", "tree", "Diagnostic", "Op",
         "errors", "cache", "fit", "tune", *trace_names.MODULES}


# (what, class, what the message says), with op: y[i] = 2*x[i]; m, sized: models; x: ones; f: traced
MESSAGES = [
    ("neoc.op(TEXT, out=3)", TypeError, r"neoc.op\(\): out: expected a str or .*given int 3"),
    ("neoc.op(TEXT, out=['y', 'y'])", ValueError, "out: .*each once"),
    ("neoc.op(TEXT, static=3)", TypeError, "static: expected a str or .*given int 3"),
    ("neoc.op(TEXT, types=3)", TypeError, "types: expected a dict .*given int 3"),
    ("neoc.op(TEXT, types={'x': 'i32 < '})", ValueError, "types.*'x'.*bound"),
    ("neoc.op(b'x')", TypeError, "text: expected a str, given bytes b'x'"),
    ("neoc.op('\\ud800')", ValueError, "text: expected a text that UTF-8 can write"),
    ("neoc.op(TEXT, math='foo')", ValueError, r"neoc.op\(\): math: .*foo"),
    ("neoc.op(TEXT, device='foo')", neoc.Unsupported, r"neoc.op\(\): device: unknown target 'foo'"),
    ("neoc.op(TEXT, threads=True)", TypeError, "threads: expected a whole number, given bool True"),
    ("op.vmap(0, (0,))", TypeError, r"out_axes: expected a number.*given tuple \(0,\)"),
    ("op.vmap(0, 7)", ValueError, "out_axes: 7 is no axis of 'y'"),
    ("op.vmap(7)", ValueError, "in_axes: 7 is no axis of 'x'"),
    ("op(np.array([None, 1]))", TypeError, "x: expected an array of numbers.*dtype=object"),
    ("op(['1', '2'])", TypeError, "x: expected an array or a number, given list"),
    ("op(10**30)", neoc.RangeError, "x: .*no number of the type int64"),
    ("op(x, out=3)", TypeError, "out: expected an array of numpy for y, given int 3"),
    ("op(x, out=(x, x))", TypeError, "out: expected a tuple of 1 arrays"),
    ("neoc.op('a[i] = x[i]\\nb[i] = 2*x[i]')(x, out=(x, x))", ValueError, "out: .*share memory"),
    ("op.grad([])", ValueError, "argnums: expected at least one argument"),
    ("op.explain('foo')", ValueError, "what: expected one of 'groups'"),
    ("neoc.compile(MODEL, B=4)", ValueError, "B: unknown option.*sizes={'B': ...}"),
    ("neoc.compile(MODEL, sizes={'Q': 4})", neoc.CompileError, "sizes: .*-D Q"),
    ("neoc.compile(MODEL, imports=3)", TypeError, "imports: expected a dict"),
    ("neoc.compile(MODEL, seed=-1)", ValueError, "seed: expected a whole number from 0 to 2"),
    ("neoc.load('a\\0b')", ValueError, "path: expected a path .*NUL"),
    ("neoc.load('/')", OSError, "path: /: Is a directory"),
    ("m.load_state_dict(None)", TypeError, "values: expected a dict of arrays by name, given None"),
    ("m.reset(-1)", ValueError, r"Model.reset\(\): seed: expected .*given int -1"),
    ("m.load_weights('a', only=3)", TypeError, "only: expected a str or a sequence of str"),
    ("m.explain('foo')", ValueError, "what: expected one of .*given str 'foo'"),
    ("m.fit([{'x': x}], callbacks=3)", TypeError, "callbacks: expected a sequence of functions"),
    ("m.fit([{'x': x}], callbacks=[None])", TypeError, "callbacks: .*given None in it"),
    ("sized.forward(x=x.astype('f'), B='3')", TypeError, "B: expected a size"),
    ("neoc.cache.prune('x')", TypeError, "bytes: expected a whole number, given str 'x'"),
    ("neoc.expr(None)", TypeError, r"neoc.expr\(\): text: expected a str, given None"),
    ("f(lambda x: neoc.scan(lambda c, v: (c, v), x, length=-2))", ValueError,
     "length: expected a whole number from 0"),
    ("f(lambda x: neoc.nn.linear(x, out=3, params='abc'))", TypeError,
     r"neoc.nn.linear\(\): params: expected a dict"),
    ("f(lambda x: neoc.sum(x, 'foo'))", TypeError, r"neoc.sum\(\): axis: expected .*'foo'"),
    ("f(lambda x: neoc.sum(None))", TypeError, r"neoc.sum\(\): x: expected a tensor.*None"),
    ("f(lambda x: neoc.zeros('3'))", TypeError, "shape: expected a shape"),
    ("f(lambda x: neoc.reshape(x, (1.5, 2)))", TypeError, "shape: .*given float 1.5"),
    ("f(lambda x: x[1.5:])", TypeError, "expected an integer or a size, given float 1.5"),
    ("f(lambda x: neoc.tensordot(x, x, 3))", ValueError, "axes: expected a whole number from 0 to"),
    ("f(lambda x: neoc.tensordot(x, x, ((0, 0), (0, 0))))", ValueError, "axes: .*each once"),
    ("f(lambda x: neoc.einsum('i->ii', x))", ValueError, "output subscript 'i' multiple times"),
    ("f(lambda x: neoc.full(3, 10**30))", neoc.RangeError, "no number of the type int32"),
    ("neoc.grad(3)", TypeError, r"neoc.grad\(\): f: expected a function, given int 3"),
    ("neoc.optim.sgd(lr='x')", TypeError, r"neoc.optim.sgd\(\): lr: expected a number"),
    ("neoc.Graph.from_trees('abc')", TypeError, r"Graph.from_trees\(\): trees: expected"),
    ("neoc._core.Program()", TypeError, "is made by others"),
    ("neoc._core.Op.__new__(neoc._core.Op)()", RuntimeError, "call neoc.op"),
]


class WrongUses(unittest.TestCase):
    maxDiff = None

    def test_messages_name_what_is_wrong_wanted_and_given(self):
        scope = {"neoc": neoc, "np": np, "TEXT": TEXT, "MODEL": MODEL, "op": neoc.op(TEXT),
                 "m": neoc.compile(MODEL), "sized": neoc.compile(SIZED), "x": np.ones(3),
                 "f": lambda body: neoc.function(body).text((3,))}
        for what, kind, says in MESSAGES:
            with self.subTest(what=what), self.assertRaisesRegex(kind, f"(?s){says}"):
                eval(what, scope)  # noqa: S307

    def test_parts_of_a_model_say_that_it_is_what_is_copied(self):
        m = neoc.compile(MODEL)
        for part in (m.step, m.params, m.settings):
            for copied in (pickle.dumps, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "belongs? to (its|their) model"):
                    copied(part)

    def test_functions_are_pickled_by_name(self):
        for f in (neoc.sum, neoc.nn.softmax, decorated, neoc.function(plain)):
            g = pickle.loads(pickle.dumps(f))
            if f is not neoc.sum and f is not neoc.nn.softmax:
                np.testing.assert_array_equal(g(np.ones(3, "f")), f(np.ones(3, "f")))

    def test_a_call_that_fails_keeps_no_setting(self):
        m = neoc.compile(MODEL.replace("input x[4]", "input x[4]\ninput n : i32 < 9 = 3")
                         .replace("- x[i])^2", "- x[i])^2 + f32(n)"))
        x, before = np.ones(4, "f"), {"n": 3, "lr": 0.1}
        for wrong_call in (dict(lr=0.7), dict(x=x, lr=0.7, foo=3), dict(x=x, lr=0.7, n=9),
                           dict(x=np.ones(5, "f"), lr=0.7), dict(x=x, lr=0.7, n=4.5),
                           dict(x=x, n=4, out=3), dict(x=x, n=4, lr="0.7")):
            with self.assertRaises((TypeError, ValueError, neoc.RangeError)):
                m.step(**wrong_call)
            self.assertEqual((dict(m.settings), m.steps), (before, 0))
        m.step(x=x, lr=0.5, n=np.int64(4))
        self.assertEqual((dict(m.settings), m.steps), ({"n": 4, "lr": 0.5}, 1))

    def tried(self, rows):
        found = [why for row in rows for why in row.failures()]
        if found:
            self.fail(f"{len(found)} wrong uses:\n" + "\n".join(found[:400]))

    def test_numpy_s_functions(self):
        self.tried(numpy_functions())

    def test_the_library_s_functions(self):
        self.tried(library_functions())

    def test_optimizers(self):
        self.tried(optimizers())

    def test_loops_choices_and_gradients(self):
        self.tried(controls())

    def test_methods_of_tensors(self):
        self.tried(tensors())

    def test_trees(self):
        self.tried(trees())

    def test_operators(self):
        with in_a_folder() as folder:
            self.tried(operators(folder))

    def test_texts(self):
        self.tried(texts())

    def test_the_cache_is_pruned_by_numbers(self):
        def prune(**given):  # of which each good one would be a process
            return None if set(map(type, given.values())) == {int} and min(
                given.values()) >= 0 and max(given.values()) < 1 << 60 else neoc.cache.prune(**given)

        with tempfile.TemporaryDirectory() as folder:
            os.environ["NEO_CODE_CACHE"] = folder
            try:
                self.tried([Tried("neoc.cache.prune", prune, {"bytes": 1, "older_than": 1})])
            finally:
                del os.environ["NEO_CODE_CACHE"]

    def test_models(self):
        with in_a_folder() as folder:
            self.tried(models(folder))

    def test_graphs(self):
        self.tried(graphs())

    def test_all_that_is_public_is_tried(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = [*numpy_functions(), *controls(), *operators(folder), *texts(), *models(folder),
                    *graphs()]
        tried = {row.label.rpartition(".")[2] for row in rows}
        public = {n for n in neoc.__all__ if not (
            inspect.isclass(getattr(neoc, n)) and issubclass(getattr(neoc, n), BaseException))
            and not issubclass(type(getattr(neoc, n)), type(Warning))}
        self.assertEqual(sorted(public - tried - APART), [])


if __name__ == "__main__":
    unittest.main()
