/* The key of a group: a hash of its form with tensors as numbers of buffers, so that groups with
 * equal kernels have equal keys. It covers all that the kernel depends on: types, sizes, strides
 * (inside the offsets), bounds of index tensors, the length of each buffer that is not closed
 * (loads are compared with it), and which buffers may share memory. */
#include "base/hash.h"
#include "fusion/form/steps.h"

typedef struct {
  neo_module *m;
  const neo_group *g;
  neo_map node[2];
  neo_map buf; /* tensor -> number of its buffer + 1 */
} keyer;

static uint64_t attr_key(const keyer *c, const neo_node *n) {
  uint64_t x = n->attr;
  if (n->op == NEO_OP_CONST)
    return c->m->constants.at[n->attr];
  if (neo_node_is_load(n))
    neo_map_get(&c->buf, n->attr, &x);
  return x;
}

static void hash_node(void *ctx, neo_expr e) {
  keyer *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  for (int side = 0; side < 2; side++) {
    uint64_t h = neo_hash_mix((uint64_t)n->op << 8 | n->type, attr_key(c, n));
    h = neo_hash_mix(h, side ? 0x9e3779b97f4a7c15ULL : n->arg.n);
    for (uint32_t k = 0; k < n->arg.n; k++) {
      uint64_t a = 0;
      neo_map_get(&c->node[side], neo_list_at(c->m, n->arg, k), &a);
      h = neo_hash_mix(h, a);
    }
    neo_map_set(&c->node[side], e.i, h);
  }
}

static void mix(uint64_t key[2], uint64_t x) {
  key[0] = neo_hash_mix(key[0], x);
  key[1] = neo_hash_mix(key[1], x + 0x632be59bd9b4e019ULL);
}

static void mix_expr(keyer *c, uint64_t key[2], neo_expr e) {
  mix(key, e.i != 0);
  if (!e.i)
    return;
  neo_expr_visit(c->m, e, hash_node, c);
  for (int side = 0; side < 2; side++) {
    uint64_t h = 0;
    neo_map_get(&c->node[side], e.i, &h);
    key[side] = neo_hash_mix(key[side], h);
  }
}

static void mix_axes(keyer *c, uint64_t key[2], const neo_axis_rec *x, size_t n) {
  mix(key, n);
  for (size_t k = 0; k < n; k++) {
    mix_expr(c, key, x[k].lo);
    mix_expr(c, key, x[k].hi);
  }
}

static void mix_stage(keyer *c, uint64_t key[2], const neo_stage *s) {
  mix_axes(c, key, s->axes.at, s->axes.n);
  if (s->over)
    mix(key, s->over);
  mix_expr(c, key, s->where);
  mix(key, s->accs.n);
  for (size_t k = 0; k < s->accs.n; k++) {
    mix(key, (uint64_t)s->accs.at[k].kind << 8 | s->accs.at[k].type);
    mix_expr(c, key, s->accs.at[k].body);
  }
  mix(key, s->outs.n);
  for (size_t k = 0; k < s->outs.n; k++) {
    uint64_t buf = 0;
    neo_map_get(&c->buf, s->outs.at[k].tensor.i, &buf);
    mix(key, buf);
    mix_expr(c, key, s->outs.at[k].offset);
    mix_expr(c, key, s->outs.at[k].value);
    if (s->outs.at[k].row_block)
      mix(key, (uint64_t)s->outs.at[k].row_block);
  }
}

static void mix_buffer(keyer *c, uint64_t key[2], neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(c->m, t);
  uint64_t old = 0;
  mix(key, r->type);
  neo_expr bound = r->bound;
  if (r->updates.i)
    neo_map_get(&c->buf, r->updates.i, &old);
  mix(key, old);
  mix_expr(c, key, bound);
  if (r->least.i || r->below.i) {
    mix_expr(c, key, r->least);
    mix_expr(c, key, r->below);
  }
  if (r->terms) /* with the elements that are written */
    mix(key, 1);
  bool closed = neo_form_closed(neo_group_form(c->m, c->g), t);
  mix_expr(c, key, closed ? (neo_expr){0} : neo_tensor_elements(c->m, t));
}

void neo_form_key(neo_module *m, const neo_group *g, uint64_t key[2]) {
  keyer c = {.m = m, .g = g};
  const neo_form *f = neo_group_form(m, g);
  neo_map_init(&c.node[0], m->arena);
  neo_map_init(&c.node[1], m->arena);
  neo_map_init(&c.buf, m->arena);
  uint64_t n = 0;
  for (size_t k = 0; k < g->reads.n; k++)
    neo_map_set(&c.buf, g->reads.at[k].i, ++n);
  for (size_t k = 0; k < g->roots.n; k++)
    neo_map_set(&c.buf, g->roots.at[k].i, ++n);
  key[0] = 1;
  key[1] = 2;
  mix(key, g->reads.n);
  for (size_t k = 0; k < g->reads.n; k++)
    mix_buffer(&c, key, g->reads.at[k]);
  for (size_t k = 0; k < g->roots.n; k++)
    mix_buffer(&c, key, g->roots.at[k]);
  for (size_t k = 0; k < g->when.n; k++)
    mix_expr(&c, key, g->when.at[k]);
  uint64_t over = 0;
  if (neo_map_get(&c.buf, g->over.i, &over))
    mix(key, over);
  mix_axes(&c, key, f->axes.at, f->axes.n);
  mix(key, f->stages.n);
  for (size_t k = 0; k < f->stages.n; k++)
    mix_stage(&c, key, &f->stages.at[k]);
}
