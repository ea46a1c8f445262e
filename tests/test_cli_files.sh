#!/bin/sh
# The files of a compilation: together or not at all, whatever fails and whenever it is killed; a header beside
# another library is refused; names of files are no options, and none of the system's libraries is replaced.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" cc
[ -e "$NEO_BUILD_DIR/lib/libneort.so.0" ] || exit 77
lib=$NEO_BUILD_DIR/lib
include=$NEO_BUILD_DIR/include

pair() { # FILE EXTENT: models whose headers differ
  printf 'input X[%s]\nY[i] = X[i] + %s\noutput Y\n' "$2" "$2" >"$1"
}
mkdir old new
pair old/pair.expr 4
pair new/pair.expr 8
all="--emit=so,a,o,h,ll,s,json"
for kind in old new; do
  "$NEOC" compile -q $kind/pair.expr -o $kind/out $all --depfile=$kind/out/pair.d
  sed -i "s/$kind/KIND/g" $kind/out/pair.d
done
files=$(ls new/out)
[ "$(echo "$files" | wc -l)" = 8 ] || fail "compile writes other files: $files"

# is_of KIND FOLDER: it has all files of that compilation, and nothing else.
is_of() {
  [ "$(ls -A "$2")" = "$files" ] || return 1
  for file in $files; do
    [ "$file" = pair.d ] || cmp -s "$2/$file" "$1/out/$file" || return 1
  done
}
again() { # a folder with the files of the old model
  rm -rf here
  cp -r old/out here
}

# ---- a tool that fails, a folder in the way
mkdir fails
printf '#!/bin/sh\necho no disk left >&2\nexit 1\n' >tool
chmod +x tool
again
for tool in cc ar; do
  cp tool fails/$tool
  expect 3 "a compile whose $tool fails" env PATH="$work/fails:$PATH" CC=cc "$NEOC" compile -q new/pair.expr -o here $all \
    --depfile=here/pair.d
  says err 'no disk left' "a compile whose $tool fails"
  is_of old here || fail "a compile whose $tool fails leaves: $(ls -A here)"
  cmp -s here/pair.d old/out/pair.d || fail "a compile whose $tool fails changes the depfile"
  rm fails/$tool
done
for file in libpair.so pair.h; do
  again
  rm here/$file
  mkdir here/$file
  expect 3 "a folder where $file should be" "$NEOC" compile -q new/pair.expr -o here $all --depfile=here/pair.d
  says err "$file: Is a directory" "a folder where $file should be"
  rmdir here/$file && cp old/out/$file here
  is_of old here || fail "a folder where $file should be: the others are $(ls -A here)"
done
mkdir empty
expect 3 "a new folder and a compile that fails" env CC=false "$NEOC" compile -q new/pair.expr -o empty $all
[ -z "$(ls -A empty)" ] || fail "a compile that fails leaves $(ls -A empty)"

# ---- what create says of a header beside another library
cat >use.c <<'END'
#include "pair.h"
#include <stdio.h>
int main(void) {
  pair_ctx *c;
  float x[64] = {1}, y[64];
  pair_status s = pair_create(&(pair_config){.threads = 1, .seed = 3}, &c);
  if (s || pair_forward(c, x, y))
    puts(pair_error(c));
  pair_destroy(c);
  return s;
}
END
use() { # HEADER-FOLDER LIBRARY-FOLDER: the exit code of a program that is made of both
  cc -o use use.c "-I$1" -I"$include" "-L$2" -lpair -L"$lib" -lneort -lm
  code=0
  LD_LIBRARY_PATH=$lib:$2 ./use >used || code=$?
}
for header in old new; do
  for library in old new; do
    use $header/out $library/out
    [ $header = $library ] && want=0 || want=16
    [ "$code" = "$want" ] || fail "the $header header and the $library library: code $code" used
    [ "$want" = 0 ] || says used "the header of pair .* is not the library's: compile the model" "the message"
    cc -o dlopened "$NEO_SOURCE_DIR/tests/programs/dlopened.c" -I$header/out -I"$include" -L$library/out -lpair -L"$lib" \
      -lneort -lm -ldl
    LD_LIBRARY_PATH=$lib:$library/out ./dlopened ./$library/out/libpair.so >said || fail "dlopen"
    [ "$(cat said)" = "$want $want" ] || fail "dlopen of the $library library by the $header header: $(cat said)"
  done
done
interface=$(sed -n 's/^#define PAIR_INTERFACE UINT64_C(0x\(.*\))/\1/p' new/out/pair.h)
says new/out/pair.json "\"interface\": \"$interface\"" "the number of the header in the JSON"
# A library of the same model by other schedules takes the place of the old one.
"$NEOC" compile -q new/pair.expr -o slower --mcpu=x86-64-v2 --no-fuse=all --target=x86_64
[ "$(grep INTERFACE slower/pair.h)" = "$(grep INTERFACE new/out/pair.h)" ] ||
  fail "other options of one model make another interface"

