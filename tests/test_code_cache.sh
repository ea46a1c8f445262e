#!/bin/sh
# The cache of compiled code from outside: with it, without it and from it the same files and messages; what changes
# is compiled anew; whatever happens to the folder costs time and nothing else.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
kept=$work/xdg/neo/code
zoo=$NEO_SOURCE_DIR/models/zoo

builds() { ls "$kept" 2>/dev/null | grep -c 'build$' || true; }

# same WHAT A B: two folders, and what was said when they were made
same() {
  diff -r "$2" "$3" >report 2>&1 || fail "$1: other files" report
  cmp -s "$2.out" "$3.out" || fail "$1: another output" "$3.out"
  cmp -s "$2.err" "$3.err" || fail "$1: other messages" "$3.err"
}

# made FOLDER OPTION...: compiles into it
made() {
  to=$1
  shift
  expect 0 "compiling into $to" "$NEOC" compile -o "$to" "$@"
  mv out "$to.out"
  mv err "$to.err"
}

# ---- the same bytes and messages
cat >warned.expr <<'END'
dim A = 7
dim B = 2
input X[A, 3]
param unused[3] = 0
param W[3, 5] = normal(0, 1)
Y[i, j] = exp(sum[k] X[i, k]*W[k, j])*f32(A/B)
output Y
train L using optim.adam()
L = sum[i, j] log(Y[i, j])
END
sed -i '1i import optim' warned.expr
for model in warned.expr "$zoo/mlp.expr" "$zoo/lltm_scan.expr" "$zoo/tree_fc.expr" "$zoo/gotoh.expr"; do
  before=$(builds)
  for how in none first second kernels; do
    [ "$how" = kernels ] && rm -f "$kept"/*.build
    [ "$how" = none ] && option=--cache=none || option=--color=always
    made "$how" "$model" --prefix=net --emit=so,a,o,h,json,ll "$option" --color=always --depfile="$how.d"
    sed -i "s/$how/FOLDER/g" "$how.d"
    cmp -s none.d "$how.d" || fail "$model: another depfile" "$how.d"
    [ "$how" = none ] || same "$model, $how" none "$how"
  done
  [ "$(builds)" -gt 0 ] || fail "$model: no build is kept"
  [ "$model" = warned.expr ] && says first.err W0456 "warnings"
  rm -rf none first second kernels
done
"$NEOC" compile warned.expr -o json --format=json --cache=none >want 2>&1
for k in 1 2; do
  expect 0 "json" "$NEOC" compile warned.expr -o json --format=json
  cmp -s want out || fail "another JSON object from the cache" out
done
says want '"kernels": ' "json"

# ---- what is found
rm -rf "$kept"
made one warned.expr
made two warned.expr
[ "$(builds)" = 1 ] || fail "the same build is kept twice"
expect 0 "code" "$NEOC" cache code --format=json
says out '"builds":1,' "code"
grep -q '"hits":0,' out && fail "nothing was found" out
for option in -DA=8 --math=bf16 --store=bf16 --mcpu=x86-64-v3 --no-fuse=all --memory=small --reassociate --prefix=other \
  --emit=so,h,json --records=none -I.; do
  before=$(builds)
  made another warned.expr "$option"
  [ "$(builds)" = $((before + 1)) ] || fail "$option finds the build without it"
done
for option in --quiet --runtime=static --depfile=d --emit=a,h; do
  before=$(builds)
  made another warned.expr "$option"
  [ "$(builds)" = "$before" ] || fail "$option does not find the build without it"
done
[ -s d ] || fail "no depfile from the cache"

# The user's records: none, one, another one.
before=$(builds)
for n in 1 2; do
  made another warned.expr --records=user
  made another warned.expr --records=user
  [ "$(builds)" = $((before + n)) ] || fail "records that changed do not count"
  printf '{"name":"n","key":"%032d","family":"%032d","sizes":[1],"threads":1,"target":"t","build":"b","time_ns":1,' $n $n >r
  printf '"default_ns":2,"trials":1,"when":1,"schedule":"s"}' >>r
  expect 0 "importing a record" "$NEOC" cache import r
done

# After a change of one layer the schedules of the others are found, and the bytes are those without the cache.
rm -rf "$kept"
made another "$zoo/mlp.expr"
schedules=$(ls "$kept" | grep -c 'schedule$')
[ "$schedules" -gt 2 ] || fail "no schedules of a perceptron are kept"
sed 's/^dim CLASSES = 10$/dim CLASSES = 12/' "$zoo/mlp.expr" >mlp.expr
made changed mlp.expr
added=$(($(ls "$kept" | grep -c 'schedule$') - schedules))
[ "$added" -lt "$schedules" ] || fail "all $added schedules are searched for after a change"
made none mlp.expr --cache=none
same "a changed layer" none changed
rm -f "$kept"/*.build "$kept"/*.kernel
rm -rf changed
made changed mlp.expr
same "from schedules alone" none changed
rm -rf none changed

# Commands that run what they compile find the kernels.
expect 0 "clear" "$NEOC" cache code clear
expect 0 "run" "$NEOC" run warned.expr X=random:1
mv out want
expect 0 "run again" "$NEOC" run warned.expr X=random:1
cmp -s want out || fail "other results from the cache" out
expect 0 "code" "$NEOC" cache code --format=json
grep -q '"hits":0,' out && fail "run finds no kernels" out
expect 2 "verify has no cache" "$NEOC" verify warned.expr --cache=none

# ---- another compiler
if command -v python3 >/dev/null && [ -z "${NEO_SANITIZE:-}" ]; then
  mkdir -p own/bin
  cp "$NEOC" own/bin/neoc
  ln -s "$NEO_BUILD_DIR/share" "$NEO_BUILD_DIR/lib" own
  rm -rf "$kept"
  for k in 1 2; do expect 0 "a copy of the compiler" own/bin/neoc compile warned.expr -o own/out; done
  [ "$(builds)" = 1 ] || fail "a copy of the compiler does not find its build"
  python3 - own/bin/neoc <<'END'
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    at = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    file.seek(at)
    file.write(bytes([data[at] ^ 1]))
END
  expect 0 "another compiler" own/bin/neoc compile warned.expr -o own/out
  [ "$(builds)" = 2 ] || fail "another compiler finds the build of the first"
  rm -rf own
fi

# ---- several at once, and killed ones
rm -rf "$kept" none
made none warned.expr --cache=none
for k in 1 2 3 4; do
  "$NEOC" compile warned.expr -o "at$k" >"at$k.out" 2>"at$k.err" &
done
wait
for k in 1 2 3 4; do same "four at once" none "at$k"; done
for k in 0 1 2 3 4 5 6 7; do
  rm -rf "$kept"
  "$NEOC" compile "$zoo/mlp.expr" -q -o killed &
  sleep "0.0$k"
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
done
made after warned.expr
same "after killed ones" none after
expect 0 "prune after killed ones" "$NEOC" cache code prune
! ls -A "$kept" | grep -q tmp || fail "what killed compilers left is not swept"

# ---- damage
for file in "$kept"/*.build "$kept"/*.kernel "$kept"/*.inputs "$kept"/*.schedule; do
  printf x | dd of="$file" bs=1 seek=150 conv=notrunc 2>/dev/null
done
made after warned.expr
same "after damage" none after
for file in "$kept"/*; do : >"$file"; done
made after warned.expr
same "after files were cut" none after
chmod 0666 "$kept"/*
made after warned.expr
same "with files that others may write" none after

# ---- folders that cannot be used: the user's own is passed over, one that was named is worth a remark
made after warned.expr --cache=/proc/neo
diff -r none after >report || fail "a read-only folder: other files" report
says after.err 'R0930.*the cache of compiled code is not used: /proc/neo' "a read-only folder"
[ "$(grep -c R0930 after.err)" = 1 ] || fail "more than one remark"
XDG_CACHE_HOME=/proc made after warned.expr
same "a read-only home" none after
chmod 0777 "$kept"
made after warned.expr
says after.err 'R0930.*others may write it' "a folder that others may write"
diff -r none after >report || fail "a folder that others may write: other files" report
expect 3 "code of such a folder" "$NEOC" cache code
chmod 0700 "$kept"
: >afile
made after warned.expr --cache=afile
says after.err 'R0930' "a file in place of the folder"
NEO_CODE_CACHE=$work/elsewhere made after warned.expr
[ -d elsewhere ] || fail "NEO_CODE_CACHE names no folder"
rm -rf xdg
NEO_CODE_CACHE=none made after warned.expr
[ ! -e xdg ] || fail "NEO_CODE_CACHE=none makes a folder"

# A full disk.
if mkdir full && mount -t tmpfs -o size=48k none full 2>/dev/null; then
  for k in 1 2; do
    made after warned.expr --cache=full/code
    diff -r none after >report || fail "a full disk: other files" report
    [ "$(grep -c R0930 after.err)" -le 1 ] || fail "a full disk: more than one remark" after.err
  done
  umount full
fi

# ---- showing and pruning
rm -rf "$kept"
made after warned.expr
expect 0 "code" "$NEOC" cache code
says out "^folder     $kept\$" "code"
says out '^builds     1, ' "code"
says out '^schedules  [1-9]' "code"
expect 0 "a dry run" "$NEOC" cache code prune --max-bytes=0 -n
says out 'would be removed, 0 kept' "a dry run"
[ "$(builds)" = 1 ] || fail "a dry run removes"
expect 0 "pruning by age" "$NEOC" cache code prune --older-than=1
[ "$(builds)" = 1 ] || fail "what was just used is old"
expect 0 "clear" "$NEOC" cache code clear
[ "$(builds)" = 0 ] || fail "clear leaves a build"
expect 2 "no such word" "$NEOC" cache code empty
expect 2 "no number" "$NEOC" cache code prune --max-bytes=much
NEO_CODE_CACHE_BYTES=64K made after warned.expr
NEO_CODE_CACHE_BYTES=64K made after "$zoo/mlp.expr"
[ "$(du -sk "$kept" | cut -f1)" -le 72 ] || fail "the cache grows beyond its limit"
exit $status
