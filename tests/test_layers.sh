#!/bin/sh
# Includes between folders, read from the #include lines. The picture is in CMakeLists.txt; a folder
# may include itself, those named here, and what they may include.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
cd "$NEO_SOURCE_DIR"

allowed() {
  case $1 in
    base) echo base ;;
    ir) echo base ir ;;
    frontend|autodiff|transform|fusion|network) echo base ir "$1" ;;
    schedule) echo base ir fusion schedule ;;
    codegen) echo base ir fusion schedule codegen include ;;
    runtime) echo base runtime include ;;
    include) echo include ;;
    tools) echo base ir frontend autodiff transform fusion network schedule codegen runtime tools include ;;
    *) echo "" ;;
  esac
}

layers="base ir frontend autodiff transform fusion network schedule codegen runtime include tools"

# file: the quoted and bracketed includes that name one of our folders
folders_of() {
  sed -nE 's@^[[:space:]]*#[[:space:]]*include[[:space:]]*["<](neo/|([a-z]+)/)[^">]*[">].*@\2@p' \
    "$1" | sed 's/^$/include/' | sort -u
}

check_file() { # folder file
  for used in $(folders_of "$2"); do
    case " $layers " in
      *" $used "*) ;;
      *) continue ;; # <sys/...>, <isl/...>
    esac
    case " $(allowed "$1") " in
      *" $used "*) ;;
      *) fail "$2 includes $used/, which $1/ must not know" ;;
    esac
  done
}

# $1: header's folder, $2: what the file must be, as a case pattern
check_only_in() { # regex pattern name
  grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<]$1" -r $layers \
    --include='*.[ch]' 2>/dev/null | while read -r path; do
    case $path in
      $2) ;;
      *) echo "FAIL: $path includes $3" >&2; echo bad ;;
    esac
  done
}

for folder in $layers; do
  [ -d "$folder" ] || continue
  for path in $(find "$folder" -name '*.[ch]' -o -name '*.def' | sort); do
    check_file "$folder" "$path"
    # A path from the root, always: "../x.h" or "x.h" would hide the folder.
    if grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"(\.\.?/|[^/"]*")' "$path"; then
      fail "$path includes a file without its folder"
    fi
  done
done

# neo-cache is base and itself.
if grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' tools/cache/*.[ch] |
   grep -vE '"(base|tools/cache)/'; then
  fail "tools/cache includes more than base"
fi

[ -z "$(check_only_in 'llvm' '*llvm*' LLVM)" ] || status=1
[ -z "$(check_only_in 'isl/' '*isl*' isl)" ] || status=1
# sets are made from constraints: text would have to be quoted, parsed and trusted
if grep -l 'isl_[a-z_]*read_from_str' -r $layers --include='*.[ch]'; then
  fail "isl reads text"
fi
[ -z "$(check_only_in 'cjson/' 'base/json.c' cJSON)" ] || status=1
[ -z "$(check_only_in 'cuda' 'runtime/*cuda*' CUDA)" ] || status=1
[ -z "$(check_only_in 'zlib\.h' 'runtime/files/*' zlib)" ] || status=1

# Inside of the runtime: files know no context, core no device, a device no other one.
runtime_parts() {
  case $1 in
    runtime/files/*) echo files ;;
    runtime/core/*) echo core ;;
    runtime/*/*) echo "core $(echo "$1" | cut -d/ -f2)" ;;
  esac
}
for path in runtime/*.h runtime/*/*.[ch]; do
  for part in $(sed -nE 's@^#include "runtime/([a-z]+)/.*@\1@p' "$path"); do
    case " $(runtime_parts "$path") " in
      *" $part "*) ;;
      *) fail "$path includes runtime/$part/, which it must not know" ;;
    esac
  done
