"""Operators and models on a GPU: NEO_CUDA_DRIVER names the driver, which may be the emulated one."""

import os
import unittest

import neoc
import numpy as np

TARGET = os.environ.get("NEO_TEST_TARGET", "nvptx:sm_90a+host")


@unittest.skipUnless("NEO_CUDA_DRIVER" in os.environ, "there is no driver")
class Device(unittest.TestCase):
    def test_an_operator_runs_on_the_device(self):
        a = np.random.rand(8, 8).astype("f")
        mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]", device=TARGET)
        np.testing.assert_allclose(mm(a, a), a @ a, rtol=1e-5)
        out = np.empty((8, 8), "f")
        mm(a, a, out=out)
        np.testing.assert_allclose(out, a @ a, rtol=1e-5)

    def test_a_model_trains_there_and_its_values_are_copied(self):
        text = ("import optim\ninput x[4]\nparam w[4] = 0\nl = sum[i] (w[i] - x[i])^2\n"
                "y[i] = w[i]\noutput y\ntrain l using optim.sgd(lr = 0.1)")
        here, there = neoc.compile(text), neoc.compile(text, device=TARGET)
        x = np.arange(4.0, dtype="f")
        for _ in range(3):
            np.testing.assert_allclose(there.step(x=x), here.step(x=x), rtol=1e-5)
        w = there.params["w"]
        np.testing.assert_allclose(w, here.params["w"], rtol=1e-5)
        with self.assertRaises(ValueError):
            w[0] = 1
        there.params["w"] = 2
        np.testing.assert_array_equal(there.forward(), np.full(4, 2, "f"))
        np.testing.assert_array_equal(there.clone().forward(), np.full(4, 2, "f"))


if __name__ == "__main__":
    unittest.main()
