/* The verifier's last part: checks that every read is inside of its tensor.
 *
 * A LOAD is evaluated wherever its definition evaluates it: in the bounds of a range at all points
 * of the axes before it, in the condition of a reduction at all points of its domain, under a
 * `select`, an `and` or an `or` where the left side permits it. A pass that embeds a domain in a
 * larger one, or moves a condition out of the one around it, has to guard its reads
 * (transform/embed.h). This check asks the prover, with the facts at the read. An answer that the
 * prover gives up for its quota is no failure.
 *
 * A definition that was proved once is not checked again as long as everything that it depends on
 * is unchanged. */
#include "base/hash.h"
#include "ir/guarded_read.h"
#include "ir/print.h"
#include "ir/verify/verify.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  neo_str *why;
  const bool *all; /* by tensor: check its reads */
  uint64_t key;    /* key of the present definition */
} reads_check;

/* ---- memo of proofs */

static void mix(reads_check *c, uint32_t x) {
  c->key = neo_hash_mix(c->key, x);
}

static void mix_list(reads_check *c, neo_list l) {
  mix(c, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    mix(c, neo_list_at(c->m, l, k));
}

/* Mixes a load's tensor into the key: its extents and bounds. The rest of an expression is
 * determined by its id. */
static void mix_tensor(void *ctx, neo_expr e) {
  reads_check *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (!neo_node_is_load(n))
    return;
  const neo_tensor_rec *t = &c->m->tensors.at[n->attr];
  mix_list(c, t->extent);
  mix(c, t->bound.i);
  mix(c, t->least.i);
  mix(c, t->below.i);
}

static uint64_t key_of(reads_check *c, neo_def d) {
  const neo_def_rec *r = neo_def_at(c->m, d);
  c->key = r->n_out;
  for (uint32_t k = 0; k < r->axes.n; k++) {
    mix(c, neo_def_axis(c->m, r, k)->lo.i);
    mix(c, neo_def_axis(c->m, r, k)->hi.i);
  }
  mix(c, r->where.i);
  mix_list(c, r->body);
  mix_list(c, r->finish);
  neo_def_visit(c->m, d, mix_tensor, c);
  return c->key;
}

static neo_map *proved_of(neo_module *m) {
  if (!m->proved_reads) {
    m->proved_reads = NEO_NEW(m->arena, neo_map);
    neo_map_init(m->proved_reads, m->arena);
  }
  return m->proved_reads;
}

/* ---- one read */

/* The facts that hold at the read: assertions on sizes, and conditions. */
static neo_facts facts_of(const reads_check *c, neo_def d, const neo_guarded_read *r,
                          neo_axis_rec *axes) {
  const neo_module *m = c->m;
  neo_expr *assume = NEO_NEW_ARRAY(c->a, neo_expr, m->asserts.n + r->n_around + 1);
  neo_facts f = neo_guarded_read_facts(m, d, r, axes);
  f.n_assume = 0;
  for (size_t k = 0; k < m->asserts.n; k++)
    assume[f.n_assume++] = m->asserts.at[k].holds;
  for (uint32_t k = 0; k < r->n_around; k++)
    assume[f.n_assume++] = r->assume[k];
  f.assume = assume;
  return f;
}

/* Whether the read is in range. *given_up: it could not be decided within the prover's quota. */
static bool is_inside(const reads_check *c, neo_def d, const neo_guarded_read *r, bool *given_up) {
  neo_module *m = c->m;
  neo_axis_rec axes[NEO_DEF_AXES];
  neo_tensor t = {neo_expr_node(m, r->read)->attr};
  neo_facts f = facts_of(c, d, r, axes);
  uint64_t before = neo_prover_given_up(c->p);
  *given_up = false;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_expr at = neo_expr_arg(m, r->read, k), extent = neo_tensor_extent(m, t, k);
    if (neo_proves_index(c->p, &f, at, extent))
      continue;
    *given_up = neo_prover_given_up(c->p) != before;
    return false;
  }
  return true;
}

