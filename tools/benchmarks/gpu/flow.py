"""Natural loops of a list of instructions: a branch to what is on every way to it closes one.

Dominators as Cooper, Harvey and Kennedy have them, "A Simple, Fast Dominance Algorithm" (2001).
"""


def blocks_of(code, target):
    """(first, behind the last) of each basic block, and the blocks that follow each."""
    leaders = {0}
    for i, x in enumerate(code):
        to = target(i)
        if to is not None:
            leaders.add(to)
        if to is not None or x.ends:
            leaders.add(i + 1)
    starts = sorted(n for n in leaders if n < len(code))
    number = {first: k for k, first in enumerate(starts)}
    blocks = list(zip(starts, starts[1:] + [len(code)]))
    after = []
    for k, (_, end) in enumerate(blocks):
        to = target(end - 1)
        next_ones = [] if code[end - 1].ends or k + 1 == len(blocks) else [k + 1]
        after.append(next_ones + ([number[to]] if to in number else []))
    return blocks, after


def reverse_postorder(after):
    order, seen, stack = [], {0}, [(0, iter(after[0]))]
    while stack:
        block, rest = stack[-1]
        step = next((n for n in rest if n not in seen), None)
        if step is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(after[step])))
    return order[::-1]


def dominators(after, order):
    """The nearest dominator of each block that is reached; the first's is itself."""
    place = {block: i for i, block in enumerate(order)}
    before = {block: [] for block in order}
    for block in order:
        for n in after[block]:
            before[n].append(block)
    nearest, changed = {order[0]: order[0]}, True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in before[block] if p in nearest]
            new = known[0]
            for p in known[1:]:
                while new != p:
                    if place[new] > place[p]:
                        new = nearest[new]
                    else:
                        p = nearest[p]
            changed |= nearest.get(block) != new
            nearest[block] = new
    return nearest, before


def dominates(nearest, a, b):
    while b != a and nearest[b] != b:
        b = nearest[b]
    return a == b


def loops(code, target):
    """The instructions of each, in their order; those of one head are one loop."""
    if not code:
        return []
    blocks, after = blocks_of(code, target)
    order = reverse_postorder(after)
    nearest, before = dominators(after, order)
    members = {}
    for block in order:
        for head in after[block]:
            if not dominates(nearest, head, block):
                continue
            found, waiting = members.setdefault(head, {head}), [block]
            while waiting:
                n = waiting.pop()
                if n not in found:
                    found.add(n)
                    waiting += before[n]
    return [sorted(i for b in members[head] for i in range(*blocks[b])) for head in sorted(members)]
