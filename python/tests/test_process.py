"""Threads, forks, signals, memory, the end of a process."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import unittest

import neoc
import numpy as np

MM = "C[i, j] = sum[k] A[i, k]*B[k, j]"


def run(text):
    """A process that runs the text: its exit code, what it printed, what it complained of."""
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c",
                           textwrap.dedent(text)], capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])*os.sysconf("SC_PAGE_SIZE")//1024


class Processes(unittest.TestCase):
    def test_an_import_and_a_call_need_no_typing(self):  # whose import takes longer than neoc's
        code, found, told = run("""
            import sys
            import numpy as np
            before = "typing" in sys.modules
            import neoc
            neoc.op("y[i] = x[i]")(np.ones(3))
            print(before or "typing" not in sys.modules)
            """)
        self.assertEqual((code, found), (0, "True\n"), told)

    def test_threads_share_an_operator(self):
        mm, failed = neoc.op(MM), []
        a, b = np.random.rand(64, 48), np.random.rand(48, 32)

        def work():
            for _ in range(100):
                if not np.allclose(mm(a, b), a @ b):
                    failed.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_an_operator_forgets_its_programs_while_others_call_it(self):
        mm, failed, done = neoc.op(MM), [], threading.Event()
        a = np.random.rand(64, 64)

        def work():
            while not done.is_set():
                if not np.allclose(mm(a, a), a @ a):
                    failed.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for _ in range(200):
            mm._renew()
        done.set()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_threads_share_a_model_in_turns(self):
        m = neoc.compile("import optim\ninput x[4]\nparam w[4] = 0\n"
                         "l = sum[i] (w[i] - x[i])^2\ntrain l using optim.sgd(lr = 0.001)")
        x = np.ones(4, "f")
        threads = [threading.Thread(target=lambda: [m.step(x=x) for _ in range(200)])
                   for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(m.steps, 800)

    def test_compilations_run_at_the_same_time(self):
        made = [None]*4

        def work(k):
            made[k] = neoc.op(f"y[i] = {k}*x[i]")(np.ones(3))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for k in range(4):
            np.testing.assert_array_equal(made[k], np.full(3, k))

    def test_operators_and_models_work_in_a_child(self):
        code, _, errors = run("""
            import os, neoc, numpy as np
            neoc.set_threads(2)
            a = np.random.rand(256, 256)
            mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
            m = neoc.compile("input A[256, 256]\\nparam w[256] = 1\\n"
                             "y[i] = sum[j] A[i, j]*w[j]\\noutput y")
            f = a.astype("f")
            wanted, other = mm(a, a), m.forward(A=f)
            pid = os.fork()
            if pid == 0:
                same = np.allclose(mm(a, a), wanted) and np.allclose(m.forward(A=f), other)
                fresh = np.allclose(neoc.op("y[i] = sum[j] x[i, j]")(a), a.sum(1))
                os._exit(0 if same and fresh else 3)
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """)
        self.assertEqual((code, errors), (0, ""))

    def test_calls_use_no_more_and_more_memory(self):
        mm, a = neoc.op(MM), np.ones((4, 4))
        m = neoc.compile("input x[4]\ny[i] = 2*x[i]\noutput y")
        x = np.ones(4, "f")
        for _ in range(1000):
            mm(a, a), m.forward(x=x)
        gc.collect()
        before = resident_kib()
        for _ in range(100000):
            mm(a, a)
        for _ in range(20000):
            m.forward(x=x)
        for _ in range(1000):
            for bad in (lambda: mm(a), lambda: mm(a, None), lambda: m.forward(x=a)):
                try:
                    bad()
                except (TypeError, ValueError):
                    pass
        gc.collect()
        self.assertLess(resident_kib() - before, 1000)

    def test_models_that_are_deleted_give_their_memory_back(self):
        text = "input x[4]\nparam w[500000] = 0\ny[i] = x[i] + w[i]\noutput y"
        text = text.replace("x[i] +", "x[i % 4] +")
        first = neoc.compile(text)
        for _ in range(3):
            first.clone()
        gc.collect()
        before = resident_kib()
        for _ in range(20):
            m = first.clone()
            m.params["w"]
            del m
        gc.collect()
        self.assertLess(resident_kib() - before, 10000)

    def test_a_process_ends_with_live_objects(self):
        code, _, errors = run("""
            import sys, threading, neoc, numpy as np
            mm = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
            m = neoc.compile("input x[4]\\nparam w[4] = 0\\ny[i] = x[i] + w[i]\\noutput y")
            w = m.params["w"]
            sys.modules["keep"] = (mm, m, w, m.forward)
            mm(np.ones((99, 99)), np.ones((99, 99)))
            a = np.ones((200, 200))
            t = threading.Thread(target=lambda: [mm(a, a) for _ in range(10**6)], daemon=True)
            t.start()
        """)
        self.assertEqual((code, errors), (0, ""))

    def test_a_process_ends_and_forks_while_others_compile(self):
        code, _, errors = run("""
            import os, sys, threading, time, neoc, numpy as np
            def work(k):
                for n in range(1, 10**6):
                    neoc.op(f"y[i] = {k}.{n}*exp(x[i]) + sum[j] x[j]*sin(x[i])")(np.ones(3))
            for k in range(3):
                threading.Thread(target=work, args=(k,), daemon=True).start()
            for _ in range(3):
                time.sleep(0.05)
                pid = os.fork()
                if pid == 0:
                    got = neoc.op("y[i] = 2*x[i]")(np.ones(3))
                    os._exit(0 if (got == 2).all() else 3)
                assert os.waitpid(pid, 0)[1] == 0
        """)
        self.assertEqual((code, errors), (0, ""))

    def test_what_was_compiled_before_comes_from_the_cache(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            text = """
                import os
                os.environ["NEO_CODE_CACHE"] = "%s"
                import neoc, numpy as np
                print(neoc.op("y[i] = 2*x[i]")(np.ones(3)))
                info = neoc.cache.info()
                print(info.builds, info.hits > 0, info.folder == "%s")
            """ % (folder, folder)
            self.assertEqual(run(text), (0, "[2. 2. 2.]\n1 False True\n", ""))
            self.assertEqual(run(text), (0, "[2. 2. 2.]\n1 True True\n", ""))
            code, out, _ = run(f"""
                import os
                os.environ["NEO_CODE_CACHE"] = "{folder}"
                import neoc
                print(neoc.cache.prune(10**9), neoc.cache.clear() > 0, neoc.cache.info().builds)
                os.environ["NEO_CODE_CACHE"] = "none"
                try:
                    neoc.cache.info()
                except neoc.CacheError:
                    print("none")
            """)
            self.assertEqual((code, out), (0, "0 True 0\nnone\n"))

    def test_the_import_takes_neither_torch_nor_jax_nor_numpy(self):
        code, out, _ = run("""
            import sys, neoc
            print([m for m in ("torch", "jax", "numpy", "json", "inspect") if m in sys.modules])
        """)
        self.assertEqual((code, out), (0, "[]\n"))

    def test_set_threads_changes_the_number_of_threads_not_the_numbers(self):
        a = np.random.rand(300, 300)
        mm, made = neoc.op(MM), []
        try:
            for n in (1, 3, 2):
                neoc.set_threads(n)
                made.append(mm(a, a))
        finally:
            neoc.set_threads(0)
        np.testing.assert_array_equal(made[0], made[1])
        np.testing.assert_array_equal(made[0], made[2])
        self.assertRaises(ValueError, neoc.set_threads, -1)

    def test_ctrl_c_ends_a_compilation(self):
        code, out, errors = run("""
            import os, signal, threading, time, neoc
            rows = "".join(f"y{k}[i] = sum[j] x[j]*f32(i*{k} + j)\\n" for k in range(1, 3000))
            rows += "z = " + " + ".join(f"y{k}[0]" for k in range(1, 900)) + "\\n"
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            try:
                neoc.compile("input x[50]\\n" + rows.replace("[i]", "[i < 50]") + "output z")
            except neoc.Cancelled as problem:
                print("cancelled", isinstance(problem, KeyboardInterrupt))
        """)
        self.assertEqual((code, out), (0, "cancelled True\n"), errors)

    def test_ctrl_c_ends_a_call_between_its_kernels(self):
        code, out, errors = run("""
            import os, signal, threading, neoc, numpy as np
            n = 150
            text = "".join(f"B{k+1}[i, j] = sum[k] B{k}[i, k]*A[k, j]\\n" for k in range(n))
            chain = neoc.op(text, out=f"B{n}").compile((1500, 1500), (1500, 1500))
            a, b = np.zeros((1500, 1500), "f"), np.ones((1500, 1500), "f")
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                for _ in range(100): # on a quick machine it comes between two calls
                    chain(b, a)
            except KeyboardInterrupt:
                print("cancelled")
            short = neoc.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
            print((short(a, b) == 0).all())
        """)
        self.assertEqual((code, out), (0, "cancelled\nTrue\n"), errors)

    def test_ctrl_c_never_leaves_a_training_step_half_done(self):
        code, out, errors = run("""
            import os, signal, threading, neoc, numpy as np
            m = neoc.compile("import optim\\ninput A[1500, 1500]\\nparam W[1500, 1500] = 0.01\\n"
                             "B[i, j] = sum[k] A[i, k]*W[k, j]\\nC[i, j] = sum[k] B[i, k]*A[k, j]"
                             "\\nl = sum[i, j] C[i, j]^2\\ntrain l using optim.sgd(lr = 1e-12)")
            a = np.ones((1500, 1500), "f")
            other = m.clone()
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                for _ in range(1000):
                    m.step(A=a)
            except KeyboardInterrupt:
                pass
            while other.steps < m.steps:
                other.step(A=a)
            print(m.steps > 0, np.array_equal(m.params["W"], other.params["W"]))
        """)
        self.assertEqual((code, out), (0, "True True\n"), errors)

    def test_the_program_is_ended_by_ctrl_c(self):
        import signal
        import tempfile
        import time
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.expr")
            with open(path, "w") as file:
                for k, n in enumerate((500, 600, 700, 800)):  # minutes of search
                    file.write(f"input A{k}[{n}, {n}]\nC{k}[i, j] = sum[k] A{k}[i, k]*A{k}[k, j]\n")
                file.write("output C0, C1, C2, C3\n")
            p = subprocess.Popen([sys.executable, "-m", "neoc", "tune", "--time=100s", path],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, "XDG_CACHE_HOME": folder})
            time.sleep(3)
            p.send_signal(signal.SIGINT)
            out, _ = p.communicate(timeout=60)
            self.assertIn(p.returncode, (130, -signal.SIGINT), out)


if __name__ == "__main__":
    unittest.main()
