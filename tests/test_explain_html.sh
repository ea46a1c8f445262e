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

# For a GPU; and a file that cannot be written.
expect 0 "for a GPU" "$NEOC" explain odd.expr --target=nvptx:sm_90a --html=gpu.html
"$NEOC" explain odd.expr --target=nvptx:sm_90a --groups >groups
python3 page.py gpu.html groups odd.expr || fail "the page for a GPU"
expect 3 "no such folder" "$NEOC" explain odd.expr --html=nowhere/page.html
says err 'nowhere/page.html' "the file that cannot be written"
exit $status
