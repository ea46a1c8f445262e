"""PTX as text: kernels, their directives and their instructions.

    .visible .entry name(.param ...)  .maxntid 384  { ... }

A statement ends with a semicolon; braces at a statement's begin are a scope, whose registers and labels are its own (inline
assembly has `p` and `again:` more than once). An instruction is (line, guard, opcode, operands): operands are texts, a vector of
registers is a tuple of texts, an address is ("[", base, offset)."""
import re


class PtxError(Exception):
    """A construct that is not understood: line and reason."""

    def __init__(self, line, why):
        super().__init__(why)
        self.line, self.why = line, why


class Instruction:
    __slots__ = ("line", "guard", "negated", "op", "args", "parts", "number")

    def __init__(self, line, guard, negated, op, args):
        self.line, self.guard, self.negated, self.op, self.args = line, guard, negated, op, args
        self.parts = op.split(".")
        self.number = -1


class Kernel:
    def __init__(self, name, line):
        self.name, self.line = name, line
        self.params = {}      # name -> "pointer", "word", "map"
        self.directives = {}  # "maxntid" -> 384
        self.code = []        # instructions
        self.labels = {}      # name -> number of the instruction behind


ADDRESS = re.compile(r"\[\s*([^\]+\s,]+)\s*(?:\+\s*(-?\d+))?\s*\]$")
GUARD = re.compile(r"@(!?)(\S+)\s+")
LABEL = re.compile(r"([$\w]+):")
ENTRY = re.compile(r"\.entry\s+([$\w]+)")
PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(\s+\.ptr[^,\)]*?)?\s+([$\w]+)(\[\d+\])?\s*$")


def operands_of(text):
    """Splits at commas outside of braces and brackets."""
    depth, start, out = 0, 0, []
    for i, c in enumerate(text):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and not depth:
            out.append(text[start:i].strip())
            start = i + 1
    rest = text[start:].strip()
    return out + [rest] if rest else out


def operand(text, local):
    if text.startswith("{"):
        return tuple(local.get(x.strip(), x.strip()) for x in text[1:-1].split(","))
    if text.startswith("["):
        found = ADDRESS.match(text)
        if found:
            return ("[", local.get(found.group(1), found.group(1)), int(found.group(2) or 0))
        return ("[[",) + tuple(operand(x, local) for x in operands_of(text[1:-1]))
    return local.get(text, text)


class Reader:
    def __init__(self, path, text):
        self.path, self.kernels, self.shared = path, [], {}
        self.kernel, self.local, self.scopes = None, {}, 0
        self.read(text)

    def read(self, text):
        held, first, header = "", 0, None
        for line, raw in enumerate(text.split("\n"), 1):
            at = raw.find("//")
            if at >= 0:
                raw = raw[:at]
            raw = raw.strip()
            if not raw:
                continue
            if self.kernel is None or header is not None:
                header = self.outside(raw, line, header)
                continue
            if held:
                held += " " + raw
            else:
                held, first = raw, line
            held = self.statements(held, first)

    def outside(self, raw, line, header):
        """Handles a line before a kernel's body; `header`: text of its declaration so far."""
        found = ENTRY.search(raw)
        if found:
            self.kernel, header = Kernel(found.group(1), line), ""
        if header is None:
            shared = re.match(r"\.(?:extern )?\s*\.?shared .*?([$\w]+)\[(\d*)\]", raw)
            if shared:
                self.shared[shared.group(1)] = int(shared.group(2) or 0)
            return None
        if raw != "{" and not raw.endswith("{"):
            return header + " " + raw
        self.head(header + " " + raw)
        self.depth = 0
        return None

    def head(self, text):
        inside = text[text.find("(") + 1:text.rfind(")")] if "(" in text else ""
        for part in inside.split(",") if inside.strip() else []:
            found = PARAM.match(part.strip())
            if not found:
                raise PtxError(self.kernel.line, "parameter '%s'" % part.strip())
            kind = "map" if found.group(4) else "pointer" if found.group(2) else "word"
            self.kernel.params[found.group(3)] = kind
        for name, value in re.findall(r"\.(maxntid|reqntid|maxnreg|minnctapersm)\s+(\d+)", text):
            self.kernel.directives[name] = int(value)

    def statements(self, held, line):
        """Parses the whole statements of the text; returns the rest."""
        while held:
            if held[0] == "{":
                self.scopes += 1
                self.depth += 1
                self.local = {}
                held = held[1:].lstrip()
                continue
            if held[0] == "}":
                held = self.close(held[1:].lstrip())
                if self.kernel is None:
                    return ""
                continue
            found = LABEL.match(held)
            if found and not held.startswith("::", found.end() - 1):
                name = found.group(1)
                self.kernel.labels[self.own(name) if self.depth else name] = len(self.kernel.code)
                held = held[found.end():].lstrip()
                continue
            at = held.find(";")
            if at < 0:
                return held
            if at:
                self.statement(held[:at].strip(), line)
            held = held[at + 1:].lstrip()
        return ""

    def own(self, name):
        return "%d.%s" % (self.scopes, name)

    def close(self, rest):
        self.local = {}
        if self.depth:
            self.depth -= 1
            return rest
        for i, x in enumerate(self.kernel.code):
            x.number = i
        self.kernels.append(self.kernel)
        self.kernel = None
        return rest

    def statement(self, text, line):
        if text.startswith("."):
            declared = re.match(r"\.reg\s+\.\w+\s+(.*)", text)
            if declared and self.depth:
                for name in declared.group(1).split(","):
                    self.local[name.strip()] = self.own(name.strip())
            return
        guard, negated = None, False
        found = GUARD.match(text)
        if found:
            negated, guard = bool(found.group(1)), self.local.get(found.group(2), found.group(2))
            text = text[found.end():]
        op, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        op, rest = (op + " " + rest).split(None, 1) if rest else (op.strip(), "")
        args = [operand(x, self.local) for x in operands_of(rest.strip())]
        if op.startswith("bra") and self.depth:
            args = [self.own(args[0])]
        self.kernel.code.append(Instruction(line, guard, negated, op, args))
