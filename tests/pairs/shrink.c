/* Makes failing programs smaller: a definition becomes an input or no output, sizes become
 * small. */
#include "tests/pairs/program.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  pairs_fails *fails;
  void *ctx;
  size_t budget;
} shrinker;

static pairs_program copy_of(neo_arena *a, const pairs_program *p) {
  pairs_program q = *p;
  q.lines.at = neo_arena_copy(a, p->lines.at, p->lines.n * sizeof *p->lines.at);
  q.sizes.at = neo_arena_copy(a, p->sizes.at, p->sizes.n * sizeof *p->sizes.at);
  q.lines.cap = q.lines.n;
  q.sizes.cap = q.sizes.n;
  return q;
}

static uint32_t results(const pairs_program *p) {
  uint32_t n = 0;
  for (size_t k = 0; k < p->lines.n; k++)
    n += p->lines.at[k].output;
  return n;
}

/* Keeps the changed program if it still fails. */
static bool take(shrinker *s, pairs_program *p, const pairs_program *q) {
  if (!s->budget || !results(q))
    return false;
  s->budget--;
  if (!s->fails(s->ctx, q))
    return false;
  *p = *q;
  return true;
}

static bool drop_result(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  if (!p->lines.at[k].output && !p->lines.at[k].update)
    return false;
  pairs_program q = copy_of(a, p);
  q.lines.at[k].output = q.lines.at[k].update = false;
  return take(s, p, &q);
}

static bool drop_training(shrinker *s, neo_arena *a, pairs_program *p) {
  pairs_program q = copy_of(a, p);
  q.train = NULL;
  return p->train && take(s, p, &q);
}

/* A line of a block that is not needed; the frontend refuses what needs it. */
static bool drop_line(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  const char *text = p->lines.at[k].text, *from = strchr(text, '\n'), *to;
  if (p->lines.at[k].kind != PAIRS_HELPER || p->lines.at[k].gone)
    return false;
  for (; from && (to = strchr(from + 1, '\n')); from = to) {
    pairs_program q = copy_of(a, p);
    q.lines.at[k].text = neo_arena_printf(a, "%.*s%s", (int)(from - text), text, to);
    if (take(s, p, &q))
      return true;
  }
  return false;
}

/* Replaces a definition by an input. */
static bool give(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  const pairs_statement *line = &p->lines.at[k];
  if (line->kind != PAIRS_DEFINITION || line->gone || !line->input || line->output)
    return false;
  pairs_program q = copy_of(a, p);
  q.lines.at[k].gone = true;
  return take(s, p, &q);
}

/* An output earlier in the chain is a smaller program. */
static bool move_output(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  const pairs_statement *line = &p->lines.at[k];
  if (line->kind != PAIRS_DEFINITION || line->output || line->update || line->gone)
    return false;
  pairs_program q = copy_of(a, p);
  for (size_t i = 0; i < q.lines.n; i++)
    q.lines.at[i].output = i == k;
  return results(p) > 1 && take(s, p, &q);
}

static bool lessen(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  pairs_statement *line = &p->lines.at[k];
  const char *equals = strchr(line->text, '=');
  if (line->kind != PAIRS_SIZE_LINE || !equals || strchr(line->text, '<'))
    return false;
  char *end;
  long n = strtol(equals + 1, &end, 10);
  bool changed = false;
  if (*end)
    return false;
  for (long m = 1; m < n && !changed; m = m < 4 ? m + 1 : m * 2) {
    pairs_program q = copy_of(a, p);
    q.lines.at[k].text = neo_arena_printf(a, "dim %s = %ld", line->name, m);
    changed = take(s, p, &q);
  }
  return changed;
}

/* A graph with edges has two vertices at least. */
static bool lessen_size(shrinker *s, neo_arena *a, pairs_program *p, size_t k) {
  for (int64_t m = p->listed ? 2 : 1; m < p->sizes.at[k].now; m = m < 4 ? m + 1 : m * 2) {
    pairs_program q = copy_of(a, p);
    q.sizes.at[k].now = m;
    if (take(s, p, &q))
      return true;
  }
  return false;
}

pairs_program pairs_shrink(neo_arena *a, const pairs_program *from, pairs_fails *fails, void *ctx,
                           size_t budget) {
  shrinker s = {fails, ctx, budget};
  pairs_program p = copy_of(a, from);
  for (bool changed = true; changed && s.budget;) {
    changed = drop_training(&s, a, &p);
    for (size_t k = p.lines.n; k-- > 0;)
      changed |= drop_result(&s, a, &p, k) || move_output(&s, a, &p, k) || give(&s, a, &p, k);
    for (size_t k = 0; k < p.lines.n; k++)
      changed |= lessen(&s, a, &p, k) || drop_line(&s, a, &p, k);
    for (size_t k = 0; k < p.sizes.n; k++)
      changed |= lessen_size(&s, a, &p, k);
  }
  return p;
}
