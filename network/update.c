/* The optimizer in the module of an actor: the entry `update`, for the sums of an interval, and the
 * updates of `apply`, for an interval of one message.
 *
 *     update   W.grad = acc.W/acc.weight     acc.W = 0, unless the next message stores its gradient
 *     apply    W.grad = grad.W/weight
 *
 * rand() and `step` go by the instance's number in the entries of a node, and by the number of
 * updates in `update`. So in `apply` the optimizer's `step` is an input, and an optimizer that
 * draws numbers has no `apply`. */
#include "network/actor.h"

/* sum/weight. Of several nodes, one may have added nothing since the last update. */
static neo_expr quotient(const neo_net_maker *k, neo_type type, const neo_net_sum *x) {
  neo_module *m = k->m;
  neo_expr weight = neo_cast(m, type, neo_load(m, x->weight, NULL, 0, 0));
  neo_expr zero = neo_const_int(m, type, 0);
  neo_expr mean = neo_op2(m, NEO_OP_DIV, neo_cast(m, type, neo_net_own(m, x->sum)), weight);
  return k->n_nodes == 1
             ? mean
             : neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LT, zero, weight), mean, zero);
}

/* The mean over what each node has added of a parameter's gradients; 0: nothing adds. */
static neo_expr mean_of(neo_net_maker *k, size_t pair, const neo_net_sums *from) {
  neo_module *m = k->m;
  neo_expr all = {0};
  for (size_t j = 0; j < from->n; j++) {
    const neo_net_sum *x = &from->at[j];
    neo_type type = neo_tensor_type(m, k->sums.at[j].sum);
    if (x->pair != pair)
      continue;
    neo_expr mean = quotient(k, type, x);
    all = all.i ? neo_op2(m, NEO_OP_ADD, all, mean) : mean;
  }
  return all;
}

/* The gradients that the optimizer reads as W.grad. */
static void define_gradients(neo_net_maker *k, neo_import *x, const neo_net_sums *from) {
  for (size_t j = 0; j < k->s->pairs.n; j++) {
    neo_expr mean = mean_of(k, j, from);
    if (!mean.i)
      continue;
    neo_tensor out = k->s->pairs.at[j].out, g = neo_import_like(x, out, NEO_ROLE_TEMP, NULL);
    neo_net_define(k->m, g, neo_cast(k->m, neo_tensor_type(k->m, g), mean));
    neo_map_set(&x->tensors, out.i, g.i);
  }
}

static void declare_seen(neo_net_maker *k, neo_import *x) {
  neo_net_actor *actor = &k->n->actors.at[k->actor];
  for (size_t j = 0; j < actor->seen.n; j++) {
    neo_net_seen *seen = &actor->seen.at[j];
    seen->to = neo_import_like(x, seen->of, NEO_ROLE_INPUT, "last");
    neo_map_set(&x->tensors, seen->of.i, seen->to.i);
  }
}

/* The updates of what the actor owns, and of the copies that it has. The actor of the loss has all
 * copies, so that there is one of each. */
static void import_updates(neo_net_maker *k, neo_import *x, neo_tensors *updates) {
  const neo_net_step *s = k->s;
  bool *taken = NEO_NEW_ARRAY(s->a, bool, s->optimizer.n + 1), more = true;
  bool loss = k->o->of_class[k->c->loss] == k->actor;
  while (more) {
    more = false;
    for (size_t j = 0; j < s->optimizer.n; j++) {
      neo_tensor state = neo_tensor_at(s->m, s->optimizer.at[j])->updates;
      bool copy = s->copied[state.i] && (loss || neo_import_known(&k->kept, state).i);
      if (taken[j] || !(copy || k->o->of_tensor[state.i] == k->actor))
        continue;
      taken[j] = more = true;
      NEO_PUSH(s->a, updates, neo_import_tensor(x, s->optimizer.at[j]));
      neo_import_finish(x);
    }
  }
}

static void clear(neo_net_maker *k, neo_tensor sum, neo_tensors *updates) {
  neo_expr zero = neo_const_int(k->m, neo_tensor_type(k->m, sum), 0);
  NEO_PUSH(k->s->a, updates, neo_net_define_update(k->m, sum, "clear", zero));
}

void neo_net_make_update(neo_net_maker *k) {
  neo_import x = neo_import_begin(k->s->m, k->m, &k->kept, k->s->a);
  neo_net_actor *actor = &k->n->actors.at[k->actor];
  bool clears = k->n_nodes > 1; /* see neo_net_node.first */
  neo_tensors updates = {0};
  define_gradients(k, &x, &k->sums);
  declare_seen(k, &x);
  import_updates(k, &x, &updates);
  for (size_t j = 0; j < k->sums.n && clears; j++)
    clear(k, k->sums.at[j].sum, &updates);
  for (size_t j = 0; j < k->totals.n && clears; j++)
    clear(k, k->totals.at[j], &updates);
  if (updates.n)
    actor->update =
        neo_net_add_entry(k, NEO_ENTRY_TRAIN, "update", (neo_list){0}, neo_net_list(k, &updates));
}

/* ---- apply */

typedef struct { /* what the optimizer of the actor counts by */
  const neo_module *m;
  neo_expr step; /* 0: it does not read the number of updates */
  bool random;
} numbers;

static void note_number(void *ctx, neo_expr e) {
  numbers *x = ctx;
  uint8_t op = neo_expr_node(x->m, e)->op;
  x->random = x->random || op == NEO_OP_RAND;
  if (op == NEO_OP_STEP)
    x->step = e;
}

static numbers optimizer_numbers(const neo_net_part *p) {
  const neo_net_step *s = p->k->s;
  numbers x = {.m = s->m};
  for (size_t k = 0; k < s->optimizer.n; k++) {
    neo_def *defs;
    neo_tensor state = neo_tensor_at(s->m, s->optimizer.at[k])->updates;
    bool own = s->copied[state.i] || p->k->o->of_tensor[state.i] == p->k->actor;
    size_t n = own ? neo_net_update_defs(s, s->optimizer.at[k], &defs) : 0;
    for (size_t j = 0; j < n; j++)
      neo_def_visit(s->m, defs[j], note_number, &x);
  }
  return x;
}

/* `step` of the optimizer becomes an input. */
static void take_count(neo_net_maker *k, neo_import *x, neo_expr step) {
  neo_tensor count = neo_net_scalar(k->m, NEO_ROLE_INPUT, NEO_I64_T, "updates");
  k->n->actors.at[k->actor].count = count;
  neo_map_set(&x->exprs, step.i, neo_load(k->m, count, NULL, 0, 0).i);
}

bool neo_net_apply(const neo_net_part *p, neo_tensors *updates) {
  neo_net_maker *k = p->k;
  const neo_net_actor *actor = &k->n->actors.at[k->actor];
  numbers by = optimizer_numbers(p);
  if (by.random)
    return false;
  neo_import x = neo_import_begin(k->s->m, k->m, &k->kept, k->s->a);
  define_gradients(k, &x, &k->last);
  for (size_t j = 0; j < actor->seen.n; j++)
    neo_map_set(&x.tensors, actor->seen.at[j].of.i, actor->seen.at[j].from.i);
  if (by.step.i)
    take_count(k, &x, by.step);
  import_updates(k, &x, updates);
  return true;
}
