# Helpers of the scripts that use the product from outside. Each begins with
#
#   set -eu
#   . "$NEO_SOURCE_DIR/tests/lib.sh"
#   needs "$NEOC"
#
# and ends with `exit $status`. It runs in a folder of its own, $work, which is removed at its end.
# cmake/NeoTests.cmake gives NEO_SOURCE_DIR, NEO_BUILD_DIR, NEOC and NEO_SANITIZE.
: "${NEOC:=}"
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME="$work/xdg" # what the user has tuned or compiled changes no test
unset NEO_CODE_CACHE NEO_CODE_CACHE_BYTES

# needs PROGRAM...: the test is skipped where one is missing.
needs() {
  for program; do command -v "$program" >/dev/null || exit 77; done
}

# not_sanitized: the test is skipped where sanitizers are on.
not_sanitized() { [ -z "${NEO_SANITIZE:-}" ] || exit 77; }

# long_only: the test is skipped but for `tools/test --long`, which runs it as <name>_long.
long_only() { [ -n "${NEO_TEST_LONG:-}" ] || exit 77; }

# gpu_levels: the levels of code for GPUs (base/gpu.def), oldest first.
gpu_levels() { sed -n 's/^GPU_LEVEL("\([^"]*\)".*/\1/p' "$NEO_SOURCE_DIR/base/gpu.def"; }

# fail WHAT [FILE]: the test goes on and fails at its end. The file tells more.
fail() {
  echo "FAIL: $1" >&2
  [ -z "${2:-}" ] || cat "$2" >&2
  status=1
}

# die WHAT [FILE]: it fails at once.
die() {
  fail "$@"
  exit 1
}

# expect CODE WHAT COMMAND...: its exit code; output goes to files out and err.
expect() {
  want=$1
  what=$2
  shift 2
  code=0
  "$@" >out 2>err || code=$?
  [ "$code" = "$want" ] || { fail "$what: exit code $code, expected $want"; cat out err >&2; }
}

# says FILE PATTERN WHAT: some line of it is so.
says() {
  grep -q -- "$2" "$1" || fail "$3: no '$2' in $1" "$1"
}

# on_emulated_device: what is compiled with $gpu runs on tests/gpu/emulator.c in place of the CUDA driver; skipped where it is not
# built, or with sanitizers: the stacks of emulated threads are not theirs.
on_emulated_device() {
  not_sanitized
  emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
  [ -e "$emulator" ] || exit 77
  gpu="--target=nvptx:sm_90a+host"
  export NEO_CUDA_DRIVER="$emulator"
}

# planned MODEL OPTION...: $plan is the file that says what is planned.
planned() {
  plan=$work/$(basename "$1" .expr).json
  "$NEOC" compile "$@" -o "$work" --emit=json >out 2>&1 || die "compile $*" out
}
# field ENTRY NAME: what that file says of the entry.
field() {
  python3 -c 'import json, sys; print(next(e[sys.argv[3]] for e in json.load(open(sys.argv[1]))["entries"] if e["name"] == sys.argv[2]))' \
    "$plan" "$@"
}

# kept MODEL OPTION...: bytes that a step's backward pass reads.
kept() { "$NEOC" explain "$@" --groups 2>/dev/null | sed -n 's/.*in all *\([0-9]*\) B/\1/p' | head -1; }

# layers_model: many layers of one width; lstm_model T: one of so many rounds.
layers_model() {
  cat <<'END'
import nn, optim
dim L = 32
dim B = 256
dim D = 16
input X[B, D]
y = repeat l < L from y = X {
  z = nn.linear(y, out = D)
  next y[b, j] = gelu(z[b, j])
}
loss = mean[b, j] y[b, j]^2
output y
train loss using optim.sgd(lr = 0.1)
END
}
lstm_model() {
  printf 'import nn, optim\ndim T = %s\n' "$1"
  cat <<'END'
dim B = 4
dim H = 16
input X[B, T, H]
y, h, c = nn.lstm(X, hidden = H)
loss = mean[b, t, j] y[b, t, j]^2
output y
train loss using optim.sgd(lr = 0.1)
END
}
