#!/bin/sh
# One fact stands in one place. A number or a name that a table has is not written again in the
# sources: each block below names the table and the pattern of a copy.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
cd "$NEO_SOURCE_DIR"

folders="base ir frontend autodiff transform fusion schedule codegen runtime tools/pipeline tools/neoc
tools/tune tools/measure tools/cache tools/library"

# not_again TABLE PATTERN FOLDER...: no source but the table has a match outside of comments.
not_again() {
  table=$1 pattern=$2
  shift 2
  find "$@" -name '*.[ch]' | while read -r f; do
    sed -e 's:/\*.*\*/::' -e 's:/\*.*::' -e '/^ \*/d' -e 's:^.*\*/::' "$f" |
      grep -nE "$pattern" | sed "s:^:$f\: :" || true
  done >"$work/again"
  [ ! -s "$work/again" ] || fail "$table says it already" "$work/again"
}

# shellcheck disable=SC2086
{
  # bytes of a cache line
  not_again base/machine.def '\b(NEO_)?(CACHE_|PREFETCH_)?LINE(_BYTES|_SIZE)? *= *(32|64|128|256)\b' $folders
  # the features of a GPU's level
  not_again base/gpu.def '"sm_[0-9]+a?"|\bsm *(==|>=|<=|<|>) *[0-9]' $folders
}

# Strategies: a name is known to the strategy's own folders alone, shared code asks for columns.
grep -rnoE 'NEO_STRATEGY_[A-Z_]+' schedule codegen fusion transform tools --include='*.[ch]' |
  while IFS=: read -r f line name; do
    own=$(printf %s "${name#NEO_STRATEGY_}" | tr 'A-Z' 'a-z')
    case $f:$own in
    */"$own"/*:* | schedule/schedule.h:) ;;
    *) echo "$f: $line: $name" ;;
    esac
  done >"$work/named"
[ ! -s "$work/named" ] || fail "schedule/strategy.def has a column, or lacks one, for what these ask" "$work/named"
exit "$status"
