"""Lengths of functions and of files: figures.py [-v [NUMBER]]; -v also lists the longest of both, and the folders' own figures.

The exit code is 1 if the median or the 90th percentile of either is above its limit. A function's lines are those from its return
type to its closing brace; a file's are all of its lines. Headers, tests and the files that CMake makes do not count. The sources
have the shape that .clang-format gives them: a function begins in the first column and ends with a brace there.
"""
import glob
import re
import sys

FOLDERS = 'base ir frontend autodiff transform fusion network schedule codegen runtime tools'.split()
LIMITS = {'functions': (9, 20), 'files': (160, 390)}
NOT_FUNCTIONS = re.compile(r'(typedef|struct|union|enum|static const|const|extern "C")\b[^()]*$|#|/\*|\}')


def functions(lines):
    """(first line, number of lines, name) of each function."""
    first = None
    for i, line in enumerate(lines):
        if line[:1] not in ('', ' ', '\t', '{', '}'):
            first = i
        if line == '}' and first is not None:
            head = ' '.join(lines[first:i + 1])
            if not NOT_FUNCTIONS.match(lines[first]):
                name = re.search(r'(\w+)\(', head)
                yield first + 1, i - first + 1, name.group(1) if name else '?'
            first = None


def percentile(lengths, share):
    """The smallest length that so many per cent of them do not exceed."""
    return sorted(lengths)[max(0, -(-len(lengths) * share // 100) - 1)] if lengths else 0


def read(folder):
    """The lengths of a folder's functions and files, each with its place."""
    of_functions, of_files = [], []
    for path in sorted(glob.glob(f'{folder}/**/*.c', recursive=True)):
        with open(path, encoding='utf-8') as file:
            lines = file.read().splitlines()
        of_files.append((len(lines), path))
        of_functions += [(count, f'{path}:{line} {name}') for line, count, name in functions(lines)]
    return {'functions': of_functions, 'files': of_files}


def report(name, measured):
    figures = [f'{len(found)} {kind} {percentile([n for n, _ in found], 50)}/{percentile([n for n, _ in found], 90)}'
               for kind, found in measured.items()]
    print(f'{name}: ' + ', '.join(figures))


def main(verbose, longest):
    folders = {folder: read(folder) for folder in FOLDERS}
    whole = {kind: sum((f[kind] for f in folders.values()), []) for kind in LIMITS}
    for folder, measured in folders.items() if verbose else []:
        report(folder, measured)
    for found in whole.values() if verbose else []:
        for count, place in sorted(found, reverse=True)[:longest]:
            print(count, place)
    report('all', whole)
    above = 0
    for kind, limits in LIMITS.items():
        for share, limit in zip((50, 90), limits):
            value = percentile([n for n, _ in whole[kind]], share)
            if not whole[kind] or value > limit:
                print(f'{kind}: the {share}th percentile is {value} lines, above {limit}')
                above = 1
    return above


if __name__ == '__main__':
    arguments = sys.argv[1:]
    sys.exit(main('-v' in arguments, int(arguments[1]) if len(arguments) > 1 else 20))
