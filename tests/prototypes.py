"""Comments of public prototypes: prototypes.py [-v]

A public prototype is a function that is declared, and not defined, in a header of product code whose head does not say
"Private to". Three rules, and the share of the prototypes that each concerns which obey it:

  purpose    a comment of its own, before it or after it on its last line, or one above the group that it is in: prototypes,
             and types that they use, without an empty line between them, of which the first has the comment
  ownership  a function that returns a pointer, or has a parameter of type `**`, says when it is null, or who owns it and how
             long it lives; an arena among its parameters says it, and so does the head of the header, for all in it
  outcome    a function that returns bool or a status says what false or an error means: in words, as a question whose answer
             the bool is, or in the head

The last two are read from words, so they tell less than a reader does. -v lists what falls short. The exit code is 1 if a
share is below its least one.
"""
import os
import re
import sys

FOLDERS = ('autodiff', 'base', 'codegen', 'frontend', 'fusion', 'include', 'ir', 'models', 'python', 'runtime',
           'schedule', 'tools', 'transform')
NOT_PRODUCT = ('python/build', 'python/tests', 'tools/benchmarks')
LEAST = {'purpose': 1.0, 'ownership': 0.98, 'outcome': 0.98}

OWNERSHIP = re.compile(
    r'\bnull\b|\bowns?\b|\bowned\b|\bownership\b|\barenas?\b|\bfree[sd]?\b|\blives?\b|\bborrow|\bborrowed\b|\bbelongs?\b'
    r'|\bstatic\b|\bconstant text\b|\bvalid (until|while|as long)\b|\buntil\b|\bas long as\b|\bscratch\b|\bpoints? into\b', re.I)
OWNERSHIP_OF_ALL = re.compile(
    r'\barenas?\b|\bowned by\b|\bowns\b|\blives? (as long|until)\b|\bvalid (as long|until)\b|\bnever null\b', re.I)
OUTCOME = re.compile(
    r'\bwhether\b|\bfalse\b|\btrue\b|status|\berrors?\b|\bfail(s|ed|ure)?\b|\bNEO_[A-Z]+\b|\botherwise\b|\bdiagnostics?\b'
    r'|\breports?\b|\breported\b|\brefus', re.I)

