#!/bin/sh
# neo-cache and `neoc cache`: every command on files of known records, exit codes, what damage does,
# and that neo-cache needs no compiler; then records in a compilation.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
cache=$NEO_BUILD_DIR/bin/neo-cache
needs "$NEOC" "$cache"

is() { # WHAT; the expected output is on stdin
  cat >want
  diff want out >&2 || fail "$1: another output"
}

# record NAME NUMBER SIZES THREADS TARGET TIME TRIALS WHEN: default time 1000 ns, number: hex digit
record() {
  key=$2$2$2$2$2$2$2$2
  printf '{"name":"%s","key":"%s0000000000000000%s","family":"%s","sizes":[%s],"threads":%s,' \
    "$1" "$key" "$key" 0000000000000000000000000000000f "$3" "$4"
  printf '"target":"%s","build":"neo 0.1.0, schedules 1","time_ns":%s,"default_ns":1000,' "$5" "$6"
  printf '"trials":%s,"when":%s,"schedule":"tile_m=%s"}' "$7" "$8" "$2"
}
v3="x86-64-v3 vector=32x16"
v4="x86-64-v4 vector=64x32"
{
  printf '['
  record product a 8,40,30 1 "$v3" 600 64 1700000000
  printf ','
  record product a 8,40,30 1 "$v3" 400 96 1700086400
  printf ','
  record product a 8,40,30 1 "$v4" 800 64 1700000000
  printf ','
  record softmax b 128,512 2 "$v3" 1250000 32 0
  printf ']'
} >all.json

# ---- import, list, show, stats, export
expect 0 "list without a file" "$cache" list
says err 'there are no records yet' "list without a file"
expect 0 "import" "$cache" import all.json
says out '/xdg/neo/records: 3 records added, 0 known or beaten' "import"
expect 0 "import again" "$cache" import all.json
says out ': 0 records added, 3 known or beaten' "import again"
expect 0 "list" "$cache" list
is "list" <<'END'
key       name     sizes    target     threads      time  ratio  trials  date
aaaaaaaa  product  8x40x30  x86-64-v3        1    400 ns  0.400      96  2023-11-15
aaaaaaaa  product  8x40x30  x86-64-v4        1    800 ns  0.800      64  2023-11-14
bbbbbbbb  softmax  128x512  x86-64-v3        2   1.25 ms  1250.000      32  -
END
expect 0 "show" "$cache" show softmax
sed -i "s@$work@WORK@" out
is "show" <<'END'
softmax
  key       bbbbbbbb0000000000000000bbbbbbbb
  family    0000000000000000000000000000000f
  sizes     128x512
  target    x86-64-v3 vector=32x16
  compiler  neo 0.1.0, schedules 1
  schedule  tile_m=b
  time      1.25 ms, default 1.00 us: 1250.000
  measured  -, 32 trials, 2 threads
  file      WORK/xdg/neo/records
END
expect 0 "show by key" "$cache" show aaaa
[ "$(grep -c '^product' out)" = 2 ] || fail "show by key: not both records"
expect 1 "show of nothing" "$cache" show cccc
says err "no record of 'cccc'" "show of nothing"
expect 0 "stats" "$cache" stats --target=x86-64-v3 --name=product
is "stats" <<'END'
records    1, of 1 groups in 1 families
targets    1
compilers  1
trials     96
faster     1 than the default; all: 0.400 of its time (geometric mean)
dates      2023-11-15 to 2023-11-15
END
expect 0 "export" "$cache" export --target=x86-64-v3 -o v3.records
expect 0 "export to stdout" "$cache" export --target=x86-64-v3
cmp -s out v3.records || fail "export to a file and to stdout differ"
expect 0 "the exported file" "$cache" list v3.records --format=json
[ "$(grep -o '"tile_m=[a-z]*"' out | tr '\n' ' ')" = '"tile_m=a" "tile_m=b" ' ] ||
  fail "export: not the records of one target, sorted"