done
# The tables alone name devices and formats. (NEO_DL_CUDA_HOST is DLPack's word for memory of the
# host.)
rows() { sed -nE 's/^X\(([a-z]+)\)$/\1/p' "$1"; }
for name in $(rows runtime/core/devices.def); do
  [ "$name" = cpu ] || ! sed 's/NEO_DL_CUDA_HOST//' runtime/core/*.[ch] | grep -in "$name" ||
    fail "runtime/core names the device $name"
  if grep -rlE "neo_rti_device_$name\b" $layers --include='*.[ch]' | grep -v "^runtime/$name/"; then
    fail "the device $name is named outside of its folder"
  fi
done
formats=$(rows runtime/files/formats.def | tr '\n' '|' | sed 's/|$//')
[ -n "$formats" ] || fail "there is no table of file formats"
if grep -rlE "neo_rti_format_($formats)\b|format_named\(\"" $layers --include='*.[ch]' |
   grep -vE "^runtime/files/($formats)[a-z_]*\.[ch]$"; then
  fail "a file format is named outside of its files"
fi

# A header that says "Private to FOLDER." (or "Private to FOLDER and its tests.") in its head is
# included from that folder alone.
private_to() { # header
  sed 12q "$1" | tr '\n' ' ' | sed -E 's@ +\* +@ @g' |
    sed -nE 's@.*[Pp]rivate to ([a-z_]+(/[a-z_]+)*)( and its tests)?[].:,;) ].*@\1\3@p'
}
# Headers whose folder is still to be made right.
private_exceptions=""
grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' $layers tests --include='*.[ch]' |
  sed -E 's@^([^:]*):[^"]*"([^"]*)".*@\2 \1@' | sort -u >"$work/includes"
check_private() { # header: who includes it
  set -- "$1" $(private_to "$1")
  [ -n "${2:-}" ] || return 0
  case " $layers " in *" ${2%%/*} "*) [ -d "$2" ] || return 0 ;; *) return 0 ;; esac
  awk -v h="$1" -v own="^$2/" -v tests="$([ "${3:-}" = and ] && echo '^tests/' || echo '^$')" \
    '$1 == h && $2 !~ own && $2 !~ tests { print $2 }' "$work/includes" | while read -r path; do
    echo "$path includes $1, which is private to $2"
  done
}
for header in $(find $layers -name '*.h' | sort); do
  wrong=$(check_private "$header")
  case " $private_exceptions " in
    *" $header "*) [ -n "$wrong" ] || fail "$header is no exception any more: take it off the list" ;;
    *) [ -z "$wrong" ] || fail "$wrong" ;;
  esac
done

# An expression of a form changes along axes that it does not hold, through its accumulators. The
# model of costs alone asks for those that it holds: what is made of accumulators is made once.
if grep -l 'neo_expr_axes(' -r schedule codegen --include='*.[ch]' | grep -vx 'schedule/loops/model\.c'; then
  fail "schedule and codegen ask neo_form_axes along which axes an expression changes"
fi

# A strategy's parameters are named in its folder, where it is lowered and in tests: all others ask for
# kinds of parameters (schedule/param_kinds.def).
if grep -nE 'NEO_PARAM\((loops|rows|block|nested)|[>.](loops|rows|block|nested)\.(tile|block|unit|vector|axis|threads|lanes|pack|stages)' \
  schedule/*.c fusion/*.c fusion/*/*.c transform/*.c transform/*/*.c codegen/loop/*.c codegen/llvm/*/*.c codegen/plan/*.c \
  codegen/lower/*.c codegen/lower/common/*.c tools/*/*.c tools/*/*/*.c; then
  fail "a strategy's parameter is named outside of its folder"
fi

# A form is matched once: what finds a shape in it is called from match.c alone.
if grep -rnE 'neo_match_[a-z_]+\(' schedule codegen tools --include='*.c' |
   grep -vE '^schedule/match\.c:|^schedule/[a-z_/]+\.c:[0-9]+:bool '; then
  fail "a matching function is called outside of schedule/match.c"
fi

# The price of an operator stands in ir/ops.def alone: nobody else has lists of functions.
if grep -nE 'NEO_OP_(EXP|TANH|LOG|ERF):' fusion/*.c transform/*.c transform/*/*.c schedule/*.c schedule/*/*.c codegen/llvm/core/roll.c; then
  fail "ir/cost.def says what an operator costs"
fi

# A machine's numbers stand in base/machine.def alone: multiprocessors, cycles, what is AVX2.
if grep -nE '(^|[^0-9.e])(132|4\.2)([^0-9.]|$)|MULTIPROCESSORS|_CYCLES|vector_regs == 16' \
  fusion/*.[ch] fusion/*/*.[ch] transform/*.[ch] transform/*/*.[ch] schedule/*.[ch] schedule/*/*.[ch] codegen/*/*.[ch] \
  codegen/*/*/*.[ch] tools/pipeline/*.[ch] 2>/dev/null; then
  fail "a number of a machine that base/machine.def has"
fi

# The rules above can fail: each of these lines breaks one.
printf '#include "codegen/loop/loop.h"\n' >"$work/a.c"
printf '# include <neo/neo_rt.h>\n#include <sys/stat.h>\n' >"$work/b.c"
[ "$(folders_of "$work/a.c")" = codegen ] || fail "the reader of includes misses a folder"
[ "$(folders_of "$work/b.c" | tr '\n' ' ')" = "include sys " ] ||
  fail "the reader of includes misses <neo/...>"
( status=0; check_file ir "$work/a.c" 2>/dev/null; [ $status = 1 ] ) ||
  fail "a violation goes unnoticed"
echo "runtime/cuda/cuda.h tools/neoc/native.c" >"$work/includes"
[ -n "$(check_private runtime/cuda/cuda.h)" ] || fail "a private header is included unnoticed"
[ "$(runtime_parts runtime/cuda/copy.c)" = "core cuda" ] || fail "a device's folder is not known"
exit "$status"
