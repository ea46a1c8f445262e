/* Stage fusion: fewer passes over the own axes of a form.
 *
 *   stage 0  axes i  acc0 = sum a             stage 0  axes i  acc0 = sum a, acc1 = sum b
 *   stage 1  axes i  acc1 = sum b        ->   stage 1  axes i  Y = ..., Z = ...
 *   stage 2  axes i  Y = f(acc0)
 *   stage 3  axes i  Z = g(acc1)
 *
 * A reducing stage joins the first one over the same points after all stages whose accumulators it
 * uses; equal accumulators become one. A storing stage joins the last one over the same points:
 * values depend on accumulators and operands alone, so a later store stores the same. Payloads keep
 * their stage. */
#include "fusion/form/steps.h"

typedef struct {
  neo_module *m;
  neo_form *f;
  uint32_t *stage_of; /* acc -> number of its stage */
  uint32_t *number;   /* acc -> its new number */
} stage_fuser;

/* ---- candidates */

static bool same_points(const neo_stage *a, const neo_stage *b) {
  bool same = a->axes.n == b->axes.n && a->where.i == b->where.i;
  for (size_t k = 0; same && k < a->axes.n; k++)
    same = a->axes.at[k].lo.i == b->axes.at[k].lo.i && a->axes.at[k].hi.i == b->axes.at[k].hi.i;
  return same;
}

static bool has_payload(const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return true;
  return false;
}

typedef struct {
  const stage_fuser *g;
  uint32_t after; /* number of the last stage that it uses, + 1 */
} uses;

static void find_use(void *ctx, neo_expr e) {
  uses *u = ctx;
  const neo_node *n = neo_expr_node(u->g->m, e);
  if (n->op == NEO_OP_ACC && u->g->stage_of[n->attr] >= u->after)
    u->after = u->g->stage_of[n->attr] + 1;
}

/* ---- joining */

static void join_accs(stage_fuser *g, uint32_t to, uint32_t from) {
  neo_stage *s = &g->f->stages.at[to], *x = &g->f->stages.at[from];
  for (uint32_t k = 0; k < x->accs.n; k++) {
    g->stage_of[x->first_acc + k] = to;
    NEO_PUSH(g->m->arena, &s->accs, x->accs.at[k]);
  }
}

typedef struct {
  uint32_t stage, acc; /* origin of an accumulator */
} source;

static neo_expr renumber(void *ctx, neo_module *m, neo_expr e) {
  const stage_fuser *g = ctx;
  neo_node n = *neo_expr_node(m, e);
  return n.op == NEO_OP_ACC ? neo_acc_ref(m, (neo_type)n.type, g->number[n.attr]) : e;
}

static neo_expr renumbered(void *ctx, neo_module *m, neo_expr e) {
  return neo_expr_rewrite(m, e, renumber, ctx);
}

/* The number of an equal one among the first n accumulators of the stage; n: none. */
static uint32_t find_equal(const neo_stage *s, uint32_t n, const neo_form_acc *x) {
  for (uint32_t k = 0; k < n; k++)
    if (s->accs.at[k].kind == x->kind && s->accs.at[k].type == x->type &&
        s->accs.at[k].body.i == x->body.i)
      return k;
  return n;
}

/* Numbers accumulators in the order of stages. old[] are the old numbers of the stage's
 * accumulators. */
static uint32_t number_accs(stage_fuser *g, neo_stage *s, const uint32_t *old, uint32_t first) {
  uint32_t n = 0;
  bool payload = has_payload(s);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    s->accs.at[k].body = renumbered(g, g->m, s->accs.at[k].body);
    uint32_t at = payload ? n : find_equal(s, n, &s->accs.at[k]);
    g->number[old[k]] = first + at;
    if (at == n)
      s->accs.at[n++] = s->accs.at[k];
  }
  s->accs.n = n;
  s->first_acc = first;
  return first + n;
}

