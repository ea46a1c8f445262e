"""Small changes of a program, of which the compiler then says that they are wrong, or computes something else.

Each takes (random numbers, statements), changes the statements in place and says in words what it did, or returns None
where the program has no place for it. Nothing here sees to it that the result is a program: the front end does."""

from . import extents, guards, kinds, operators, outputs, ranges, reads, reducers, statements as _statements

TABLE = {}  # mutation: how often
for _kind in (ranges, reducers, extents, kinds, operators, guards, reads, _statements, outputs):
    TABLE.update(_kind.TABLE)
TRIES = 12


def mutate(r, statements):
    """Change the statements once, and what was done: (name, words), or None where no place was found."""
    for _ in range(TRIES):
        one = r.choices(list(TABLE), TABLE.values())[0]
        said = one(r, statements)
        if said:
            return one.__name__, said
    return None
