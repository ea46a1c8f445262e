"""Errors of traced functions name the line of Python that they are of, and say what to do."""
import traceback
import unittest

import numpy as np

import neoc

# (what, lines of net.py with # here, arguments, class of the exception, what its message says)
CASES = [
    ("matmul", "return x @ W  # here", [(5, 4), (3, 2)], ValueError,
     "matmul: Input operand 1 has a mismatch in its core dimension 0.*size 3 is different from 4"),
    ("broadcast", "h = x*2\n    return h + W  # here", [(5, 4), (5, 3)], ValueError,
     r"could not be broadcast together with shapes \(5,4\) \(5,3\)"),
    ("f64 with f32", "y = x + 1\n    return y*W  # here", [(3,), "f64[3]"], TypeError,
     "ufunc 'multiply': operands have dtypes float32 and float64"),
    ("i32 with f32", "return x + W  # here", [(3,), "i32[3]"], TypeError,
     "operands have dtypes float32 and int32.*astype"),
    ("if of a tensor", "if x.sum() > 0:  # here\n        x = -x\n    return x", [(3,), (3,)],
     TypeError, "neoc.where.*neoc.case"),
    ("while of a tensor", "while (x > 0).any():  # here\n        x = x - 1\n    return x",
     [(3,), (3,)], TypeError, "neoc.case"),
    ("float of a tensor", "return W*float(x.sum())  # here", [(3,), (3,)], TypeError, "float()"),
    ("an array of a tensor", "return np.asarray(x) + W  # here", [(3,), (3,)], TypeError,
     "symbolic"),
    ("a range of a tensor", "for i in range(x[0]):  # here\n        W = W + 1\n    return W",
     ["i32[3]", (3,)], TypeError, "int()"),
    ("iteration over a scalar", "return [v for v in x.sum()]  # here", [(3,), (3,)], TypeError,
     "0-d"),
    ("assignment", "x[0] = 1  # here\n    return x", [(3,), (3,)], TypeError, r"\.at\["),
    ("a mask", "return x[x > 0]  # here", [(3,), (3,)], neoc.Unsupported, "neoc.where"),
    ("an index that is too large", "return x[3]  # here", [(3,), (3,)], IndexError,
     "index 3 is out of bounds for axis 0 with size 3"),
    ("too many indices", "return x[0, 0]  # here", [(3,), (3,)], IndexError, "too many indices"),
    ("an index that nothing bounds", "i = (x*9).astype(np.int32)\n    return W[i]  # here",
     [(3,), (3,)], IndexError, r"neoc.clip\(i, 0, n - 1\)"),
    ("an index of floats", "return x[W]  # here", [(3,), (3,)], IndexError, "integer"),
    ("reshape", "return x.reshape(2, -1)  # here", [(3,), (3,)], ValueError,
     r"cannot reshape array of size 3 into shape \(2,-1\)"),
    ("transpose", "return x.transpose(0, 0)  # here", [(3, 2), (3,)], ValueError, "axes"),
    ("an axis", "return x.sum(2)  # here", [(3, 2), (3,)], ValueError, "axis 2 is out of bounds"),
    ("concatenate", "return np.concatenate([x, W])  # here", [(3, 2), (3, 3)], ValueError,
     "along dimension 1 there are sizes 2 and 3"),
    ("stack", "return np.stack([x, W])  # here", [(3, 2), (3, 3)], ValueError, "same shape"),
    ("squeeze", "return x.squeeze(0)  # here", [(3, 2), (3,)], ValueError, "squeeze"),
    ("broadcast_to", "return np.broadcast_to(x, (2, 2))  # here", [(3,), (3,)], ValueError,
     "requested shape"),
    ("einsum", 'return np.einsum("ij,jk", x, W)  # here', [(3, 2), (3, 3)], ValueError,
     "index 'j' has extents 2 and 3"),
    ("einsum of ranks", 'return np.einsum("ijk", x)  # here', [(3, 2), (3,)], ValueError, "ijk"),
    ("a function that there is not", "return np.arctan(x)  # here", [(3,), (3,)],
     neoc.Unsupported, "np.arctan"),
    ("complex numbers", "return np.fft.fft(x)  # here", [(3,), (3,)], neoc.Unsupported, "complex"),
    ("bits of integers", "return x & 3  # here", ["i32[3]", (3,)], neoc.Unsupported, "bits"),
    ("negative powers of integers", "return x**-1  # here", ["i32[3]", (3,)], ValueError,
     "negative integer powers"),
    ("minus of booleans", "return (x > 0) - (W > 0)  # here", [(3,), (3,)], TypeError, "boolean"),
    ("a type", "return x.astype(np.complex64)  # here", [(3,), (3,)], TypeError, "complex64"),
    ("a constant that does not fit", "return x + 1000  # here", ["i8[3]", (3,)], OverflowError,
     "1000"),
    ("grad of a tensor", "return neoc.grad(lambda x: x*2)(x)  # here", [(3,), (3,)],
     neoc.GradientError, "scalar"),
    ("grad by integers", "return neoc.grad(lambda x: 1.0)(x)  # here", ["i32[3]", (3,)],
     neoc.GradientError, "int32"),
    ("a carry's type", "return neoc.scan(  # here\n        lambda c, v: (c > 0, v), x, W)[0]",
     [(3,), (3,)], TypeError, "begins as float32, the body gives bool"),
    ("a carry's shape", "return neoc.scan(  # here\n        lambda c, v: (c[:2], v), x, W)[0]",
     [(3,), (3,)], ValueError, r"begins with the shape \(3,\)"),
    ("branches", "return neoc.case(x[0], [  # here\n        lambda: W, lambda: W[1:]])",
     ["i32[3]", (3,)], ValueError, "the first branch gives the shape"),
    ("xs of other lengths",
     "return neoc.scan(  # here\n        lambda c, v: (c, None), x[0], (x, W))",
     [(3,), (4,)], ValueError, "3 steps, but xs of 4"),
    ("a signature of models/std", "return neoc.nn.mse(x, x @ W)  # here", [(3, 2), (2, 5)],
     ValueError, "nn.mse: .*(3, 2).*(3, 5)"),
    ("the rank of a signature", "return neoc.nn.conv2d(x, W)  # here", [(3, 2), (2, 5)],
     ValueError, r"x\[N, C, H, W\]"),
    ("an option", "return neoc.nn.top(x, k=True, j=2)  # here", [(3, 2), (2, 5)], TypeError, "j"),
    ("parameters", "return neoc.nn.linear(x)  # here", [(3, 2), (2, 5)], TypeError, "needs.*out"),
    ("a result", "return {'a': 'text'}  # here", [(3,), (3,)],
     TypeError, "traced function returns"),
]