/* Numbers all accumulators. Stages use accumulators of earlier ones only, whose numbers are
 * known. */
static void number_all(stage_fuser *g, uint32_t (*old)[16], uint32_t n_stages) {
  uint32_t first = 0;
  for (uint32_t k = 0; k < n_stages; k++)
    first = number_accs(g, &g->f->stages.at[k], old[k], first);
  for (uint32_t k = 0; k < n_stages; k++) {
    neo_stage *s = &g->f->stages.at[k];
    neo_stage rest = *s;
    rest.accs.n = 0; /* joined */
    neo_stage_rewrite(g->m, &rest, renumbered, renumbered, g);
    s->where = rest.where;
  }
  g->f->n_accs = first;
}

/* ---- the whole form */

enum { MOST_STAGES = 32, MOST_ACCS = 16 };

static void fuse_accs(stage_fuser *g) {
  neo_form *f = g->f;
  uint32_t old[MOST_STAGES][MOST_ACCS];
  bool gone[MOST_STAGES] = {false};
  for (uint32_t k = 0; k < f->stages.n; k++)
    for (uint32_t i = 0; i < f->stages.at[k].accs.n; i++) {
      old[k][i] = f->stages.at[k].first_acc + i;
      g->stage_of[old[k][i]] = k;
    }
  for (uint32_t k = 0; k < f->stages.n; k++) {
    neo_stage *s = &f->stages.at[k];
    uses u = {g, 0};
    neo_stage_visit(g->m, s, find_use, &u);
    if (!s->accs.n || has_payload(s))
      continue;
    for (uint32_t i = u.after; i < k; i++) {
      neo_stage *to = &f->stages.at[i];
      if (gone[i] || !to->accs.n || has_payload(to) || !same_points(to, s) ||
          to->accs.n + s->accs.n > MOST_ACCS)
        continue;
      for (uint32_t j = 0; j < s->accs.n; j++)
        old[i][to->accs.n + j] = old[k][j];
      join_accs(g, i, k);
      gone[k] = true;
      break;
    }
  }
  uint32_t n = 0;
  for (uint32_t k = 0; k < f->stages.n; k++) {
    if (gone[k])
      continue;
    for (uint32_t j = 0; j < MOST_ACCS; j++)
      old[n][j] = old[k][j];
    f->stages.at[n++] = f->stages.at[k];
  }
  f->stages.n = n;
  number_all(g, old, n);
}

static void fuse_outs(stage_fuser *g) {
  neo_form *f = g->f;
  uint32_t n = 0;
  for (uint32_t k = 0; k < f->stages.n; k++) {
    neo_stage s = f->stages.at[k];
    uint32_t i = k + 1;
    while (i < f->stages.n && (f->stages.at[i].accs.n || !same_points(&f->stages.at[i], &s)))
      i++;
    if (s.accs.n || i == f->stages.n) {
      f->stages.at[n++] = s;
      continue;
    }
    for (size_t j = 0; j < f->stages.at[i].outs.n; j++)
      NEO_PUSH(g->m->arena, &s.outs, f->stages.at[i].outs.at[j]);
    f->stages.at[i].outs.at = s.outs.at;
    f->stages.at[i].outs.n = s.outs.n;
    f->stages.at[i].outs.cap = s.outs.cap;
  }
  f->stages.n = n;
}

void neo_form_fuse_stages(neo_module *m, neo_form *f) {
  stage_fuser g = {.m = m, .f = f};
  uint32_t reducing = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    reducing += f->stages.at[k].accs.n > 0;
    if (f->stages.at[k].accs.n > MOST_ACCS)
      return;
  }
  fuse_outs(&g);
  if (reducing < 2 || f->stages.n > MOST_STAGES)
    return;
  g.stage_of = NEO_NEW_ARRAY(m->arena, uint32_t, f->n_accs + 1);
  g.number = NEO_NEW_ARRAY(m->arena, uint32_t, f->n_accs + 1);
  fuse_accs(&g);
}
