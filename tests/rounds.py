"""A scan of a known length gives what a repeat of the same block gives: rounds.py NEOC SEED COUNT

Both are made from random blocks. The scan is checked once and stacked over its rounds, the repeat is checked anew in each round; so what
they share is the language alone. A while that never ends before its limit is the same again. The exit code is 1 if a program differs.
"""
import json
import random
import subprocess
import sys

NAMES = ['a', 'b', 'c']


class Block:
    """The carries, statements and results of a random block; ROUND stands for its index."""

    def __init__(self, rng):
        self.rng = rng
        self.rounds = rng.randint(1, 4)
        self.carries = NAMES[:rng.randint(1, 3)]
        self.lines = []
        self.values = [f'{c}[i]' for c in self.carries] + [
            'X[ROUND, i]', '0.3', 'f32(ROUND)', f'(sum[k] {rng.choice(self.carries)}[k] * W[k, i])',
            f'({rng.choice(self.carries)}[i - 1] else X[ROUND, 2])', '(sum[m where m <= i] X[ROUND, m])']
        for k in range(rng.randint(0, 3)):
            self.lines.append(f'  v{k}[i < 4] = {self.expr()}')
            self.values.append(f'v{k}[i]')
        collected = [c for c in self.carries if rng.random() < 0.5] + (['v0'] if self.lines else [])
        following = [n for n in map(self.next_of, self.carries) if n]
        if following:
            self.lines.append('  next ' + ', '.join(following))
        if collected:
            self.lines.insert(rng.randint(1, len(self.lines)) if self.lines else 0, '  collect ' + ', '.join(collected))
        self.results = [f'{c}_last' for c in self.carries] + [f'{c}_all' for c in collected]

    def expr(self, depth=0):
        choice = self.rng.random()
        if depth > 2 or choice < 0.35:
            return self.rng.choice(self.values)
        x, y = self.expr(depth + 1), self.expr(depth + 1)
        if choice < 0.7:
            return f'({x} {self.rng.choice("+-*")} {y})'
        return f'max({x}, {y})' if choice < 0.85 else f'select({x} > 0, {y}, {x})'

    def next_of(self, carry):
        choice = self.rng.random()
        if choice < 0.1:
            return None
        return f'{carry} = {self.rng.choice(self.carries)}' if choice < 0.3 else f'{carry}[i < 4] = {self.expr()}'

    def program(self, head, index):
        first = ', '.join(f'{c}[i] = X[0, i]*{k + 1}/3' for k, c in enumerate(self.carries))
        counted = 'counter' in head
        lines = self.lines + (['  next counter = min(counter + 1, 3)'] if counted else [])
        results = self.results[:len(self.carries)] + (['counter_last'] if counted else []) + self.results[len(self.carries):]
        return '\n'.join([
            f'input X[{self.rounds}, 4]',
            'const W[4, 4] = [[1, 0, 2, 0.5], [0, 1, 0, -1], [0.1, 0.2, 0.3, 0.4], [1, 1, -1, 0]]',
            f'{", ".join(results)} = {head} from {first}{", counter : i32 < 4 = 0" if counted else ""} {{',
            *(line.replace('ROUND', index) for line in lines), '}', 'seen = sum[t, i] X[t, i]',
            'output seen, ' + ', '.join(self.results), ''])


def outputs(neoc, text, rounds, how):
    with open('rounds.expr', 'w', encoding='ascii') as file:
        file.write(text)
    run = subprocess.run([neoc, 'run', 'rounds.expr', *how, '--format=json', f'X=random:5:[{rounds},4]'],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f'{text}\n{run.stdout}{run.stderr}')
    return json.loads(run.stdout)


def reverse_rounds(values, rounds):
    return [x for t in reversed(range(rounds)) for x in values[t * 4:t * 4 + 4]]


def by_name(result, rounds, down):
    """The values of each output; those of a repeat that counts down are put in the order of the index."""
    found = result.get('outputs', result)
    pairs = found.items() if isinstance(found, dict) else ((x['name'], x) for x in found)
    return {name: reverse_rounds(x['values'], rounds) if down and name.endswith('_all') else x['values'] for name, x in pairs}


def are_close(a, b):
    return a.keys() == b.keys() and all(
        x == y or abs(x - y) <= 1e-3 * max(abs(x), abs(y), 1) for name in a for x, y in zip(a[name], b[name], strict=True))


def check(neoc, text, n, expected):
    """The interpreter computes what was expected, and compiled code the same but for rounding."""
    if by_name(outputs(neoc, text, n, ['--interp']), n, False) != expected:
        sys.exit(f'differs from its repeat:\n{text}')
    if not are_close(by_name(outputs(neoc, text, n, []), n, False), expected):
        sys.exit(f'compiled code differs:\n{text}')


def main():
    neoc, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for _ in range(count):
        block = Block(rng)
        n, down = block.rounds, rng.random() < 0.3
        scan = block.program(f'scan t < {n}{" down" if down else ""}', 't')
        repeat = block.program(f'repeat t < {n}', f'({n - 1} - t)' if down else 't')
        expected = by_name(outputs(neoc, repeat, n, ['--interp']), n, down)
        check(neoc, scan, n, expected)
        if down:
            continue
        loop = block.program(f'while counter >= 0 limit {n}', f'min(counter, {n - 1})')
        check(neoc, loop, n, expected)


main()
