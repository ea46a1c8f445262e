"""The notebook magic %%neoc, by a stand-in for IPython's shell."""
import unittest

import numpy as np

import neoc


class Shell:
    def __init__(self):
        self.user_ns, self.magics = {}, {}

    def register_magic_function(self, func, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = func


class Magic(unittest.TestCase):
    def setUp(self):
        self.shell = Shell()
        neoc.load_ipython_extension(self.shell)
        self.cell = self.shell.magics["cell", "neoc"]

    def test_a_cell_becomes_an_operator_of_the_name(self):
        shown = self.cell("smooth", "y[i < N] = x[i] + x[i + 1]\n")
        smooth = self.shell.user_ns["smooth"]
        self.assertIs(shown, smooth)
        self.assertEqual(smooth(np.arange(4.0), N=3).tolist(), [1, 3, 5])

    def test_a_cell_with_an_entry_becomes_a_model(self):
        self.cell("m", "dim B <= 4\ninput X[B]\nY[b] = 2*X[b]\noutput Y\n")
        model = self.shell.user_ns["m"]
        self.assertIsInstance(model, neoc.Model)
        self.assertEqual(model.forward(X=np.ones(2, "float32")).tolist(), [2, 2])

    def test_options_stand_behind_the_name(self):
        self.cell("two", "a = sum[i] x[i]\nb = a*s\n")
        self.cell('one out="a" threads=1', "a = sum[i] x[i]\nb = a*s\n")
        self.assertEqual(self.shell.user_ns["one"].results, ("a",))

    def test_a_line_that_is_no_name_and_an_error_of_the_text_are_told(self):
        for line in ("", "3x", "a b", "a =3"):
            with self.assertRaisesRegex(ValueError, "NAME"):
                self.cell(line, "y[i] = x[i]")
        with self.assertRaises(neoc.CompileError):
            self.cell("bad", "y[i] = (x[i]")
        self.assertEqual(self.shell.user_ns, {})

    def test_numbers_that_are_not_finite_can_be_static(self):
        f = neoc.op("y[i] = select(x[i] > 0, x[i], fill)", static="fill")
        x = np.array([-1.0, 2.0])
        self.assertEqual(f(x, fill=float("-inf")).tolist(), [-np.inf, 2])
        self.assertTrue(np.isnan(f(x, fill=float("nan"))[0]))


if __name__ == "__main__":
    unittest.main()
