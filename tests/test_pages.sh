#!/bin/sh
# Pages of the documentation: each page of docs is in the site's navigation, links lead to files and headings, lines are not
# too long. The rules are in tests/pages.py; the site's generator is not needed.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3
pages=$NEO_SOURCE_DIR/tests/pages.py

python3 "$pages" "$NEO_SOURCE_DIR" >"$work/report" || fail "pages are not as they should be" "$work/report"

# The rules can fail.
mkdir -p docs tools/sphinx other
cp "$NEO_SOURCE_DIR/tools/sphinx/nav.py" tools/sphinx
printf '# Order\nFirst\n  README.md\n  docs/a.md\n  docs/gone.md\n  docs/none*.md\n' >tools/sphinx/nav.txt
printf '# A\n[b](../other/b.md#two-words-1) [c](gone.md) [d](#a) `[e](gone.md)`\n\n```text\n[f](gone.md)\n```\n' >docs/a.md
printf '# B\n## Two `words`\n## Two words\n[x](https://example.org/gone) [y](../docs/a.md#b)\n' >other/b.md
{ printf '# README\n'; seq -s ' ' 80; printf '|'; seq -s ' ' 80; } >README.md
echo '# lost' >docs/lost.md
python3 "$pages" . >report && fail "what is wrong goes unnoticed"
cat >want <<'END'
docs/lost.md is not in tools/sphinx/nav.txt
tools/sphinx/nav.txt: there is no docs/gone.md
README.md:2: 230 columns
docs/a.md:2: there is no file gone.md
other/b.md:4: docs/a.md has no heading #b
END
diff -u want report || fail "pages.py finds other things"
exit "$status"
