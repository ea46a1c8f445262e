#!/bin/sh
# tools/ptx_check finds nothing in kernels that neoc makes, and says that it looked: at the golden PTX and at the models of
# tests/gpu (all levels with --long). And it finds each protocol that is broken by one change of a text, for the right reason.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" /usr/bin/python3
golden=$NEO_SOURCE_DIR/tests/golden/ptx
check() { /usr/bin/python3 "$NEO_SOURCE_DIR/tools/ptx_check" "$@"; }

# ---- clean, and looked at: `is KERNEL WHAT...`
is() {
  name=$1
  shift
  for what; do
    grep -q "$name: clean: .*\b$what" out || fail "$name: no '$what' was looked at" out
  done
}
expect 0 "golden PTX" check "$golden"/*.ptx
is warpgroup_producer '384 threads' '8 mbarriers' '2 arrivals' '2 boxes' '4 waits' '1 bar.sync' '4 wgmma'
is warpgroup_persistent '8 mbarriers' '7 arrivals' '2 boxes' '4 wgmma'
is warpgroup_boxes '4 mbarriers' '4 boxes' '4 wgmma'
is warpgroup_stages '18 cp.async' '5 waits' '2 proxy fences' '4 wgmma'
is warpgroup '3 proxy fences' '8 wgmma' '18 accesses to shared memory'
is warps_bf16 '6 cp.async' '2 bar.sync' '2 mma'
is nested_z '16 cp.async' '4 bar.sync' '64 mma'
is map 'no protocol'

cat >cell.expr <<'END'
import nn, optim, cells

input X[3, 12]
input h[3, 20]
input c[3, 20]
input Y[3] : i32 < 5
param W[4, 12, 20] = glorot(12, 20)
param R[4, 20, 20] = glorot(20, 20)
param bw[4, 20] = 0
param br[4, 20] = 0

h2, c2 = cells.sub_lstm(X, h, c, W, R, bw, br)
L = nn.linear(h2, out = 5)
loss = nn.cross_entropy(L, Y)
output L
train loss using optim.adam(lr = 0.01)
END
"$NEOC" compile -q -I "$NEO_SOURCE_DIR/models/zoo" cell.expr --target=nvptx:sm_90a --records=none --emit=ptx -o .
expect 0 "a persistent grid" check cell.ptx
is cell_g0_step '1 meetings of blocks'
awk '/^.visible .entry/ { on = $0 ~ "g0_step" } on' cell.ptx >grid.ptx

# Levels of graphs, by votes. Where a vertex's children are only data say: here it is
# made one place, the next one.
"$NEOC" compile -q "$NEO_SOURCE_DIR/models/zoo/tree_fc.expr" --target=nvptx:sm_90a --records=none --emit=ptx -o .
of_kernel() { awk -v name="$1" '/^.visible .entry/ { on = $0 ~ name } on' tree_fc.ptx; }
of_kernel _level_G_child | awk '/^.visible/ && n++ { exit } { print }' |
  sed 's/ld\.\([bs]32\)\(.*\), \[.*/ld.shared.\1\2, [neo_shared+4];/' >level.ptx
expect 0 "levels" check level.ptx
is level_G_child '[0-9]* bar.sync' '[0-9]* accesses to shared memory'

model() { # model, level, math
  "$NEOC" compile -q "$NEO_SOURCE_DIR/tests/gpu/$1.expr" --target=nvptx:$2 --math=$3 --records=none --emit=ptx -o "$work/$1.$2.$3"
  expect 0 "$1 for $2 with $3" check "$work/$1.$2.$3/$1.ptx"
  grep -q ' wgmma\| mma\| bar.sync' out || fail "$1 for $2 with $3: nothing was looked at" out
}
model products sm_90a bf16
model products sm_80 tf32
model large sm_90a bf16
model kernels sm_90a tf32
if [ -n "${NEO_TEST_LONG:-}" ]; then
  for way in products large kernels nested; do
    for level in $(gpu_levels); do
      for math in f32 bf16 tf32 3xtf32; do model $way $level $math; done
    done
  done
fi

