#!/bin/sh
# Machine code of ptxas for the main kernels of GPUs: no spills, and no more registers than
# tests/gpu/kernels.txt records. NEO_REFRESH=1 writes that file anew. In the PTX, a tile of a product
# reads shared memory by vectors, meets at one barrier a block of steps, and divides nothing of 64
# bits; what lies contiguous in the device's memory is read and written 16 bytes at a time. From sm_80
# on operands pass through no registers: a block of steps starts copies, closes their group and waits
# for an earlier one, behind which is the barrier.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" ptxas
recorded=$NEO_SOURCE_DIR/tests/gpu/kernels.txt
ways='sm_75 sm_80 sm_90a sm_75.tf32 sm_80.tf32 sm_90a.tf32 sm_80.bf16 sm_90a.bf16 sm_80.3xtf32 sm_90a.3xtf32'
for way in $ways; do
  level=${way%.*} math=f32
  case $way in *.*) math=${way#*.} ;; esac
  "$NEOC" compile -q "$NEO_SOURCE_DIR/tests/gpu/kernels.expr" --target=nvptx:$level --math=$math --emit=ptx \
    -o "$work/$way"
  ptxas -v -arch=$level -o /dev/null "$work/$way/kernels.ptx" 2>"$work/said.$way"
  awk -v way=$way '/Compiling entry/ { name = $7; sub(/.*_k[0-9]+_/, "", name); gsub("\047", "", name) }
    /spill stores/ { spills = $5 + $9 }
    /Used/ { print way, name, $5, spills }' "$work/said.$way" | sort >>"$work/now"
done
found() { grep -c "$1" "$work/ptx" || :; }
# Sums inside of sums: attention's kernels, forward and backward, are named for the size of their heads. Where products are rounded,
# or may be split, all are nested and made by warps; else those of small heads, by threads, which meet at barriers.
for way in sm_75 sm_80 sm_90a sm_80.bf16 sm_90a.bf16 sm_90a.stored sm_90a.3xtf32; do
  level=${way%.*} math=f32 names='small_a_z small_a d_small_v d_small_k d_small_q' by='bar\.sync\|barrier\.'
  case $way in *.stored) math='bf16 --store=bf16' ;; *.*) math=${way#*.} ;; esac
  case $way in *.*) names="$names large_a_z large_a d_large_v d_large_k d_large_q" by='mma\.sync' ;; esac
  ptx=$work/nested.$way/nested.ptx
  "$NEOC" compile -q "$NEO_SOURCE_DIR/tests/gpu/nested.expr" --target=nvptx:$level --math=$math --emit=ptx -o "${ptx%/*}"
  ptxas -v -arch=$level -o /dev/null "$ptx" 2>"$work/said.nested.$way"
  for name in $names; do
    awk -v name="_k[0-9]+_$name[(]" '/^.visible .entry/ { on = $0 ~ name } on' "$ptx" >"$work/ptx"
    grep -q "$by" "$work/ptx" || { echo "FAIL: $way $name is not nested" >&2; exit 1; }
    case $way in # what lies in memory as it is multiplied comes past the registers
    sm_90a.stored) [ "$(found 'cp\.async\.cg.*, 16, ')" -ge 4 ] && [ "$(found 'cp\.async\.wait_group')" -ge 2 ] ;;
    esac || { echo "FAIL: $way $name: no stages" >&2; exit 1; }
    awk -v way=$way -v name=$name '/Compiling entry/ { on = $7 ~ "_k[0-9]+_" name "\047" } /spill stores/ { spills = $5 + $9 }
      on && /Used/ { print way, name, $5, spills }' "$work/said.nested.$way" >>"$work/now"
  done
  case $way in *.*) ! grep -q '^.visible .entry.*a_s(' "$ptx" ;; esac || { echo "FAIL: $way: scores are in memory" >&2; exit 1; }
