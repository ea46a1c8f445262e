#!/bin/sh
# Every option of the compiler says how it counts in the key of the code cache. The rule is in tests/cache_key.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3
rule=$NEO_SOURCE_DIR/tests/cache_key.py
python3 "$rule" "$NEO_SOURCE_DIR" >report || fail "options and rows differ" report

# The rule can fail: an option without a row, and a row without an option.
mkdir -p tools/pipeline
sed 's/^} neo_compile_options;/  bool forgotten;\n&/' "$NEO_SOURCE_DIR/tools/pipeline/compile.h" >tools/pipeline/compile.h
cp "$NEO_SOURCE_DIR/tools/pipeline/code_key.def" tools/pipeline
python3 "$rule" . >report && fail "an option without a row goes unnoticed"
says report 'without a row in code_key.def: forgotten' "an option without a row"
cp "$NEO_SOURCE_DIR/tools/pipeline/compile.h" tools/pipeline
echo 'X(gone, TEXT)' >>tools/pipeline/code_key.def
python3 "$rule" . >report && fail "a row without an option goes unnoticed"
says report 'without an option: gone' "a row without an option"
exit $status
