"""What `neoc` shows of traced functions."""
from .control import case, repeat, scan, while_
from .eager import array, eager
from .diff import checkpoint, grad, jvp, value_and_grad, vjp
from .function import CacheInfo, Function, function
from .functions import *
from .make import *
from .optimizers import train_step
from .raw import expr
from .vertices import vertex
