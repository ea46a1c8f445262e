#!/bin/sh
# `neoc explain --html`: the page is well-formed and complete in itself, has a section for each
# group and kernel that `explain --groups` lists, with the lines that it comes from, and names every
# tensor of the planned memory once at its offset; text is escaped, and bytes are reproducible.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >"$work/odd.expr" <<'END'
# A <b>bold</b> model & its "quotes": a < b && c > d, ]]> and &amp;
import optim
dim B <= 8
input X[B, 5]
input Y[B, 3]
param W[5, 3] = 0.5  # <script>alert(1)</script>
H[b, c] = sum[i] X[b, i] * W[i, c]
Z[b, c] = exp(select(H[b, c] < 0 and H[b, c] > -1, H[b, c], 0.1*H[b, c]))
loss = mean[b, c] (Z[b, c] - Y[b, c])^2
output Z
train loss using optim.sgd(lr = 0.1)
END

cat >"$work/page.py" <<'END'
import re, sys
import xml.etree.ElementTree as tree

page, groups, source = (open(name, encoding="utf-8").read() for name in sys.argv[1:4])
root = tree.fromstring(page)
ns = "{http://www.w3.org/1999/xhtml}"
svg = "{http://www.w3.org/2000/svg}"

ids = [x.get("id") for x in root.iter() if x.get("id")]
assert len(ids) == len(set(ids)), "an id occurs twice"
for x in root.iter():
    assert x.tag not in (ns + "link", ns + "img", ns + "iframe", ns + "base"), x.tag
    assert x.get("src") is None, x.tag
    href = x.get("href")
    assert href is None or (href[0] == "#" and href[1:] in ids), href
for text in (x.text or "" for x in root.iter() if x.tag in (ns + "style", ns + "script")):
    assert "url(" not in text and "import" not in text and "http" not in text
assert set(re.findall(r'https?://[^"]*', page)) <= {"http://www.w3.org/1999/xhtml",
                                                    "http://www.w3.org/2000/svg"}

sections = {x.get("id"): x for x in root.iter(ns + "section")}
listed = re.findall(r"^group (\d+) (\S+): kernel (\d+)", groups, re.M)
assert listed
for group, name, kernel in listed:
    text = "".join(sections["g" + group].itertext())
    assert name in text and "kernel " + kernel in text, group
    members = re.search(r"^group %s .*\n((?:  (?:memory|inline|registers) .*\n)*)" % group, groups,
                        re.M).group(1)
    for place, tensor in re.findall(r"(\w+) +(\S+)", members):
        assert tensor in text and place in text, (group, tensor)
    loops = "".join(sections["k" + kernel].itertext())
    assert "neo-loop 2" in loops and name in loops, kernel
for kind, verbs in ("made", "join|inline|prologue|nested|cache"), ("rejected", "reject"):
    decided = set(re.findall(r"^(?:%s) .*" % verbs, groups, re.M))
    told = {"".join(x.itertext()) for x in root.iter(ns + "li") if x.get("class") == kind}
    assert decided == told, (kind, decided ^ told)

lines = [x for x in root.iter(ns + "span") if x.get("class") == "line"
         and x.get("id").startswith("f0-")]
shown = ["".join(x.find(ns + "code").itertext()) for x in lines]
assert shown == source.split("\n")[:-1]
for x, text in zip(lines, shown):  # a definition, or a call of a function of the library
    assert x.get("data-g") or "= repeat" in text or not re.match(r"(\w+(\[.*\])? =|loss =|train) ", text), text

pictures = [x for x in root.iter(svg + "svg")]
assert pictures
for picture in pictures:
    titles = [x.text for x in picture.iter(svg + "title")]
    texts = [x.text for x in picture.iter(svg + "text")]
    peak = next(int(t.split("(")[1].split()[0]) for t in texts if t.startswith("planned peak"))
    bound = next(int(t.split("(")[1].split()[0]) for t in texts if t.startswith("lower bound"))
    life = [re.search(r"\((\d+) bytes\), at (\d+) to (\d+), steps (\d+) to (\d+)$", t)
            for t in titles]
    life = [[int(n) for n in x.groups()] for x in life if x]
    assert all(hi - lo == size for size, lo, hi, _, _ in life)
    for i, a in enumerate(life):
        assert a[2] <= peak
        for b in life[:i]:
            assert a[4] < b[3] or b[4] < a[3] or a[2] <= b[1] or b[2] <= a[1], (a, b)
    steps = max([x[4] for x in life], default=0) + 1
    alive = [sum(x[0] for x in life if x[3] <= k <= x[4]) for k in range(steps)]
    assert max(alive) == bound <= peak, (max(alive), bound, peak)
