#!/bin/sh
# A while in a vertex function ends when it has ended for all vertices of a level: its values are the interpreter's, whatever
# the graph, and the same for any limit that it does not reach; neither time nor memory follows the limit.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >compare.py <<'P'
# compare.py A B [exact]: the arrays of two files are equal.
import struct, sys, zipfile
def floats(name):
    z = zipfile.ZipFile(name)
    data = [z.read(n) for n in sorted(z.namelist())]
    code = ["d" if b"<f8" in d[:128] else "i" if b"<i4" in d[:128] else "f" for d in data]
    return [x for c, d in zip(code, data) for x in struct.unpack(f"<{len(d[128:]) // struct.calcsize(c)}{c}", d[128:])]
a, b = floats(sys.argv[1]), floats(sys.argv[2])
near = (lambda x, y: x == y) if len(sys.argv) > 3 else (lambda x, y: abs(x - y) <= 1e-4*(1 + abs(x)))
sys.exit(len(a) != len(b) or not all(map(near, a, b)))
P

# model KIND LIMIT TYPE: `settle` is what a vertex computes of what it gathers
model() {
  graph='children <= 2' gathers="gather h[2, J] : $3 = 0" sum='0.5*h[0, j] - 0.3*h[1, j]'
  case $1 in
  chain) graph='children <= 1' gathers="gather h[1, J] : $3 = 0" sum='0.5*h[0, j]' ;;
  edges) graph='edges <= 60' gathers='gather h[G.edges, J]' sum='0.3*m[j]' ;;
  esac
  while="y, e = while e > tol limit $2 from y = s, e = one {
    z[j] = tanh(s[j] + 0.1*sum[k] W[j, k]*y[k])
    next y = z, e = max[j] abs(z[j] - y[j])
  }"
  case $1 in
  scan) while="y = scan t < 3 from s[j < J] = s[j] {
    $while
    next s[j] = 0.5*y[j]
  }" ;;
  while) while="y, a = while a > tol limit $2 from s[j < J] = s[j], a = one {
    $while
    next s[j] = 0.5*y[j], a = max[j] abs(0.5*y[j] - s[j])
  }" ;;
  esac
  cat <<END
graph G($graph, vertices <= 40)
dim D = 8
input x[G.vertices, D] : $3
input W[D, D] : $3
input tol : $3
input one : $3
vertex settle(x[J], W[J, J]) over G {
  $gathers
$([ "$1" != edges ] || echo '  m[j] = sum[e] h[e, j]')
  s[j] = x[j] + $sum
  $while
  scatter h = y
  push y
$([ "$1" = scan ] || printf '  n = y.rounds\n  push n')
}
H$([ "$1" = scan ] || echo ', rounds') = settle(x, W)
value = sum[v, j] H[v, j]^2
dx, dW = grad(value, x, W)
output forward: H$([ "$1" = scan ] || echo ', rounds')
output all: H, dx, dW
END
}

# graph KIND: vertices, and their children as the command line takes them
graph_of() {
  case $1 in
  edges) echo "G.begin=[0,0,1,2,4,7] G.child=[0,0,1,2,0,1,3] x=random:1:[5,8]" ;;
  chain) echo "G.child=[[-1],[0],[1],[2],[3],[-1],[5]] x=random:1:[7,8]" ;;
  *) echo "G.child=[[-1,-1],[-1,-1],[-1,0],[2,1],[-1,-1],[3,0],[5,4],[6,6],[7,-1]] x=random:1:[9,8]" ;;
  esac
}

# run OUT MODEL KIND TOL ENTRY OPTIONS
run() {
  out=$1 of=$2 kind=$3 tol=$4 entry=$5
  shift 5
  # shellcheck disable=SC2046 # words
  "$NEOC" run "$of" $(graph_of "$kind") W=random:2:[8,8] one=1 "tol=$tol" "--entry=$entry" -o "$out" "$@" >run.out 2>&1 ||
    fail "$of: a $kind with tol = $tol" run.out
}

for kind in tree chain edges scan while; do
  few=40 many=400
  [ $kind != while ] || few=8 many=20
  for limit in $([ $kind != tree ] || echo 1) $few; do
    model $kind $limit f32 >$kind.expr
    for tol in $([ $kind != tree ] || echo 2) 0.02; do
      run code.npz $kind.expr $kind $tol all
      run interp.npz $kind.expr $kind $tol all --interp
      python3 compare.py code.npz interp.npz || fail "$kind: limit $limit, tol = $tol: other values"
    done
  done
  model $kind $many f32 >$kind.expr
  run many.npz $kind.expr $kind 0.02 all
  python3 compare.py code.npz many.npz $([ $kind = while ] || echo exact) || fail "$kind: the limit changes values"
  "$NEOC" explain --schedule-tree $kind.expr >tree
  grep -q '^ *exit unless (folded.*any.*alive' tree || fail "$kind: a level runs to the limit forward" tree
  grep -q ' below .*most.*alive.* down$' tree || fail "$kind: a level begins at the limit backward" tree
done

# a run of all iterations, doubles, and graphs without vertices and with one
model tree 5 f64 >doubles.expr
for tol in -1 0.02; do
  run code.npz doubles.expr tree $tol all
  run interp.npz doubles.expr tree $tol all --interp
  python3 compare.py code.npz interp.npz || fail "doubles: tol = $tol: other values"
done
for n in 0 1; do
  for how in code interp; do
    # shellcheck disable=SC2046 # words
    "$NEOC" run tree.expr G.child=random:3 x=random:1 --size "G.vertices=$n" W=random:2:[8,8] one=1 tol=0.02 --entry=all \
      -o $how.npz $([ $how = code ] || echo --interp) >run.out 2>&1 || fail "$n vertices" run.out
  done
  python3 compare.py code.npz interp.npz || fail "$n vertices: other values"
done

# what is lowered writes all that it reads
"$NEOC" verify -q doubles.expr >out 2>&1 || fail "a tree's gradients" out

# the iterations that ran are few, of a thousand million; and memory is that of few
for kind in tree chain; do
  limit=1000000000
  model $kind $limit f32 | sed '/^value\|^dx\|^output all/d' >long.expr
  model $kind 10 f32 | sed '/^value\|^dx\|^output all/d' >short.expr
  run long.npz long.expr $kind 0.02 forward
  run short.npz short.expr $kind 0.02 forward
  python3 compare.py long.npz short.npz exact || fail "$kind: other iterations ran"
  for how in long short; do
    "$NEOC" describe $how.expr | sed -n 's/.*forward.*, frame \([0-9.]* [KMG]*i*B\),.*/\1/p' >frame.$how
  done
  [ -s frame.long ] || fail "$kind: no frame"
  cmp -s frame.long frame.short || fail "$kind: memory $(cat frame.long) and $(cat frame.short)"
done

exit $status
