"""A program made ready: library functions stand in it, so that they are mutated too, and it computes little at once."""

import os

from relations.syntax import (Call, Declare, Define, Dim, Function, Graph, Import, Optimizer, Output, Path, Train, Vertex,
                              nodes, parse)

STANDARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "std")


def inline(statements):
    """The program with the functions of the library's modules that it uses in place of its imports."""
    modules, bodies = {}, []
    _import(statements, modules, bodies)
    if modules is None or not bodies:
        return statements
    kept = [s for s in statements if not isinstance(s, Import)]
    return _needed(bodies + kept, kept)


def _import(statements, modules, bodies):
    """Rename what is read of modules; collect the modules' functions, those first that others call."""
    aliases = {}
    for s in statements:
        for name, alias in s.names if isinstance(s, Import) else ():
            path = os.path.join(STANDARD, name + ".expr")
            if not os.path.exists(path):
                return
            aliases[alias] = name
            if name not in modules:
                modules[name] = True
                with open(path, encoding="utf-8") as file:
                    body = parse(file.read())
                _import(body, modules, bodies)
                own = {b.name for b in body if isinstance(b, (Function, Optimizer, Vertex))}
                _rename(body, lambda p, own=own, name=name: (f"{name}_{p[0]}",) + p[1:] if p[0] in own else p)
                for b in body:
                    if isinstance(b, (Function, Optimizer, Vertex)):
                        b.name = f"{name}_{b.name}"
                bodies.extend(b for b in body if not isinstance(b, Import))
    _rename(statements, lambda p: (f"{aliases[p[0]]}_{p[1]}",) + p[2:] if len(p) > 1 and p[0] in aliases else p)


def _rename(statements, new):
    for n in nodes(statements):
        if isinstance(n, Call):
            n.path = new(n.path)
        elif isinstance(n, Train):
            n.using = new(n.using)


def _needed(statements, roots):
    """The functions that something calls, and all other statements."""
    functions = {s.name: s for s in statements if isinstance(s, (Function, Optimizer, Vertex))}
    names, waiting = set(), list(roots)
    while waiting:
        for n in nodes(waiting.pop()):
            called = n.path[0] if isinstance(n, Call) else n.using[0] if isinstance(n, Train) else None
            if called in functions and called not in names:
                names.add(called)
                waiting.append(functions[called])
    return [s for s in statements if s in roots or not isinstance(s, (Function, Optimizer, Vertex)) or s.name in names]


def narrow(statements, r):
    """The program with one of its entries, and some of that one's outputs."""
    entries = [s for s in statements if isinstance(s, (Output, Train))]
    kept = r.choice(entries)
    statements = [s for s in statements if not isinstance(s, (Output, Train)) or s is kept]
    if isinstance(kept, Output) and len(kept.paths) > 2:
        kept.paths = r.sample(kept.paths, r.randrange(1, 3))
    return alive(statements)


def alive(statements):
    """The statements that entries and updates need."""
    needed, kept = set(), []
    for s in reversed(statements):
        if _names(s) is None or _names(s) & needed:
            kept.append(s)
            needed |= _used(s)
    return kept[::-1]


def _names(s):
    """The names for which a statement is kept; None: it is always kept."""
    if isinstance(s, Declare):
        return {s.variable.name}
    if isinstance(s, Define):
        return {s.target.name, *s.more}
    if isinstance(s, (Dim, Function, Vertex, Optimizer, Graph)):
        return {s.name}
    if isinstance(s, Import):
        return {alias for _, alias in s.names}
    return None


def _used(s):
    used = set()
    for n in nodes(s):
        if isinstance(n, Path):
            used.add(n.names[0])
        elif isinstance(n, Call):
            used.add(n.path[0])
        elif isinstance(n, Vertex):
            used.add(n.graph)
        elif isinstance(n, Output):
            used |= {p[0] for p in n.paths + n.updates}
        elif isinstance(n, Train):
            used |= {n.loss[0], n.using[0], *(p[0] for p in (n.over or []) + (n.excepted or []))}
        elif type(n).__name__ == "Bind" and n.kind == "update":
            used |= {t.name for t, _ in n.bindings}
    return used