# ---- renaming that fails, or is killed, at each call
if [ -z "${NEO_SANITIZE:-}" ]; then
  cc -shared -fPIC -o rename.so "$NEO_SOURCE_DIR/tests/programs/rename.c" -ldl
  at=1
  while :; do
    again
    code=0
    LD_PRELOAD=$work/rename.so RENAME_FAILS=$at "$NEOC" compile -q new/pair.expr -o here $all --depfile=here/pair.d \
      2>err || code=$?
    [ $code != 0 ] || break
    says err 'Permission denied' "a rename that fails"
    is_of old here || fail "after the failure of rename $at: $(ls -A here)"
    cmp -s here/pair.d old/out/pair.d || fail "after the failure of rename $at: the depfile has changed"
    at=$((at + 1))
  done
  is_of new here || fail "the compile that failed at none of $at renames"
  [ $at -gt 7 ] || fail "only $at renames were counted"
  code=0
  LD_PRELOAD=$work/rename.so RENAME_FAILS=$((at - 3)) "$NEOC" compile -q new/pair.expr -o empty $all 2>err || code=$?
  [ "$code:$(ls -A empty)" = 3: ] || fail "a rename that fails, in an empty folder: code $code, $(ls -A empty)"
  killed=1
  while [ $killed -lt $at ]; do
    again
    code=0
    LD_PRELOAD=$work/rename.so RENAME_KILLS=$killed NEOC_NO_GUARD=1 "$NEOC" compile -q new/pair.expr -o here $all \
      --depfile=here/pair.d 2>err || code=$?
    [ $code = 137 ] || fail "kill $killed: code $code" err
    # The library comes last: one that is new has a new header.
    use here here
    case $code in
      0) cmp -s here/pair.h old/out/pair.h && cmp -s here/libpair.so old/out/libpair.so ||
           { cmp -s here/pair.h new/out/pair.h && cmp -s here/libpair.so new/out/libpair.so; } ||
           fail "kill $killed: a program of two compilations runs" ;;
      16) cmp -s here/libpair.so old/out/libpair.so || fail "kill $killed: the library is new, the header is not" ;;
      *) fail "kill $killed: the program ends with $code" used ;;
    esac
    "$NEOC" compile -q new/pair.expr -o here $all --depfile=here/pair.d
    is_of new here || fail "the compile after kill $killed leaves $(ls -A here)"
    killed=$((killed + 1))
  done
  # If the child that compiles is killed, its parent removes its files at once.
  again
  code=0
  LD_PRELOAD=$work/rename.so RENAME_KILLS=1 "$NEOC" compile -q new/pair.expr -o here $all --depfile=here/pair.d 2>err || code=$?
  is_of old here || fail "a compile whose child is killed leaves $(ls -A here)"
fi

# ---- names of folders and files that look like options of the compiler, or like a file of such
for name in -oops @oops "-Wl,-x"; do
  mkdir ./"$name"
  cp new/pair.expr ./"$name"
  "$NEOC" compile -q ./"$name/pair.expr" "--output=$name" $all || fail "a folder that is called $name"
  [ -s "./$name/libpair.so" ] || fail "nothing is in the folder that is called $name"
  expect 0 "temporaries in a folder that is called $name" env TMPDIR="$name" "$NEOC" run ./new/pair.expr X=random:1
done

# ---- names of libraries of the system
for name in m c pthread neort; do
  pair $name.expr 4
  expect 2 "a model that is called $name" "$NEOC" compile -q $name.expr -o system
  says err "lib$name would take the place of .*--prefix" "a model that is called $name"
  expect 0 "the header and an object of $name" "$NEOC" compile -q $name.expr -o system --emit=o,h
  expect 0 "$name with another prefix" "$NEOC" compile -q $name.expr -o system --prefix=model_$name
  expect 0 "check of $name" "$NEOC" check $name.expr
done
[ ! -e system/libm.so ] || fail "there is a libm.so"
for name in pthread_mutex timer; do
  expect 2 "functions called $name" "$NEOC" compile -q new/pair.expr -o system --prefix=$name
  says err "${name}_[a-z]* would take the place of a function of the system.*--prefix" "functions called $name"
done
expect 2 "functions of the runtime" "$NEOC" compile -q new/pair.expr -o system --prefix=neo_rt_pool
says err 'names that begin with neo_rt_ are the runtime' "functions of the runtime"
expect 2 "a project that is called m" "$NEOC" new m
says err 'libm would take the place of' "a project that is called m"
[ ! -e m ] || fail "there is a project m"

# ---- a depfile in place of a file that it names
cp new/pair.expr keep.expr
ln -sf keep.expr link.expr
for path in keep.expr ./keep.expr link.expr rule/keep.h ./rule/../rule/libkeep.so; do
  mkdir -p rule
  expect 2 "a depfile that is called $path" "$NEOC" compile -q keep.expr -o rule --depfile=$path
  says err "depfile=$path would replace .*keep" "a depfile that is called $path"
  cmp -s keep.expr new/pair.expr || fail "a depfile that is called $path: the model is lost"
  [ -z "$(ls -A rule)" ] || fail "a depfile that is called $path: files are left"
done
expect 0 "a depfile beside them" "$NEOC" compile -q keep.expr -o rule --depfile=rule/keep.d

# ---- a limit of the size of files
for kind in $(echo "$all" | sed 's/--emit=//; s/,/ /g'); do
  again
  limit=1
  case $kind in so|a) limit=8 ;; h) limit=4 ;; esac # in KiB at most: temporaries are below it, or not
  (ulimit -f $limit; exec "$NEOC" compile -q new/pair.expr -o here --emit="$kind") >said 2>&1 && code=0 || code=$?
  [ $code != 0 ] || continue
  [ $code = 3 ] || fail "a file of --emit=$kind beyond the limit: exit code $code" said
  grep -q 'neoc compile: .*' said || fail "a file of --emit=$kind beyond the limit: nothing is said"
  is_of old here || fail "a file of --emit=$kind beyond the limit: another folder"
done

# ---- who may read a file
mkdir private
expect 0 "new files" "$NEOC" compile -q new/pair.expr -o private
chmod 640 private/pair.h private/libpair.so
expect 0 "files again" "$NEOC" compile -q new/pair.expr -o private
for file in pair.h libpair.so; do
  [ "$(stat -c %a private/$file)" = 640 ] || fail "$file of another compilation has mode $(stat -c %a private/$file)"
done
exit "$status"
