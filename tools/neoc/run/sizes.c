/* Run-time sizes that obey the model's assertions. */
#include "ir/print.h"
#include "tools/neoc/run/runner.h"

enum { FAR = 4096 };

typedef struct {
  const neo_module *m;
  const bool *used;
  bool inside; /* all sizes found are used */
} size_look;

static void look_size(void *ctx, neo_expr e) {
  size_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (n->op == NEO_OP_SIZE)
    l->inside = l->inside && (!l->used || l->used[n->attr]);
}

/* The first violated assertion, among those over used sizes alone (used null: all); null: none. */
static const neo_assert_rec *sizes_broken(const neo_module *m, const bool *used,
                                          const int64_t *sizes) {
  for (size_t k = 0; k < m->asserts.n; k++) {
    size_look l = {.m = m, .used = used, .inside = true};
    neo_expr_visit(m, m->asserts.at[k].holds, look_size, &l);
    if (l.inside && !neo_size_value(m, m->asserts.at[k].holds, sizes))
      return &m->asserts.at[k];
  }
  return NULL;
}

/* Counts the assertions that hold. */
static size_t holding(const neo_module *m, const int64_t *sizes) {
  size_t n = 0;
  for (size_t k = 0; k < m->asserts.n; k++)
    n += neo_size_value(m, m->asserts.at[k].holds, sizes) != 0;
  return n;
}

/* Moves a size to its nearest value with which more assertions hold; false: there is none. */
static bool move(const neo_module *m, uint32_t size, int64_t *sizes) {
  const neo_size_rec *rec = &m->sizes.at[size];
  int64_t was = sizes[size];
  size_t now = holding(m, sizes);
  for (int64_t d = 1; d < FAR; d++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      sizes[size] = was + sign * d;
      if (sizes[size] >= rec->lo && sizes[size] <= rec->hi && holding(m, sizes) > now)
        return true;
    }
  sizes[size] = was;
  return false;
}

void neoc_sizes_settle(const neo_module *m, const int64_t *fixed, int64_t *sizes) {
  for (bool better = true; better && holding(m, sizes) < m->asserts.n;) {
    better = false;
    for (uint32_t k = 1; k < m->sizes.n && !better; k++)
      better = fixed[k] < 0 && m->sizes.at[k].kind == NEO_SIZE_RUNTIME && move(m, k, sizes);
  }
}

neoc_exit neoc_sizes_check(const neoc_runner *r, const bool *used) {
  const neo_module *m = r->c.module;
  const neo_assert_rec *broken = sizes_broken(m, used, neoc_runner_sizes(r));
  if (!broken)
    return NEOC_OK;
  neo_str text = neo_str_in(r->cli->arena);
  neo_expr_print(m, NULL, broken->holds, &text);
  return neoc_fail(r->cli, neoc_exit_of(NEO_SHAPE), "the sizes do not obey: %s (%s)",
                   neo_str_text(&text), neo_span_text(neo_diags_sources(m->diags), broken->span));
}
