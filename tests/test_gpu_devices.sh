#!/bin/sh
# Devices and levels: whatever GPU a library, candidates or neoc are told to be on, the target that their message names is one that
# neoc takes, and what it makes runs there. PTX of each level is assembled for the devices that have no level of their own; code for
# one generation alone is assembled for no other.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
devices="75 80 86 87 88 89 90 100 101 103 110 120 121" # some of which are none yet
printf 'input X[8]\ny[i] = X[i] + 1\noutput y\n' >m.expr
takes() { "$NEOC" compile -q m.expr --target="$1" --emit=ptx -o made 2>said; }
level() { sed -n 's/^\.target \([a-z0-9_]*\).*/\1/p' made/m.ptx; }

# A name stands for the newest level whose code runs there.
for pair in sm_75:sm_75 sm_80:sm_80 sm_86:sm_80 sm_87:sm_80 sm_89:sm_80 sm_90:sm_90 sm_90a:sm_90a sm_100:sm_90 sm_103:sm_90 \
  sm_110:sm_90 sm_120:sm_90 sm_121:sm_90; do
  takes "nvptx:${pair%:*}" || fail "nvptx:${pair%:*} is refused" said
  [ "$(level)" = "${pair#*:}" ] || fail "nvptx:${pair%:*} is $(level)"
done
for name in sm_70 sm_85 sm_999 sm_ native2 ''; do
  takes "nvptx:$name" && fail "nvptx:$name is taken"
  says said 'known: sm_75, .*sm_120' "nvptx:$name"
done
for name in sm_86a sm_100a sm_100f sm_120a; do
  takes "nvptx:$name" && fail "nvptx:$name is taken"
  says said "nothing is generated for $name alone: use nvptx:${name%?}" "nvptx:$name"
  takes "nvptx:${name%?}" || fail "what is said of $name is refused" said
done

# Shared memory of what is chosen without tuning: every device that the level's code runs on has it (99 KB on 8.6, 8.9 and 12.0).
most() { # bytes of the kernel that has most
  "$NEOC" explain "$NEO_SOURCE_DIR/tests/gpu/$2.expr" --target=nvptx:$1 --math=$3 --records=none --kernels | awk '
    /^kernel / {
      bytes = 0
      while (match($0, /: [a-z0-9]+ scratch [0-9]+/)) {
        split(substr($0, RSTART, RLENGTH), word, " ")
        bytes += word[4] * (word[2] ~ /64/ ? 8 : word[2] ~ /16/ ? 2 : 4)
        $0 = substr($0, RSTART + RLENGTH)
      }
      most = bytes > most ? bytes : most
    }
    END { print most + 0 }'
}
for level in sm_80 sm_90; do
  for model in large kernels nested; do
    for math in f32 tf32 bf16; do
      n=$(most $level $model $math)
      [ "$n" -gt 16384 ] && [ "$n" -le $((99 << 10)) ] || fail "$level $math $model: $n bytes of shared memory"
    done
  done
done
[ "$(most sm_90a large bf16)" -gt $((99 << 10)) ] || fail "sm_90a leaves its shared memory alone"

