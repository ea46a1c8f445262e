"""Programs with as many results, arguments, carries or gradients as asked for, and what they give.

    main.py KIND N            prints the text
    main.py KIND N check      reads what `neoc run --format=json` gave, and compares: all values are
                              small integers

Inputs have defaults, so that a run needs no values."""
import json
import sys


def names(stem, n):
    return ", ".join(f"{stem}{k}" for k in range(n))


def inputs(n):
    return [f"input x{k} = {k % 7}" for k in range(n)]


def gradients(n):
    lines = inputs(n) + ["L0 = x0^2"]
    lines += [f"L{k} = L{k - 1} + {k % 5 + 1}*x{k}^2" for k in range(1, n)]
    lines.append(f"{names('d', n)} = grad(L{n - 1}, {names('x', n)})")
    want = {f"d{k}": 2*(k % 5 + 1 if k else 1)*(k % 7) for k in range(n)}
    return lines, want


def first(n):
    return gradients(n)


def second(n):
    lines, first_ones = gradients(n)
    lines += ["P0 = d0^2"] + [f"P{k} = P{k - 1} + d{k}^2" for k in range(1, n)]
    lines.append(f"{names('e', n)} = grad(P{n - 1}, {names('x', n)})")
    return lines, {f"e{k}": 2*first_ones[f"d{k}"]*2*(k % 5 + 1 if k else 1) for k in range(n)}


def seeded(n):
    """Products of a Jacobian that is diagonal with a seed, of a tensor that all inputs make."""
    lines = inputs(n) + ["y0[i < 2] = x0*(f32(i) + 1)"]
    lines += [f"y{k}[i] = y{k - 1}[i] + {k % 5 + 1}*x{k}" for k in range(1, n)]
    lines.append("g[i < 2] = f32(i) + 2")
    lines.append(f"{names('d', n)} = grad(y{n - 1}, {names('x', n)}, seed = g)")
    return lines, {f"d{k}": 5*(k % 5 + 1) if k else 8 for k in range(n)}


def calls(n):
    lines = [f"fn f({names('a', n)}) -> {names('r', n)} {{"]
    lines += [f"  r{k} = 2*a{k} + a{(k + 1) % n}" for k in range(n)] + ["}"] + inputs(n)
    lines.append(f"{names('y', n)} = f({names('x', n)})")
    return lines, {f"y{k}": 2*(k % 7) + (k + 1) % n % 7 for k in range(n)}


def own_gradients(n):
    lines = [f"fn f({', '.join(f'a{k} : f32' for k in range(n))}) -> {names('r', n)} {{"]
    lines += [f"  r{k} = 2*a{k}" for k in range(n)]
    lines += [f"}} grad({names('dr', n)}) -> {names('da', n)} {{"]
    lines += [f"  da{k} = {k % 3}*dr{k}" for k in range(n)] + ["}"] + inputs(n)
    lines += [f"{names('y', n)} = f({names('x', n)})", "L0 = y0"]
    lines += [f"L{k} = L{k - 1} + y{k}" for k in range(1, n)]
    lines.append(f"{names('d', n)} = grad(L{n - 1}, {names('x', n)})")
    return lines, {f"d{k}": k % 3 for k in range(n)}


def _rounds(head, n):
    lines = ["input u = 1.0"] + [f"{names('h', n)}, {names('s', n)} = {head} from " +
                                 ", ".join(f"h{k} = {k % 7}.0" for k in range(n)) + " {"]
    lines += [f"  g{k} = h{k} + h{(k + 1) % n}*u" for k in range(n)]
    lines.append("  next " + ", ".join(f"h{k} = g{k}" for k in range(n)))
    lines += [f"  collect {names('g', n)}", "}"]
    h, rows = [k % 7 for k in range(n)], []
    for _ in range(3):
        h = [h[k] + h[(k + 1) % n] for k in range(n)]
        rows.append(h)
    collected = {f"s{k}": [r[k] for r in rows] for k in range(n)}
    return lines, {f"h{k}": h[k] for k in range(n)} | collected


def scan(n):
    return _rounds("scan t < 3", n)


def repeat(n):
    return _rounds("repeat t < 3", n)


def until(n):
    return _rounds("while h0 < 1e6 limit 3", n)


def case(n):
    lines = ["input u = 1.0", "input k : i32 < 2 = 1", f"{names('r', n)} = case k {{", "  0 {"]
    lines += [f"    r{k} = u" for k in range(n)] + ["  }", "  1 {"]
    lines += [f"    r{k} = u + {k}" for k in range(n)] + ["  }", "}"]
    return lines, {f"r{k}": 1 + k for k in range(n)}


def vertices(n):
    """A chain of three vertices, each of which adds what its child scattered."""
    lines = ["graph G(children <= 1, vertices <= 3)", "input x[G.vertices]", "vertex f(x) over G {",
             "  gather " + ", ".join(f"h{k}[1] = 0" for k in range(n))]
    lines += [f"  s{k} = x + {k % 7} + h{k}[0]" for k in range(n)]
    lines.append("  scatter " + ", ".join(f"h{k} = s{k}" for k in range(n)))
    lines += [f"  push s{k}" for k in range(n)]
    lines += ["}", f"{names('y', n)} = f(x)"]
    return lines, {f"y{k}": [(v + 1)*(1 + k % 7) for v in range(3)] for k in range(n)}


KINDS = {f.__name__: f for f in (first, second, seeded, calls, own_gradients, scan, repeat, until,
                                 case, vertices)}


def main():
    lines, want = KINDS[sys.argv[1]](int(sys.argv[2]))
    if len(sys.argv) == 3:
        print("\n".join(lines + ["output " + ", ".join(want)]))
        return 0
    found = {name: t["values"] for name, t in json.load(sys.stdin)["outputs"].items()}
    want = {name: x if isinstance(x, list) else [x] for name, x in want.items()}
    wrong = [f"{name}: {found.get(name)}, expected {x}"
             for name, x in want.items() if found.get(name) != x]
    print("\n".join(wrong[:5]), file=sys.stderr)
    return 1 if wrong or len(want) < int(sys.argv[2]) else 0


sys.exit(main())
