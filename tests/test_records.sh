#!/bin/sh
# Shipped records from end to end: tools/records tunes, keeps what gains and goes on where it was
# interrupted; what it wrote, in share/neo/records of an installation, is read by every compile
# unless --records=none; records of another compiler are passed over with a remark.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
needs python3 cc "$NEO_BUILD_DIR/bin/neo-measure"
export XDG_CACHE_HOME="$work/cache"

cmake --install "$NEO_BUILD_DIR" --prefix "$work/neo" >"$work/log" 2>&1 || die "install" "$work/log"
neoc=$work/neo/bin/neoc
cache=$work/neo/bin/neo-cache
for file in "$NEO_SOURCE_DIR"/models/records/*.records; do
  [ ! -e "$file" ] || cmp -s "$file" "$work/neo/share/neo/records/${file##*/}" ||
    die "$file is not installed"
done

# ---- tools/records
records() {
  "$NEO_SOURCE_DIR/tools/records" --work "$work/made" -o "$work/made.records" \
    --rows '^gemm f32 (64x64x64|16x1024x1024) threads 1$' "$@" >"$work/out" 2>&1 ||
    die "tools/records $*" "$work/out"
}
[ "$("$NEO_SOURCE_DIR/tools/records" --list | grep -c step)" -ge 28 ] || die "models are missing"
: >"$work/turns"
for again in 1 2 3 4 5 6; do # what had no time goes on in the next run
  records --time 4
  grep ' trials' "$work/out" >>"$work/turns" || true
  grep -q 'go on by the same command' "$work/out" || break
done
[ "$(cut -c1-36 "$work/turns" | sort -u | wc -l)" = 2 ] && [ "$(wc -l <"$work/turns")" = 2 ] ||
  die "not each model had one turn by run $again" "$work/turns"
if [ -e "$work/made.records" ]; then
  "$cache" verify "$work/made.records" >"$work/log" 2>&1 || die "damaged records" "$work/log"
  "$cache" list "$work/made.records" --format=json >"$work/json"
  "$cache" list "$work/made.records" --gain=4 --format=json | cmp -s - "$work/json" ||
    die "records that gain little are shipped" "$work/json"
fi
records --time 4
grep -q ' trials' "$work/out" && die "what had its turn is tuned again" "$work/out"

# ---- from an installation's share
cat >"$work/m.expr" <<'END'
input A[48, 32]
input B[32, 80]
y[i, j] = sum[k] A[i, k] * B[k, j]
output y
END
explain() { "$neoc" explain --schedule --mcpu=x86-64-v3 "$work/m.expr" "$@" >"$work/out" 2>&1 || die "explain" "$work/out"; }
for seconds in 2 10 60; do # until something was measured, however busy the machine
  "$neoc" tune "$work/m.expr" --mcpu=x86-64-v3 --time=$seconds --records="none,$work/tuned" -q \
    >"$work/log" 2>&1 || die "neoc tune" "$work/log"
  [ ! -s "$work/tuned.trials" ] || break
done
key=$(sed -n 's/.*"key":"\([0-9a-f]*\)".*/\1/p' "$work/tuned.trials" | head -1)
target=$(sed -n 's/.*"target":"\([^"]*\)".*/\1/p' "$work/tuned.trials" | head -1)
build=$(sed -n 's/.*"build":"\([^"]*\)".*/\1/p' "$work/tuned.trials" | head -1)
[ "${target%% *}" = x86-64-v3 ] || die "the target is '$target'"
record() { # BUILD FILE: as if it had won
  printf '{"name":"y","key":"%s","family":"%s","sizes":[48,80,32],"target":"%s","build":"%s",' \
    "$key" "$key" "$target" "$1" >"$work/one"
  printf '"threads":1,"time_ns":10,"default_ns":20,"schedule":"loops tile_m=1"}' >>"$work/one"
  "$cache" import "$work/one" -o "$work/import" >"$work/log" 2>&1 || die "import" "$work/log"
  "$cache" export --target=x86-64-v3 "$work/import" -o "$2"
  rm "$work/import"
}
shipped=$work/neo/share/neo/records
mkdir -p "$shipped"
rm -f "$shipped"/*
explain
grep -q 'by the analytic model' "$work/out" || die "no analytic choice" "$work/out"
record "$build" "$shipped/x86-64-v4.records"
explain
grep -q 'by the analytic model' "$work/out" || die "another family's file is read" "$work/out"
record "$build" "$shipped/x86-64-v3.records"
explain
grep -q "x86-64-v3.records" "$work/out" || die "the shipped record is not used" "$work/out"
explain --mcpu=haswell
grep -q "x86-64-v3.records" "$work/out" || die "nor for a processor of the family" "$work/out"
explain --records=none
grep -q 'by the analytic model' "$work/out" || die "--records=none reads them" "$work/out"
record "neo 0.0.1, schedules 0" "$shipped/x86-64-v3.records"
explain
grep -q 'R0923' "$work/out" || die "no remark on records of another compiler" "$work/out"
grep -q 'by the analytic model' "$work/out" || die "they are used" "$work/out"
echo ok
