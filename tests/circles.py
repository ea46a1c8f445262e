"""Circles of files, read from the symbols of the object files: circles.py [-v] BUILD-FOLDER

A file calls another if it uses a symbol that the other defines. Files that call each other, directly or through others, are a
circle: none of them can be understood, tested or moved without the rest. The exit code is 1 if a circle has more than MOST_FILES
files, or if circles have more than MOST_ALTOGETHER files together. Tests' own files do not count.
"""
import collections
import os
import subprocess
import sys

FOLDERS = {'base', 'ir', 'frontend', 'autodiff', 'transform', 'fusion', 'network', 'schedule', 'codegen', 'runtime',
           'tools'}
MOST_FILES = 6
MOST_ALTOGETHER = 40


def objects(build):
    """The object file of each source; a source that several libraries compile has one of its objects."""
    found = {}
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            source = path.split('.dir/', 1)[-1][:-len('.o')]
            if name.endswith('.c.o') and source.split('/')[0] in FOLDERS:
                found[source] = path
    return found


def calls(objects_of):
    """The sources that each source calls."""
    defined_in, used = {}, collections.defaultdict(set)
    source_of = {path: source for source, path in objects_of.items()}
    symbols = subprocess.run(['nm', '-o', *source_of], capture_output=True, text=True, check=False)
    if symbols.returncode:
        sys.exit(symbols.stderr)  # an object that is being written, perhaps
    for line in symbols.stdout.splitlines():
        path, _, rest = line.rpartition(':')
        source, words = source_of[path], rest.split()
        if len(words) == 3 and words[1] in 'TDRBVW':
            defined_in.setdefault(words[2], source)
        elif len(words) == 2 and words[0] == 'U':
            used[source].add(words[1])
    return {source: sorted({defined_in[s] for s in used[source] if s in defined_in} - {source})
            for source in objects_of}


def reached_order(graph):
    """The files in the order in which a depth-first search leaves them."""
    seen, order = set(), []
    for start in sorted(graph):
        stack = [] if start in seen else [(start, iter(graph[start]))]
        seen.add(start)
        while stack:
            source, rest = stack[-1]
            callee = next((c for c in rest if c not in seen), None)
            if callee is None:
                order.append(source)
                stack.pop()
            else:
                seen.add(callee)
                stack.append((callee, iter(graph[callee])))
    return order


def circles(graph):
    """The strongly connected components of more than one file (Kosaraju), the largest first."""
    callers = collections.defaultdict(list)
    for source, callees in graph.items():
        for callee in callees:
            callers[callee].append(source)
    seen, found = set(), []
    for start in reversed(reached_order(graph)):
        members, stack = [], [start]
        while stack:
            source = stack.pop()
            if source not in seen:
                seen.add(source)
                members.append(source)
                stack += callers[source]
        if len(members) > 1:
            found.append(sorted(members))
    return sorted(found, key=len, reverse=True)


def main(verbose, build):
    # Objects of sources that have been moved or removed stay in the build folder.
    present = {s: path for s, path in objects(build).items() if os.path.exists(s)}
    found = circles(calls(present)) if present else []
    altogether, largest = sum(map(len, found)), max(map(len, found), default=0)
    bad = not present or largest > MOST_FILES or altogether > MOST_ALTOGETHER
    for members in found if verbose or bad else []:
        print(len(members), *members)
    print(f'{len(present)} files, {len(found)} circles, {altogether} files in circles, largest {largest}'
          f' (at most {MOST_ALTOGETHER} and {MOST_FILES})')
    return bad


if __name__ == '__main__':
    sys.exit(main('-v' in sys.argv, sys.argv[-1]))
