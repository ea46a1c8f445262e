"""Definitions of kinds that programs seldom have. `--only` draws them, alone or among others (draw.py)."""

from .shapes import Size, rename

# Beyond half, a quarter or the square root of what i64 holds, odd and even.
FACTORS = (4611686018427387904, 6364136223846793005, 1442695040888963407, 2305843009213693952, 3037000500, 4294967296,
           922337203685477580, 9223372036854775807)
LARGE = FACTORS + (-4611686018427387904, -6364136223846793005, -9223372036854775808, 9223372036854775806, 1, 3, -1, 0)


class Rare:
    # ---- integers that leave i64

    def hash(self, env):
        """An integer of which some products or sums leave i64."""
        a = self.one(*env)
        b = self.one(*env)
        f, g, c = self.one(*FACTORS), self.one(*FACTORS), self.one(1, 2, 3, 5, 7)
        return self.one(f"{a}*{f}", f"{a}*{f}", f"{a}*{f} + {c}", f"({a} + {c})*{f}", f"{a}*{f} + {b}*{g}", f"{a}*{f} - {b}*{f}",
                        f"{a}*{f}*{c + 1}", f"{a}*{f} + {b}", "*".join([a]*5), "*".join([a, b]*4), "*".join([a]*24),
                        f"({a}*{f} + {c})*({b}*{g} + 1)", f"{f} + {a}", f"(-{f}) - {a}*{c}", f"({a}*{f}) % {g}")

    def asked(self, env, n):
        """A subscript, perhaps inside of n, of such a number."""
        h, c = self.hash(env), self.one(2, 3, 4, 5)
        return self.one(f"({h}) % {n}", f"({h}) % {n}", f"({h}) % (-{n}) + {n - 1}", f"clamp({h}, 0, {n - 1})",
                        f"clamp(({h})/{c}, 0, {n - 1})", f"(({h})*{c})/{c}", f"({h})/{self.one(*FACTORS)}", f"({h})*{c} + {self.one(0, 1, 2)}",
                        f"(({h})*2) % {n}", f"(({h}) % {c})*2/2", f"({h}) % {c} + {self.one(*env)}", f"max({h}, 0) % {n}")

    def hashed_value(self, env, x, n):
        """A number that is read at such a subscript, or chosen or counted by one."""
        sub, h = self.asked(env, n), self.hash(env)
        k = self.fresh("k")
        guard = self.one("0", "-1", "0.5")
        return self.one(
            f"({x}[{sub}] else {guard})", f"({x}[{sub}] else {guard})", f"({x}[{sub}] else {guard})",
            f"select({h} {self.one('<', '>=', '==', '<=')} {self.one('0', '5', h + ' + 1', f'{env[0]}*4')}, ({x}[{sub}] else {guard}), 1)",
            f"(sum[{k} < {n} where {k} {self.one('<', '<=', '==', '>')} {self.one(h, sub)}] {x}[{k}])",
            f"(sum[{self.one('0', '-2')} <= {k} < min({sub}, {n})] ({x}[{k}] else 1))",
            f"(sum[max({sub}, 0) <= {k} < {n}] {x}[{k}])",
            f"{self.floats}(({h}) % 8)*({x}[{sub}] else {guard})")

    def define_hashed(self):
        """Elements at places that wrap: hashes of an index, of a named integer, of given ones."""
        n = self.one(3, 4, 7, 8, 9)
        x = self.given("x", [Size(str(n), n, True)], self.floating)
        rows = self.large_size()
        name, i = self.fresh("D"), self.fresh("i")
        env = [i, i]
        if self.chance(0.4):
            given = self.given("w", [rows], lambda: self.one(*LARGE), " : i64")
            env.append(f"{given}[{i}]")
        if self.chance(0.3):
            named = self.fresh("v")
            self.lines.append(f"{named}[{i} < {rows.text}] = {self.hash(env)}")
            self.add(named, "i", [rows], "value")
            i = self.fresh("i")
            env = [i] + [f"{named}[{i}]"]*2
        self.lines.append(f"{name}[{i} < {rows.text}]{self.f64()} = {self.hashed_value(env, x, n)}"
                          + self.one("", "", f" + {self.hashed_value(env, x, n)}"))
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(name, "f", [rows], "value")

    def large_size(self, ends=(1000, 1000000, 1000000, 1000000000)):
        """A size that is known to be below a large number."""
        value = self.one(1, 2, 3, 5, 8, 13)
        if self.chance(0.3):
            return Size(str(value), value, True)
        name = self.fresh("N")
        self.lines.append(f"dim {name} <= {self.one(*ends)}")
        self.sizes_given[name] = value
        x = self.fresh("x")  # its extent
        size = Size(name, value, False)
        self.declare(x, [size], self.f64())
        self.add(x, "f", [size], "input")
        self.values[x] = (self.data([size], self.floating), [value])
        return size

    # ---- integers that are collected

    def define_stacked(self):
        """A repeat, or a scan, that collects integers with a bound, and what asks them."""
        n, count, below = self.one(2, 3), self.one(2, 3, 4), self.one(2, 3, 4)
        rows, times = Size(str(n), n, True), Size(str(count), count, True)
        first, i = self.bounded(rows, below), self.fresh("i")
        a, s, l, last = self.fresh("a"), self.fresh("r"), self.fresh("i"), self.fresh("r")
        step = self.one(f"{a}[{i}] + 1", f"{a}[{i}] + 1", f"2*{a}[{i}]", f"{a}[{i}] - 1", f"{below} - {a}[{i}]", f"{a}[{i}] + i32({l})",
                        f"({a}[{i}] + 1) % {below}", f"min({a}[{i}] + 1, {below})", f"{a}[{i}]*{a}[{i}] + 1")
        word = self.one("repeat", "repeat", "scan")
        self.lines += [f"{last}, {s} = {word} {l} < {count} from {a}[{i} < {n}] = {first}[{i}] {{",
                       f"  next {a}[{i} < {n}] = {step}", f"  collect {a}", "}"]
        self.add(last, "i", [rows], "value")
        self.add(s, "i", [times, rows], "value")
        self.define_reader(s, [times, rows], below)

    def bounded(self, rows, below):
        """A tensor of integers in [0, below): given, constant, computed."""
        values = lambda: self.r.randrange(below)
        if self.chance(0.6):
            name = self.given("w", [rows], values, f" : i32 < {below}")
            self.tensors[-1].below = below
            return name
        name, i = self.fresh("v"), self.fresh("i")
        if self.chance(0.5):
            self.lines.append(f"const {name}[{rows.text}] : i32 < {below} = [{', '.join(str(values()) for _ in range(rows.value))}]")
        else:
            self.lines.append(f"{name}[{i} < {rows.text}] : i32 < {below} = i32(({i} + {self.one(0, 1)}) % {below})")
        self.add(name, "i", [rows], "value", below)
        return name

    def define_reader(self, v, shape, below):
        """Readers that use integers in conditions and subscripts."""
        x = self.given("x", [Size(str(below), below, True)], self.floating)
        name, k = self.fresh("D"), self.fresh("k")
        env, left = self.left(shape)
        at = f"{v}[{', '.join(i.name for i in env)}]"
        text = self.one(f"select({at} {self.one('<', '>=', '<=')} {self.one(below, below - 1, 0)}, {x}[0], {self.literal()})",
                        f"({x}[{at}] else {self.one('0', '2')})", f"(sum[{k} < {below} where {k} {self.one('==', '<=', '>=')} {at}] {x}[{k}])",
                        f"(sum[{k} < {at}] ({x}[{k}] else 1))", f"select({at} < {below}, ({x}[{at}] else 0), ({x}[{at} - 1] else 1))")
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(name, "f", shape, "value")

    # ---- last iterations

    def define_last(self):
        """Scans whose guards hold or fail in the first or last iterations alone, of which a reducer reads the last carries."""
        count, wide = self.some_size(1), self.one(2, 3, 8, 20)
        columns = Size(str(wide), wide, True)
        x = self.given("x", [count, columns], self.floating)
        k, i = self.fresh("i"), self.fresh("i")
        carries = [self.fresh("a") for _ in range(self.one(1, 1, 2))]
        nexts = []
        for n, a in enumerate(carries):
            at = self.one(i, i, f"{wide - 1} - {i}", f"({i} + 1) % {wide}")
            read = f"({x}[{k} {self.one('-', '+', '-')} {self.one(1, 1, 2)}, {i}] else {self.one('0', '1', '3', '0.5')})"
            more = self.one("", "", "", f" + {x}[{k}, {i}]", f" + 0.25*{self.one(*carries)}[{i}]", f" + ({x}[{k} - 2, {i}] else 2)")
            nexts.append(f"{a}[{i} < {wide}] = {self.one('0.5', '0.25')}*{a}[{at}] + {self.one('', 'tanh')}({read}){more}")
        results, down = [self.fresh("r") for _ in carries], self.one(" down", " down", "")
        firsts = ", ".join(f"{a}[{i} < {wide}]{self.f64()} = {self.one('1.0', '0', '0.5')}" for a in carries)
        self.lines += [f"{', '.join(results)} = scan {k} < {count.text}{down} from {firsts} {{", f"  next {', '.join(nexts)}", "}"]
        for r in results:
            name, j, low = self.fresh("D"), self.fresh("k"), self.one("", "", "1 <= ")
            value = self.one(f"{r}[{j}]", f"{r}[{j}]*{r}[{j}]", f"{r}[{j}]*({x}[0, {j}] else 1)", f"{r}[{wide - 1} - {j}]")
            self.lines.append(f"{name}{self.f64()} = {self.one('sum', 'max', 'sum')}[{low}{j} < {wide}] {value}")
            self.touched = {t for t in self.tensors if t.name == x}
            self.add(name, "f", [], "value")

    # ---- recurrences over another

    def beside(self, axes):
        """A subscript near one of the axes, or a number."""
        a = self.one(*axes)
        return self.one(a, f"{a} + 1", f"{a} - 1", f"{a} + 2", self.one("0", "1"))

    def define_shared(self):
        """Recurrences that read another one, each along axes and in directions of its own."""
        t, far, rank = self.some_size(1), self.one(2, 3, 5), self.one(2, 3, 3)
        extents = [Size(str(n), n, True) for n in (self.one(2, 3), far, 3)[:rank]]
        x = self.given("x", extents[:2], self.floating)
        base, k = self.fresh("h"), self.fresh("k")
        env, left = self.left(extents)
        i, j = env[0].name, env[1].name
        tail = "".join(f", {a.name}" for a in env[2:])
        step = self.one("-", "-", "+")
        back = self.one(f"(sum[{k} < {far}] ({base}[{i} {step} 1, {k}{tail}] else 0))", f"({base}[{i} {step} 1, {j}{tail}] else 0.5)")
        self.lines.append(f"{base}{left}{self.f64()} = {self.one('sigmoid', 'sin')}({x}[{i}, {j}] - 0.5*{back})")
        self.touched = {z for z in self.tensors if z.name == x}
        self.add(base, "f", extents, "value")
        below = self.tensors[-1]
        for _ in range(self.one(2, 2, 3)):
            self.touched = {below}
            self.define_above(base, rank, [Size("5", 5, True), self.one(t, Size("2", 2, True))])

    def define_above(self, base, rank, shape):
        """A recurrence along both axes, or along one with a sum over the other."""
        h, q = self.fresh("h"), self.fresh("k")
        env, left = self.left(shape)
        i, j = env[0].name, env[1].name
        one, two = self.one("-", "+"), self.one("-", "+")
        read = lambda axes: f"({base}[{', '.join(self.beside(axes) for _ in range(rank))}] else {self.one('0', '0.5')})"
        if self.chance(0.5):
            text = (f"{read([i, j])} + 0.5*({h}[{i} {one} 1, {j}] else 0) + 0.25*({h}[{i}, {j} {two} 1] else 0)"
                    + self.one("", f" - 0.25*({h}[{i} {one} 1, {j} {two} 1] else 0)"))
        else:
            text = (f"tanh({self.one('0.5', read([i, j]))} - 0.5*(sum[{q} < {shape[1].text}] {self.one('', 'tanh')}({read([q, j])})*"
                    f"({h}[{i} {one} 1, {q}] else 0))" + self.one(")", f" + 0.25*({h}[{i}, {j} {two} 1] else 1))"))
        self.lines.append(f"{h}{left}{self.f64()} = {text}")
        self.add(h, "f", shape, "value")

    # ---- products

    def define_known(self):
        """A sum of products, and one over it, where a condition leaves out rows of which some are infinite."""
        n, e = (Size(str(z), z, True) for z in (self.one(4, 5, 8), self.one(2, 4)))
        p, v, g = (self.given("x", [n, z], self.floating) for z in (n, e, e))
        keep = self.given("w", [n], lambda: self.r.randrange(2), " : bool")
        self.tensors[-1].kind = "b"
        rows, most = self.values[g]
        for row in self.r.sample(range(n.value), self.one(1, 2)):
            rows[row] = [float("inf")]*most[1]
        self.holds_infinity = True
        o, d, i, j, c = (self.fresh(z) for z in "DDikk")
        inner = self.one("", f"{j} <= {i}", f"{j} <= {i}", f"{j} < {i} + 1", f"{j} < {i}", f"{keep}[{j}]")
        outer = self.one(f"{i} > 0", f"{keep}[{i}]", f"{keep}[{i}]", f"{i} != 1", f"{i} > 0 and {keep}[{i}]", "")
        condition = " and ".join(z for z in (inner, outer) if z)
        where = f" where {condition}" if condition else ""
        self.lines.append(f"{o}[{i} < {n.text}, {c} < {e.text}]{self.f64()} = sum[{j} < {n.text}{where}] {p}[{i}, {j}]*{v}[{j}, {c}]")
        self.touched = {t for t in self.tensors if t.name in (p, v)}
        self.add(o, "f", [n, e], "value")
        order = [f"{g}[{i}, {c}]", f"{v}[{j}, {c}]", f"{p}[{i}, {j}]"]
        self.r.shuffle(order)
        ranges = self.one(f"{c} < {e.text}, {j} < {n.text}", f"{j} < {n.text}, {c} < {e.text}")
        self.lines.append(f"{d}[{i} < {n.text}]{self.f64()} = sum[{ranges}{where}] {'*'.join(order)}")
        self.touched = {t for t in self.tensors if t.name in (p, v, g)}
        self.add(d, "f", [n], "value")

    def define_scaled(self):
        """Sums of large numbers times what does not change along them, which is small."""
        n, m = self.one(2, 5, 9), self.one(2, 3)
        rows, columns = Size(str(m), m, True), Size(str(n), n, True)
        large = lambda: self.one(1e37, 1e38, 3e38, 2e38)
        x = self.given("x", [columns], large)
        b = self.given("x", [rows], lambda: self.one(0.0, 1e-3, 1e-6, 1e-4))
        c = self.given("x", [rows], lambda: self.one(1e3, 1e6, 1e4, 512.0))
        self.special = self.special or 1e38  # gradients may overflow
        y, i, k = self.fresh("D"), self.fresh("i"), self.fresh("k")
        body = self.one(f"{x}[{k}]*{b}[{i}]", f"{b}[{i}]*{x}[{k}]", f"{x}[{k}]/{c}[{i}]", f"{b}[{i}]*({x}[{k}]*{b}[{i}])",
                        f"{b}[{i}]*{x}[{k}]/{c}[{i}]", f"-({x}[{k}]*{b}[{i}])", f"{x}[{k}]*0.001", f"0.5*({x}[{k}]*{b}[{i}])")
        where = self.one("", "", f" where {k} >= {i}")
        self.lines.append(f"{y}[{i} < {m}]{self.f64()} = sum[{k} < {n}{where}] {body}")
        self.touched = {t for t in self.tensors if t.name in (x, b, c)}
        self.add(y, "f", [rows], "value")

    # ---- images of equal elements

    def define_winners(self):
        """Two convolutions of channels enough to be innermost, and who asks for the place of the largest."""
        c1, c2, c3, p = self.one(1, 2), self.one(8, 8, 9), self.one(8, 8, 9), self.one(3, 3, 4)
        few = self.chance(0.8)
        draw = (lambda: self.one(0.0, 0.0, 0.0, 1.0)) if few else (lambda: self.r.randrange(-2, 3) / 8)
        sizes = {n: Size(str(n), n, True) for n in (c1, c2, c3, p, 3)}
        x = self.given("x", [sizes[c1], sizes[p], sizes[p]], draw)
        one, two = (self.given("x", [sizes[k] for k in s], draw) for s in ((c2, c1, 3, 3), (c3, c2, 3, 3)))
        y, z = self.fresh("D"), self.fresh("D")
        for out, k, read, w, c in ((y, c2, x, one, c1), (z, c3, y, two, c2)):
            self.lines.append(f"{out}[a < {k}, b < {p}, c < {p}]{self.f64()} = sum[d < {c}, e < 3, f < 3] "
                              f"{w}[a, d, e, f]*({read}[d, b + e - 1, c + f - 1] else 0)")
        deps = {t for t in self.tensors if t.name in (x, one, two)}
        at = f"{z}[a, b, c]"
        value = self.one(at, f"min({at}, 0.25)", f"min({at}, 1)", f"clamp({at}, 0, 0.5)", f"relu({at})", f"max({at}, 1)", f"sign({at})")
        ranges = [f"a < {c3}", f"b < {p}", f"c < {p}"]
        for _ in range(self.one(1, 2)):
            self.r.shuffle(ranges)
            self.touched = set(deps)
            self.define_winner(ranges if self.chance(0.7) else ranges[:2], value, {"a": sizes[c3], "b": sizes[p], "c": sizes[p]})

    def define_winner(self, ranges, value, sizes):
        kept = [a for a in "abc" if not any(r.startswith(a) for r in ranges)]
        left = f"[{', '.join(f'{a} < {sizes[a].text}' for a in kept)}]" if kept else ""
        name = self.fresh("m")
        if self.chance(0.5):
            self.lines.append(f"{name}{left} = {self.one('argmax', 'argmin')}[{', '.join(ranges)}] {value}")
            self.add(name, "i", [sizes[a] for a in kept], "value")
            return
        self.lines.append(f"{name}{left}{self.f64()} = {self.one('max', 'min')}[{', '.join(ranges)}] {value}")
        self.add(name, "f", [sizes[a] for a in kept], "value")

    # ---- rows that are asked for

    def define_rows_asked(self):
        """Sums by a key, of which rows are read where they hold something. Rows of a large table are left out."""
        e, n, d = (4, 40, 64) if self.chance(0.3) else (self.one(2, 3, 4, 5), self.one(2, 3, 4), self.one(1, 2, 3, 4))
        rows, columns = Size(str(n), n, True), Size(str(d), d, True)
        wide = max(e, d)
        x = self.given("x", [Size(str(wide), wide, True), columns], self.floating)
        key = self.given("w", [Size(str(wide), wide, True)], lambda: self.r.randrange(n), f" : i32 < {n}")
        old = self.given("x", [rows, columns], self.floating)
        g, t, y, i, j, k = (self.fresh(c) for c in "DvDiik")
        ranges = self.one(f"{k} < {e}", f"{k} <= {j}", f"{k} <= {j}", f"{j} <= {k} < {e}", f"{k} <= {i}", f"{k} < {j} + 1")
        more = self.one("", "", f" and {k} {self.one('<', '<=', '>')} {self.one(i, j)}", f" and {x}[{k}, 0] > 0")
        self.lines += [f"{g}[{i} < {n}, {j} < {d}]{self.f64()} = sum[{ranges} where {key}[{k}] == {i}{more}] {x}[{k}, {j}]",
                       f"{t}[{i} < {n}] = any[{j} < {d}] {g}[{i}, {j}] != 0",
                       f"{y}[{i} < {n}, {j} < {d}]{self.f64()} = select({t}[{i}], "
                       f"{self.one(f'{old}[{i}, {j}] - 0.5*{g}[{i}, {j}]', f'{g}[{i}, {j}]*{old}[{i}, {j}]')}, {old}[{i}, {j}])"]
        self.touched = {z for z in self.tensors if z.name in (x, old)}
        self.add(y, "f", [rows, columns], "value")
        if self.chance(0.4):
            self.add(g, "f", [rows, columns], "value")
        if self.chance(0.6):
            self.read_answers(t, rows)

    def read_answers(self, t, rows):
        """Which rows hold something, beside and outside of them."""
        z, i = self.fresh("D"), self.fresh("i")
        other = self.one(f"{t}[{rows.value - 1} - {i}]", f"({t}[{i} - 1] else {self.one('true', 'false')})", f"({t}[{i}*2] else false)")
        self.lines.append(f"{z}[{i} < {rows.text}] = f32({t}[{i}]) + 2*f32({other})")
        self.add(z, "f", [rows], "value")

    # ---- narrow numbers in sums

    def define_narrow(self):
        """Conditions and sums of narrow numbers within a sum: they wrap and round as they do where they have a name."""
        n = self.one(2, 3, 4, 8)
        s = Size(str(n), n, True)
        x = self.given("x", [s], self.floating)
        name, k, i = self.fresh("D"), self.fresh("k"), self.fresh("i")
        sub = self.one(k, k, f"({k} + {i}) % {n}")
        reducer = self.one("sum", "sum", "sum", "mean", "prod", "logsumexp", "max")
        if self.chance(0.7):
            low, high, kind = self.one((-128, 128, "i8"), (0, 256, "u8"))
            a = self.given("w", [s], lambda: self.r.randrange(low, high), f" : {kind}")
            v = self.one(f"{a}[{sub}] + {a}[{k}]", f"{a}[{sub}]*{a}[{k}]", f"{a}[{k}] - {a}[{sub}]", f"{a}[{sub}]*3", f"-{a}[{sub}]")
            compared = f"{v} {self.one('>', '<=', '==')} {self.one('0', '1', f'{a}[{sub}]', '100')}"
            read = f"select({v} >= 0 and {v} < {n}, {x}[{v}], {self.one('0', '0.5')})"
            body = self.one(f"select({compared}, {x}[{k}], 0.5)", f"select({compared} and {x}[{k}] > 0, 2.0, {x}[{sub}])", read, read)
        else:
            h = self.given("x", [s], lambda: float(self.one(1, 3, 100, 256, 257, 512, 1000, 2049)))
            b, j = self.fresh("D"), self.fresh("j")
            self.lines.append(f"{b}[{j} < {n}] = {self.one('bf16', 'f16')}({h}[{j}])")
            body = self.one(f"select({b}[{sub}] + 1 == {b}[{sub}], {x}[{k}], 0.5)",
                            f"select({b}[{k}]*3 - {b}[{sub}] <= {b}[{k}]*2, {x}[{k}], 0.25)")
        self.touched = {t for t in self.tensors if t.name == x}
        self.lines.append(f"{name}[{i} < 2]{self.f64()} = {reducer}[{k} < {n}] {body}")
        self.add(name, "f", [Size("2", 2, True)], "value")

    # ---- elements that nobody asks for

    def define_hidden(self):
        """Reductions below a condition of their definition. What is behind it is NaN in what is given; no other definition reads that."""
        rows, n, i, d = self.some_size(1), self.one(1, 2, 3), self.fresh("i"), self.fresh("k")
        shown = [self.one(0, 1) for _ in range(rows.value)]
        mask, x, name = self.fresh("w"), self.fresh("hid"), self.fresh("D")
        fewer = self.chance(0.5)
        if fewer and self.chance(0.7):
            shown = [0]*rows.value
        self.declare(mask, [rows], " : i32 < 2")
        self.values[mask] = (shown, [rows.value])
        filled = [[self.floating() if k else float("nan") for _ in range(n)] for k in ([any(shown)] if fewer else shown)]
        self.declare(x, [Size(str(n), n, True)] if fewer else [rows, Size(str(n), n, True)], self.f64())
        self.values[x] = (filled[0], [n]) if fewer else (filled, [rows.value, n])
        at = f"{x}[{d}]" if fewer else f"{x}[{i}, {d}]"
        body = self.one(at, f"{at}^2", f"{at}*{at}*{at}", f"sqrt({at}*{at} + 0.5)", f"exp(sin({at}))", f"tanh({at})*{at}", f"1/(2 + sin({at}))")
        reduction = f"({self.one('sum', 'sum', 'mean', 'prod', 'max', 'min', 'logsumexp')}[{d} < {n}] {body})"
        value = self.one(reduction, reduction, f"sqrt({reduction}^2 + 0.5)", f"{reduction}*{reduction}", f"(0.5*{reduction} + tanh({reduction}))")
        condition = f"{mask}[{i}] {self.one('== 1', '> 0', '!= 0')}"
        if self.chance(0.3):
            self.lines.append(f"{name}{self.f64()} = {self.one('sum', 'sum', 'mean')}[{i} < {rows.text} where {condition}] {value}")
            total, shape = name, []
        else:
            other = self.one("0", "0.5", f"{self.floats}({mask}[{i}])*0.25")
            self.lines.append(f"{name}[{i} < {rows.text}]{self.f64()} = select({condition}, {value}, {other})")
            total, shape = self.fresh("D"), [rows]
            self.lines.append(f"{total}{self.f64()} = sum[{i} < {rows.text}] {self.one('', '0.5*')}{name}[{i}]")
        self.touched = set()
        self.add(name, "f", shape, "value")
        slope = self.fresh("D")
        self.lines.append(f"{slope} = grad({total}, {x})")
        self.add(slope, "f", [Size(str(n), n, True)] if fewer else [rows, Size(str(n), n, True)], "value")

    def define_guarded(self):
        """A reduction over some axes of a definition, below a condition that names some of them."""
        name, i, j, k = self.fresh("D"), self.fresh("i"), self.fresh("k"), self.fresh("k")
        rows, inner = self.some_size(1), self.some_size(1)
        n = self.one(1, 2, 3)
        x = self.given("x", [inner, Size(str(n), n, True)], self.floating)
        y = self.given("x", [rows], self.floating)
        of_i = self.given("w", [rows], lambda: self.one(0, 1), " : i32 < 2")
        of_j = self.given("w", [inner], lambda: self.one(0, 1), " : i32 < 2")
        condition = self.one(f"{of_i}[{i}] == 1", f"{of_i}[{i}] == 1", f"{of_j}[{j}] > 0", f"{of_i}[{i}] + {of_j}[{j}] > 0",
                             f"{y}[{i}] > 0 and {of_j}[{j}] == 0")
        at = self.one(f"{x}[{j}, {k}]", f"{x}[{j}, {k}]", f"{x}[0, {k}]", f"{x}[{j}, {k}]*{y}[{i}]")
        body = self.one(at, f"sin({at})", f"sqrt(({at})^2 + 0.5)", f"exp(sin({at}))", f"({at})^2")
        part = f"({self.one('sum', 'sum', 'prod', 'max', 'mean', 'logsumexp')}[{k} < {n}] {body})"
        value = self.one(part, f"sqrt({part}^2 + 0.5)", f"exp(sin({part}))*{y}[{i}]", f"{part}*{y}[{i}]")
        self.touched = {t for t in self.tensors if t.name in (x, y)}
        reducer = self.one("sum", "sum", "max", "logsumexp", "prod")
        if self.chance(0.5):
            self.lines.append(f"{name}[{i} < {rows.text}]{self.f64()} = sum[{j} < {inner.text} where {condition}] {value}")
        else:
            other = self.one("0", "0.5", f"{y}[{i}]")
            self.lines.append(f"{name}[{i} < {rows.text}]{self.f64()} = {reducer}[{j} < {inner.text}] select({condition}, {value}, {other})")
        self.add(name, "f", [rows], "value")

    # ---- ranges that end before they begin

    def define_counted(self):
        """Means of a number of points that sizes say, perhaps of none."""
        s, other = self.large_size((1000,)), self.large_size((1000,))
        x = self.given("x", [s, other], self.floating)
        name, j, k = self.fresh("D"), self.fresh("j"), self.fresh("k")
        ends = [self.one(z.text, f"{z.text} - {self.one(1, 2, 3, 4)}", f"{z.text} - {self.one(1, 2, 3, 4)}") for z in (s, other)]
        reducer = self.one("mean", "mean", "mean", "sum", "max", "logsumexp")
        self.touched = {t for t in self.tensors if t.name == x}
        if self.chance(0.4):
            i = self.fresh("i")
            self.lines.append(f"{name}[{i} < {s.text}]{self.f64()} = {reducer}[{j} < {ends[0]}, {k} < {ends[1]}] {x}[{j}, {k}]*{x}[{i}, {k}]")
            self.add(name, "f", [s], "value")
        else:
            self.lines.append(f"{name}{self.f64()} = {reducer}[{j} < {ends[0]}, {k} < {ends[1]}] {x}[{j}, {k}]")
            self.add(name, "f", [], "value")

    # ---- kinds of vertices

    def kinds(self, word, table, at, other):
        """A condition that looks a word up, of which there may be none."""
        look = f"{table}[{word}] {self.one('==', '!=', '>')} {self.one('1', '0')}"
        return self.one(f"select({word} >= 0, select({look}, {at}, {other}), {self.literal()})",
                        f"select({word} >= 0 and {look}, {at}, {other})", f"select({word} < 0 or not ({look}), {other}, {at})",
                        f"select({word} >= 1, select({look}, {at}, {other}), {other})")

    def define_words(self):
        """A tree whose vertices may have a word: cells and sums ask what a table says of it."""
        n, most, wide = self.one(1, 3, 4, 6), self.one(1, 2), self.one(1, 2, 4)
        rows, words = Size(str(n), n, True), self.one(2, 3, 5)
        word = self.given("w", [rows], lambda: self.r.randrange(-1, words), f" : -1 <= i32 < {words}")
        table = self.given("w", [Size(str(words), words, True)], lambda: self.r.randrange(3), " : i32 < 3")
        columns = Size(str(wide), wide, True)
        x = self.given("x", [rows, columns], self.floating)
        child, h, v, j, k = (self.fresh(c) for c in "whiik")
        self.lines.append(f"input {child}[{v} < {n}, {most}] : -1 <= i32 < {v}")
        self.values[child] = ([[self.r.randrange(-1, z) for _ in range(most)] for z in range(n)], [n, most])
        below = f"(sum[{k} < {most}] ({h}[{child}[{v}, {k}], {j}] else {self.one('0', '0.5')}))"
        given = f"{x}[{v}, {j}]"
        cell = self.kinds(f"{word}[{v}]", table, self.one(given, below), self.one(below, f"{given} + 0.5*{below}"))
        if self.chance(0.4):
            cell = f"{given} + 0.5*{below}"
        self.lines.append(f"{h}[{v} < {n}, {j} < {wide}]{self.f64()} = {self.one('tanh', 'sin')}({cell})")
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(h, "f", [rows, columns], "value")
        self.touched = {self.tensors[-1]}
        self.define_total(h, word, table, n, wide)

    def define_total(self, h, word, table, n, wide):
        v, k, s = self.fresh("k"), self.fresh("k"), self.fresh("D")
        look = f"{word}[{v}] >= {self.one('0', k)} and {table}[{word}[{v}]] {self.one('==', '!=')} {self.one('1', '0')}"
        value = self.one(f"select({look}, {h}[{v}, {k}], 0)", self.kinds(f"{word}[{v}]", table, f"{h}[{v}, {k}]", "0"))
        self.lines.append(f"{s}{self.f64()} = sum[{v} < {n}, {k} < {wide}] {value}")
        self.add(s, "f", [], "value")

    def define_cells(self):
        """A vertex function whose vertices may have a word."""
        if self.graphs:
            return self.define_words()
        g, f, h, d, k, n = self.fresh("G"), self.fresh("f"), self.fresh("D"), self.fresh("i"), self.fresh("k"), self.one(1, 3, 5, 7)
        wide, most, words = self.one(1, 2, 3), self.one(1, 2), self.one(2, 3, 5)
        self.lines.append(f"graph {g}(children <= {most}, vertices <= {self.one(8, 40)})")
        vertices = Size(f"{g}.vertices", n, False)
        x = self.given("x", [vertices, Size(str(wide), wide, True)], self.floating)
        word = self.given("w", [vertices], lambda: self.r.randrange(-1, words), f" : -1 <= i32 < {words}")
        table = self.given("w", [Size(str(words), words, True)], lambda: self.r.randrange(3), " : i32 < 3")
        below = f"sum[{k} < {most}] h[{k}, {d}]"
        cell = self.kinds("word", table, f"x[{d}]", self.one(below, f"x[{d}] + 0.5*({below})"))
        self.lines += [f"vertex {f}(x[{wide}], word : -1 <= i32 < {words}) over {g}{self.one('', '', ' down')} {{",
                       f"  gather h[{most}, {wide}]{self.f64()} = {self.one('0', '0.5')}",
                       f"  y[{d} < {wide}]{self.f64()} = tanh({cell})", "  scatter h = y", "  push y", "}", f"{h} = {f}({x}, {word})"]
        self.values[f"{g}.child"] = ([[self.r.randrange(-1, z) for _ in range(most)] for z in range(n)], [n, most])
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(h, "f", [vertices, Size(str(wide), wide, True)], "value")
        self.graphs.append(g)
