"""Tokens to the tree: docs/language.md, "Grammar", by recursive descent, a method for each of its rules."""

from functools import lru_cache

from .errors import error
from .lexer import REDUCERS, tokens
from .tree import (DOTS, Assert, Bind, Binary, Call, Case, Collect, Declare, Define, Dim, Else, Function, Gather,
                   Graph, Import, Number, Optimizer, Output, Path, Push, Range, Read, Reduce, Repeat, Target, Train, Type,
                   Unary, Variable, Vertex, While)

RESERVED = {"and", "or", "not", "true", "false", "inf", "nan", "pi", "else", "where", "scan", "repeat", "while", "case"}
TYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@lru_cache(maxsize=None)
def parse(text):
    """The statements of a file; of the same text, the same ones."""
    parser = _Parser(tokens(text))
    statements = parser.statements(None)
    return statements


class _Parser:
    def __init__(self, toks):
        self.toks = toks
        self.at = 0
        self.variables, self.in_signature = set(), False  # of types, in the function at hand

    # ---- tokens

    def peek(self, ahead=0):
        k = self.at + ahead
        return self.toks[k] if k < len(self.toks) else self.toks[-1]._replace(kind="eof", text="")

    @property
    def line(self):
        return self.peek().line

    def take(self, *texts):
        """The next token where it is one of these, else None."""
        token = self.peek()
        if token.kind != "end" and token.kind != "eof" and token.text in texts:
            self.at += 1
            return token
        return None

    def need(self, text):
        token = self.take(text)
        if not token:
            error(self.line, f"expected '{text}', found '{self.peek().text or self.peek().kind}'")
        return token

    def name(self):
        token = self.peek()
        if token.kind != "name" or token.text in RESERVED:
            error(token.line, f"expected a name, found '{token.text or token.kind}'")
        self.at += 1
        return token.text

    def several(self, rule):
        items = [rule()]
        while self.take(","):
            items.append(rule())
        return items

    # ---- statements

    def statements(self, closing):
        """All statements up to the closing brace, or to the end of the text."""
        result = []
        while True:
            while self.peek().kind == "end":
                self.at += 1
            if (closing and self.take(closing)) or self.peek().kind == "eof":
                return result
            result.append(self.statement())
            if self.peek().kind not in ("end", "eof") and not (closing and self.peek().text == closing):
                error(self.line, f"unexpected '{self.peek().text}'")

    def block(self):
        self.need("{")
        return self.statements("}")

    def statement(self):
        token, after = self.peek(), self.peek(1)
        plain = after.kind == "sign" and after.text in ("=", "[", ",", ":", ".")
        if token.kind == "name" and not plain:
            rule = getattr(self, "stmt_" + token.text, None)
            if rule:
                self.at += 1
                return rule(token.line)
        return self.define()

    def stmt_import(self, line):
        def one():
            name = self.name()
            return name, self.name() if self.take("as") else name
        return Import(line, self.several(one))

    def stmt_dim(self, line):
        first = self.sum()
        if self.take("="):
            return Dim(line, first.names[0], self.sum())
        self.need("<=")
        second = self.sum()
        if self.take("<="):
            return Dim(line, second.names[0], None, first, self.sum())
        return Dim(line, first.names[0], None, Number(line, 1), second)

    def stmt_assert(self, line):
        return Assert(line, self.expr())

    def _declare(self, line, kind):
        variable = self.variable()
        value = None
        if self.take("="):
            value = self.list() if kind == "const" and self.peek().text == "[" else self.expr()
        return Declare(line, kind, variable, value)

    def stmt_input(self, line):
        return self._declare(line, "input")

    def stmt_param(self, line):
        return self._declare(line, "param")

    def stmt_state(self, line):
        return self._declare(line, "state")

    def stmt_const(self, line):
        return self._declare(line, "const")

    def list(self):
        self.need("[")
        items = self.several(self.item)
        self.need("]")
        return items

    def item(self):
        if self.peek().text == "[":
            return self.list()
        negative = self.take("-")
        number = self.expr_number()
        return -number if negative else number

    def expr_number(self):
        node = self.atom()
        if not isinstance(node, Number):
            error(node.line, "expected a number")
        return node.value

    def bindings(self):
        def one():
            target = self.target()
            self.need("=")
            return target, self.expr()
        return self.several(one)

    def stmt_next(self, line):
        return Bind(line, "next", self.bindings())

    def stmt_update(self, line):
        return Bind(line, "update", self.bindings())

    def stmt_scatter(self, line):
        return Bind(line, "scatter", self.bindings())

    def stmt_gather(self, line):
        def one():
            variable = self.variable()
            return variable, self.expr() if self.take("=") else None
        return Gather(line, self.several(one))

    def stmt_push(self, line):
        return Push(line, self.name())

    def stmt_graph(self, line):
        name, edges = self.name(), []
        self.need("(")
        while not self.take("vertices"):
            first = self.name()
            kind = first if self.take(".") else None
            word = self.name() if kind else first
            if word not in (("edges",) if kind else ("edges", "children")):
                error(line, f"expected 'edges', 'children' or 'vertices', found '{word}'")
            self.need("<=")
            edges.append((word == "edges", kind, self.sum()))
            self.need(",")
        self.need("<=")
        vertices = self.sum()
        self.need(")")
        return Graph(line, name, edges, vertices)

    def stmt_vertex(self, line):
        name = self.name()
        variables, options = self.signature()
        self.need("over")
        graph = self.name()
        down = bool(self.take("down"))
        return Vertex(line, name, variables, options, graph, down, self.block())

    def stmt_collect(self, line):
        return Collect(line, self.several(self.name))

    def signature(self):
        """( variables ; options ): the two lists."""
        self.need("(")
        variables, options = [], []
        self.variables, self.in_signature = set(), True
        if self.peek().text not in (";", ")"):
            variables = self.several(self.variable)
        if self.take(";"):
            options = self.several(self.option)
        self.need(")")
        self.in_signature = False
        return variables, options

    def option(self):
        is_input = self.peek().text == "input" and self.peek(1).kind == "name"
        if is_input:
            self.at += 1
        name, kind = self.name(), self.type()
        return name, self.expr() if self.take("=") else None, is_input, kind

    def stmt_fn(self, line):
        name = self.name()
        variables, options = self.signature()
        self.need("->")
        results = self.several(self.name)
        function = Function(line, name, variables, options, results, self.block())
        if self.take("grad"):
            self.need("(")
            function.grad_parameters = self.several(self.name)
            self.need(")")
            self.need("->")
            function.grad_results = self.several(self.name)
            function.grad_body = self.block()
        return function

    def stmt_optimizer(self, line):
        name = self.name()
        variables, options = self.signature()
        return Optimizer(line, name, variables, options, self.block())

    def stmt_output(self, line):
        entry = "forward"
        if self.peek().kind == "name" and self.peek(1).text == ":":
            entry = self.name()
            self.need(":")
        paths = self.several(self.path)
        updates = self.several(self.path) if self.take("update") else []
        return Output(line, entry, paths, updates)

    def stmt_train(self, line):
        entry = "step"
        if self.peek().kind == "name" and self.peek(1).text == ":":
            entry = self.name()
            self.need(":")
        loss, over, excepted = self.path(), None, None
        if self.take("over"):
            over = self.several(self.pattern)
        elif self.take("except"):
            excepted = self.several(self.pattern)
        self.need("using")
        using = self.path()
        return Train(line, entry, loss, over, excepted, using, self.args())

    def pattern(self):
        def part():
            return self.take("*").text if self.peek().text == "*" else self.name()
        parts = [part()]
        while self.take("."):
            parts.append(part())
        return tuple(parts)

    def define(self):
        line = self.line
        target = self.target()
        more = []
        while self.take(","):
            more.append(self.name())
        self.need("=")
        return Define(line, target, more, self.region_or_expr())

    def region_or_expr(self):
        token = self.peek()
        if token.kind == "name" and token.text in ("scan", "repeat"):
            return self.rounds()
        if token.kind == "name" and token.text == "while":
            return self.loop()
        if token.kind == "name" and token.text == "case":
            return self.case()
        return self.expr()

    def rounds(self):
        token = self.take("scan", "repeat")
        index = self.name()
        self.need("<")
        count = self.sum()
        down = bool(self.take("down"))
        carries = self.bindings() if self.take("from") else []
        return Repeat(token.line, token.text, index, count, carries, self.block(), down)

    def loop(self):
        line = self.need("while").line
        condition = self.expr()
        self.need("limit")
        limit = self.sum()
        self.need("from")
        return While(line, condition, limit, self.bindings(), self.block())

    def case(self):
        line = self.need("case").line
        value = self.expr()
        self.need("{")
        branches = []
        while True:
            while self.peek().kind == "end":
                self.at += 1
            if self.take("}"):
                return Case(line, value, branches)
            if self.take("else"):
                branches.append((None, self.block()))
                continue
            negative = self.take("-")
            label = self.expr_number()
            branches.append((-label if negative else label, self.block()))

    # ---- declarations

    def variable(self):
        line, name = self.line, self.name()
        axes = None
        if self.take("["):
            axes = self.several(self.axis)
            self.need("]")
        return Variable(line, name, axes, self.type())

    def axis(self):
        if self.take(".."):
            return DOTS
        named = self.peek().kind == "name" and self.peek(1).text in ("<", "<=")
        return self.range() if named else self.sum()

    def target(self):
        line, name = self.line, self.name()
        indices = None
        if self.take("["):
            indices = self.several(self.left_index)
            self.need("]")
        return Target(line, name, indices, self.type())

    def left_index(self):
        if self.take(".."):
            return Range(self.line, DOTS)
        index = self.range()
        if index.lower is not None:
            error(index.line, "an index on the left is a name, with a bound if it needs one")
        return index

    def type(self):
        if not self.take(":"):
            return None
        lower = None
        variable = self.type_variable()
        if variable:
            return variable
        if self.peek().text not in TYPES:  # -1 <= i32 < v
            lower = self.sum()
            if not self.take("<", "<="):
                error(self.line, f"expected a type, found '{self.peek().text}'")
        token = self.peek()
        if token.text not in TYPES:
            error(token.line, f"expected a type, found '{token.text}'")
        self.at += 1
        rel = self.take("<", "<=")
        upper = self.sum() if rel else None
        return Type(token.text, upper, bool(rel) and rel.text == "<=", lower)

    def type_variable(self):
        """real or wide(real), where a signature names real; None where something else stands here."""
        wide = self.peek().text == "wide" and self.peek(1).text == "("
        token = self.peek(2) if wide else self.peek()
        known = token.text in self.variables or self.in_signature and self.peek(1).text not in ("<", "<=")
        if token.kind != "name" or token.text in TYPES or not known:
            return None
        self.variables.add(token.text)
        self.at += 3 if wide else 1
        if wide:
            self.need(")")
        return Type(token.text, wide=wide)

    def path(self):
        names = [self.name()]
        while self.take("."):
            names.append(self.name())
        return tuple(names)

    # ---- ranges

    def range(self):
        """[sum rel] NAME [rel sum]; of two names the first is the index."""
        if self.take(".."):
            return Range(self.line, DOTS)
        line, first = self.line, self.sum()
        rel = self.take("<", "<=")
        if not rel:
            return Range(line, self._index(first))
        second = self.sum()
        closing = self.take("<", "<=")
        if closing:
            return Range(line, self._index(second), first, rel.text == "<", self.sum(), closing.text == "<=")
        if isinstance(first, Path) and len(first.names) == 1:
            return Range(line, first.names[0], None, False, second, rel.text == "<=")
        return Range(line, self._index(second), first, rel.text == "<")

    def _index(self, node):
        if not isinstance(node, Path) or len(node.names) != 1:
            error(node.line, "a reducer binds names, with bounds if they need them")
        return node.names[0]

    def ranges(self):
        self.need("[")
        ranges = self.several(self.range)
        where = self.expr() if self.take("where") else None
        self.need("]")
        return ranges, where

    # ---- expressions, from the loosest level to the tightest

    def expr(self):
        a = self.conj()
        while (token := self.take("or")):
            a = Binary(token.line, "or", a, self.conj())
        return a

    def conj(self):
        a = self.neg()
        while (token := self.take("and")):
            a = Binary(token.line, "and", a, self.neg())
        return a

    def reducer(self, kinds):
        token = self.peek()
        return token.kind == "name" and token.text in kinds and self.peek(1).text == "["

    def neg(self):
        token = self.peek()
        if self.take("not"):
            return Unary(token.line, "not", self.neg())
        if self.reducer(("any", "all")):
            self.at += 1
            ranges, where = self.ranges()
            return Reduce(token.line, token.text, ranges, where, self.neg())
        return self.cmp()

    def cmp(self):
        a = self.sum()
        token = self.take(*COMPARISONS)
        if not token:
            return a
        b = self.sum()
        if self.peek().kind == "sign" and self.peek().text in COMPARISONS:
            error(self.line, "comparisons do not chain")
        return Binary(token.line, token.text, a, b)

    def sum(self):
        a = self.term()
        while (token := self.take("+", "-")):
            a = Binary(token.line, token.text, a, self.term())
        return a

    def term(self):
        reduced = self.reduction()
        if reduced:
            return reduced
        a = self.factor()
        while (token := self.take("*", "/", "%")):
            reduced = self.reduction()
            a = Binary(token.line, token.text, a, reduced or self.factor())
            if reduced:
                return a
        return a

    def reduction(self):
        """{-} REDUCER ranges term, or None where something else stands here."""
        start, signs = self.at, 0
        while self.take("-"):
            signs += 1
        if not self.reducer(set(REDUCERS) - {"any", "all"}):
            self.at = start
            return None
        token = self.peek()
        self.at += 1
        ranges, where = self.ranges()
        node = Reduce(token.line, token.text, ranges, where, self.term())
        for _ in range(signs):
            node = Unary(token.line, "-", node)
        return node

    def factor(self):
        token = self.take("-")
        if token:
            return Unary(token.line, "-", self.factor())
        a = self.atom()
        token = self.take("^")
        return Binary(token.line, "^", a, self.factor()) if token else a

    def atom(self):
        token = self.peek()
        if token.kind == "number":
            self.at += 1
            whole = token.text.isdigit()
            return Number(token.line, int(token.text) if whole else float(token.text))
        if self.take("("):
            return self.parenthesis(token.line)
        if token.kind == "name" and token.text in ("true", "false", "inf", "nan", "pi"):
            self.at += 1
            values = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793}
            return Number(token.line, values[token.text])
        node = Path(token.line, self.path())
        if self.peek().text == "(" and self.peek().kind == "sign":
            node = Call(token.line, node.names, self.args())
        if self.peek().text == "[" and self.peek().kind == "sign":
            self.at += 1
            subscripts = self.several(lambda: DOTS if self.take("..") else self.expr())
            self.need("]")
            node = Read(token.line, node, subscripts)
        return node

    def parenthesis(self, line):
        node = self.expr()
        if self.take("else"):
            node = Else(line, node, self.expr())
        self.need(")")
        return node

    def args(self):
        self.need("(")
        result = []
        if not self.take(")"):
            result = self.several(self.argument)
            self.need(")")
        return result

    def argument(self):
        if self.peek().kind == "name" and self.peek(1).text == "=":
            name = self.name()
            self.need("=")
            return name, self.expr()
        return None, self.expr()
