#!/bin/sh
# The interpreter and compiled code give what tests/evaluator computes, which was written from docs/language.md alone:
# outputs, gradients, and what training steps and updates leave behind. `--long` takes the larger models too.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # a process of Python loads the compiled library
export PYTHONDONTWRITEBYTECODE=1
evaluator=$NEO_SOURCE_DIR/tests/evaluator/main.py
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
cd "$NEO_SOURCE_DIR"

compare() { # MODEL [OPTION]...
  "$python" "$evaluator" compare --neoc "$NEOC" "$@" >"$work/out" 2>&1 ||
    fail "$* differs from the evaluator" "$work/out"
  grep -q 'results compared' "$work/out" || fail "$*: nothing was compared" "$work/out"
  cat "$work/out"
}

# zoo CASE [OPTION]...: a model at the sizes of a case of tests/zoo.
zoo() {
  case=tests/zoo/expected/$1.txt
  shift
  # shellcheck disable=SC2046
  compare "models/zoo/$(sed -n 's/^model //p' "$case").expr" "$@" $(
    sed -n 's/^define \([^ ]*\) \([^ ]*\)$/-D\1=\2/p
            s/^size \([^ ]*\) \([^ ]*\)$/--size=\1=\2/p' "$case")
}

"$python" "$evaluator" selftest || fail "the evaluator's own tests"
long='tests/recurrences/alignment.expr tests/recurrences/factorizations.expr tests/recurrences/gru.expr
  tests/recurrences/lstm.expr tests/recurrences/mamba.expr tests/library/attention.expr tests/library/block.expr'
without_long() { for path in "$@"; do case $long in *"$path"*) ;; *) echo "$path" ;; esac; done; }
# The evaluator has no gradients in calls with indices; next to a jump f32 is not exact enough.
loops=$(without_long $(ls tests/recurrences/*.expr | grep -v -e jacobian -e branches))
library=$(without_long tests/library/*.expr)
second=$(ls tests/second/*.expr | grep -v -e attention -e index -e norms) # these take a while, too
# shellcheck disable=SC2086
"$python" "$evaluator" compare --neoc "$NEOC" $library $loops $second tests/evaluator/models/*.expr \
  >"$work/out" 2>&1 || fail "a model differs from the evaluator" "$work/out"
cat "$work/out"
# rounds of `repeat` as loops
mkdir -p "$work/loops/bin"
for folder in lib share; do ln -s "$(dirname "$NEOC")/../$folder" "$work/loops/$folder"; done
printf '#!/bin/sh\ncommand=$1; shift\nexec "%s" "$command" --unroll=1 "$@"\n' "$NEOC" >"$work/loops/bin/neoc"
chmod +x "$work/loops/bin/neoc"
definitions() { "$NEOC" explain "--unroll=$1" tests/evaluator/models/rolled.expr 2>/dev/null | grep -c 'def '; }
[ $((2 * $(definitions 1))) -lt "$(definitions 100000)" ] || fail "rounds are no loop"
"$python" "$evaluator" compare --neoc "$work/loops/bin/neoc" tests/evaluator/models/rolled.expr tests/library/rounds.expr \
  >"$work/out" 2>&1 || fail "rounds as loops: a model differs from the evaluator" "$work/out"
for size in 0 1; do compare tests/evaluator/models/maybe_empty.expr "--size=T=$size"; done
compare models/mnist/mlp.expr
zoo lltm_unrolled
zoo capsule_conv_padded

if [ "${1:-}" = --long ] || [ -n "${NEO_TEST_LONG:-}" ]; then
  for name in capsule_conv capsulenet capsulenet_conv lltm milstm milstm_unrolled mlp scrnn scrnn_unrolled sublstm \
    sublstm_unrolled bert milstm_scan scrnn_scan sublstm_scan lltm_scan mamba tagger seq2seq wave gotoh; do
    zoo "$name"
  done
  for name in mobilenet resnet18 resnet50 shufflenet; do zoo "$name" --slack 100; done
  compare models/mnist/cnn.expr --size B=2
  compare models/charlm/charlm.expr --size B=2
  for path in $long; do compare "$path"; done
  for seed in 2 3 4; do
    "$python" "$evaluator" compare --neoc "$NEOC" --seed "$seed" tests/library/*.expr tests/second/*.expr \
      tests/evaluator/models/*.expr >"$work/out" 2>&1 || fail "seed $seed: a model differs" "$work/out"
    cat "$work/out"
  done
fi
exit "$status"
