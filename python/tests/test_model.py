"""Models: entries, values, files, training."""

import copy
import gc
import json
import os
import pickle
import tempfile
import unittest

import neoc
import numpy as np
from neoc.fit import checkpoint, early_stopping

TEXT = """
import optim, nn
dim B <= 64
input X[B, 3]
input Y[B]
h = nn.linear(X, out = 8)
a[b, j] = tanh(h[b, j])
o = nn.linear(a, out = 1)
y[b] = o[b, 0]
loss = mean[b] (y[b] - Y[b])^2
output y
output test: loss
train loss using optim.adam(lr = 0.01)
"""


def data(rows=200):
    x = np.random.default_rng(0).standard_normal((rows, 3)).astype("f")
    return {"X": x, "Y": np.sin(x.sum(1)).astype("f")}


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.first = neoc.compile(TEXT)

    def setUp(self):
        self.m = self.first.clone()
        self.x, self.y = data()["X"], data()["Y"]

    def test_entries_are_methods_and_take_names(self):
        m = self.m
        self.assertEqual(list(m.entries), ["forward", "test", "step", "grad"])
        out = m.forward(X=self.x[:4])
        self.assertEqual((out.shape, out.dtype), ((4,), np.float32))
        np.testing.assert_array_equal(m.forward(self.x[:4]), out)
        self.assertIn("forward(X)", repr(m))
        self.assertIn("step", dir(m))
        self.assertRaises(AttributeError, getattr, m, "nothing")

    def test_training_lowers_the_loss_and_counts_steps(self):
        losses = [float(self.m.step(X=self.x[:64], Y=self.y[:64])) for _ in range(50)]
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(self.m.steps, 50)

    def test_what_does_not_fit_is_told_with_the_input_s_name(self):
        m, x = self.m, self.x
        for error, call in ((neoc.DTypeError, lambda: m.forward(X=x[:4].astype("f8"))),
                            (neoc.ShapeError, lambda: m.forward(X=x[:4, :2])),
                            (neoc.ShapeError, lambda: m.forward(X=x[0]))):
            with self.assertRaisesRegex(error, r"^X: .*\(model.expr:4:7\)$"):
                call()
        self.assertRaisesRegex(neoc.ShapeError, r"B: 100 is not in \[1, 64\]",
                               lambda: m.forward(X=x[:100]))
        self.assertRaisesRegex(neoc.ShapeError, "Y: dim 0 is 3, expected 4",
                               lambda: m.step(X=x[:4], Y=self.y[:3]))
        self.assertRaisesRegex(TypeError, "needs the input 'X'", m.forward)
        self.assertRaisesRegex(TypeError, "unexpected argument 'x'; did you mean 'X'. it takes X",
                               m.forward, x=x)
        self.assertRaisesRegex(TypeError, "unexpected argument 'Z'",
                               lambda: m.forward(X=x[:4], Z=1))

    def test_parameters_are_views_of_the_model_s_memory(self):
        w = self.m.params["h.W"]
        self.assertIs(w, self.m.params["h.W"])
        before = self.m.forward(X=self.x[:4])
        w[...] = 0
        self.assertTrue((self.m.state_dict()["h.W"] == 0).all())
        self.assertFalse(np.array_equal(self.m.forward(X=self.x[:4]), before))

    def test_a_view_outlives_its_model(self):
        m = self.first.clone()
        w = m.params["h.W"]
        copied = w.copy()
        del m
        np.testing.assert_array_equal(w, copied)

    def test_parts_of_a_model_outlive_it_in_any_order(self):
        m = self.first.clone()
        step, params, settings, w = m.step, m.params, m.settings, m.params["h.W"]
        del m
        gc.collect()
        step(X=self.x[:4], Y=self.y[:4], lr=0.5)
        self.assertEqual(settings["lr"], 0.5)
        del step, settings
        gc.collect()
        self.assertIs(params["h.W"], w)
        del params
        gc.collect()
        self.assertTrue(np.isfinite(w).all())

    def test_assignment_sets_a_parameter(self):
        self.m.params["h.b"] = 1.5
        np.testing.assert_array_equal(self.m.params["h.b"], np.full(8, 1.5, "f"))
        self.m.params["h.b"] = np.arange(8)
        np.testing.assert_array_equal(self.m.params["h.b"], np.arange(8))
        self.assertRaises(neoc.ShapeError, self.m.params.__setitem__, "h.b", np.ones(3))
        self.assertRaises(KeyError, self.m.params.__setitem__, "none", 0)

    def test_settings_are_numbers_that_stay(self):
        self.assertEqual(dict(self.m.settings), {"lr": 0.01})
        self.m.settings["lr"] = 1e-3
        self.assertEqual(self.m.settings["lr"], 1e-3)
        self.m.step(X=self.x[:8], Y=self.y[:8], lr=0.5)
        self.assertEqual(self.m.settings["lr"], 0.5)
        self.assertRaises(KeyError, self.m.settings.__setitem__, "rate", 1)
        self.assertRaises(neoc.DTypeError, self.m.settings.__setitem__, "lr", "fast")

    def test_copies_and_pickles_go_on_as_the_model_does(self):
        self.m.step(X=self.x[:8], Y=self.y[:8])
        self.m.settings["lr"] = 0.5
        others = [self.m.clone(), copy.deepcopy(self.m), pickle.loads(pickle.dumps(self.m))]
        losses = {float(m.step(X=self.x[:8], Y=self.y[:8])) for m in [self.m, *others]}
        losses |= {float(m.step(X=self.x[:8], Y=self.y[:8])) for m in [self.m, *others]}
        self.assertEqual(len(losses), 2)
        self.assertEqual({m.steps for m in others}, {3})

    def test_a_state_dict_restores_a_model(self):
        self.m.step(X=self.x[:8], Y=self.y[:8])
        kept, out = self.m.state_dict(), self.m.forward(X=self.x[:4])
        other = self.first.clone().reset(7)
        self.assertFalse(np.array_equal(other.forward(X=self.x[:4]), out))
        other.load_state_dict(kept)
        np.testing.assert_array_equal(other.forward(X=self.x[:4]), out)

    def test_a_state_dict_that_does_not_fit_changes_nothing(self):
        kept = self.m.state_dict()
        self.assertRaises(KeyError, self.m.load_state_dict, {})
        self.assertRaises(KeyError, self.m.load_state_dict, {**kept, "q": 1})
        bad = {**kept, "o.b": np.ones(9)}
        bad["h.b"] = kept["h.b"] + 1
        self.assertRaises(neoc.ShapeError, self.m.load_state_dict, bad)
        np.testing.assert_array_equal(self.m.state_dict()["h.b"], kept["h.b"])

    def test_files_keep_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            self.m.step(X=self.x[:8], Y=self.y[:8])
            self.m.save(path, {"note": "first"})
            other = self.first.clone().load(path)
            self.assertEqual((other.steps, other.loaded("note")), (1, "first"))
            np.testing.assert_array_equal(other.forward(X=self.x[:4]),
                                          self.m.forward(X=self.x[:4]))
            third = self.first.clone().reset(3)
            third.load_weights(path, only="h.*")
            np.testing.assert_array_equal(third.params["h.W"], self.m.params["h.W"])
            self.assertFalse(np.array_equal(third.params["o.W"], self.m.params["o.W"]))
            self.assertRaises(OSError, self.m.load, os.path.join(folder, "none"))

    def test_a_trace_is_written_when_it_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            with self.m.trace(path):
                self.m.forward(X=self.x[:4])
            with open(path) as file:
                self.assertTrue(json.load(file))

    def test_a_model_is_loaded_from_a_file_with_its_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.expr")
            with open(path, "w") as file:
                file.write("import own\ndim N = 2\ninput X[N]\ny[i] = own.twice(X[i])\noutput y\n")
            with open(os.path.join(folder, "own.expr"), "w") as file:
                file.write("fn twice(x) -> y { y = 2*x }\n")
            m = neoc.load(path, N=3)
            np.testing.assert_array_equal(m.forward(X=np.ones(3, "f")), [2, 2, 2])
        self.assertRaises(OSError, neoc.load, path)

    def test_modules_are_given_as_texts(self):
        m = neoc.compile("import own\ninput x\ny = own.twice(x)\noutput y",
                         imports={"own": "fn twice(x) -> y { y = 2*x }"})
        self.assertEqual(m.forward(x=3.0), 6)

    def test_errors_of_a_text_are_diagnostics(self):
        with self.assertRaises(neoc.CompileError) as caught:
            neoc.compile("input X[3]\nY[i] = X[j]\nZ = Q\noutput Y")
        self.assertEqual([d.line for d in caught.exception.diagnostics], [2, 3])
        found = neoc.check("input X[3]\nY[i] = X[j]\noutput Y")
        self.assertTrue(found[0].is_error)
        self.assertIn("    2 | Y[i] = X[j]", str(found[0]))
        self.assertEqual(neoc.check("input X[3]\nY[i] = X[i]\noutput Y"), [])


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.first = neoc.compile(TEXT)

    def setUp(self):
        self.m = self.first.clone()

    def test_fit_goes_through_the_data_and_keeps_a_history(self):
        seen = []
        history = self.m.fit(data(), epochs=20, batch_size=50, validation=data(50),
                             callbacks=[lambda m, row: seen.append(row["epoch"])],
                             progress=False)
        self.assertIs(history, self.m.history)
        self.assertEqual(history["epoch"], list(range(1, 21)))
        self.assertEqual(history["step"][-1], 20*4)
        self.assertLess(history["loss"][-1], history["loss"][0])
        self.assertLess(history["val_loss"][-1], history["val_loss"][0])
        self.assertEqual(seen, history["epoch"])

    def test_the_same_seed_trains_the_same(self):
        runs = []
        for seed in (1, 1, 2):
            m = self.first.clone()
            runs.append(m.fit(data(), epochs=2, batch_size=32, seed=seed, progress=False)["loss"])
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_batches_may_come_from_an_iterable(self):
        rows = data()
        batches = [{k: v[i:i + 50] for k, v in rows.items()} for i in range(0, 200, 50)]
        history = self.m.fit(batches, epochs=2, progress=False)
        self.assertEqual(history["step"], [4, 8])
        self.assertRaises(neoc.NeoError, self.m.fit, iter([]), progress=False)

    def test_callbacks_save_and_stop(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            history = self.m.fit(data(), epochs=50, batch_size=50, progress=False,
                                 callbacks=[checkpoint(path), early_stopping("step", 2)])
            self.assertEqual(history["epoch"], [1, 2, 3])
            self.assertEqual(self.first.clone().load(path).steps, 12)

    def test_inputs_without_rows_are_the_same_in_all_steps(self):
        m = neoc.compile("import optim\ndim B <= 8\ninput T[3]\ninput X[B, 3]\ninput s\n"
                         "param w[3] = 0\nl = mean[b] (s*sum[i] X[b, i]*T[i]*w[i] - 1)^2\n"
                         "train l using optim.sgd(lr = 0.1)")
        data = {"T": np.ones(3), "X": np.random.rand(40, 3), "s": 2.0}
        history = m.fit(data, epochs=5, batch_size=8, progress=False)
        self.assertEqual(history["step"], [5, 10, 15, 20, 25])
        self.assertLess(history["l"][-1], history["l"][0])

    def test_data_of_other_types_are_converted_if_they_fit(self):
        rows = {k: v.astype("f8") for k, v in data().items()}
        self.m.fit(rows, batch_size=50, progress=False)
        m = neoc.compile("import optim\ninput k[2] : i32\nparam w[2] = 1\n"
                         "l = sum[i] w[i]*f32(k[i])\ntrain l using optim.sgd()")
        self.assertRaises(neoc.DTypeError, m.fit, {"k": np.ones((4,))}, progress=False)

    def test_data_that_do_not_fit_are_refused(self):
        rows = data()
        for bad in ({"X": rows["X"]}, {**rows, "Z": 1}, {"X": rows["X"], "Y": rows["Y"][:5]},
                    {"X": rows["X"][0], "Y": rows["Y"]}, 3):
            self.assertRaises(neoc.NeoError, self.m.fit, bad, batch_size=50, progress=False)
        self.assertRaises(neoc.ShapeError, self.m.fit, rows, batch_size=100, progress=False)

    def test_a_loss_that_is_not_finite_ends_the_training(self):
        rows = data()
        rows["Y"][0] = np.nan
        with self.assertRaisesRegex(neoc.NeoError, "loss is nan at step"):
            self.m.fit(rows, batch_size=50, progress=False)
        self.m.fit(rows, batch_size=50, progress=False, allow_nan=True)

    def test_a_training_goes_on_by_reset_after_a_loss_that_is_not_finite(self):
        rows = data()
        rows["Y"][0] = np.nan
        with self.assertRaisesRegex(neoc.NeoError, r"parameters are those after.*m\.reset\(\)"):
            self.m.fit(rows, batch_size=50, progress=False)
        history = self.m.reset().fit(data(), batch_size=50, progress=False)
        self.assertTrue(np.isfinite(history["loss"]).all())

    def test_losses_are_drawn_apart_from_other_values(self):
        history = neoc.fit.History()
        history.add({"epoch": 1, "loss": 2.0, "val_loss": 3.0, "val_accuracy": 0.5, "seconds": 1.0})
        self.assertEqual([list(p) for p in history.panels().values()],
                         [["loss", "val_loss"], ["val_accuracy"]])
        self.assertEqual(neoc.fit._write_svg(history, None).count("<g "), 2)

    def test_the_history_is_drawn(self):
        history = self.m.fit(data(), epochs=3, batch_size=50, progress=False)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "loss.svg")
            history.plot_loss(path)
            with open(path) as file:
                self.assertIn("<svg", file.read())



