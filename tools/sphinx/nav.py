"""Reads the order of the site's pages from nav.txt, which describes its format. tests/pages.py compares it with the
files."""
import glob
import os

HEADS = ("index.md", "README.md")  # of a folder
HERE = os.path.dirname(os.path.abspath(__file__))


def entries():
    """(section, pattern) of each line."""
    section = None
    with open(os.path.join(HERE, "nav.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith(" "):
                yield section, line.strip()
            elif line and not line.startswith("#"):
                section = line


def sections(root):
    """Section -> its pages, as paths from the project's root on."""
    found, seen = {}, set()
    for section, pattern in entries():
        paths = [os.path.relpath(p, root) for p in glob.glob(os.path.join(root, pattern))]
        paths.sort(key=lambda p: (os.path.basename(p) not in HEADS, p))
        found.setdefault(section, []).extend(p for p in paths if p not in seen)
        seen.update(paths)
    return found
