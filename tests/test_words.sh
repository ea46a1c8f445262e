#!/bin/sh
# Names say what a paper or LLVM's sources would say. Private words that the field has other words
# for are in no file name, identifier, pass name or `neoc explain` of the folders that are clean.
# docs/glossary.md has the words that are ours. Comments begin with their subject.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
cd "$NEO_SOURCE_DIR"

# Folders whose names are clean; each keeps out the words of `words` and those of its own.
clean="base ir frontend autodiff transform fusion network schedule codegen/loop codegen/lower codegen/llvm
codegen/plan runtime tools/neoc tools/pipeline tools/cache tools/benchmarks tools/tune tools/measure"

# private word: the field's
words='
ahead: prefetch
alike: structural match
apart: separate, disjoint, distance
at_hand: available
behind: after
belief: surrogate model
beside: collapse
lasting: call-invariant
lasts: call-invariant
lead: outer, hoisted
leads: outer, hoisted
nest: nested reduction
nests: nested reduction
ring: circular buffer, folded storage
single: unit axis
take_apart: match
turn: transpose, interchange, wrap
turnable: may interchange
turned: transpose, interchange, wrap
turns: transpose, interchange, wrap
walked: fused axes
'
words_of_frontend='
keep: own reduction, hoist
'
words_of_codegen_llvm='
fetch: prefetch, load
stream: nontemporal
streams: nontemporal
'
words_of_codegen_loop='
stream: nontemporal
streams: nontemporal
'
words_of_codegen_lower='
bulk: TMA
exchanged: swizzled
fetch: prefetch, load, issue copies
fetches: prefetch
keep: stash, save
keeps: stash
kept: stash
merged: fused
part_first: peel
roles: warp specialization
running: scan
stream: nontemporal
streamed: nontemporal
tall: height
wide: width, vectorized
'
words_of_codegen_plan='
keep: cache
keeps: cache
kept: cache
'
words_of_runtime="$words_of_codegen_plan"
words_of_fusion='
digit: strip-mine
digits: strip-mine
gather: fuse stages
keep: cache, stash
keeps: cache, stash
kept: cache, stash, saved
known: value reuse
merge: fuse axes
merger: fuse axes
'
words_of_schedule='
bulk: tma
fetch: prefetch, load
fetches: prefetch, load
follow: propagate
keep: stash
keeps: stash
kept: stash, partial sum
known: cached
merge: fuse axes
merged: fused axes
reach: span
shift: origin
settle: update units
wander: random walk
'
words_of_tools_tune='
keep: spare
kept: spare
known: logged
unkept: in memory
'
words_of_tools_measure='
keep: store
kept: shared, saved
known: measured, written
'
words_of_transform='
activations: channels last
fold: col2im
layouts: prepack
parallel: horizontal fusion
'
passes_not='activations columns filter fold layout narrow parallel phases split windows'
kinds_not='keep nest'
# The same in the documentation: terms, as patterns; most of these words alone are plain English.
terms='
grids? (that|which) stays?|whose grids? stays?: persistent grid, persistent kernel
turned round: transposed
lasting (value|definition|group)s?: call-invariant
(kept|lasting) between calls: cached between calls
lanes that lie apart: strided lanes
asked for (early|ahead|meanwhile): prefetched
fetched (early|ahead): prefetched
'

# Words that begin no comment of the folders below, a folder a line: a noun or a verb does.
no_subject='Of|Such|Those|What|Where|Who|Whoever|Whose'
comments_clean='
autodiff
base
codegen
frontend
fusion
include
ir
models
network
python
runtime
schedule
tests
tools
transform
'

# Words that begin no comment of a field or a line of code, in the same way.
no_noun='of|which|whose|Which'
fields_clean='
autodiff
base
codegen
frontend
fusion
include
ir
network
python
runtime
schedule
tools
transform
'

left() { # the words of a list
  printf '%s' "$1" | sed -n 's/:.*//p'
}

# identifiers FILE: each once; comments and texts are none of them
identifiers() {
  awk '{
    line = line $0 " "
  } END {
    while ((i = index(line, "/*")) > 0) {
      rest = substr(line, i + 2); j = index(rest, "*/")
      line = substr(line, 1, i - 1) " " (j ? substr(rest, j + 2) : "")
    }
    gsub(/"([^"\\]|\\.)*"/, " ", line)
    gsub(/[^A-Za-z0-9_]+/, "\n", line)
    print line
  }' "$1" | sort -u
}

