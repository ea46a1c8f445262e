"""Derivatives by dual numbers against those in reverse, interpreted and compiled ones, and differences. See main.py."""

import os
import sys

_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
for folder in ("evaluator", "relations"):
    sys.path.insert(0, os.path.join(_TESTS, folder))
