#!/usr/bin/env python3
"""Does what a page of documentation shows: page.py PAGE.md, in an empty folder.

In the page's order, a block

    ```LANGUAGE NAME        is written to the file NAME (a name with a point),
    ```console              is run: `$ command`, lines that end with \\ go on, then all that it prints,
    ```console fails        the same, and its last command fails,
    ```LANGUAGE fragment    is looked at by nobody.

Any other block is an error. A line `...` in what is printed stands for any number of lines, `...` within a line
for any text. Commands run in a shell each, one after another; what they write to stderr is compared too.
"""
import os
import re
import subprocess
import sys

LIMIT_S = 120  # of one command


def blocks(text):
    """(line, info, body) of each fenced block."""
    start, info, body = 0, "", []
    for number, line in enumerate(text.split("\n"), 1):
        if not start and line.startswith("```"):
            start, info, body = number, line[3:].strip(), []
        elif start and line == "```":
            yield start, info, body
            start = 0
        elif start:
            body.append(line)
    if start:
        raise ValueError(f"line {start}: the block does not end")


def commands(start, body):
    """(line, command, lines that it prints) of a block's body."""
    found = []
    for number, line in enumerate(body, start + 1):
        if found and found[-1][1].endswith("\\"):
            found[-1][1] += "\n" + line
        elif line.startswith("$ "):
            found.append([number, line[2:], []])
        elif found:
            found[-1][2].append(line)
        else:
            raise ValueError(f"line {number}: the block does not begin with a command")
    return found


def pattern(lines):
    """The pattern of the lines that a command prints."""
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n")
    return "".join(parts)


def run(line, command, lines, fails):
    try:
        p = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"line {line}: {command}: more than {LIMIT_S} seconds"
    text = "".join(part.rstrip() + "\n" for part in p.stdout.decode("utf-8", "replace").splitlines())
    if (p.returncode != 0) != fails:
        return f"line {line}: {command}: exit code {p.returncode}\n{text}"
    if not re.fullmatch(pattern(lines), text):
        return f"line {line}: {command}: the page shows\n" + "\n".join(lines) + f"\nbut it prints\n{text}"
    return None


def do(start, info, body):
    words = info.split()
    if words[:1] == ["console"] and words[1:] in ([], ["fails"]):
        found = commands(start, body)
        for at, (line, command, lines) in enumerate(found):
            error = run(line, command, lines, words[1:] == ["fails"] and at == len(found) - 1)
            if error:
                return error
    elif len(words) == 2 and re.fullmatch(r"\w[\w/-]*\.\w+", words[1]):
        with open(words[1], "w", encoding="utf-8") as f:
            f.write("\n".join(body) + "\n")
    elif words[1:] != ["fragment"]:
        return f"line {start}: a block is neither a file, nor run, nor a fragment"
    return None


def main():
    if len(sys.argv) != 2 or os.listdir("."):
        sys.exit("usage: page.py PAGE.md, in an empty folder")
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    try:
        for start, info, body in blocks(text):
            error = do(start, info, body)
            if error:
                sys.exit(f"{sys.argv[1]}: {error}")
    except ValueError as e:
        sys.exit(f"{sys.argv[1]}: {e}")


main()
