#!/bin/sh
# Tables as data: columns by name and number, separators, quotes, missing values, exact integers, names of
# classes. Python's csv module says what a file holds.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >make.py <<'EOF'
import csv, random
random.seed(7)
rows = [[random.gauss(0, 1) for _ in range(4)] for _ in range(90)]
kinds = ['setosa', 'versi, color', 'virgin"ica']
named = [r + [kinds[max(range(3), key=lambda k: r[k])]] for r in rows]
def put(path, head, data, end='\n', **how):
  with open(path, 'w', newline='', encoding='utf-8') as f:
    w = csv.writer(f, lineterminator=end, **how)
    if head: w.writerow(head)
    w.writerows(data)
head = ['a', 'b', 'c', 'd+e', 'kind']
put('iris.csv', head, named)
put('quoted.csv', head, named, end='\r\n', quoting=csv.QUOTE_ALL)
put('semi.csv', head, named, delimiter=';')
put('tab.tsv', head, named, delimiter='\t')
put('bare.csv', None, named)
put('shuffled.csv', head, sorted(named, key=lambda r: r[2]))
put('numbers.csv', head, [r[:4] + [kinds.index(r[4])] for r in named])
open('bom.csv', 'wb').write(b'\xef\xbb\xbf' + open('iris.csv', 'rb').read() + b'\n\n')
put('big.csv', ['id'], [[2**63 - 1], [-2**63], [2**53 + 1], [0]])
put('four.csv', head, [r[:4] + (['zebra'] if k == 40 else r[4:]) for k, r in enumerate(named)])
put('lines.csv', ['x', 'text'], [[1, 'two\nlines'], [2, 'a""b']])
EOF
python3 make.py

# ---- values are those that Python reads, whatever the separator and quotes
cat >id.expr <<'EOF'
dim B <= 200
input X[B, 4]
Y[b, i] = X[b, i]
output Y
EOF
cat >same.py <<'EOF'
import csv, json, struct, sys
got = json.load(open('out'))['outputs']['Y']['values']
rows = list(csv.reader(open('iris.csv', newline='')))[1:]
f32 = lambda x: struct.unpack('f', struct.pack('f', float(x)))[0]
want = [f32(v) for r in rows for v in r[:4]]
flat = lambda x: [z for y in x for z in flat(y)] if isinstance(x, list) else [x]
assert [f32(v) for v in flat(got)] == want
EOF
for file in iris.csv:a..4 iris.csv:1..4 iris.csv:-kind quoted.csv:a+b+c+4 semi.csv:-5 tab.tsv:a+2..4 bare.csv:1..4 bom.csv:1..4 \
  iris.csv:header:sep=comma:1..3+4; do
  expect 0 "$file" "$NEOC" run id.expr "X=@$file" --format=json
  python3 same.py || fail "$file has other values than Python reads"
done

# ---- integers of 64 bits are exact, and a column is a vector
cat >ids.expr <<'EOF'
dim 0 <= B <= 200
input X[B] : i64
Y[b] = X[b]
output Y
EOF
expect 0 "large integers" "$NEOC" run ids.expr X=@big.csv --format=json
python3 -c 'import json; assert json.load(open("out"))["outputs"]["Y"]["values"] == [2**63-1, -2**63, 2**53+1, 0]' ||
  fail "integers of 64 bits are rounded" out
expect 0 "a field of two lines" "$NEOC" run ids.expr X=@lines.csv:x --format=json
says out '\[1, 2\]' "a field of two lines"

# ---- what is wrong is said by line and column
bad() { # TEXT COLUMNS PATTERN
  printf "$1" >bad.csv
  expect 1 "$3" "$NEOC" run ids.expr "X=@bad.csv$2"
  says err "$3" "a bad table"
}
bad 'x,y\n1,2\n3\n' ':x' 'bad.csv:3: 1 field, but line 1 has 2'
bad 'x,y\n1,2\n,4\n' ':x' 'bad.csv:3: column 1 (x): the value is missing (:fill=0'
bad 'x,y\n1,2\nNA,4\n' ':1' 'bad.csv:3: column 1 (x): the value is missing'
bad 'x\n1\n\n3\n' '' 'bad.csv:3: column 1 (x): the value is missing'
bad 'x,y\n1,2\n1.5,4\n' ':x' "bad.csv:3: column 1 (x): '1.5' is no integer"
bad 'x,y\n1,2\n9223372036854775808,4\n' ':x' "'9223372036854775808' is no integer"
bad 'x,y\n1,2\n0x10,4\n' ':x' "'0x10' is no integer"
bad 'x;y\n1;2\n1,5;2\n' ':x' "'1,5' is no integer (a decimal point is '.')"
bad 'x,y\n1,2\n"3,4\n' ':x' 'bad.csv:.: a quote is not closed'
bad 'x,y\n1,2\n"3"z,4\n' ':x' 'bad.csv:3: text after a closing quote'
bad 'x,y\n1,2\n' ':z' "no column 'z' in bad.csv, which has 2; it has: x, y"
bad '1,2\n' ':x' "no column 'x' in bad.csv, which has 2, whose first line has no names"
bad 'x,y\n1,2\n' ':0' "no column '0'"
bad 'x,y\n1,2\n' ':3' "no column '3'"
bad 'x,x\n1,2\n' ':x' "columns 1 and 2 of bad.csv are both called 'x'"
bad 'x,y\n1,2\n' ':y..x' 'column 2 stands after column 1'
bad 'x,y\nred,blue\n' ':x' 'is this line names of columns or a row? Say :header or :no-header'
bad 'x,y\nred,2\n' ':x' "'red' is no number; names of classes are numbered by .neoc train. alone"
bad '' '' 'bad.csv is empty'
expect 2 "an unknown option" "$NEOC" run ids.expr X=@big.csv:id:skip
says err "'skip' is none of header, no-header" "an unknown option"
printf '2019,2020\n1,2\n' >years.csv
expect 0 "a header of numbers" "$NEOC" run ids.expr X=@years.csv:2020:header --format=json
says out '\[2\]' "a header of numbers"
printf 'x,y\n1,2\n,4\n' >gap.csv
expect 0 "a value for missing ones" "$NEOC" run ids.expr X=@gap.csv:x:fill=-7 --format=json
says out '\[1, -7\]' "a value for missing ones"
printf 'x\n' >none.csv
expect 0 "a table without rows" "$NEOC" run ids.expr X=@none.csv:header --format=json