static bool *all_tensors(const neo_module *m, neo_arena *a) {
  bool *all = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  for (uint32_t t = 0; t < m->tensors.n; t++)
    all[t] = true;
  return all;
}

neo_expr neo_unproved_read(neo_prover *p, neo_def d, neo_arena *scratch) {
  neo_module *m = neo_prover_module(p);
  reads_check c = {.m = m, .a = scratch, .p = p, .all = all_tensors(m, scratch)};
  neo_guarded_reads reads = {0};
  bool given_up;
  neo_guarded_reads_of(m, d, c.all, scratch, &reads);
  for (size_t k = 0; k < reads.n; k++)
    if (neo_expr_node(m, reads.at[k].read)->op == NEO_OP_LOAD && reads.at[k].knows_all &&
        !is_inside(&c, d, &reads.at[k], &given_up))
      return reads.at[k].read;
  return (neo_expr){0};
}

static neo_status tell(const reads_check *c, neo_def d, const neo_guarded_read *r) {
  neo_module *m = c->m;
  neo_def_rec rec = *neo_def_at(m, d);
  neo_tensor out = {neo_list_at(m, rec.out, 0)};
  neo_str_addf(c->why, "definition of '%s': nothing shows that it reads inside of its tensor: ",
               neo_tensor_name(m, out));
  neo_expr_print(m, &rec, r->read, c->why);
  return NEO_INTERNAL;
}

static neo_status check_def(reads_check *c, neo_def d) {
  neo_guarded_reads reads = {0};
  uint64_t key = key_of(c, d);
  bool given_up;
  if (neo_map_get(proved_of(c->m), key, NULL))
    return NEO_OK;
  neo_guarded_reads_of(c->m, d, c->all, c->a, &reads);
  for (size_t k = 0; k < reads.n; k++)
    if (neo_expr_node(c->m, reads.at[k].read)->op == NEO_OP_LOAD && reads.at[k].knows_all &&
        !is_inside(c, d, &reads.at[k], &given_up) && !given_up)
      return tell(c, d, &reads.at[k]);
  neo_map_set(proved_of(c->m), key, 1);
  return NEO_OK;
}

static neo_status check_tensor(reads_check *c, neo_tensor t) {
  neo_tensor_rec r = *neo_tensor_at(c->m, t);
  neo_status status = r.init.i ? check_def(c, r.init) : NEO_OK;
  for (uint32_t k = 0; k < r.pieces.n && !status; k++)
    status = check_def(c, neo_list_def(c->m, r.pieces, k));
  return status;
}

/* Checks that an entry returns whole tensors: its caller reads all elements. */
static bool are_whole(const neo_module *m, neo_list l, neo_str *why) {
  for (uint32_t k = 0; k < l.n; k++) {
    const neo_tensor_rec *r = neo_tensor_at(m, neo_list_tensor(m, l, k));
    if (r->partial || r->terms || r->rows.i) {
      neo_str_addf(why, "an entry returns '%s', of which some elements need not be written",
                   neo_name_text(m->names, r->name));
      return false;
    }
  }
  return true;
}

static neo_status check_entries(const neo_module *m, neo_str *why) {
  for (size_t k = 0; k < m->entries.n; k++) {
    const neo_entry_rec *e = &m->entries.at[k];
    if (!are_whole(m, e->outputs, why) || !are_whole(m, e->updates, why))
      return NEO_INTERNAL;
  }
  return NEO_OK;
}

neo_status neo_reads_verify(neo_module *m, neo_str *why) {
  neo_arena scratch = neo_arena_scratch(m->arena);
  reads_check c = {.m = m, .a = &scratch, .p = neo_prover_new(m), .why = why};
  neo_status status = check_entries(m, why);
  neo_prover_be_quiet(c.p);
  c.all = all_tensors(m, &scratch);
  for (uint32_t t = 1; t < m->tensors.n && !status; t++)
    status = check_tensor(&c, (neo_tensor){t});
  neo_prover_free(c.p);
  neo_arena_free(&scratch);
  return status;
}
