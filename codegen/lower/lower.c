/* Lowers a group and its schedule to a kernel: its buffers, then the code of the schedule's
 * strategy. */
#include "codegen/lower/gpu_nested/gpu_nested.h"
#include "codegen/lower/gpu_rows/gpu_rows.h"
#include "codegen/lower/gpu_scatter/gpu_scatter.h"
#include "codegen/lower/gpu_tile/gpu_tile.h"
#include "codegen/lower/loops/loops.h"
#include "schedule/loops/collapse.h"
#include "schedule/segment/segment.h"

/* ---- buffers */

static bool may_share(const lowering *l, neo_tensor t, bool root) {
  const neo_group *g = l->g;
  if (g->over.i && (root || g->over.i == t.i))
    return true;
  if (root) {
    neo_tensor old = neo_tensor_at(l->m, t)->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (old.i && g->reads.at[k].i == old.i)
        return true;
    return false;
  }
  for (size_t k = 0; k < g->roots.n; k++)
    if (neo_tensor_at(l->m, g->roots.at[k])->updates.i == t.i)
      return true;
  return false;
}

static void add_buffer(lowering *l, neo_tensor t, neo_buf_use use) {
  const neo_tensor_rec *r = neo_tensor_at(l->m, t);
  uint64_t old;
  if (neo_map_get(&l->buf_of, t.i, &old)) { /* the group also reads this root */
    l->k->bufs.at[old].use = NEO_BUF_READ | NEO_BUF_WRITE;
    return;
  }
  neo_kbuf b = {.name = neo_name_text(l->m->names, r->name), .type = r->type, .use = (uint8_t)use};
  b.tensor = t;
  b.shift = neo_form_base(l->f, t);
  b.no_alias = !may_share(l, t, use == NEO_BUF_WRITE);
  b.align = neo_type_bytes((neo_type)r->type);
  neo_map_set(&l->buf_of, t.i, neo_kernel_buf(l->k, b));
}

static void add_buffers(lowering *l) {
  for (size_t k = 0; k < l->g->reads.n; k++)
    add_buffer(l, l->g->reads.at[k], NEO_BUF_READ);
  for (size_t k = 0; k < l->g->roots.n; k++)
    add_buffer(l, l->g->roots.at[k], NEO_BUF_WRITE);
  for (size_t k = 0; k < l->f->stages.n; k++)
    for (size_t i = 0; i < l->f->stages.at[k].outs.n; i++) {
      uint64_t buf = 0;
      if (l->f->stages.at[k].outs.at[i].row_block &&
          neo_map_get(&l->buf_of, l->f->stages.at[k].outs.at[i].tensor.i, &buf))
        l->k->bufs.at[buf].use = NEO_BUF_READ | NEO_BUF_WRITE;
    }
}

#define OF_TILES(name) neo_lower_loops
#define OF_PAIRS(name) neo_lower_loops
#define OF_PASS(name) neo_lower_loops
#define OF_THREADS(name) neo_lower_##name
static void (*const by_strategy[])(lowering *l) = {
#define X(id, name, family, body, keyed, prefetches, meaning) OF_##body(name),
#include "schedule/strategy.def"
#undef X
};

neo_status neo_lower(neo_module *m, const neo_group *g, const neo_schedule *s,
                     const neo_machine *machine, neo_arena *a, neo_kernel **out, neo_str *why) {
  neo_segment by_keys; /* where it is found the form knows which axes have no loops */
  if (neo_strategy_is_keyed(s->strategy))
    (void)neo_segment_of(m, g, &by_keys);
  neo_collapsed x = neo_collapsed_of(m, neo_group_form(m, g), s);
  lowering l = {.m = m, .a = a, .g = g, .s = &x.s, .machine = machine, .why = why, .f = x.f};
  l.lanes = (lane_axes){-1, -1, -1, 1, false};
  l.line_bytes = machine->profile.line_bytes;
  l.original = x.f;
  l.n_fused = 1;
  l.k = neo_kernel_new(a, g->name);
  l.p = neo_prover_new(m);
  l.k->span = g->members.n ? neo_def_at(m, g->members.at[0].def)->span : 0;
  neo_prover_at(l.p, l.k->span);
  neo_map_init(&l.buf_of, a);
  neo_map_init(&l.packed, a);
  neo_kernel_name_sizes(l.k, m);
  add_buffers(&l);
  neo_lower_facts(&l, l.f, NULL);
  by_strategy[s->strategy](&l);
  neo_prover_free(l.p);
  *out = l.k;
  return l.failed ? NEO_INTERNAL : NEO_OK;
}
