#!/bin/sh
# Machines: processors and GPUs take their own rows of base/machine.def, and schedules follow; a
# profile that says what the row says changes nothing, another one does; a broken one is refused.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
model=$NEO_SOURCE_DIR/tests/gpu/products.expr

schedules() { # FILE OPTION...
  file=$1
  shift
  "$NEOC" explain "$model" --records=none --schedule "$@" >"$file" || fail "explain $*"
}

differ() { ! cmp -s "$1" "$2" || fail "$1 and $2 have the same schedules"; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 have other schedules"; }

for cpu in haswell znver1 znver3 skylake-avx512 znver4 znver5; do
  schedules "$cpu" --target=x86_64 --mcpu=$cpu
done
for cpu in generic neoverse-n1 neoverse-v2; do schedules "$cpu" --target=aarch64 --mcpu=$cpu; done
schedules v3 --target=x86_64 --mcpu=x86-64-v3
same znver3 v3 # on which the row of the level was measured
differ haswell v3
differ znver1 znver3
differ znver4 znver5
differ neoverse-n1 neoverse-v2
model=$NEO_SOURCE_DIR/tests/gpu/large.expr
for gpu in sm_75 sm_80 sm_86; do schedules "$gpu" --target=nvptx:$gpu; done
differ sm_75 sm_80
differ sm_80 sm_86
model=$NEO_SOURCE_DIR/tests/gpu/products.expr

# ---- profiles
printf 'neo-profile 1\nmachine = x86-64-v3\nissue = 4.2\nl2_bytes = 524288\n' >plain.profile
printf 'neo-profile 1\nmachine = x86-64-v3\nl2_bytes = 4194304\nfma_latency = 9\nissue = 2\n' \
  >other.profile
schedules plain --target=x86_64 --mcpu=x86-64-v3 --profile=plain.profile
schedules other --target=x86_64 --mcpu=x86-64-v3 --profile=other.profile
same plain v3
differ other v3
printf 'neo-profile 1\nmachine = sm_80\nworkers = 20\n' >gpu.profile
schedules whole --target=nvptx:sm_80
schedules small --target=nvptx:sm_80 --profile=gpu.profile
differ small whole

expect 3 "no file" "$NEOC" explain "$model" --profile=no.profile
printf 'neo-profile 1\nmachine = x86-64-v3\nissue = many\n' >broken.profile
expect 1 "a broken profile" "$NEOC" explain "$model" --profile=broken.profile
says err "broken.profile, line 3: no number: 'many'" "a broken profile"
expect 4 "another machine's profile" "$NEOC" explain "$model" --schedule --target=aarch64 \
  --profile=plain.profile
says err 'the profile is of x86-64-v3' "another machine's profile"

# ---- what is measured is a profile of this machine
case $(uname -m) in x86_64 | aarch64) ;; *) exit "$status" ;; esac
begin=$(date +%s)
expect 0 "doctor --measure" "$NEOC" doctor --measure --profile=mine.profile
[ $(($(date +%s) - begin)) -lt 120 ] || fail "doctor --measure takes more than two minutes"
grep -q '^memory_bytes_per_s = ' mine.profile || fail "doctor measured no bandwidth" mine.profile
schedules mine --profile=mine.profile
expect 2 "doctor's profile without --measure" "$NEOC" doctor --profile=mine.profile
exit "$status"