if [ -z "${NEO_SANITIZE:-}" ] && [ -e "$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so" ]; then
  on_emulated_device
  # Libraries of each level on each device: they run, or say which target does, which is one that neoc takes and that runs there.
  for level in $(gpu_levels); do
    for sm in 61 70 $devices; do
      export NEO_EMULATOR_SM=$sm
      "$NEOC" run m.expr X=zeros:[8] --target=nvptx:$level+host >ran 2>said && continue
      grep -q 'older than all GPUs' said && [ "$sm" -lt 75 ] && continue
      better=$(sed -n 's/.*compile it with --target=\(nvptx:[a-z0-9_]*\)$/\1/p' said)
      [ -n "$better" ] || fail "$level on $sm: nothing is recommended" said
      takes "$better" || fail "$level on $sm: $better is refused" said
      "$NEOC" run m.expr X=zeros:[8] --target="$better+host" >ran 2>said || fail "$better does not run on $sm" said
    done
  done
  NEO_EMULATOR_SM=120 "$NEOC" run m.expr X=zeros:[8] --target=nvptx:sm_90+host >ran || fail "sm_90 does not run on 12.0"
  if NEO_EMULATOR_SM=100 "$NEOC" run m.expr X=zeros:[8] --target=nvptx:sm_90a+host >ran 2>said; then fail "sm_90a runs on 10.0"; fi
  says said '(compute capability 10.0) cannot run: compile it with --target=nvptx:sm_100' "sm_90a on 10.0"
  # So do candidates.
  "$NEOC" tune m.expr --target=nvptx:sm_90a+host --emit=candidates --candidates=1 --records=none,empty --log=none -q ||
    fail "no candidates"
  for sm in 61 $devices; do
    export NEO_EMULATOR_SM=$sm
    "$NEO_BUILD_DIR/bin/neo-measure" candidates >ran 2>said && continue
    grep -q 'older than all GPUs' said && [ "$sm" -lt 75 ] && continue
    better=$(sed -n 's/.*use --target=\(nvptx:[a-z0-9_]*\)$/\1/p' said)
    [ -n "$better" ] || fail "candidates on $sm: nothing is recommended" said
    takes "$better" || fail "candidates on $sm: $better is refused" said
  done
  # The driver is asked where the target is this machine's.
  for pair in 75:sm_75 86:sm_80 90:sm_90a 100:sm_90 130:sm_90; do
    export NEO_EMULATOR_SM=${pair%:*}
    takes nvptx:native || fail "nvptx:native on ${pair%:*}" said
    [ "$(level)" = "${pair#*:}" ] || fail "nvptx:native on ${pair%:*} is $(level)"
  done
  expect 4 "nvptx:native on an old device" env NEO_EMULATOR_SM=70 "$NEOC" compile m.expr --target=nvptx:native -o made
  says err 'compute capability is below 7.5' "nvptx:native on an old device"
  expect 4 "nvptx:native without a driver" env NEO_CUDA_DRIVER=./none.so "$NEOC" compile m.expr --target=nvptx:native -o made
  says err 'name the GPU, as in nvptx:sm_80' "nvptx:native without a driver"
fi

command -v ptxas >/dev/null || { echo "no ptxas: PTX was not assembled for newer devices"; exit $status; }
ptxas --help >help
golden=$NEO_SOURCE_DIR/tests/golden/ptx
for way in "sm_75 kernels" "sm_80 kernels" "sm_80 warps" "sm_80 nested --math=tf32" "sm_90 kernels" "sm_90 warps" \
  "sm_90 nested --math=tf32" "sm_90 hopper --math=tf32"; do
  set -- $way
  "$NEOC" compile -q "$golden/$2.expr" --target=nvptx:$1 ${3:-} --records=none --emit=ptx -o "$1" || fail "$way"
  for device in sm_86 sm_89 sm_100 sm_120; do
    grep -q "'$device'" help || { echo "this ptxas does not know $device"; continue; }
    ptxas -arch=$device -O0 -o /dev/null "$1/$2.ptx" 2>said || [ "${device#sm_}" -lt "${1#sm_}" ] ||
      fail "PTX of $2 for $1 is not assembled for $device" said
  done
done
"$NEOC" compile -q "$golden/hopper.expr" --target=nvptx:sm_90a --math=tf32 --records=none --emit=ptx -o own
for device in sm_90 sm_100 sm_120; do
  if ptxas -arch=$device -o /dev/null own/hopper.ptx 2>/dev/null; then fail "code for sm_90a alone is assembled for $device"; fi
done
# A library for a device by its name holds machine code of that device; a ptxas that does not know it says what to do.
for device in sm_86 sm_120; do
  grep -q "'$device'" help || continue
  "$NEOC" compile -q m.expr --prefix=net --target=nvptx:$device -o named || fail "a library for $device"
  "$NEOC" compile -q m.expr --prefix=net --target=nvptx:sm_80 -o level
  ! cmp -s named/libnet.so level/libnet.so || fail "a library for $device is that of its level"
done
mkdir bin
printf '#!/bin/sh\necho "ptxas fatal: Value is not defined for option gpu-name" >&2\nexit 1\n' >bin/ptxas
chmod +x bin/ptxas
if PATH=$work/bin:$PATH "$NEOC" compile m.expr --prefix=net --target=nvptx:sm_120 -o old 2>said; then fail "a ptxas that fails"; fi
says said '--target=nvptx:sm_90 leaves sm_120 to the driver' "a ptxas of before the device"
exit $status
