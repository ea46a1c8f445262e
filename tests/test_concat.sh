#!/bin/sh
# Networks that put channels together copy nothing, in evaluation, gradients and training: no kernel makes a
# concatenation, and none copies a part of one.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
models=$NEO_SOURCE_DIR/tools/benchmarks/models
out=$work/out

check() { # LEAST MODEL TENSORS [OPTION]...
  least=$1 model=$2 tensors=$3
  shift 3
  "$NEOC" explain --groups "$models/$model.expr" "$@" >"$out" || fail "$model"
  made=$(grep -c '^group [0-9]* .*: no kernel' "$out") || true
  [ "$made" -ge "$least" ] || fail "$model: only $made concatenations have no kernel" "$out"
  # A kernel of a part that reads one tensor copies it; else it computes what lies there.
  awk -v joined="^group [0-9]* ($tensors): kernel" '
    /^group/ { rest = $3 ~ /^rest/; line = $0 }
    $0 ~ joined || (rest && $1 == "reads" && NF == 2) { print line }' "$out" >"$work/copies"
  [ ! -s "$work/copies" ] || fail "$model: kernels that copy" "$work/copies"
}

# Each of the three blocks is a memory of its own in evaluation, in gradients and in training.
check 27 densenet '(eval_)?b[123](_[abcy])*' -D TRIPLES=1
check 27 googlenet '(eval_)?i[345][a-e](_ab|_cd)?' -D WIDTH=4 -D IMAGE=32
check 8 unet 'u[1-4]_both' -D WIDTH=4 -D IMAGE=32
# Without it they are copied.
"$NEOC" explain --groups "$models/unet.expr" -D WIDTH=4 -D IMAGE=32 --no-fuse=concat >"$out"
grep -q '^group [0-9]* u1_both: kernel' "$out" || fail "--no-fuse=concat" "$out"

# No plan is larger for it: of a part that is made long before the others, as the way down of a U-Net is, there is a copy.
bytes() { # MODEL [OPTION]...
  model=$1
  shift
  "$NEOC" compile "$models/$model.expr" "$@" -o "$work" --emit=json >"$out" 2>&1 || die "compile $model $*" "$out"
  python3 -c 'import json, sys; print(*(e["frame_bytes"] for e in json.load(open(sys.argv[1]))["entries"]))' "$work/$model.json"
}
for options in 'unet -D WIDTH=64 -D IMAGE=128' 'unet -D WIDTH=16 -D IMAGE=64' 'densenet -D TRIPLES=1' 'googlenet -D WIDTH=4 -D IMAGE=32'; do
  within=$(bytes $options)
  copied=$(bytes $options --no-fuse=concat)
  set -- $copied
  for bytes in $within; do
    [ "$bytes" -le $(($1 + $1 / 16)) ] || fail "$options: plans of $within bytes, of $copied with copies"
    shift
  done
done
# One part of two is still in its place.
"$NEOC" explain --groups "$models/unet.expr" -D WIDTH=64 -D IMAGE=128 >"$out"
grep -q '^group [0-9]* rest_u1_both: kernel' "$out" && grep -q '^group [0-9]* u1.both: no kernel' "$out" ||
  fail "both parts of u1_both are copied" "$out"
exit $status