print(f"{len(listed)} groups, {len(pictures)} pictures, {len(page)} bytes")
END

cp "$NEO_SOURCE_DIR/models/mnist/mlp.expr" "$NEO_SOURCE_DIR/models/mnist/cnn.expr" "$work"
cp "$NEO_SOURCE_DIR/models/zoo/capsulenet.expr" "$NEO_SOURCE_DIR/models/zoo/capsules.expr" "$work"
for name in odd mlp cnn capsulenet; do
  expect 0 "explain $name" "$NEOC" explain "$name.expr" --html="$name.html"
  [ ! -s out ] || fail "$name: --html alone prints nothing" out
  "$NEOC" explain "$name.expr" --groups >groups
  python3 page.py "$name.html" groups "$name.expr" || fail "$name: its page"
done

# The same bytes from another folder.
mkdir elsewhere
cp odd.expr elsewhere
(cd elsewhere && "$NEOC" explain odd.expr --groups --html=again.html >text)
cmp odd.html elsewhere/again.html || fail "a page of other bytes"
says elsewhere/text '^group 0 ' "the text that was asked for besides"
says odd.html 'A &lt;b&gt;bold&lt;/b&gt; model &amp; its &quot;quotes&quot;' "the comment, escaped"
if grep -q 'alert(1)</script>' odd.html; then fail "a comment became an element"; fi

# Recurrences: each step of a loop by its own kernel's name, one price for the group.
cat >"$work/recurrence.expr" <<'END'
import nn, optim
dim B <= 8
dim T <= 50
input X[B, T, 12]
input Y[B] : i32 < 5
y, h, c = nn.lstm(X, hidden = 16)
L = nn.linear(h[0, ..], out = 5)
loss = nn.cross_entropy(L, Y)
output L
train loss using optim.sgd(lr = 0.1)
END
cat >"$work/steps.py" <<'END'
import json, re, sys
import xml.etree.ElementTree as tree

page, trace = tree.parse(sys.argv[1]).getroot(), sys.argv[2:3]
ns = "{http://www.w3.org/1999/xhtml}"
scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def seconds(text):
    number, unit = text.split()
    return float(number) * scale[unit]


entry = next(x for x in page.iter(ns + "section") if x.get("id") == "entry-step")
rows = [["".join(c.itertext()).strip() for c in r.iter(ns + "td")] for r in entry.iter(ns + "tr")]
rows = {int(r[0]): r for r in rows if r}
names = [r[1].replace(" cached", "") for r in rows.values()]
loops = [n for n in names if n.startswith("for ")]
kernels = [n for n in names if not n.startswith(("for ", "if", "copy"))]
assert len(set(kernels)) > 0.6 * len(kernels), names
priced = [seconds(r[7]) for r in rows.values() if len(r) > 7 and r[7]]
assert all(s > 0 for s in priced)
if not trace:  # every group once, none for nothing
    assert all(r[4] or not r[7] for r in rows.values() if len(r) > 7)
    assert any(r[1] in loops and r[7] for r in rows.values()) or len(priced) > len(loops)
    sys.exit()
busy = {}
for e in json.load(open(trace[0]))["traceEvents"]:
    if e["ph"] == "X" and e["cat"] == "kernel":
        step, us = e["args"]["step"], e["args"].get("busy", e["dur"])
        busy[step] = max(busy.get(step, 0), 1e-6 * us)
largest = sorted(busy, key=busy.get)[-5:]
for step in largest:
    told = seconds(rows[step][7])
    assert abs(told - busy[step]) <= 0.006 * busy[step], (step, told, busy[step])
total = sum(busy.values())
tile = next(t for t in entry.iter(ns + "div") if t.get("class") == "tile"
            and "measured in kernels" in "".join(t.itertext()))
assert abs(seconds(tile.find(ns + "b").text) - total) <= 0.006 * total
END
expect 0 "a recurrence" "$NEOC" explain recurrence.expr --html=recurrence.html
"$NEOC" explain recurrence.expr --groups >groups
python3 page.py recurrence.html groups recurrence.expr || fail "the page of a recurrence"
python3 steps.py recurrence.html || fail "the steps of a recurrence"
for name in tree_lstm gotoh seq2seq; do
  expect 0 "explain $name" "$NEOC" explain "$NEO_SOURCE_DIR/models/zoo/$name.expr" --html="$name.html"
  python3 steps.py "$name.html" || fail "$name: its steps"
done

