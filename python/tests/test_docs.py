"""Examples of the package's docstrings, and those of docs/python.md, one after another."""

import doctest
import importlib
import importlib.util
import os
import re
import tempfile
import unittest

MODULES = ("arrays", "compiler", "derive", "errors", "fit", "graph", "model", "op")
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")


def _blocks(section):
    """The examples of a section; none where it needs a package that is not there."""
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    needs = re.findall(r"^import (torch|jax)\b", "\n".join(blocks), re.M)
    return blocks if all(importlib.util.find_spec(name) for name in needs) else []


class Page(unittest.TestCase):
    def test_the_examples_of_the_page_run(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = [b for section in file.read().split("\n## ") for b in _blocks(section)]
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
    torch = ("torch.operator", "torch.module") if importlib.util.find_spec("torch") else ()
    for name in MODULES + torch:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"neoc.{name}")))
    return tests


if __name__ == "__main__":
    unittest.main()
