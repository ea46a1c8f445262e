"""Examples of the package's docstrings."""

import doctest
import importlib
import unittest

MODULES = ("arrays", "compiler", "derive", "errors", "fit", "model", "op")


def load_tests(loader, tests, ignore):
    for name in MODULES:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"neoc.{name}")))
    return tests


if __name__ == "__main__":
    unittest.main()
