#!/bin/sh
# Every shipped model is in canonical form and has no errors.
set -eu
cd "$NEO_SOURCE_DIR"
"$NEOC" fmt --check models/*/*.expr tools/benchmarks/models/*.expr
for model in models/*/*.expr tools/benchmarks/models/*.expr; do "$NEOC" check "$model"; done
