#!/bin/sh
# One fact stands in one place. A number or a name that a table has is not written again in the
# sources: each block below names the table and the pattern of a copy.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
cd "$NEO_SOURCE_DIR"

folders="base ir frontend autodiff transform fusion schedule codegen runtime tools/pipeline tools/neoc
tools/tune tools/measure tools/cache tools/library"

# The sources without comments, each line with its place.
# shellcheck disable=SC2086
find $folders -name '*.[ch]' -exec awk '
  FNR == 1 { inside = 0 }
  {
    line = $0
    gsub(/\/\*[^*]*\*\//, "", line)
    if (inside) {
      if (!sub(/^.*\*\//, "", line)) next
      inside = 0
    }
    if (sub(/\/\*.*/, "", line)) inside = 1
    if (line ~ /[^ ]/) print FILENAME ": " FNR ": " line
  }' {} + >"$work/sources"

# not_again TABLE PATTERN [FOLDER]: no source has a match.
not_again() {
  grep -E "^${3:-}" "$work/sources" | grep -E -- "$2" >"$work/again" || return 0
  fail "$1 says it already" "$work/again"
}

# bytes of a cache line
not_again base/machine.def '\b(NEO_)?(CACHE_|PREFETCH_)?LINE(_BYTES|_SIZE)? *= *(32|64|128|256)\b'
# lengths of arrays of axes, dimensions and factors
not_again ir/limits.h '\b(MOST|MAX)_(AXES|RANK|FACTORS) *=' '(ir|frontend|autodiff|transform|fusion|schedule|codegen)/'
not_again ir/limits.h '\b(bool|int|u?int[0-9]+_t|double|neo_[a-z_]+|ad_[a-z]+|choice) \**[a-z_]+\[6[3-6]\]' '(ir|frontend|autodiff|transform|fusion|network|schedule|codegen|runtime|tools/(pipeline|neoc))/'
# the features of a GPU's level
not_again base/gpu.def '"sm_[0-9]+a?"|\bsm *(==|>=|<=|<|>) *[0-9]'

# alignment of planned and scratch memory
not_again include/neo/neo_rt.h '\b(ALIGN|align|ALIGN_BYTES) *= *(16|32|64)\b' '(codegen|runtime/core|runtime/cpu|tools/(measure|pipeline))/'

# Kinds of steps of a plan: the installed header has those of the table, in its order.
sed -n '/^enum neo_rt_step_op {/,/^};/s/^  NEO_RT_STEP_\([A-Z_]*\).*/\1/p' include/neo/neo_rt.h >"$work/declared"
sed -n 's/^STEP(\([A-Z_]*\),.*/\1/p' base/steps.def >"$work/table"
[ -s "$work/table" ] || fail "base/steps.def has no rows"
cmp -s "$work/declared" "$work/table" || fail "neo_rt_step_op has other kinds than base/steps.def"

# Strategies: a name is known to the strategy's own folders alone, shared code asks for columns.
grep -E '^(schedule|codegen|fusion|transform|tools)/' "$work/sources" | grep -E 'NEO_STRATEGY_[A-Z_]+' |
  while read -r place; do
    name=${place#*NEO_STRATEGY_}
    own=$(printf %s "${name%%[!A-Z_]*}" | tr 'A-Z' 'a-z')
    case ${place%%:*}:$own in
    */"$own"/*:* | schedule/schedule.h:) ;;
    *) echo "$place" ;;
    esac
  done >"$work/named"
[ ! -s "$work/named" ] || fail "schedule/strategy.def has, or lacks, a column that these ask for" "$work/named"
exit "$status"
