#!/bin/sh
# Compiling and measuring apart: `neoc tune --emit` writes a folder, `neo-measure` measures it,
# `neoc tune --import` records what won; for this processor, and for a GPU that is emulated.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" "$NEO_BUILD_DIR/bin/neo-measure"
not_sanitized # times of sanitized kernels tell nothing
export XDG_CACHE_HOME="$work/cache"
unset NEO_CUDA_DRIVER
measure=$NEO_BUILD_DIR/bin/neo-measure
cache=$NEO_BUILD_DIR/bin/neo-cache

refuses() { # exit code, text, command...
  code=$1 text=$2
  shift 2
  got=0
  "$@" >said 2>&1 || got=$?
  [ "$got" = "$code" ] || die "$*: exit code $got, expected $code" said
  grep -q -- "$text" said || die "$*: '$text' is not said" said
}

cat >m.expr <<'EOF2'
input X[24, 48]
input W[48, 20]
score[b, j] = sum[i] X[b, i] * W[i, j]
total[b] = sum[j] exp(score[b, j] / 100)
output score, total
EOF2

# A record of a schedule that is slow, which the compiler believes: whatever is found beats it.
slow_record() { # folder with candidates, schedule -> slow
  key=$(sed -n 's/.* task [0-9]* key=\([0-9a-f]*\) .* name=score$/\1/p' "$1/candidates")
  target=$(sed -n 's/^[0-9]* [0-9a-f]* target //p' "$1/candidates")
  build=$(sed -n 's/^[0-9]* [0-9a-f]* build //p' "$1/candidates")
  cat >slow.json <<EOF2
{"name": "score", "key": "$key", "family": "$key", "sizes": [24, 20, 48], "target": "$target", "build": "$build",
 "threads": 1, "time_ns": 90, "default_ns": 100, "trials": 1, "schedule": "$2"}
EOF2
  rm -f slow
  "$cache" import slow.json -o slow >said 2>&1 || die "a record of a slow schedule" said
}

schedules() { # folder -> kernels and their schedules, sorted
  sed 's/^[0-9]* [0-9a-f]* //' "$1/candidates" | awk '/^task/ { name = $NF }
    /^schedule/ && $2 != "id=0" { $1 = name; $2 = ""; print }' | sort
}

tuned() { # name, a slow schedule, options of the target
  name=$1 slow=$2
  shift 2
  "$NEOC" tune m.expr "$@" --emit="$name.0" --candidates=1 --records=none,empty --log=none -q ||
    die "$name: the first folder"
  slow_record "$name.0" "$slow"
  mv slow "$name.records"
  "$NEOC" tune m.expr "$@" --emit="$name" --candidates=6 --records="none,$name.records" >said 2>&1 ||
    die "$name: --emit" said
  grep -q '12 candidates of 2 of 2 kernels' said || die "$name: what was written" said
  [ "$(stat -c %a "$name")" = 700 ] || die "$name: the folder is not for its owner alone"
  "$measure" "$name" >said 2>&1 || die "$name: neo-measure" said
  grep -q '; 0 candidates are left' said || die "$name: something is left" said
  "$NEOC" tune m.expr "$@" --import="$name" --records="none,$name.records" >said 2>&1 ||
    die "$name: --import" said
  grep -q 'recorded in' said || die "$name: nothing beat a slow schedule" said
  "$NEOC" explain m.expr --schedule "$@" --records="none,$name.records" >said
  ratio=$(sed -n 's/.*by a record of .*records: \([0-9.]*\) of the default.*/\1/p' said | head -1)
  awk "BEGIN { exit !($ratio < 0.85) }" || die "$name: the compiler takes another schedule" said
  "$NEOC" verify -q m.expr "$@" --records="none,$name.records" || die "$name: the winner is wrong"
  cp "$name.records" before
  "$NEOC" tune m.expr "$@" --import="$name" --records="none,$name.records" >said 2>&1
  cmp -s before "$name.records" || die "$name: importing twice records twice" said
  # what is known is not written again
  "$NEOC" tune m.expr "$@" --emit="$name.2" --candidates=4 --records="none,$name.records" -q
  schedules "$name" >known
  schedules "$name.2" >new
  [ -s new ] && [ -z "$(comm -12 known new)" ] || die "$name: known candidates are written again"
}

# ---- this processor
tuned cpu "loops unit_axes=2"

# ---- an emulated GPU: code is made without a driver, and measured with one
gpu="--target=nvptx:sm_90a+host"
refuses 4 'cannot be opened.*; --emit=DIR writes candidates' env NEO_CUDA_DRIVER=./none.so \
  "$NEOC" tune m.expr $gpu --time=5s --records=none,x
"$NEOC" tune m.expr $gpu --emit=none --candidates=1 --records=none,empty --log=none -q || die "without a driver"
refuses 4 'the CUDA driver cannot be opened' env NEO_CUDA_DRIVER=./none.so "$measure" none
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
if [ -e "$emulator" ]; then
  export NEO_CUDA_DRIVER="$emulator"
  tuned gpu "gpu_rows threads=256 lanes=256" $gpu
  refuses 4 'the candidates are for sm_90a, and this is .*sm_80' env NEO_EMULATOR_SM=80 "$measure" gpu
  refuses 4 'there is no device cuda:1' "$measure" gpu --device=1
  refuses 2 "its candidates are for target 'sm_90a .*give the --target" "$NEOC" tune m.expr --import=gpu \
    --records=none,x
fi

# ---- PTX for every level, from a machine without a GPU
for level in sm_75 sm_90a; do
  "$NEOC" tune m.expr --target=nvptx:$level --emit=$level --candidates=3 --records=none,empty --log=none -q ||
    die "$level"
  ls $level/*.ptx $level/*.cubin >said 2>/dev/null || :
  [ -s said ] || die "$level: no code"
done

# ---- folders of something else
refuses 3 'there is something in it' "$NEOC" tune m.expr --emit=cpu --records=none,x
refuses 3 'has neo-measure run?' "$NEOC" tune m.expr --import=cpu.2 --records=none,x
refuses 3 'No such file' "$NEOC" tune m.expr --import=nothing --records=none,x
sed 's/48/47/g' m.expr >other.expr
refuses 2 'the program has no kernel that is its' "$NEOC" tune other.expr --import=cpu --records=none,x
refuses 2 'its candidates are for threads' "$NEOC" tune m.expr --import=cpu --threads=2 --records=none,x
cp -r cpu.2 linked
: >precious
rm -f linked/results && ln -s ../precious linked/results
refuses 3 'linked/results: Too many levels of symbolic links' "$measure" linked
[ ! -s precious ] || fail "a folder's results are written to another file"
cp -r cpu.2 pipes
for file in pipes/*.so; do rm "$file"; mkfifo "$file"; done
timeout 60 "$measure" pipes --time=3 >said 2>&1 && code=0 || code=$?
case $code in 0|124) fail "pipes in place of candidates: exit code $code" said ;; esac
rm pipes/candidates && mkfifo pipes/candidates
timeout 60 "$measure" pipes --time=3 >said 2>&1 && code=0 || code=$?
case $code in 0|124) fail "a pipe in place of the list: exit code $code" said ;; esac
sed -i 's/neo 0/neo 9/' cpu.2/candidates
refuses 1 'line 2 is damaged' "$measure" cpu.2
refuses 2 'only one can be done' "$NEOC" tune m.expr --import=cpu --emit=y
refuses 2 'is for --emit' "$NEOC" tune m.expr --candidates=3
exit $status
