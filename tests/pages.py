"""Pages of the documentation: pages.py [ROOT]

Each page of docs stands in the navigation (tools/sphinx/nav.txt) once, and each of its entries without a * is there. A relative
link leads to a file of the tree, and its anchor to a heading of it. No line of text is longer than 160 columns, but for rows of
tables and blocks of code. Prints what is not so; the exit code is then 1.
"""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
sys.path.insert(0, os.path.join(ROOT, "tools", "sphinx"))
sys.dont_write_bytecode = True
import nav

COLUMNS = 160
FENCE = re.compile(r"^ *(```+|~~~+)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?$")
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")


def pages():
    """All of the tree, as paths from its root on."""
    for at, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f != "build" and not f.startswith("."))
        yield from (os.path.relpath(os.path.join(at, n), ROOT) for n in sorted(names) if n.endswith(".md"))


def lines(path):
    """(number, line) outside of fenced blocks."""
    fence = None
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            mark = FENCE.match(line)
            if mark and (fence is None or line.strip() == fence):
                fence = mark.group(1) if fence is None else None
            elif fence is None:
                yield number, line


def anchors(path):
    """The anchors of a page's headings, as GitHub and the site name them."""
    found = {}
    for _, line in lines(path):
        heading = re.match(r"^#{1,6} +(.*?) *#*$", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
            yield slug if not found[slug] else f"{slug}-{found[slug]}"


def links(path):
    """(number, target) of each link that stays in the tree."""
    for number, line in lines(path):
        text = re.sub(r"`[^`]*`", lambda m: " " * len(m.group()), line)
        for target in LINK.findall(text) + REFERENCE.findall(text):
            if not OUTSIDE.match(target):
                yield number, target


def broken(path, number, target):
    """The mistake in a link, or None."""
    name, _, anchor = target.partition("#")
    to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if to.startswith("..") or not os.path.isfile(os.path.join(ROOT, to)):
        return f"{path}:{number}: there is no file {name}"
    if anchor and anchor not in set(anchors(to)):
        return f"{path}:{number}: {to} has no heading #{anchor}"
    return None


def long_lines(path):
    for number, line in lines(path):
        if len(line) > COLUMNS and not line.lstrip().startswith("|"):
            yield f"{path}:{number}: {len(line)} columns"


def out_of_order(found):
    """The mistakes in the navigation."""
    listed = [p for of in nav.sections(ROOT).values() for p in of]
    yield from (f"{p} is not in tools/sphinx/nav.txt" for p in found if p.split("/")[0] == "docs" and p not in listed)
    yield from (f"tools/sphinx/nav.txt: there is no {p}" for _, p in nav.entries() if "*" not in p and p not in found)


def main():
    found = list(pages())
    wrong = list(out_of_order(found))
    for path in found:
        wrong += [w for w in (broken(path, *link) for link in links(path)) if w] + list(long_lines(path))
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong) or not found


sys.exit(main())
