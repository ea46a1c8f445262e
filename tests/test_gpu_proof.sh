#!/bin/sh
# tools/gpu_proof adds up what its parts counted, leaves out parts that are done, says which failed, and
# fails where a leg has too little of something, or nothing at all. Its tests are stubs here.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
mkdir -p "$work/build/tests" "$work/bin"
printf '#!/bin/sh\n' >"$work/bin/ptxas"
chmod +x "$work/bin/ptxas"
PATH=$work/bin:$PATH
export PATH

# Each program has two of each kind, and fails where $work/bad holds its part's first seed.
stub() { # counted
  for name in random large; do
    cat >"$work/build/tests/test_pipeline_gpu_$name" <<STUB
#!/bin/sh
echo "\$1 \$NEO_TEST_SEED" >>"$work/ran"
echo "seed \$NEO_TEST_SEED" >&2
case \$1 in *products*) ! grep -qx "\$NEO_TEST_SEED" "$work/bad" || { echo "element 3 is 1"; exit 1; } ;; esac
n=\$((2 * NEO_TEST_COUNT))
echo "counted $1" | sed "s/=n/=\$n/g" >&2
STUB
    chmod +x "$work/build/tests/test_pipeline_gpu_$name"
  done
  cp "$work/build/tests/test_pipeline_gpu_large" "$work/build/tests/libneo_gpu_emulator.so"
}
prove() { # wanted status, arguments
  wanted=$1
  shift
  : >ran
  NEO_BUILD_DIR=$work/build expect "$wanted" "gpu_proof $*" "$NEO_SOURCE_DIR/tools/gpu_proof" --programs 2 \
    --assembled 2 --large 12 --part 4 --log "$work/log" "$@"
}
told() { # pattern, what
  grep -Eq -- "$1" out || fail "$2" out
}

all="mma=n wgmma=n boxes=n producers=n persistent=n nested=n stages=n setmaxnreg=n grids=n"
: >bad
stub "$all"
# 12 products, 3 sums in sums, 1 window on both sides; 2 three times and 2 small ones
prove 0 --minimum 36
told '^of programs +22 +18$' "programs are not added up"
told '^mma +44 +36 +36$' "kernels are not added up"
[ "$(wc -l <ran)" -eq 14 ] || fail "there are not 14 parts"
prove 1 --minimum 37
told '^mma +44 +36 +37  missed$' "what is missing is not said"
[ ! -s ran ] || fail "parts that are done ran again"

stub "$(echo "$all" | sed 's/boxes=n/boxes=0/')"
prove 1 --minimum 1
[ -s ran ] || fail "the log of other tests counted"
told '^boxes.*missed' "a kind that never came is not missed"

echo 5 >bad
stub "$all"
prove 1 --minimum 1
told '^FAIL: emulated .*products.* 5 4: seed 5$' "the part that failed is not said"
told 'element 3 is 1' "what failed is not said"
: >bad
prove 0 --minimum 1
[ "$(wc -l <ran)" -eq 2 ] || fail "more than the parts that failed ran again"

prove 0 --help
told 'gpu_proof \[--programs N\]' "--help"
prove 2 --large few
prove 2 --unknown
exit $status