done
# From sm_80 on warps multiply what is rounded to tf32 or bf16, f32 as three products where that is permitted, and
# everywhere f16; on sm_90a warpgroups do, but for f32 and what is copied by single elements of 2 bytes. Nothing else is.
kernel() { awk -v name="_$2(" '/^.visible .entry/ { on = index($0, name) } on' "$work/$1/kernels.ptx" >"$work/ptx"; }
for way in $ways; do
  for name in dense turned conv scores halves; do
    kernel $way $name
    case $way:$name in
    sm_75*:halves) shape='mma\.sync.*m16n8k8.*f16' least=32 ;;
    sm_90a.bf16:conv) shape='mma\.sync.*m16n8k16.*bf16' least=16 ;;
    sm_90a.bf16:*) shape='wgmma\.mma_async.*k16\.f32\.bf16' least=4 ;;
    sm_90a*:halves) shape='wgmma\.mma_async.*k16\.f32\.f16' least=4 ;;
    sm_[89]*.bf16:*) shape='mma\.sync.*m16n8k16.*bf16' least=16 ;;
    *:halves) shape='mma\.sync.*m16n8k16.*f16' least=16 ;;
    sm_[89]*.3xtf32:*) shape='mma\.sync.*m16n8k8.*tf32' least=48 ;;
    sm_90a.tf32:*) shape='wgmma\.mma_async.*k8\.f32\.tf32' least=8 ;;
    sm_[89]*.tf32:*) shape='mma\.sync.*m16n8k8.*tf32' least=16 ;;
    *) shape='' least=0 ;;
    esac
    products=$(found 'mma\.sync\|wgmma\.mma_async') of_shape=$(found "$shape") fma=$(found 'fma\.rn\.f32')
    if [ -n "$shape" ]; then [ "$products" -ge $least ] && [ "$of_shape" -eq "$products" ] && [ "$fma" -eq 0 ]
    else [ "$products" -eq 0 ] && [ "$fma" -ge 100 ]; fi ||
      { echo "FAIL: $way $name: $products products of warps, $of_shape of them $shape, $fma fma" >&2; exit 1; }
    case $shape in # 16 bits are read by matrices alone
    wgmma*f16) [ "$(found 'st\.shared\.[bu]16')" -eq 0 ] || { echo "FAIL: $way $name: single writes" >&2; exit 1; } ;;
    *f16) [ "$(found 'ld\.shared')" -eq 0 ] && [ "$(found 'ldmatrix')" -ge 4 ] ||
      { echo "FAIL: $way $name: $(found 'ld\.shared') single reads, $(found 'ldmatrix') matrices" >&2; exit 1; } ;;
    esac
  done
done
for name in dense turned conv scores; do
  awk -v name="_$name(" '/^.visible .entry/ { on = index($0, name) } on' "$work/sm_90a/kernels.ptx" >"$work/ptx"
  fma=$(grep -c 'fma\.rn\.f32' "$work/ptx") vectors=$(grep -c 'ld\.shared\.v4' "$work/ptx")
  barriers=$(grep -c 'bar\.sync\|barrier\.' "$work/ptx")
  single=$(grep -c 'ld\.shared\.[bf]32' "$work/ptx" || :) far=$(grep -c 'mul\.hi\.[us]64\|div\.\|rem\.' "$work/ptx" || :)
  [ "$fma" -ge $((10 * vectors)) ] && [ "$vectors" -gt 0 ] && [ "$single" -eq 0 ] && [ "$far" -eq 0 ] &&
    [ "$barriers" -eq 2 ] || {
    echo "FAIL: $name: $fma fma, $vectors vectors, $single single reads, $far divisions, $barriers barriers" >&2
    exit 1
  }
done
# From sm_90 on each thread begins with waiting for the kernels before it, and reads nothing as constant.
for way in sm_75 sm_80 sm_90a; do
  awk -v way=$way 'function bad(text) { print "FAIL: " way ": " name ": " text; status = 1 }
    /^.visible .entry/ { name = $3; waits = 0; kernels++ }
    /griddepcontrol.wait/ { waits = 1 }
    /[ \t](ld|st|cp\.async[a-z.]*|red|atom)\.(global|shared)/ && way == "sm_90a" && !waits { bad("memory before the wait") }
    /griddepcontrol/ && way != "sm_90a" { bad("waits") }
    /ld\.global\.nc/ && way == "sm_90a" { bad("read as constant") }
    /^}/ && way == "sm_90a" && !waits { bad("does not wait") }
    END { exit status || !kernels }' "$work/$way/kernels.ptx" >&2
