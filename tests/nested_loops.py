"""Random training programs of loops in loops: `nested_loops.py SEED DEPTH SIZE...` prints one whose values are small
integers, so that sums have the same bits in any order. SIZE: iterations of each loop, the outermost first."""
import random
import sys


class Program:
    def __init__(self, seed, depth, sizes):
        self.draw = random.Random(seed * 7919 + depth)
        self.depth, self.sizes = depth, sizes
        self.real = self.draw.choice(("f32", "f64"))
        self.kinds = self.draw.random() < 0.5
        self.names = 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def clamped(self, value):
        return f"max(min({value}, 8.0), -8.0)"

    def body(self, level, carry):
        """Lines of one iteration of loop `level`, and the new value of its carry, all of 3 elements."""
        pad = "  " * (level + 1)
        index = ", ".join(f"t{k}" for k in range(level + 1))
        lines, last = [], carry
        if self.draw.random() < 0.5:
            made = self.name()
            lines.append(f"{pad}{made}[j < 3] : {self.real} = {self.clamped(f'{last}[j] + X{level}[{index}, j]*w[j]')}")
            last = made
        if level + 1 < self.depth:
            inner, text = self.loop(level + 1, last if self.draw.random() < 0.7 else None)
            lines += text
            last = inner
        if self.kinds and self.draw.random() < 0.6:
            made = self.name()
            lines += [f"{pad}{made} = case kind[t0] {{",
                      f"{pad}  0 {{ {made}[j < 3] : {self.real} = {last}[j] - X{level}[{index}, j] }}",
                      f"{pad}  else {{ {made}[j < 3] : {self.real} = {last}[2 - j]*w[j] }}", f"{pad}}}"]
            last = made
        value = f"max({last}[(j + {self.draw.randrange(3)}) % 3], {self.draw.choice((carry, last))}[j] - 3.0)"
        return lines, self.clamped(value)

    def loop(self, level, start):
        carry, second, result = self.name(), self.name(), self.name()
        other = self.name()
        pad = "  " * level
        first = f"{start}[j]" if start else "w[j]"
        lines, value = self.body(level, carry)
        pair = self.draw.random() < 0.4
        head = f"{pad}{result}{', ' + other if pair else ''} = scan t{level} < T{level} from "
        head += f"{carry}[j < 3] : {self.real} = {first}" + (f", {second}[i < 2] : {self.real} = 1" if pair else "")
        value = f"max({value}, {second}[j % 2] - 9.0)" if pair else value
        text = [head + " {"] + lines + [f"{pad}  next {carry}[j] = {value}"]
        if pair:
            text.append(f"{pad}  next {second}[i] = {self.clamped(f'{second}[1 - i] + {carry}[i + 1]')}")
        return result, text + [f"{pad}}}"]

    def text(self):
        lines = ["import optim"]
        for k, n in enumerate(self.sizes):
            lines.append(f"dim T{k} = {n}")
        for k in range(self.depth):
            index = [f"t{i} < T{i}" for i in range(k + 1)]
            lines.append(f"input R{k}[{', '.join(f'T{i}' for i in range(k + 1))}, 3] : {self.real}")
            lines.append(f"X{k}[{', '.join(index)}, j < 3] = floor(4*R{k}[{', '.join(i[:2] for i in index)}, j])")
        if self.kinds:
            lines.append("input kind[T0] : i32 < 2")
        lines.append(f"param w[3] : {self.real} = 1")
        result, loop = self.loop(0, None)
        lines += loop + [f"loss = sum[j] {result}[j]*{result}[2 - j]", "train loss using optim.sgd(lr = 1.0)"]
        sums = [f"(sum[{', '.join(f't{i}' for i in range(k + 1))}, j] X{k}[{', '.join(f't{i}' for i in range(k + 1))}, j])"
                for k in range(self.depth)] + (["(sum[t0] kind[t0])"] if self.kinds else [])
        lines += [f"seen{k} = {x}" for k, x in enumerate(sums)]
        lines += [f"output loss{''.join(f', seen{k}' for k in range(len(sums)))}"]  # all inputs are read
        return "\n".join(lines) + "\n"


print(Program(int(sys.argv[1]), int(sys.argv[2]), [int(x) for x in sys.argv[3:]]).text(), end="")
