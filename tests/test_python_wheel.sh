#!/bin/sh
# A wheel of the Python package works without the build around it, and has a bounded size.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
ls "$NEO_BUILD_DIR"/python/neoc/_core.*.so >/dev/null 2>&1 || {
  echo "skipped: the package is not built, as headers of Python (python3-dev) are missing" >&2
  exit 77
}
python=/usr/bin/python3
[ -x "$python" ] || python=python3
needs cmake "$python"
"$python" -c 'import numpy' 2>/dev/null || {
  echo "skipped: $python has no numpy" >&2
  exit 77
}

cmake --install "$NEO_BUILD_DIR" --component python --prefix "$work/site" >log 2>&1 ||
  die "the component python cannot be installed" log
neo=$work/site/neoc/_neo
for file in lib/libneo.so.0 lib/libneort.so lib/libneort.so.0 lib/libneort.a bin/neo-measure \
  include/neo/neo_rt.h share/neo/std/nn.expr share/neo/zoo/mlp.expr ../py.typed ../op.py; do
  [ -f "$neo/$file" ] || fail "the package lacks $file"
done
[ -z "$(find site -type l)" ] || fail "the package has symbolic links"

# ---- libraries are found beside the module, and no others
runpath=$(objdump -p site/neoc/_core.*.so | awk '$1 == "RUNPATH" { print $2 }')
[ "$runpath" = '$ORIGIN/_neo/lib' ] || fail "RUNPATH of the module is '$runpath'"

objdump -p "$neo/lib/libneo.so.0" >libneo.txt
if ! grep -q 'NEEDED.*LLVM' libneo.txt && grep -q 'RUNPATH.*/' libneo.txt; then
  fail "libneo looks for libraries in folders of this machine"
fi

# ---- compressed as a wheel is: at most 40 MB
"$python" -c 'import shutil; shutil.make_archive("wheel", "zip", "site")'
bytes=$(wc -c <wheel.zip)
[ "$bytes" -le 40000000 ] || fail "a wheel has $bytes bytes"

# ---- moved elsewhere, it compiles operators, models with modules, and files that need libneort
mkdir away
mv site away/here
cat >program.py <<'END'
import os, sys, neoc, numpy as np
assert neoc.__file__.startswith(sys.argv[1]), neoc.__file__
assert (neoc.op("y = nn.softmax(x)")(np.zeros((1, 4), "f")) == 0.25).all()
m = neoc.load(os.path.join(sys.argv[1], "neoc/_neo/share/neo/zoo/mlp.expr"))
print(m.forward(X=np.zeros((2,) + m.inputs["X"].shape[1:], "f")).shape)
with open("/proc/self/maps") as file:
    places = {line.split()[-1] for line in file if "libneo" in line}
assert places == {os.path.join(sys.argv[1], "neoc/_neo/lib/libneo.so.0")}, places
END
here=$work/away/here
(cd / && PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" "$work/program.py" "$here") >log 2>&1 ||
  fail "a program with the package" log
printf 'import nn\ninput x[4]\ny = nn.softmax(x)\noutput y\n' >soft.expr
export PYTHONPATH="$here"
"$python" -m neoc run soft.expr x=random:1 >log 2>&1 || fail "python -m neoc run" log
"$python" -m neoc tune --time=1s soft.expr >log 2>&1 || fail "python -m neoc tune" log # runs neo-measure
if command -v cc >/dev/null; then
  "$python" -m neoc compile -q soft.expr -o out >log 2>&1 || fail "python -m neoc compile" log
  [ -f out/libsoft.so ] || fail "no library" log
fi
exit $status
