"""Commands of a page: readme.py PAGE.md

A block ```expr whose first line is `# NAME.expr...` is written to that file. In a block ```console, lines that begin with `$ `
are run by sh in the current folder, one after the other, and must succeed, or fail where what follows is an error; each line
that follows stands in what the command writes, but for `...`. Numbers agree to 1 per cent, those after `loss` to a factor of 2,
and sizes of differences and speeds are not compared. Prints what is not so; the exit code is then 1.
"""
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PASSING = re.compile(r"(difference|,) \d[\d.e+-]*( samples/s)?$")  # what another machine has otherwise


def commands(text):
    """(command, lines that it writes) of a block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() != "...":
            found[-1][1].append(line)
    return found


def agree(shown, told):
    """Is it the same line?"""
    shown, told = PASSING.sub(r"\1", shown.rstrip()), PASSING.sub(r"\1", told.rstrip())
    if NUMBER.sub("0", shown) != NUMBER.sub("0", told):
        return False
    most = 2.0 if "loss 0" in NUMBER.sub("0", shown) else 1.01
    return all(near(float(a), float(b), most if "." in a else 1.0)
               for a, b in zip(NUMBER.findall(shown), NUMBER.findall(told)))


def near(a, b, most):
    return a == b or (a * b > 0 and max(a / b, b / a) <= most)


def run(command, shown):
    """The mistakes in the page."""
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = done.stdout.splitlines()
    fails = any(" error[" in line for line in shown)
    if (done.returncode != 0) != fails:
        return [f"$ {command}: exit code {done.returncode}", *told]
    wrong = [f"  {line}" for line in shown if not any(agree(line, t) for t in told)]
    return [f"$ {command}: does not write", *wrong, "but", *told] if wrong else []


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    wrong, count = [], 0
    for kind, body in BLOCK.findall(text):
        name = re.match(r"# ([\w.]+\.expr)\b", body)
        if kind == "expr" and name:
            with open(name[1], "w", encoding="utf-8") as file:
                file.write(body)
        for command, shown in commands(body) if kind == "console" else []:
            count += 1
            wrong += run(command, shown)
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong) or not count


if __name__ == "__main__":
    sys.exit(main())