# ---- training: the same numbers as from integers, names are kept
cat >model.expr <<'EOF'
import nn, optim
dim B <= 32
input X[B, 4]
input Y[B] : i32 < 3
L = nn.linear(X, out = 3)
loss = nn.cross_entropy(L, Y)
output L
output test: loss
train loss using optim.adam(lr = 1e-2)
EOF
train="$NEOC train model.expr --epochs 3 --format=json"
losses() { sed 's/, "samples_per_s".*//' out; }
expect 0 "numbers" $train --data X=numbers.csv:1..4,Y=numbers.csv:kind
numbers=$(losses)
for file in iris quoted bare; do
  expect 0 "names of $file.csv" $train --data X=$file.csv:1..4,Y=$file.csv:5 --save $file.st
  [ "$numbers" = "$(losses)" ] || fail "names of $file.csv train otherwise than their numbers" out
done
expect 0 "names" $train --data X=iris.csv:1..4,Y=iris.csv:kind --test X=shuffled.csv:1..4,Y=shuffled.csv:kind --save names.st
says err 'Y: 90 rows of 1 column of iris.csv, whose first line has their names; 3 classes: 0 setosa, 1 versi, color, 2 virgin"ica' names
cp names.st kept.st
expect 0 "resuming" $train --data X=iris.csv:1..4,Y=iris.csv:kind --save names.st --resume --epochs 4
python3 - <<'EOF' || fail "the checkpoint does not tell the classes"
import json, struct
b = open('names.st', 'rb').read()
meta = json.loads(b[8:8 + struct.unpack('<Q', b[:8])[0]])['__metadata__']
assert json.loads(meta['classes.Y']) == ['setosa', 'versi, color', 'virgin"ica'], meta
EOF
sed 's/setosa/rosa/' iris.csv >other.csv
expect 1 "resuming with other names" $train --data X=iris.csv:1..4,Y=other.csv:kind --save names.st --resume --epochs 5
says err 'was made with the classes \["setosa", .* of Y, not \["rosa"' "resuming with other names"
expect 1 "a name that the training lacks" $train --data X=iris.csv:1..4,Y=iris.csv:kind --test X=iris.csv:1..4,Y=other.csv:kind
says err "Y: other.csv:[0-9]*: column 5 (kind): 'rosa' is none of the training's classes" "a name that the training lacks"
sed '9s/[0-9]*.$/x/' numbers.csv >typo.csv
expect 1 "a slip among numbers" $train --data X=iris.csv:1..4,Y=typo.csv:5
says err "Y: typo.csv:9: column 5 (kind): 'x' is no integer" "a slip among numbers"
sed '9s/,[^,]*$/,3/; 9s/,"[^"]*,3/,3/' iris.csv >mixed.csv
expect 1 "a number among names" $train --data X=iris.csv:1..4,Y=mixed.csv:kind
says err "mixed.csv:9: column 5 (kind): '3' is a number, but there are names before it" "a number among names"
expect 1 "more classes than the bound" $train --data X=iris.csv:1..4,Y=four.csv:kind
says err 'value 3 is not in \[0, 3) (model.expr:4:7)' "more classes than the bound"

# ---- a column as a sequence
cat >next.expr <<'EOF'
import optim
dim B <= 8
input X[B, 4]
input Y[B]
param w[4] = 0
loss = mean[b] (Y[b] - sum[i] w[i]*X[b, i])^2
train loss using optim.sgd(lr = 0.01)
EOF
expect 0 "windows of a column" "$NEOC" train next.expr --data X=iris.csv:b:crop,Y=iris.csv:b:crop+4

exit $status