class Counts(unittest.TestCase):
    text = "input X[2]\nparam w = 1\nloss = sum[i] (w*X[i])^2\noutput loss\n"

    def test_what_counts_is_a_whole_number_in_its_range(self):
        m = neoc.compile("import optim\ndim B <= 4\ninput X[B]\nparam w = 1\n"
                         "loss = sum[i] (w*X[i])^2\ntrain loss using optim.sgd(lr = 0.1)\n")
        data = {"X": np.ones(8, "float32")}
        for name, value, kind in (("batch_size", -1, ValueError), ("batch_size", 0, ValueError),
                                  ("epochs", -1, ValueError), ("epochs", "a", TypeError),
                                  ("batch_size", 1.5, TypeError)):
            with self.assertRaisesRegex(kind, f"{name}: expected"):
                m.fit(data, **{"batch_size": 4, name: value})
        m.fit(data, batch_size=np.int64(4), epochs=1)

    def test_threads_are_checked_where_they_are_given(self):
        for make in (lambda t: neoc.op("y = x", threads=t),
                     lambda t: neoc.compile(self.text, threads=t), neoc.set_threads):
            for value, kind in ((-1, ValueError), (10**10, ValueError), ("x", TypeError)):
                with self.assertRaisesRegex(kind, r"threads(\(\): n)?: expected"):
                    make(value)

    def test_a_text_is_a_str(self):
        for value in (None, 3, b"y = x"):
            for make in (neoc.op, neoc.compile):
                with self.assertRaisesRegex(TypeError, "text: expected a str"):
                    make(value)

if __name__ == "__main__":
    unittest.main()
