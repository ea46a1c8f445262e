/* Which operands are copied asynchronously, and how many stages there are room for (stages.h).
 *
 * A generation's blocks may have more than 48 KB of shared memory where they ask for it. The model
 * asks for no more than all of a level's devices have: sm_80 runs on those of 8.6 and 8.9 too,
 * which have 99 KB. Its choice keeps some 24 steps on their way, 48 for warps, which are faster:
 * what a multiprocessor computes in the time that memory takes to answer. Of warpgroups' blocks of
 * steps two are ahead: sm_90a runs on devices of one kind, and all their memory is for one block, or
 * for two where registers hold the sums of two. */
#include "schedule/stages.h"
#include "schedule/threads.h"
#include <math.h>

enum { PLAIN_SHARED = 48 << 10 };

static bool is_zero(const neo_module *m, neo_expr e) {
  double x;
  return neo_expr_is_float(m, e, &x) && x == 0 && !signbit(x);
}

/* In memory as it is, or zero. */
static bool is_plain(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_SELECT)
    return is_zero(m, neo_expr_arg(m, e, 2)) && is_plain(m, neo_expr_arg(m, e, 1));
  return n->op == NEO_OP_LOAD;
}

neo_expr neo_stages_source(neo_module *m, const neo_contraction *c, const neo_schedule *s,
                           neo_side side, bool *rounded) {
  uint64_t rows = (uint64_t)s->at[NEO_SCHED_ROW_AXES];
  uint64_t columns = (uint64_t)s->at[NEO_SCHED_COLUMN_AXES];
  neo_expr found = {0};
  if (rounded)
    *rounded = false;
  for (uint32_t k = 0; k < c->n; k++) {
    bool of_rows = neo_factor_side(&c->factor[k], rows, columns) == NEO_SIDE_ROWS;
    if (of_rows != (side == NEO_SIDE_ROWS))
      continue;
    if (found.i)
      return (neo_expr){0}; /* a product of two */
    found = c->factor[k].e;
  }
  if (rounded && found.i && neo_expr_node(m, found)->op == NEO_OP_TF32) {
    *rounded = true;
    found = neo_expr_arg(m, found, 0);
  }
  return found.i && is_plain(m, found) ? found : (neo_expr){0};
}

int64_t neo_stages_buffers(const neo_schedule *s) {
  return s->at[NEO_SCHED_STAGES] ? s->at[NEO_SCHED_STAGES] : 2;
}

int64_t neo_stages_shared(const neo_machine *machine, const neo_schedule *s) {
  return s->at[NEO_SCHED_STAGES] ? machine->shared_bytes : PLAIN_SHARED;
}

/* A block of warpgroups has its sums in registers, so that no more than two are of its size. */
int64_t neo_stages_budget(const neo_machine *machine, const neo_schedule *s) {
  enum { ANYWHERE = 99 << 10, TWO_BLOCKS = 16 << 10 };
  int64_t all = machine->shared_bytes;
  if (s->at[NEO_SCHED_MATRIX] != NEO_THREADS_WARPGROUPS)
    return all < ANYWHERE ? all : ANYWHERE;
  return s->at[NEO_SCHED_BLOCK_M] * s->at[NEO_SCHED_BLOCK_N] > TWO_BLOCKS ? all : all / 2;
}

static bool no(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}

bool neo_stages_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  int64_t stages = s->at[NEO_SCHED_STAGES];
  bool warps = s->at[NEO_SCHED_MATRIX], rounded;
  bool groups = s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS;
  neo_contraction taken = *c;
  if (!stages)
    return true;
  if (!machine->async)
    return no(why, "stages are copied asynchronously, from sm_80 on");
  if (stages < 2 + groups || stages > NEO_STAGES_MOST)
    return no(why, groups ? "stages of warpgroups are 0, or 3 to 6: two are multiplied"
                          : "stages is 0, or 2 to 6");
  int n = 0;
  if (warps)
    neo_threads_warps(m, f, &taken);
  for (int k = 0; k < 2; k++) {
    neo_side side = k ? NEO_SIDE_COLUMNS : NEO_SIDE_ROWS;
    n += neo_stages_source(m, &taken, s, side, warps && !groups ? &rounded : NULL).i != 0;
  }
  return n >= (warps ? 2 : 1) ||
         no(why, "stages are for operands that are copied as they lie in memory");
}

int64_t neo_stages_wanted(const neo_schedule *s) {
  enum { OF_WARPGROUPS = 4 };
  int64_t ahead = s->at[NEO_SCHED_MATRIX] ? 48 : 24, bk = s->at[NEO_SCHED_BLOCK_K];
  if (s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    return OF_WARPGROUPS;
  int64_t n = 1 + (ahead + bk - 1) / bk;
  return n < 2 ? 2 : n > 4 ? 4 : n;
}