ITEM = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[{};\n#]|[^/"\'{};\n#]+|.', re.S)
PROTOTYPE = re.compile(r'(?P<type>[\w\s*]*?[\s*])(?P<name>\w+)\s*\((?P<parameters>.*)\)(?:\s*[A-Z_]+)*\s*$', re.S)
ATTRIBUTE = re.compile(r'__attribute__\s*\(\(.*?\)\)(?=\s*(?:__attribute__|$|[\w]))|\[\[.*?\]\]', re.S)


class Declaration:
    """The text between two ends of declarations: code without comments, its lines, comments before and behind it."""

    def __init__(self, code, first, last, before, behind):
        self.code, self.first, self.last, self.before, self.behind = code, first, last, before, behind


def declarations(text):
    """The declarations of the outermost level; `extern "C"` opens no level."""
    code, first, before, before_end, line, depth, levels = '', 0, '', -1, 1, 0, []
    found, directive, directive_text = [], False, ''
    for item in ITEM.findall(text):
        lines = item.count('\n')
        if item == '\n':
            # A directive goes on where its line ends with a backslash.
            directive = directive and directive_text.endswith('\\')
        if directive:
            directive_text = item.rstrip(' ') or directive_text
        elif item == '#' and not code.strip():
            directive, directive_text = True, '#'
            before = ''
        elif item.startswith(('/*', '//')):
            if depth:
                pass  # of a field
            elif found and found[-1].last == line and not code.strip():
                found[-1].behind += item
            elif code.strip():
                before += item
            elif not re.match(r'/\* -{3,}[^:]*\*/$', item):  # the title of a section says nothing of what follows
                before, before_end = item, line + lines
        elif item == '{':
            if depth == 0 and re.search(r'\bextern\s+""?$|\bextern\s+"C"\s*$', code.strip()):
                levels.append(False)
                code = ''
            else:
                levels.append(True)
                depth += 1
        elif item == '}':
            depth -= bool(levels and levels.pop())
            if depth == 0 and re.search(r'\)\s*$', code):  # a function's body
                code, before = '', ''
        elif depth == 0 and item == ';':
            near = before if before_end >= first - 1 else ''
            found.append(Declaration(code.strip(), first, line, near, ''))
            code, before, before_end = '', '', -1
        elif depth == 0:
            if not code.strip() and item.strip():
                first = line
            code += item
        line += lines
    return found


def on_one_line(comment):
    """A comment without its line ends."""
    return re.sub(r'\s*\n\s*\*?\s*', ' ', comment)


def head_of(text):
    """The first comment of a header."""
    match = re.match(r'\s*/\*.*?\*/', text, re.S)
    return on_one_line(match.group()) if match else ''


def prototypes(text):
    """(name, return type, parameters, comment) of each function that a header declares; the comment of a group is each one's."""
    found, group, last = [], '', -1
    for declaration in declarations(text):
        match = PROTOTYPE.match(ATTRIBUTE.sub('', declaration.code).strip())
        if declaration.before:
            group = declaration.before
        elif declaration.first != last + 1:
            group = ''
        last = declaration.last + declaration.behind.count('\n')
        if not match or declaration.code.startswith('typedef'):
            continue
        comment = on_one_line(group + declaration.behind)
        found.append((match['name'], match['type'].strip(), match['parameters'], comment))
    return found


def shortcomings(text):
    """Per rule: the names that it concerns, and those of them that do not obey it."""
    concerned = {rule: [] for rule in LEAST}
    bad = {rule: [] for rule in LEAST}
    head = head_of(text)
    for name, kind, parameters, comment in prototypes(text):
        holds = {'purpose': bool(comment)}
        if '*' in kind or re.search(r'\*\*(?!argv)', parameters):
            holds['ownership'] = bool(OWNERSHIP.search(comment) or 'neo_arena *' in parameters or OWNERSHIP_OF_ALL.search(head))
        if re.search(r'\b(bool|neo_status|\w+_status)$', kind):
            in_head = r'returns false' if kind.endswith('bool') else r'status|\bNEO_[A-Z]+\b'
            holds['outcome'] = bool(OUTCOME.search(comment) or kind.endswith('bool') and '?' in comment
                                    or re.search(in_head, head, re.I))
        for rule, held in holds.items():
            concerned[rule].append(name)
            if not held:
                bad[rule].append(name)
    return concerned, bad


def headers():
    """The headers of product code that others may include: path and text."""
    for top in FOLDERS:
        for folder, below, names in os.walk(top):
            below[:] = sorted(x for x in below if os.path.join(folder, x) not in NOT_PRODUCT)
            for path in sorted(os.path.join(folder, x) for x in names if x.endswith('.h')):
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                if 'Private to' not in head_of(text):
                    yield path, text


def main(arguments):
    verbose = '-v' in arguments
    count = dict.fromkeys(LEAST, 0)
    short = dict.fromkeys(LEAST, 0)
    for path, text in headers():
        concerned, bad = shortcomings(text)
        for rule in LEAST:
            count[rule] += len(concerned[rule])
            short[rule] += len(bad[rule])
            if bad[rule] and (verbose or LEAST[rule] == 1):
                print(f'{path}: {rule}: {" ".join(bad[rule])}')
    failed = not count['purpose']
    for rule, least in LEAST.items():
        share = 1 - short[rule]/max(count[rule], 1)
        failed |= share < least
        print(f'{rule}: {count[rule] - short[rule]} of {count[rule]} prototypes, {100*share:.1f} % (least {100*least:.0f} %)')
    return failed


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