# ---- broken by one change: `breaks NAME KERNEL SED RULE`
breaks() {
  from=$golden/$2.ptx
  [ -e "$from" ] || from=$work/$2.ptx
  sed "$3" "$from" >"$work/$1.ptx"
  if cmp -s "$from" "$work/$1.ptx"; then die "$1: nothing was changed"; fi
  printf '%s\t%s\n' "$1" "$4" >>"$work/wanted"
}
# Lines of the last barrier before, and the first behind.
before() { awk -v at="$1" '/bar.sync/ { last = NR } index($0, at) { print last; exit }' "${2:-grid.ptx}"; }
behind() { awk -v at="$1" 'index($0, at) { on = 1 } on && /bar.sync/ { print NR; exit }' grid.ptx; }
p=warpgroup_producer
breaks arrivals_that_nobody_makes $p 's/\[%r7\], 8;/[%r7], 9;/' 'deadlock: .* 8 of 9 arrivals'
breaks arrivals_too_many $p 's/\[%r7\], 8;/[%r7], 7;/' 'arrivals: 8 arrivals'
breaks arrivals_of_all_lanes $p 's/@p mbarrier.arrive.shared/mbarrier.arrive.shared/' 'arrivals: 256 arrivals'
breaks arrival_dropped $p 's/@p mbarrier.arrive.shared::cta.b64 _, \[%r37\];//' 'deadlock: .* 0 of 8 arrivals'
breaks arrival_of_another_stage $p 's/selp.b64 	%rd41, 24,/selp.b64 	%rd41, 16,/' 'overrun: '
breaks parity_constant $p 's/p, \[%r33\], %r34/p, [%r33], 1/' 'unwritten: .* its parity, 1, '
breaks parity_flipped $p 's/sub.s32 	%r22, 1, %r20/mov.b32 	%r22, %r20/' 'order: a box meets a box.*its parity, 1, '
breaks parity_that_never_turns $p 's/sub.s64 	%rd43, 1, %rd49/mov.b64 	%rd43, %rd49/' 'parity: .*it waits for nothing'
breaks bytes_one_less $p 's/49152;/49151;/' 'bytes: 49151 bytes are announced .* bring 49152'
breaks bytes_of_one_box $p 's/49152;/16384;/' 'bytes: '
breaks bytes_not_announced $p 's/mbarrier.arrive.expect_tx.*;//' 'deadlock: '
breaks box_to_another_stage $p 's/shl.b64 	%rd15, %rd50, 14/shl.b64 	%rd15, %rd50, 13/' 'bytes: \|order: '
breaks descriptor_of_the_step_before $p 's/%rd39, 4611686293305360388;/%rd39, 4611686293305360386;/' 'unread: byte'
breaks descriptor_beyond $p 's/add.s64 	%rd28, %rd39, 4611686293305360390/add.s64 	%rd28, %rd39, 4611686293305361414/' 'order: \|unread: '
breaks init_not_fenced $p 's/fence.mbarrier_init.release.cluster;//' 'init: .*no fence.mbarrier_init'
breaks init_not_waited_for $p 's/bar.sync 	0;//' 'init: nothing orders this'
breaks stages_of_producer $p 's/setp.eq.b64 	%p5, %rd50, 3/setp.eq.b64 	%p5, %rd50, 2/' 'order: a box meets a box'
breaks stages_of_consumers $p 's/setp.eq.b64 	%p9, %rd48, 3/setp.eq.b64 	%p9, %rd48, 2/' 'deadlock: '
breaks wait_for_place_too_late $p 's/setp.lt.u64 	%p4, %rd52, 256/setp.lt.u64 	%p4, %rd52, 320/' 'order: a box meets a '
breaks wait_without_loop $p 's/bra again;//' 'unwritten: a product reads'
breaks products_left_running $p 's/wait_group.sync.aligned 1/wait_group.sync.aligned 2/' 'order: a box meets a product'
breaks sums_read_early $p 's/wait_group.sync.aligned 0/wait_group.sync.aligned 1/' 'wait_group: st.global.*uses sums'
breaks products_not_committed $p 's/wgmma.commit_group.sync.aligned;//' 'wait_group: '
breaks products_not_fenced $p 's/wgmma.fence.sync.aligned;//' 'wgmma.fence: '
breaks registers_too_many $p 's/aligned.u32 232/aligned.u32 240/' 'setmaxnreg: .* want 66560 registers'
breaks registers_of_no_eight $p 's/aligned.u32 232/aligned.u32 230/' 'setmaxnreg: 230'
breaks barrier_for_too_few $p 's/bar.sync 	0;/bar.sync 	0, 256;/' 'deadlock: .* at barrier 0'
breaks persistent_parity warpgroup_persistent 's/sub.s64 	%rd27, 1, %rd89/mov.b64 	%rd27, %rd89/' 'parity: '
breaks persistent_first_arrival warpgroup_persistent '0,/@p mbarrier.arrive.*/s/@p mbarrier.arrive.*//' 'deadlock: '
breaks persistent_last_stage warpgroup_persistent 's/selp.b64 	%rd62, 24,/selp.b64 	%rd62, 16,/' 'overrun: '
breaks boxes_wait_dropped warpgroup_boxes 's/bra again;//' 'order: a product meets a box'
breaks boxes_bytes warpgroup_boxes '0,/12288/s/12288/8192/' 'bytes: '
s=warpgroup_stages
breaks proxy_fence_before_loop $s '0,/fence.proxy.async.shared::cta;/s/fence.proxy.async.shared::cta;//' 'proxy: a product meets cp.async'
breaks proxy_fence_in_loop $s '/BB1_1:/,$s/fence.proxy.async.shared::cta;//' 'proxy: a product meets cp.async'
breaks copies_left_running $s 's/cp.async.wait_group 	1/cp.async.wait_group 	2/' 'wait_group: a product meets cp.async'
breaks copies_not_committed $s '/BB1_1:/,$s/cp.async.commit_group;//' 'wait_group: '
breaks barrier_before_loop $s '0,/bar.sync 	0;/s/bar.sync 	0;//' 'order: a product meets cp.async'
breaks barrier_in_loop $s '/BB1_1:/,$s/bar.sync 	0;//' 'order: a product meets cp.async'
breaks stage_of_copies $s 's/selp.b64 	%rd52, 3, %rd51/selp.b64 	%rd52, 2, %rd51/' 'wait_group: cp.async meets cp.async\|order: '
breaks stored_not_fenced warpgroup 's/fence.proxy.async.shared::cta;//' 'proxy: a product meets a store'
w=warps_bf16
breaks warps_copies_left $w 's/cp.async.wait_group 	1/cp.async.wait_group 	2/' 'wait_group: ldmatrix meets cp.async'
breaks warps_barrier $w '0,/bar.sync 	0;/s/bar.sync 	0;//' 'order: ldmatrix meets cp.async'
breaks warps_end $w 's/cp.async.wait_group 	0;//' 'wait_group: this copy is still under way'
breaks reduction_barrier columns 's/bar.sync 	0;//' 'order: a load meets a store'
breaks grid_sum grid 's/-2147483647/-2147483646/' 'grid: the arrivals of 32 blocks'
breaks grid_of_ones grid 's/\(atom.add.*\), %r[0-9]*;/\1, 1;/' 'grid: the arrivals of 32 blocks'
breaks grid_not_looped grid 's/@early bra again;//' 'grid: the block goes on'
breaks grid_barrier_before grid "$(before atom.add)s/bar.sync.*//" 'grid: no bar.sync stands before'
breaks grid_barrier_behind grid "$(behind ld.acquire)s/bar.sync.*//" 'grid: no bar.sync stands behind'
breaks level_barrier level "$(before bar.red level.ptx)s/bar.sync.*//" 'order: a load meets a store'
breaks level_vote level 's/bar.red.or.pred[^%]*\(%p[0-9]*\),.*/mov.pred \1, -1;/' 'order: '
breaks unknown_instruction $w '0,/bar.sync 	0;/s/bar.sync 	0;/bar.red.popc.u32 %r1, 0, %p1;/' 'not understood: bar.red'
breaks unknown_copy $p 's/complete_tx::bytes/multicast::cluster/' 'not understood: cp.async.bulk'
expect 1 "broken protocols" check -q $(cut -f1 wanted | sed 's/$/.ptx/')
while IFS="$(printf '\t')" read -r name rule; do
  grep -q "^$name.ptx:.*: $rule" out || fail "$name: not told as '$rule': $(grep "^$name.ptx" out || echo clean)"
done <wanted
expect 2 "no file" check
expect 3 "a file that is not there" check "$work/none.ptx"
exit $status
