"""Traced functions: Python functions over symbolic tensors become texts of the language.

How it works. A call of a function under @neoc.function looks up shapes, types and structure of its
arguments (function.py). Where they are new, the function is called once with symbolic tensors
(tensor.py). What it does with them is recorded (scope.py) as definitions: expressions over loops
(expr.py), with subscripts that are polynomials (poly.py), so that views and their views are reads
of what is there. text.py decides which definitions are lines of their own, names them after
variables, and writes the text; program.py puts inputs, sizes and outputs around it; backend.py
compiles it and tells errors at lines of Python.

    api                               what neoc shows of all this (names.py beside this folder)
    function variants given program   calls, programs, arguments, texts
    backend engine                    compiled code
    tensor make kinds sizes size_floats poly   tensors, their types and sizes
    broadcast elements choices reductions shapes arranged products einstein   numpy's functions
    bounds                            between which values integers lie, for indices
    index at                          x[key], x.at[key]
    weak                              numbers of Python as arguments
    numpy_protocol numpy_linalg       np.exp(t), np.linalg.solve(a, b)
    diff control vertices             gradients; loops and choices; functions over graphs
    module_text std nested initial    models/std as functions
    optimizers                        optimizers and training steps
    tracebacks                        the user's frames of an error
    raw eager tree                    the language within a trace; eager mode; trees of arguments
"""