cp out listed
expect 0 "export of what gains" "$cache" export --gain=60 --target=x86-64 -o gain.records
expect 0 "list of what gains" "$cache" list gain.records --best
[ "$(wc -l <out)" = 2 ] || fail "export --gain=60: not the one record that takes 0.4 of the default"
expect 0 "list of what gains more" "$cache" list --gain=61
[ "$(wc -l <out)" = 1 ] || fail "list --gain=61: a record that gains 60 %"
expect 2 "no gain" "$cache" list --gain=much
says err "--gain is a whole number of at least 0, not 'much'" "no gain"
expect 0 "import what list printed" "$cache" import -o again.records listed
expect 0 "export of that" "$cache" export again.records
cmp -s out v3.records || fail "JSON and back is another file"
if command -v python3 >/dev/null; then
  for command in "list" "show product" "stats" "verify"; do
    # shellcheck disable=SC2086
    expect 0 "$command as JSON" "$cache" $command --format=json
    python3 -c 'import json; assert json.load(open("out"))["ok"]' || fail "$command: no JSON"
  done
fi

# ---- merge: the better of two files, whatever their order
record product a 8,40,30 1 "$v3" 300 10 1700000000 >better.json
expect 0 "import to a file" "$cache" import better.json -o better.records
expect 0 "merge" "$cache" merge better.records -o v3.records
says out 'v3.records: 1 record added' "merge"
expect 0 "merge the other way" "$cache" merge again.records -o better.records
says out 'better.records: 1 record added, 1 known or beaten' "merge the other way"
expect 0 "the best" "$cache" list --best --name=product v3.records
[ "$(grep -c 300 out)" = 1 ] && [ "$(wc -l <out)" = 2 ] || fail "list --best: not the best"
cp v3.records before
expect 0 "merge --dry-run" "$cache" merge again.records -o better.records v3.records --dry-run
cmp -s before v3.records || fail "merge --dry-run changes the file"
expect 0 "merge --dry-run into nothing" "$cache" merge better.records -o new.records -n
[ ! -e new.records ] || fail "merge --dry-run makes a file"

# ---- verify, and damage that others survive
expect 0 "verify" "$cache" verify v3.records
says out 'v3.records: 3 records, no damage' "verify"
sed '2s/softmax/softmix/; 2s/product/produkt/' v3.records >hurt.records
printf '12 half a li' >>hurt.records
expect 1 "verify of a damaged file" "$cache" verify hurt.records
says out 'hurt.records: 2 records, 1 damaged line, 12 bytes of an unfinished line' "verify"
says err 'line 2: length or checksum' "verify of a damaged file"
expect 0 "list of a damaged file" "$cache" list hurt.records
expect 0 "prune mends" "$cache" prune hurt.records
expect 0 "verify afterwards" "$cache" verify hurt.records

# ---- prune
cp v3.records p.records
expect 0 "prune" "$cache" prune p.records
says out 'p.records: 1 record removed, 2 kept' "prune"
expect 0 "prune again" "$cache" prune p.records
says out 'p.records: 0 records removed, 2 kept' "prune again"
expect 0 "prune by target, dry" "$cache" prune p.records --target=v3 -n
says out '2 would be removed, 0 kept' "prune by target, dry"
expect 0 "prune by compiler" "$cache" prune p.records --build='neo 9'
says out '0 records removed, 2 kept' "prune by compiler"
expect 0 "prune by size" "$cache" prune p.records --max-bytes=600
says out '1 record removed, 1 kept' "prune by size"
expect 0 "prune by age" "$cache" prune p.records --older-than=30
says out '1 record removed, 0 kept' "prune by age"
expect 0 "what is left" "$cache" verify p.records
says out '0 records, no damage' "what is left"