done
for way in sm_75 sm_80 sm_90a sm_80.tf32; do
  for name in dense turned conv scores; do
    awk -v name="_$name(" '/^.visible .entry/ { on = index($0, name) } on' "$work/$way/kernels.ptx" >"$work/ptx"
    loop=$(awk '/^\$L__BB/ { text = "" } { text = text $1 "\n" } /bra/ { printf "%s", text; exit }' "$work/ptx" |
      grep -c '^cp\.async\.c[ag]' || :)
    order=$(sed -n 's/^[[:space:]]*\(cp\.async\.commit_group\|cp\.async\.wait_group\|bar\.sync\).*/\1/p' "$work/ptx" | tail -4 |
      tr '\n' ' ')
    case $way in
    sm_75) [ "$loop" -eq 0 ] && ! grep -q 'cp\.async' "$work/ptx" ;;
    *) [ "$loop" -ge 2 ] && [ "$order" = "cp.async.commit_group cp.async.wait_group bar.sync cp.async.wait_group " ] ;;
    esac || { echo "FAIL: $way $name: $loop copies in the loop, $order" >&2; exit 1; }
  done
done
# Products of warpgroups in stages: one product is under way while the next begins, and a block of steps costs one barrier. Boxes
# come by the copy engine, which one thread asks; maps of their tensors are read where they are given. ptxas waits for no product of
# its own accord.
kernel sm_90a halves
order=$(sed -n 's/^[[:space:]]*\(mbarrier\.[a-z_]*\|wgmma\.[a-z_]*_group\|fence\.[a-z]*\|bar\.sync\).*/\1/p' "$work/ptx" | tail -6 |
  tr '\n' ' ')
[ "$order" = "mbarrier.try_wait wgmma.commit_group wgmma.wait_group bar.sync mbarrier.arrive wgmma.wait_group " ] &&
  [ "$(found 'cp\.async\.bulk\.tensor\.2d')" -eq 6 ] && [ "$(found 'cp\.async\.c[ag]')" -eq 0 ] &&
  [ "$(found '\.param \.align 64 \.b8')" -eq 2 ] && [ "$(found '\.local')" -eq 0 ] &&
  [ "$(found 'm64n64k16\.f32\.f16')" -eq 4 ] || { echo "FAIL: sm_90a halves: $order" >&2; exit 1; }
# If a producer issues the boxes, one barrier in the beginning is all; each arm sets its registers, which together are no more
# than what the block begins with.
kernel sm_90a large
order=$(sed -n 's/^[[:space:]]*\(@%*p[0-9]* \)*\(mbarrier\.[a-z_]*\|setmaxnreg\.[a-z]*\|wgmma\.[a-z_]*_group\|bar\.sync\).*/\2/p' \
  "$work/ptx" | grep -v '^mbarrier.init' | tr '\n' ' ')
[ "$order" = "bar.sync setmaxnreg.inc mbarrier.try_wait wgmma.commit_group wgmma.wait_group mbarrier.arrive setmaxnreg.dec \
mbarrier.arrive mbarrier.try_wait wgmma.wait_group " ] && [ "$(found 'cp\.async\.bulk\.tensor\.2d')" -eq 3 ] &&
  [ "$(found '\.local')" -eq 0 ] && [ "$(found 'm64n256k16\.f32\.f16')" -eq 4 ] &&
  [ "$(found 'setmaxnreg.inc.sync.aligned.u32 232')" -eq 1 ] && [ "$(found 'setmaxnreg.dec.sync.aligned.u32 40')" -eq 1 ] &&
  [ "$(found '^\.maxntid 384')" -eq 1 ] && [ "$(found '^\.maxnreg 168')" -eq 1 ] &&
  grep -qx 'sm_90a large 168 0' "$work/now" || { echo "FAIL: sm_90a large: $order" >&2; exit 1; }
# Persistent blocks take one tile after another without a barrier: the phases of free stages begin with an arrival at each, and each
# role walks from its block on, by as many as there are.
kernel sm_90a persistent
order=$(sed -n 's/^[[:space:]]*\(@%*p[0-9]* \)*\(mbarrier\.[a-z_]*\|setmaxnreg\.[a-z]*\|wgmma\.[a-z]*_group\|bar\.sync\|mov.*nctaid\).*/\2/p' \
  "$work/ptx" | grep -v '^mbarrier.init' | sed 's/^mov.*/blocks/' | tr '\n' ' ')
arrive4="mbarrier.arrive mbarrier.arrive mbarrier.arrive mbarrier.arrive"
[ "$order" = "bar.sync setmaxnreg.inc $arrive4 blocks wgmma.wait_group mbarrier.arrive mbarrier.try_wait wgmma.commit_group \
wgmma.wait_group mbarrier.arrive setmaxnreg.dec blocks mbarrier.try_wait mbarrier.arrive " ] && [ "$(found '\.local')" -eq 0 ] &&
  [ "$(found '^\.maxnreg 168')" -eq 1 ] && grep -qx 'sm_90a persistent 168 0' "$work/now" ||
  { echo "FAIL: sm_90a persistent: $order" >&2; exit 1; }
