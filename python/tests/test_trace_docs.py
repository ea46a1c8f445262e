"""Examples of the docstrings of traced functions; the names that neoc shows."""
import doctest
import importlib
import inspect
import pkgutil
import unittest

import neoc
import neoc.trace
from neoc import names


class Names(unittest.TestCase):
    def test_all_are_there_and_documented(self):
        for name in names.NAMES:
            value = getattr(neoc, name)
            self.assertTrue(inspect.getdoc(value), name)
        for name in names.MODULES:
            self.assertTrue(getattr(neoc, name).__all__)

    def test_importing_neoc_imports_no_numpy_function(self):
        import subprocess
        import sys
        done = subprocess.run([sys.executable, "-c", "import neoc, sys; print('neoc.trace.api' in "
                               "sys.modules, 'torch' in sys.modules)"], capture_output=True,
                              text=True)
        self.assertEqual(done.stdout.split(), ["False", "False"], done.stderr)


class Page(unittest.TestCase):
    def test_the_programs_of_the_manual_run(self):
        import contextlib
        import io
        import os
        import re
        root = os.environ.get("NEO_SOURCE_DIR") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "docs", "traced.md"), encoding="utf-8") as file:
            page = file.read()
        said, scope = io.StringIO(), {}
        with contextlib.redirect_stdout(said):
            for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
                exec(compile(block, "traced.md", "exec"), scope)
        self.assertEqual(said.getvalue().strip(),
                         re.search(r"^```text\n(.*?)^```", page, re.M | re.S)[1].strip())


def load_tests(loader, tests, ignore):
    for info in pkgutil.iter_modules(neoc.trace.__path__):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"neoc.trace.{info.name}")))
    return tests


if __name__ == "__main__":
    unittest.main()