# ---- exit codes and messages
expect 2 "no command" "$cache"
expect 2 "an unknown command" "$cache" lisd
says err 'did you mean list' "an unknown command"
expect 2 "an unknown option" "$cache" list --formt=json
says err 'did you mean --format' "an unknown option"
expect 2 "an option of another command" "$cache" list --older-than=3
expect 2 "show without a group" "$cache" show
expect 2 "merge without files" "$cache" merge
expect 2 "no number" "$cache" prune --max-bytes=few v3.records
expect 3 "a file that is not there" "$cache" list nothere
says err 'nothere: No such file' "a file that is not there"
expect 3 "prune of a file that is not there" "$cache" prune nothere
[ ! -e nothere ] || fail "prune makes a file"
expect 1 "a file of something else" "$cache" list all.json
says err 'no file of records' "a file of something else"
expect 1 "import of a record that is none" sh -c "echo '[{}]' | '$cache' import -"
says err 'record 1: key or family' "import of a record that is none"
expect 3 "a place that cannot be written" "$cache" merge v3.records -o /proc/x/y
printf 'dim B = 3\n' >text
expect 1 "import of something else" "$cache" import text
expect 1 "merge into something else" "$cache" merge v3.records -o text
[ "$(cat text)" = 'dim B = 3' ] || fail "merge into something else destroys it"
expect 0 help "$cache" help
for command in list show stats verify merge export import prune help version; do
  expect 0 "$command --help" "$cache" "$command" --help
  says out "usage: neo-cache $command" "$command --help"
done
expect 0 "the man page" "$cache" help man
says out 'older' "the man page"
for shell in bash zsh fish; do
  expect 0 "completion for $shell" "$cache" completion $shell
  says out 'json' "completion for $shell"
  if command -v $shell >/dev/null; then $shell -n ./out || fail "the completion's syntax in $shell"; fi
done
expect 2 "completion for another shell" "$cache" completion tcsh
expect 0 "version" "$cache" version
says out '^neo-cache [0-9]' "version"

# ---- `neoc cache` is the same
for command in "list v3.records" "stats v3.records" "export v3.records" "verify v3.records"; do
  # shellcheck disable=SC2086
  "$cache" $command >a 2>&1
  # shellcheck disable=SC2086
  "$NEOC" cache $command >b 2>&1 || fail "neoc cache $command"
  cmp -s a b || fail "neoc cache $command is not neo-cache $command"
done
expect 2 "neoc cache with a wrong option" "$NEOC" cache list --bset
says err 'neoc cache list: unknown option' "neoc cache with a wrong option"

# ---- no compiler inside
if [ -z "${NEO_SANITIZE:-}" ]; then
  ldd "$cache" >libraries
  if grep -Ei 'llvm|isl|stdc|libneo' libraries; then fail "neo-cache is linked with the compiler"; fi
  [ "$(wc -l <libraries)" -le 6 ] || { cat libraries; fail "neo-cache needs more libraries"; }
fi

# ---- records in a compilation
cat >m.expr <<'END'
dim B <= 8
input X[B, 40]
param W[40, 30] = 0.5
Y[b, j] = sum[i] X[b, i] * W[i, j]
S[b] = sum[j] Y[b, j]^2
output S
END
expect 0 "explain" "$NEOC" explain m.expr --schedule --records=none
says out '^  by the analytic model$' "explain"
expect 0 "a foreign record" "$NEOC" compile m.expr --prefix=model -o o --records=none,v3.records
[ ! -s err ] || fail "records of other groups are remarked upon"
expect 3 "records that are not there" "$NEOC" compile m.expr --prefix=model --records=nothere -o o
expect 2 "no list" "$NEOC" compile m.expr --prefix=model --records=a,,b -o o
expect 0 "the user's records" "$NEOC" compile m.expr --prefix=model --records=user -o o
expect 0 "damaged records" "$NEOC" compile m.expr --prefix=model --records=before -o o --depfile=o/d
says o/d ' before' "the depfile names the records"
expect 1 "no records" "$NEOC" compile m.expr --prefix=model -o o --records=m.expr
says err 'm.expr: no file of records' "no records"
expect 0 "tuning where nothing can be written" env XDG_CACHE_HOME=/proc "$NEOC" compile m.expr --prefix=model -o o \
  --tune=1s
says err 'what was found is used, but not recorded' "tuning where nothing can be written"
expect 0 "help" "$NEOC" help cache
says out 'usage: neoc cache COMMAND' "help"
exit $status