# Errors that the compiler reports.
COMPILED = [
    ("two extents", 'y = x*2\n    return neoc.expr("C[i] = A[i]*B[i]", A=y, B=W)  # here',
     [(5,), (4,)], "E0203 index 'i' has two extents"),
    ("an unknown name", 'return neoc.expr("C[i] = A[i]*Q[i]", A=x)  # here', [(5,), (4,)],
     "E0101 unknown name 'Q'"),
    ("out of bounds", 'return neoc.expr("C[i] = A[i + 1]", A=x)  # here', [(5,), (4,)],
     "E0204|E0206"),
    ("syntax", 'return neoc.expr("C[i] = A[i", A=x)  # here', [(5,), (4,)], "E0004"),
    ("a sum that overflows", 'return neoc.expr("C = A", A=x, out="D")  # here', [(5,), (4,)],
     "E0416|E0101"),
]


def run(code, shapes):
    source = "import numpy as np, neoc\n\ndef f(x, W):\n    " + code
    scope = {}
    exec(compile(source, "net.py", "exec"), scope)
    line = 1 + next(k for k, text in enumerate(source.split("\n")) if "# here" in text)
    return neoc.function(scope["f"]), line


class Errors(unittest.TestCase):
    def test_an_error_has_the_line_in_its_traceback_and_says_what_to_do(self):
        for what, code, shapes, kind, pattern in CASES:
            with self.subTest(what=what):
                f, line = run(code, shapes)
                try:
                    f.text(*shapes)
                    self.fail("no error")
                except kind as e:
                    told, stack = str(e), traceback.extract_tb(e.__traceback__)
                self.assertRegex(told, pattern)
                frames = [t.lineno for t in stack if t.filename == "net.py"]
                if what != "a result":
                    self.assertIn(line, frames)

    def test_what_the_compiler_tells_begins_with_the_line(self):
        for what, code, shapes, pattern in COMPILED:
            with self.subTest(what=what):
                f, line = run(code, shapes)
                with self.assertRaises(neoc.CompileError) as caught:
                    f.text(*shapes)
                self.assertRegex(str(caught.exception), rf"^net\.py:{line}: ({pattern})")
                found = caught.exception.diagnostics[0]
                self.assertEqual((found.file, found.line), ("net.py", line))

    def test_errors_of_the_whole_text_are_told_at_the_line_that_made_it(self):
        from neoc.trace import backend, tree
        from neoc.trace.program import Program
        places = [("", 0), ("/home/me/net.py", 48), ("", 0)]
        program = Program("input x[3]\ny[i] = x[j]\noutput y\n", places, [("x", 0)], ["y"],
                          tree.LEAF, [], [], [])
        with self.assertRaises(neoc.CompileError) as caught:
            backend.build(program, {})
        self.assertRegex(str(caught.exception), r"^net\.py:48: E0204 ")
        self.assertIn("in: y[i] = x[j]", str(caught.exception))
        self.assertEqual(caught.exception.diagnostics[0].file, "/home/me/net.py")

    def test_there_are_forty(self):
        self.assertGreaterEqual(len(CASES) + len(COMPILED), 40)

    def test_arguments_are_told_by_name(self):
        f = neoc.function(lambda x, mode: x)
        with self.assertRaisesRegex(TypeError, "'mode'.*static_argnames"):
            f(np.zeros(3, np.float32), "fast")
        with self.assertRaisesRegex(ValueError, "static_argnames.*'m'"):
            neoc.function(lambda x: x, static_argnames="m")

    def test_a_tensor_that_leaves_its_call_is_refused(self):
        kept = []
        f = neoc.function(lambda x: kept.append(x*2) or x)
        f(np.zeros(3, np.float32))
        with self.assertRaisesRegex(TypeError, "another call"):
            neoc.function(lambda x: x + kept[0])(np.zeros(3, np.float32))

    def test_a_tensor_that_leaves_its_loop_is_refused(self):
        def f(x):
            kept = []
            neoc.scan(lambda c, v: (kept.append(c + v) or c + v, None), x[0], x)
            return kept[0]
        with self.assertRaisesRegex(TypeError, "body of a scan"):
            neoc.function(f)(np.zeros(3, np.float32))

    def test_operations_outside_of_a_trace_are_refused(self):
        with self.assertRaisesRegex(TypeError, "neoc.function"):
            neoc.exp(np.zeros(3, np.float32))


if __name__ == "__main__":
    unittest.main()
