"""Changes that are given, not drawn: stretches of files that become others at run time.

A stretch is written with what stands around it, so that the place is the only one, outside of « and »:
"f(«x», y)" is the x. It is an expression; a statement that becomes another one, or is left out (new: None);
or nothing, where a statement is put in."""
import re

from sites import either


class Place:
    """file, and the stretch of it; find() tells start and end, the number comes with the choice."""

    def __init__(self, file, old, new):
        self.file, self.new, self.id = file, new, 0
        marked = re.fullmatch(r"(?s)(.*?)«(.*)»(.*)", old)
        self.before, self.old, self.after = marked.groups()

    def find(self, text, who):
        around = self.before + self.old + self.after
        if text.count(around) != 1:
            raise SystemExit(f"{who}: {self.file} has {text.count(around)} times {around!r}")
        self.start = text.index(around) + len(self.before)
        self.end = self.start + len(self.old)

    def text(self):
        if not self.old:
            return f" if (neo_mutant({self.id})) {{ {self.new} }} "
        if self.new is None:
            return "{ " + f"if (!neo_mutant({self.id})) {self.old}" + " }"
        if self.old.endswith(";"):
            return "{ " + f"if (neo_mutant({self.id})) {{ {self.new} }} else {self.old}" + " }"
        return either(self.id, self.old, self.new)


def place_all(tree, changes, who):
    """Numbers the changes and finds their places, m.places, in the tree. Returns all places."""
    places = []
    for n, m in enumerate(changes, 1):
        for p in m.places:
            if p.file not in tree.files:
                raise SystemExit(f"{who}: there is no {p.file}")
            p.id = n
            p.find(tree.text(p.file), who)
            places.append(p)
    return places