kernel sm_90a shifted
order=$(sed -n 's/^[[:space:]]*\(cp\.async\.commit_group\|cp\.async\.wait_group\|wgmma\.[a-z_]*_group\|fence\.proxy\|bar\.sync\).*/\1/p' \
  "$work/ptx" | tail -8 | tr '\n' ' ')
[ "$order" = "wgmma.commit_group cp.async.commit_group cp.async.wait_group wgmma.wait_group fence.proxy bar.sync \
cp.async.wait_group wgmma.wait_group " ] && [ "$(found 'cp\.async\.cg.*, 16, ')" -eq 36 ] &&
  [ "$(found 'm64n256k16\.f32\.f16')" -eq 4 ] || { echo "FAIL: sm_90a shifted: $order" >&2; exit 1; }
if grep -q 'wgmma.*serialized' "$work"/said.*; then echo "FAIL: products that wait for each other" >&2; exit 1; fi
if grep -q 'setmaxnreg' "$work"/said.*; then echo "FAIL: registers that are not set" >&2; exit 1; fi
wide() { # level, kernel, loads, stores of 16 bytes, other loads: at least so many, and at most
  awk -v name="_$2(" '/^.visible .entry/ { on = index($0, name) } on' "$work/$1/kernels.ptx" >"$work/ptx"
  loads=$(grep -c 'ld\.global.*\.v[24]\.[bf]\(32\|64\)' "$work/ptx" || :)
  stores=$(grep -c 'st\.global.*\.v[24]\.[bf]\(32\|64\)' "$work/ptx" || :)
  single=$(grep -c 'ld\.\(global\.\)*\(nc\.\)*[bf]32' "$work/ptx" || :)
  loads=$((loads + $(grep -c 'cp\.async\.cg.*, 16, ' "$work/ptx" || :)))
  [ "$loads" -ge "$3" ] && [ "$stores" -ge "$4" ] && [ "$single" -le "$5" ] || {
    echo "FAIL: $1 $2: $loads loads and $stores stores of 16 bytes, $single other loads" >&2
    exit 1
  }
}
wide sm_75 dense 4 8 2
wide sm_75 turned 4 8 0
wide sm_75 scores 4 8 0
wide sm_90a dense 4 8 0
wide sm_90a turned 6 8 0
wide sm_90a scores 0 8 0
wide sm_90a map 2 1 0
# A filter's gradient is walked along the channels, which lie side by side in both operands, not along its last axis.
wide sm_90a partial_filters 4 0 0
wide sm_90a.bf16 partial_filters 16 0 0
# A row is read once, by a warp: no shared memory, no barrier; of columns warps join theirs, once.
wide sm_90a rows 6 6 0
wide sm_90a partial_columns 4 1 0
points() { # kernel, shuffles at least, barriers and reads of memory at most
  awk -v name="_$1(" '/^.visible .entry/ { on = index($0, name) } on' "$work/sm_90a/kernels.ptx" >"$work/ptx"
  shuffles=$(grep -c 'shfl\.sync' "$work/ptx" || :) barriers=$(grep -c 'bar\.sync\|barrier\.' "$work/ptx" || :)
  reads=$(grep -c 'ld\.global' "$work/ptx" || :)
  [ "$shuffles" -ge "$2" ] && [ "$barriers" -le "$3" ] && [ "$reads" -le "$4" ] || {
    echo "FAIL: $1: $shuffles shuffles, $barriers barriers, $reads reads" >&2
    exit 1
  }
}
points rows 10 0 6
points partial_columns 8 1 4
if [ -n "${NEO_REFRESH:-}" ]; then
  { echo "# level kernel registers spilled-bytes"; cat "$work/now"; } >"$recorded"
fi
awk 'NR == FNR { if ($1 != "#") most[$1 " " $2] = $3; next }
  !(($1 " " $2) in most) { print "FAIL: " $1 " " $2 ": nothing is recorded"; bad = 1; next }
  $4 > 0 { print "FAIL: " $1 " " $2 ": " $4 " bytes are spilled"; bad = 1 }
  $3 > most[$1 " " $2] { print "FAIL: " $1 " " $2 ": " $3 " registers, recorded " most[$1 " " $2]; bad = 1 }
  { n++ } END { if (!n) print "FAIL: no kernels"; exit (bad || !n) }' "$recorded" "$work/now" >&2
