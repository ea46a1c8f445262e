"""The models of the gallery, and what their texts say of themselves."""
import hashlib
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = {"operator": "docs/gallery", "network": "models/zoo"}
CASES = os.path.join(ROOT, "tests", "zoo", "expected")


class Model:
    """kind: operator or network; path: from the root; sizes: options that make the model small, as `-D N=3`, and run-time sizes."""

    def __init__(self, kind, path):
        self.kind, self.path = kind, path
        self.name = os.path.basename(path)[:-len(".expr")]
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            self.text = f.read()
        lines = self.text.split("\n")
        head = lines[:next(k for k, line in enumerate(lines) if not line.startswith("#"))]
        self.paragraphs = [" ".join(part.split()) for part in "\n".join(line[1:].strip() for line in head).split("\n\n")]
        self.body = "\n".join(lines[len(head):]).strip("\n")
        self.defines, self.sizes = small(self.name) if kind == "network" else ({}, {})

    @property
    def summary(self):
        return self.paragraphs[0].split(". ")[0].rstrip(".") + "."

    @property
    def digest(self):
        """A hash of the text without its head: figures belong to this text."""
        return hashlib.sha256(self.body.encode()).hexdigest()[:12]

    @property
    def is_module(self):
        return not re.search(r"^(output|train)\b", self.text, re.M)


def small(name):
    """Constants and run-time sizes of the model's case in tests/zoo."""
    defines, sizes = {}, {}
    with open(os.path.join(CASES, name + ".txt"), encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[:1] == ["define"]:
                defines[words[1]] = words[2]
            if words[:1] == ["size"]:
                sizes[words[1]] = int(words[2])
    return defines, sizes


def read():
    """Operators, then networks, by their names; without modules, which others import."""
    found = []
    for kind, folder in FOLDERS.items():
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            path = f"{folder}/{name}"
            if name.endswith(".expr") and (kind == "operator" or os.path.exists(f"{CASES}/{name[:-5]}.txt")):
                found.append(Model(kind, path))
            elif name.endswith(".expr") and not Model("module", path).is_module:
                raise ValueError(f"{path}: no case of tests/zoo says at which sizes it is measured")
    return found