# A sum by keys is priced by its terms, which are read once, not by the pairs of keys and rows.
cat >"$work/keyed.expr" <<'END'
dim V <= 4096
dim E <= 16384
input H[V, 32]
input to[E] : i32 < V
A[v < V, j] = sum[e where to[e] == v] H[v, j]
output A
END
expect 0 "a sum by keys" "$NEOC" explain keyed.expr --html=keyed.html
python3 - keyed.html <<'END' || fail "the price of a sum by keys"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
table = text[text.index("<table"):text.index("</table>")]
row = re.sub("<[^>]*>", " ", table.split("<tr")[2])
n, letter = re.search(r"iB\s+([\d.]+) ([KMG])", row).groups()
assert 5e5 < float(n) * {"K": 1e3, "M": 1e6, "G": 1e9}[letter] < 1e7, row  # pairs would be 2e9
END

# So is a sum over the list of a vertex's parents, backward through levels: the whole takes a few times what it takes forward.
python3 - tree_lstm.html <<'END' || fail "the prices of sums over lists of parents"
import re, sys
text = re.sub("<[^>]*>", " ", open(sys.argv[1], encoding="utf-8").read())
unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
price = {name: float(n)*unit[u] for name, n, u in re.findall(r"step \d+, (\w+): ([\d.]+) ([num]?s),", text)}
assert price["by_level_d_h_h"] < 5*price["by_level_h_i"], price
END

# The times of a trace in place of the model's.
expect 0 "a trace" "$NEOC" run recurrence.expr --entry=step 'X=random:1:[4,30,12]' 'Y=random:2:[4]' --trace=trace.json
expect 0 "its page" "$NEOC" explain recurrence.expr --html=traced.html --trace=trace.json
python3 steps.py traced.html trace.json || fail "the page has other times than the trace"
expect 1 "a trace of another model" "$NEOC" explain odd.expr --html=traced.html --trace=trace.json
says err "trace.json: is of another compile" "a trace of another model"
echo '{' >broken.json
expect 1 "no trace" "$NEOC" explain odd.expr --html=traced.html --trace=broken.json
expect 3 "no file" "$NEOC" explain odd.expr --html=traced.html --trace=none.json
expect 2 "no page" "$NEOC" explain odd.expr --trace=trace.json

# The network of a training entry: a box for each node, a line for each edge, as the text has them.
cat >network.py <<'END'
import re, sys
import xml.etree.ElementTree as tree

page, text = (open(name, encoding="utf-8").read() for name in sys.argv[1:3])
svg = "{http://www.w3.org/2000/svg}"
picture, = [x for x in tree.fromstring(page).iter(svg + "svg") if x.get("class") == "network"]
nodes = re.findall(r"^node (\d+) (\w+)", text, re.M)
edges = re.findall(r"^edge (\d+) -> (\d+) .*?( gradient)?$", text, re.M)
boxes = {x.text.split()[0]: (x, x.text) for x in picture.iter(svg + "text") if "name" in x.get("class")}
assert len(nodes) == len(boxes) == len(list(picture.iter(svg + "rect"))), (nodes, boxes)
for number, kind in nodes:
    assert kind in boxes[number][1], (number, kind)
titles = [x.find(svg + "title").text for x in picture.iter(svg + "g") if x.find(svg + "path") is not None]
lines = [x.get("class") for x in picture.iter(svg + "path")]
assert len(edges) == len(lines) and len(set(titles)) == len(titles), (edges, titles)
for k, (start, end, gradient) in enumerate(edges):
    assert titles[k].startswith(f"edge {k}: {start} -> {end}: ") and ("empty" in lines[k]) == (not gradient), titles[k]
    assert float(boxes[start][0].get("y")) < float(boxes[end][0].get("y")), (start, end)
corners = [(float(x.get("x")), float(x.get("y"))) for x in picture.iter(svg + "rect")]
assert len(set(corners)) == len(corners), "two boxes in one place"
END
for name in mlp recurrence odd; do
  expect 0 "the network of $name" "$NEOC" explain "$name.expr" --network --html=network.html
  cp out text
  python3 network.py network.html text || fail "the picture of the network of $name"
done

# For a GPU; and a file that cannot be written.
expect 0 "for a GPU" "$NEOC" explain odd.expr --target=nvptx:sm_90a --html=gpu.html
"$NEOC" explain odd.expr --target=nvptx:sm_90a --groups >groups
python3 page.py gpu.html groups odd.expr || fail "the page for a GPU"
expect 3 "no such folder" "$NEOC" explain odd.expr --html=nowhere/page.html
says err 'nowhere/page.html' "the file that cannot be written"
exit $status
