"""Examples of the package's docstrings, and those of docs/python.md, one after another."""

import doctest
import importlib
import os
import re
import tempfile
import unittest

MODULES = ("arrays", "compiler", "derive", "errors", "fit", "model", "op")
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")


class Page(unittest.TestCase):
    def test_the_examples_of_the_page_run(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreater(len(blocks), 4)
        before, names = os.getcwd(), {}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for block in blocks:
                    exec(compile(block, "docs/python.md", "exec"), names)
            finally:
                os.chdir(before)


def load_tests(loader, tests, ignore):
    for name in MODULES:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"neoc.{name}")))
    return tests


if __name__ == "__main__":
    unittest.main()
