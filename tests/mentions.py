"""Files that comments and documentation mention, and that are not there: mentions.py

A mention is a path or a file's name with one of the endings below: all of a comment's in C, those in backquotes on a page. It is
found if some file of the tree has that path or ends with it. Prints what is not found; the exit code is then 1.
"""
import os
import re
import sys

FOLDERS = 'base ir frontend autodiff transform fusion network schedule codegen runtime tools include python docs'.split()
PAGES = ['README.md', 'ARCHITECTURE.md']
# Files of other programs, and files that are made.
OTHERS = {'mlp.h', 'caps.h', 'tree.h', 'isl/set.h', 'xxhash.h', 'zlib.h', 'stdint.h'}
COMMENT = re.compile(r'/\*.*?\*/', re.S)
QUOTED = re.compile(r'`[^`\n]*`')
MENTION = re.compile(r'(?<![\w/.*{%-])([a-z_0-9]{2,}(?:/[a-z_0-9]+)*\.(?:c|h|def))(?![\w*{}(])')


def tree():
    """All files, as paths from the root."""
    found = []
    for folder in FOLDERS + ['tests', 'models', 'cmake', 'editors']:
        for at, _, names in os.walk(folder):
            found += [os.path.join(at, name) for name in names]
    return found


def mentions(path, text):
    """(line, name) of each file that the text mentions."""
    for part in (QUOTED if path.endswith('.md') else COMMENT).finditer(text):
        for m in MENTION.finditer(part.group()):
            yield text.count('\n', 0, part.start() + m.start()) + 1, m.group(1)


def main():
    files = tree()
    known = {'/'.join(path.split('/')[k:]) for path in files for k in range(path.count('/') + 1)}
    missing = []
    for path in [p for p in files if p.endswith(('.c', '.h', '.def', '.md')) and p.split('/')[0] in FOLDERS] + PAGES:
        with open(path, encoding='utf-8') as file:
            missing += [f'{path}:{line}: there is no {name}' for line, name in mentions(path, file.read())
                        if name not in known and name not in OTHERS]
    print('\n'.join(missing), end='\n' if missing else '')
    return bool(missing) or not files


if __name__ == '__main__':
    sys.exit(main())