check_names() { # file, words separated by |
  identifiers "$1" | tr 'A-Z' 'a-z' | grep -E "(^|_)($2)(_|\$)" | sed "s@^@$1: @" || true
}

for folder in $clean; do
  list="$words$(eval "printf '%s' \"\${words_of_$(echo "$folder" | tr / _):-}\"")"
  pattern=$(left "$list" | tr '\n' '|' | sed 's/||*/|/g; s/^|//; s/|$//')
  for path in $(find "$folder" -name '*.[ch]' | sort); do
    found=$(check_names "$path" "$pattern")
    [ -z "$found" ] || fail "names with private words: $found"
    stem=$(basename "$path" | sed 's/\..*//')
    ! printf '%s' "$stem" | grep -qE "(^|_)($pattern)(_|\$)" || fail "$path is named with a private word"
  done
done

for name in $passes_not; do
  grep -q "^X(\"$name\"" tools/pipeline/passes.def && fail "a pass is called $name"
done
for name in $kinds_not; do
  grep -q "^X([A-Z]*, \"$name\"" fusion/kinds.def && fail "a kind of fusion is called $name"
done

without_subject() { # file or folder...
  grep -rnIE --exclude=test_words.sh --exclude-dir=golden --exclude-dir=corpus "(/\*|//|\"\"\"|^ *#) ?($no_subject) " "$@" || true
}
# shellcheck disable=SC2086
found=$(without_subject $comments_clean)
[ -z "$found" ] || fail "comments do not begin with their subject: $found"

without_noun() { # file or folder...
  grep -rnE --include='*.[ch]' --include='*.def' "/\* ?($no_noun) " "$@" || true
}
# shellcheck disable=SC2086
found=$(without_noun $fields_clean)
[ -z "$found" ] || fail "comments of fields do not begin with a noun: $found"

pattern=$(left "$terms" | paste -sd'|' | sed 's/^|*//')
private_terms() { # file...
  grep -nE "$pattern" "$@" || true
}
found=$(private_terms ARCHITECTURE.md README.md docs/*.md)
[ -z "$found" ] || fail "the documentation has private terms: $found"

too_long() { # FILE: more than 130 lines, or a line of more than 120 columns
  awk 'length > 120 { print FILENAME ":" FNR ": " length " columns" } END { if (FNR > 130) print FILENAME ": " FNR " lines" }' "$1"
}
found=$(too_long ARCHITECTURE.md)
[ -z "$found" ] || fail "the map has grown: $found"

# Lines of sources are at most 100 columns wide.
wide() { # file...
  LC_ALL=C.UTF-8 grep -nE '^.{101,}' "$@" || true
}
# shellcheck disable=SC2046
found=$(wide $(find $clean include python/src -name '*.[ch]' -o -name '*.def'))
[ -z "$found" ] || fail "lines are wider than 100 columns: $found"

# Decisions in the output of `neoc explain` begin with a kind of fusion, or with one of these words.
"$NEOC" explain models/zoo/mlp.expr --groups >"$work/groups"
sed -n '/^decisions/,/^$/p' "$work/groups" | grep -E "^(nest|keep|apart|beside) " &&
  fail "explain --groups has private words"

# The rules above can fail.
printf '/* %0100d */\n' 1 >"$work/d.c"
[ -n "$(wide "$work/d.c" /dev/null)" ] || fail "a wide line goes unnoticed"
printf 'int turned_by; /* beside */ const char *x = "lasting";\n' >"$work/a.c"
[ "$(check_names "$work/a.c" 'turned|beside|lasting')" = "$work/a.c: turned_by" ] ||
  fail "the reader of names sees other names"
echo "small kernels whose grid stays" >"$work/a.md"
[ -n "$(private_terms "$work/a.md")" ] || fail "a private term goes unnoticed"
awk 'BEGIN { for (k = 0; k < 131; k++) printf "%*s\n", k < 1 ? 121 : 1, "x" }' >"$work/b.md"
[ "$(too_long "$work/b.md" | wc -l)" = 2 ] || fail "a map that has grown goes unnoticed"
echo "int x; /* of the loop */" >"$work/c.c"
[ -n "$(without_noun "$work/c.c")" ] || fail "a field's comment without noun goes unnoticed"
echo "int x; /* What x is. */" >"$work/b.c"
[ -n "$(without_subject "$work/b.c")" ] || fail "a comment without subject goes unnoticed"
exit "$status"
