"""The public names of traced functions, as `neoc` exports them; neoc.names lists them."""
from . import functions, make, tree
from .control import case, repeat, scan, while_
from .diff import checkpoint, grad, jvp, value_and_grad, vjp
from .eager import array, eager
from .function import CacheInfo, Function, function
from ..names import MORE, NAMES, NUMPY
from .optimizers import TrainStep, train_step
from .named import named
from .products import stop
from .raw import expr
from .tensor import Tensor, TraceError
from .vertices import vertex

for _name in NUMPY + MORE:
    globals()[_name] = named(getattr(functions, _name, None) or getattr(make, _name), _name)
for _f in (array, stop, expr):
    globals()[_f.__name__] = named(_f, _f.__name__)

__all__ = ["CacheInfo", "Function", "Tensor", "TraceError", "TrainStep", "array", "case",
           "checkpoint", "eager", "expr", "function", "grad", "jvp", "repeat", "scan", "stop",
           "train_step", "tree", "value_and_grad", "vertex", "vjp", "while_", "NAMES"]
