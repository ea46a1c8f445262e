"""C source as tokens: enough structure to find function bodies, statements and the operands of an
operator. No preprocessor: its lines are no tokens, and who compiles the result says what was wrong.
"""
import re

TOKEN = re.compile(r"""
  (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
| (?P<hash>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
| (?P<str>(?:u8|[uUL])?"(?:[^"\\]|\\.)*")
| (?P<chr>[uUL]?'(?:[^'\\]|\\.)*')
| (?P<num>\.?[0-9](?:[eEpP][+-]|[\w.])*)
| (?P<id>[A-Za-z_]\w*)
| (?P<op>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S)

PRECEDENCE = {}
for level, names in enumerate(("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -",
                               "* / %"), 1):
    for name in names.split():
        PRECEDENCE[name] = level

ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
KEYWORDS = set("auto break case char const continue default do double else enum extern float for "
               "goto if inline int long register restrict return short signed sizeof static struct "
               "switch typedef union unsigned void volatile while _Static_assert _Bool "
               "_Alignof".split())
TYPE_WORDS = set("const volatile unsigned signed char short int long float double bool void struct "
                 "enum union size_t".split())
CLOSER = {"(": ")", "[": "]", "{": "}"}


class Token:
    __slots__ = ("kind", "text", "start", "end", "line")

    def __init__(self, kind, text, start, line):
        self.kind, self.text, self.start, self.line = kind, text, start, line
        self.end = start + len(text)


class Source:
    """tokens; match[i]: the bracket that closes or opens bracket i; functions: (name, first token
    of the definition, opening and closing brace)."""

    def __init__(self, text):
        self.text = text
        self.tokens = list(tokens_of(text))
        self.match = matches(self.tokens)
        self.functions = list(self._functions())

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def slice(self, first, last):
        """The text of tokens first to last."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def _functions(self):
        i = begin = 0
        while i < len(self.tokens):
            if self.at(i) == "{" and i in self.match:
                if self.at(i - 1) == ")" and i - 1 in self.match:
                    name = self.match[i - 1] - 1
                    yield self.at(name), begin, i, self.match[i]
                    begin = self.match[i] + 1
                i = self.match[i]
            elif self.at(i) in "([" and i in self.match:
                i = self.match[i]
            elif self.at(i) == ";":
                begin = i + 1
            i += 1

    def is_binary(self, i):
        """Whether the operator at i is binary."""
        before = self.tokens[i - 1]
        if self.at(i) not in PRECEDENCE or before.text in KEYWORDS:
            return False
        if before.text == ")":
            return not self.is_cast(i - 1)
        return before.kind in ("id", "num", "str", "chr") or before.text in "]}"

    def is_cast(self, close):
        """Whether the bracket that ends at `close` is a cast."""
        open_ = self.match.get(close)
        if open_ is None or self.tokens[open_ - 1].kind == "id" and \
           self.at(open_ - 1) not in KEYWORDS or self.at(open_ - 1) in (")", "]"):
            return False
        inside = [t.text for t in self.tokens[open_ + 1:close]]
        words = [w for w in inside if w != "*"]
        stars = len(inside) > len(words)
        return bool(words) and all(
            w in TYPE_WORDS or w.endswith("_t") or (stars and re.fullmatch(r"[a-z_]\w*", w))
            for w in words)

    def left_of(self, i):
        """The first token of the left operand of the binary operator at i."""
        level, j = PRECEDENCE[self.at(i)], i - 1
        while j >= 0:
            t = self.at(j)
            if t in (")", "]", "}") and j in self.match:
                j = self.match[j]
            elif self._bounds(j) or (self.is_binary(j) and PRECEDENCE[t] < level):
                return j + 1
            j -= 1
        return 0

    def right_of(self, i):
        """The last token of the right operand of the binary operator at i."""
        level, j = PRECEDENCE[self.at(i)], i + 1
        while j < len(self.tokens):
            t = self.at(j)
            if t in CLOSER and j in self.match:
                j = self.match[j]
            elif self._bounds(j) or (self.is_binary(j) and PRECEDENCE[t] <= level):
                return j - 1
            j += 1
        return j - 1

    def _bounds(self, j):
        t = self.at(j)
        return t in ASSIGN or t in ("(", "[", "{", ")", "]", "}", ";", ",", "?", ":") or \
            t in ("return", "case", "else", "do")

    def starts_statement(self, i):
        before = self.at(i - 1)
        if before == ")":
            open_ = self.match.get(i - 1)
            return open_ is not None and self.at(open_ - 1) in ("if", "for", "while")
        return before in (";", "{", "}", "else", "do")

    def end_of_statement(self, i):
        """The semicolon that ends the simple statement at i; None: no simple statement is there."""
        while i < len(self.tokens) and self.at(i) not in ("{", "}"):
            if self.at(i) == ";":
                return i
            i = self.match[i] + 1 if self.at(i) in "([" and i in self.match else i + 1
        return None


def tokens_of(text):
    at, line = 0, 1
    while at < len(text):
        m = TOKEN.match(text, at)
        if m.lastgroup not in ("skip", "hash"):
            yield Token(m.lastgroup, m.group(), at, line)
        line += m.group().count("\n")
        at = m.end()


def matches(tokens):
    match, stack = {}, []
    for i, t in enumerate(tokens):
        if t.text in CLOSER and t.kind == "op":
            stack.append(i)
        elif t.text in (")", "]", "}") and t.kind == "op" and stack:
            match[i] = stack.pop()
            match[match[i]] = i
    return match
