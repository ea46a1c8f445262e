"""Functions that leave their file, and for whom: exports.py [-v] BUILD-FOLDER

A function with an external name serves the files that use it. The command prints how many serve one other file alone, and lists
those that only tests use. Functions that nothing else uses are static, or dead: the exit code is 1 if there is one, and if more than
MOST_FOR_ONE per cent serve one file. Functions of the public headers serve programs; rows of tables serve the table.

A function that serves one file does not count if its header says so: with "for" and the name of the file, or of the file's folder,
which is not the function's own, in the first words of the header or of a heading,

    /* For tools/library: an object in this process ...
    /* ---- references (lookup.c), for frontend/check

which hold until the next heading. One that names a reader which uses no function below it is wrong: the exit code is 1.
"""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from circles import FOLDERS, objects  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_FOR_ONE = 40  # per cent


def names_in(folders, ending):
    """The words of all files with the ending."""
    words = set()
    for top in folders:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith(ending):
                    with open(os.path.join(folder, name), encoding='utf-8') as f:
                        words |= set(re.findall(r'\w+', f.read()))
    return words


def words_of_other_files(rows):
    """The names of rows (file, name) that some other source has."""
    words = set()
    for top in {file.split('/')[0] for file, _ in rows}:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for file in (os.path.join(folder, name) for name in names if name.endswith('.c')):
                with open(file, encoding='utf-8') as f:
                    text = f.read()
                words |= {name for of, name in rows if name in text and os.path.join(ROOT, of) != file}
    return words


def symbols(paths):
    """The functions that each object defines, and the names that it uses."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    text = subprocess.run(['nm', '-o', *paths], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        path, _, rest = line.rpartition(':')
        words = rest.split()
        if len(words) == 3 and words[1] == 'T':
            defined[path].add(words[2])
        elif len(words) == 2 and words[0] == 'U':
            used[path].add(words[1])
    return defined, used


def headings(header):
    """For each heading of a header: the readers that it names, and the words below it."""
    with open(os.path.join(ROOT, header), encoding='utf-8') as f:
        parts = re.split(r'^(/\* -{2,}.*?\*/)', '/* ---- ' + f.read().removeprefix('/* '), flags=re.M | re.S)
    for heading, text in zip(parts[1::2], parts[2::2]):
        said = re.match(r'/\* -+ (?:[^:]*, )?[Ff]or ((?:[\w/]+(?:\.c)?(?:, |,? and )?)+)', heading)
        readers = re.split(',? and |, ', said.group(1)) if said else []
        yield [r for r in readers if '/' in r or r.endswith('.c')], set(re.findall(r'\w+(?=\()', text))


def headers():
    for folder, _, names in os.walk(ROOT):
        top = os.path.relpath(folder, ROOT).split(os.sep)[0]
        if top in FOLDERS:
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith('.h'))


def said(users, source):
    """The functions whose header says which file, or which other folder, they are for; and the headings that are wrong."""
    right, wrong = set(), []
    for header in headers():
        own = os.path.dirname(header)
        for readers, names in headings(header):
            for reader in readers:
                path = reader if '/' in reader else f'{own}/{reader}'
                served = {name for name in names & set(source)
                          if any(user == path or (user.startswith(path + '/') and not own.startswith(path)) for user in users[name])}
                right |= served
                wrong += [] if served else [f'{header}: nothing is for {reader}']
    return right, wrong


def main(arguments):
    own = os.path.abspath(arguments[-1]).startswith(ROOT)  # it may have objects of sources that are gone
    source_of = {path: source for source, path in objects(arguments[-1]).items()
                 if not own or os.path.exists(os.path.join(ROOT, source))}
    defined, used = symbols(source_of)
    users = collections.defaultdict(set)
    for path, names in used.items():
        for name in names:
            users[name].add(source_of[path])
    of_programs = names_in(['include/neo'], '.h') | {'main'}
    of_tables = names_in(sorted({source.split('/')[0] for source in source_of.values()}), '.def')
    of_tests = names_in(['tests', 'tools/benchmarks'], '.c') | names_in(['tests'], '.h')
    source = {name: source_of[path] for path, names in defined.items() for name in names if name not in of_programs}
    told, wrong = said(users, source)
    one = sorted((source[name], name, *users[name]) for name in source
                 if len(users[name]) == 1 and name not in of_tables | told)
    alone = sorted((source[name], name) for name in source if not users[name] and name not in of_tables)
    tests = [row for row in alone if row[1] in of_tests]
    sometimes = words_of_other_files(alone)  # in builds with sanitizers, perhaps
    none = [row for row in alone if row[1] not in of_tests | sometimes]
    share = 100*len(one)/len(source)
    print(f'{len(source)} functions leave their file: {len(one)} for one file ({share:.1f} per cent), {len(tests)} for tests alone, '
          f'{len(none)} for none; {sum(len(users[name]) == 1 for name in told)} more whose header says for whom')
    print(*wrong, sep='\n', end='\n' if wrong else '')
    for row in none + (tests + one if '-v' in arguments else []):
        print('  ' + ': '.join(row))
    return bool(none or wrong) or share > MOST_FOR_ONE


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
