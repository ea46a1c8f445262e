"""Counts the copies of carries among the kernels of a model, which `neoc explain --kernels` prints: statements that store an
element of one tensor, as it is, as one of another. Results of the entry (`.out`, `.grad`) are made once, after the loops. What a kernel
packs into its own scratch is no tensor."""
import re
import sys

tensors, copies = set(), 0
for line in sys.stdin:
    if line.startswith("kernel "):
        tensors = set(re.findall(r"([\w.]+): \w+ (?:read|write)", line))
        continue
    m = re.match(r"\s+([\w.]+)\[.*?\] = ([\w.]+)\[[^\[\]]*\]( if .*)?$", line)
    if m and {m[1], m[2]} <= tensors and not m[1].endswith((".out", ".grad")):
        copies += 1
        print(line.strip(), file=sys.stderr)
print(copies)
