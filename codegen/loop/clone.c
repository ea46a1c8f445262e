/* See clone.h. Expressions are rebuilt bottom-up: arguments have lower ids than their node. */
#include "codegen/loop/clone.h"
#include <assert.h>

typedef struct {
  neo_kernel *to;
  const neo_kernel *from;
  const neo_clone_buf *bufs;
  const neo_map *index;
  const neo_lx **made; /* by id in `from` */
  uint32_t *var, *reg; /* + 1; 0: none yet */
} cloner;

static const neo_lx *clone(cloner *c, const neo_lx *e);

static uint32_t var_of(cloner *c, uint32_t var) {
  if (!c->var[var])
    c->var[var] = neo_kernel_var(c->to, c->from->vars.at[var]) + 1;
  return c->var[var] - 1;
}

static uint32_t reg_of(cloner *c, uint32_t reg) {
  if (!c->reg[reg])
    c->reg[reg] = neo_kernel_reg(c->to, c->from->regs.at[reg]) + 1;
  return c->reg[reg] - 1;
}

static const neo_lx *offset_of(cloner *c, uint32_t buf, const neo_lx *offset) {
  return neo_lx_op2(c->to, NEO_OP_ADD, clone(c, offset), c->bufs[buf].offset);
}

static const neo_lx *size_of(cloner *c, uint32_t size) {
  uint64_t at;
  if (neo_map_get(c->index, size, &at))
    return (const neo_lx *)(uintptr_t)at;
  return neo_lx_size(c->to, size);
}

static const neo_lx *build(cloner *c, const neo_lx *e) {
  const neo_lx *arg[16];
  for (uint32_t k = 0; k < e->n; k++)
    arg[k] = clone(c, e->arg[k]);
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST: {
    neo_value v = {.i = (int64_t)e->bits};
    return neo_lx_const(c->to, (neo_type)e->type, v);
  }
  case NEO_LX_VAR:
    return neo_lx_var(c->to, var_of(c, e->attr));
  case NEO_LX_SIZE:
    return size_of(c, e->attr);
  case NEO_LX_KEY:
    return neo_lx_key(c->to, e->attr);
  case NEO_LX_LOAD:
    return neo_lx_load(c->to, c->bufs[e->attr].buf, offset_of(c, e->attr, e->arg[0]));
  case NEO_LX_LOADIF:
    return neo_lx_loadif(c->to, c->bufs[e->attr].buf, offset_of(c, e->attr, e->arg[0]), arg[1],
                         arg[2]);
  case NEO_LX_REG:
    return neo_lx_reg(c->to, reg_of(c, e->attr), arg, e->n);
  case NEO_LX_RAND:
    return neo_lx_rand(c->to, (neo_type)e->type, e->attr, arg[0]);
  case NEO_LX_FMA:
    return neo_lx_fma(c->to, arg[0], arg[1], arg[2]);
  case NEO_LX_PAIR:
    return neo_lx_pair(c->to, arg[0], arg[1]);
  case NEO_LX_DOT:
    return neo_lx_dot(c->to, arg[0], arg[1], arg[2]);
  case NEO_LX_OP:
    break;
  }
  return neo_lx_op(c->to, (neo_op)e->attr, (neo_type)e->type, arg, e->n);
}

static const neo_lx *clone(cloner *c, const neo_lx *e) {
  if (!c->made[e->id])
    c->made[e->id] = build(c, e);
  return c->made[e->id];
}

static void clone_block(cloner *c, neo_block *in, const neo_block *from);

static void clone_loop(cloner *c, neo_block *in, const neo_ls *s) {
  neo_loop_kind kind = s->loop.kind == NEO_LOOP_UNIT ? NEO_LOOP_SERIAL : s->loop.kind;
  neo_ls *l = neo_ls_for(c->to, in, kind, var_of(c, s->loop.var), clone(c, s->loop.lo),
                         clone(c, s->loop.hi), s->loop.step);
  l->loop.more = s->loop.more ? clone(c, s->loop.more) : NULL;
  clone_block(c, &l->loop.body, &s->loop.body);
}

static void clone_if(cloner *c, neo_block *in, const neo_ls *s) {
  neo_ls *y = neo_ls_if(c->to, in, clone(c, s->branch.cond));
  clone_block(c, &y->branch.then, &s->branch.then);
  clone_block(c, &y->branch.otherwise, &s->branch.otherwise);
}

static void clone_set(cloner *c, neo_block *in, const neo_ls *s) {
  const neo_lx *index[NEO_RANK];
  for (uint32_t k = 0; k < s->set.n_index; k++)
    index[k] = clone(c, s->set.index[k]);
  neo_ls_set(c->to, in, reg_of(c, s->set.reg), index, s->set.n_index, clone(c, s->set.value));
}

static void clone_tile(cloner *c, neo_block *in, const neo_ls *s) {
  bool memory = neo_tile_rows[s->tile.op].memory;
  uint32_t buf = memory ? s->tile.element.buf : 0;
  neo_ls_tile(c->to, in, s->tile.op, s->tile.reg, memory ? c->bufs[buf].buf : 0,
              memory ? offset_of(c, buf, s->tile.element.offset) : NULL, s->tile.pitch);
}

static void clone_statement(cloner *c, neo_block *in, const neo_ls *s) {
  switch (s->kind) {
  case NEO_LS_FOR:
    clone_loop(c, in, s);
    return;
  case NEO_LS_IF:
    clone_if(c, in, s);
    return;
  case NEO_LS_REG:
    neo_ls_reg(c->to, in, reg_of(c, s->declare.reg));
    return;
  case NEO_LS_SET:
    clone_set(c, in, s);
    return;
  case NEO_LS_STORE:
    neo_ls_store(c->to, in, c->bufs[s->store.to.buf].buf,
                 offset_of(c, s->store.to.buf, s->store.to.offset), clone(c, s->store.value),
                 s->store.cond ? clone(c, s->store.cond) : NULL);
    in->at[in->n - 1]->store.adds = s->store.adds;
    return;
  case NEO_LS_PREFETCH:
    neo_ls_prefetch(c->to, in, c->bufs[s->prefetch.of.buf].buf,
                    offset_of(c, s->prefetch.of.buf, s->prefetch.of.offset), s->prefetch.l2);
    return;
  case NEO_LS_TILE:
    clone_tile(c, in, s);
    return;
  default:
    assert(false && "a processor's kernel has no other statements");
  }
}

static void clone_block(cloner *c, neo_block *in, const neo_block *from) {
  for (size_t k = 0; k < from->n; k++)
    clone_statement(c, in, from->at[k]);
}

void neo_kernel_clone_into(neo_kernel *to, neo_block *in, const neo_kernel *from,
                           const neo_clone_buf *bufs, const neo_map *index) {
  cloner c = {.to = to, .from = from, .bufs = bufs, .index = index};
  c.made = NEO_NEW_ARRAY(to->arena, const neo_lx *, from->nodes.n + 1);
  c.var = NEO_NEW_ARRAY(to->arena, uint32_t, from->vars.n + 1);
  c.reg = NEO_NEW_ARRAY(to->arena, uint32_t, from->regs.n + 1);
  clone_block(&c, in, &from->body);
}
