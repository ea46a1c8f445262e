/* The row stash: values of a row that several stages need (schedule/row_stash.h). The first stage
 * that computes them also stores them to scratch, vector by vector; later stages load them.
 *
 * Threads of a GPU that share a row stash their elements in registers (lower/gpu_rows/rows.c), if
 * one tile of a stage covers all of the row that a thread has.
 *
 * A stashed value is computed at every point of the row. So its loads must be inside of their
 * buffers without any of the conditions around the value. Stages with positions outside of the row,
 * or before it is filled, compute the value themselves.
 *
 * If stores of results are nontemporal, scratch begins half a page after the results, because of 4K
 * aliasing (codegen/loop/loop.h). To maintain that distance, a row's offset in its scratch is the
 * offset of the results' row in its page. */
#include "codegen/lower/common/scope.h"

typedef struct {
  lowering *l;
  bool safe;
} check;

static void look(void *ctx, neo_expr e) {
  check *c = ctx;
  neo_op op = (neo_op)neo_expr_node(c->l->m, e)->op;
  if (op == NEO_OP_LOAD)
    c->safe = c->safe && neo_form_inside(c->l->m, c->l->p, c->l->f, &c->l->facts, e);
}

static bool is_safe(lowering *l, neo_expr value, uint32_t stage) {
  check c = {l, true};
  neo_lower_facts(l, l->f, &l->f->stages.at[stage]);
  neo_expr_visit(l->m, value, look, &c);
  return c.safe;
}

/* Finds the stages that may read rows. */
static void plan_readers(lowering *l) {
  l->reads_stash = NEO_NEW_ARRAY(l->a, bool, l->f->stages.n);
  for (uint32_t k = 0; k < l->f->stages.n && l->stash.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    neo_lower_facts(l, l->f, s);
    l->reads_stash[k] = neo_stash_has_all(l->m, l->p, &l->stash, s, &l->facts);
  }
}

static int64_t bytes_of(const lowering *l, uint32_t buf) {
  return neo_type_bytes((neo_type)l->k->bufs.at[buf].type);
}

/* The first result with nontemporal stores along the rows; null: there is none. */
static const neo_form_out *nontemporal_out(const lowering *l, uint32_t *buf) {
  for (size_t k = 0; k < l->f->stages.n; k++)
    for (size_t i = 0; i < l->f->stages.at[k].outs.n; i++) {
      const neo_form_out *o = &l->f->stages.at[k].outs.at[i];
      uint64_t at = 0;
      neo_map_get(&l->buf_of, o->tensor.i, &at);
      *buf = (uint32_t)at;
      if (l->f->stages.at[k].axes.n && l->k->bufs.at[at].nontemporal)
        return o;
    }
  return NULL;
}

/* Finds whether rows of the nontemporal results begin at different offsets of a page. */
static void plan_row_starts(lowering *l) {
  const neo_form_out *o = nontemporal_out(l, &l->stash_pages_of);
  l->stash_moves = false;
  for (uint32_t k = 0; o && k < l->f->axes.n; k++) {
    bool known = neo_flat_stride(l->m, l->f, o->offset, k, &l->stash_stride[k]);
    if (!known)
      o = NULL;
    else
      l->stash_moves |= l->stash_stride[k] * bytes_of(l, l->stash_pages_of) % NEO_PAGE_BYTES != 0;
  }
  l->stash_moves &= o != NULL;
}

/* The first element of the current row in scratch; bytes: of an element. */
static const neo_lx *row_start(lowering *l, int64_t bytes) {
  int64_t size = bytes_of(l, l->stash_pages_of);
  lower_terms t = {.n = 0};
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    neo_lower_add_axis(l, &t, k, l->stash_stride[k]);
  const neo_lx *page = lx_int(l, NEO_PAGE_BYTES / size);
  const neo_lx *in_page = neo_lx_op2(l->k, NEO_OP_MOD, neo_lower_sum(l, &t, 0), page);
  return lx_mul(l, lx_div(l, in_page, l->line_bytes / size), l->line_bytes / bytes);
}

void neo_lower_plan_row_stash(lowering *l, int64_t threads) {
  enum { LANES = 64 }; /* room for dead lanes of the last vectors */
  l->stash_threads = threads;
  if (!threads)
    plan_row_starts(l);
  neo_stash all = neo_stash_find(l->m, l->f, threads > 0);
  l->stash.row = all.row;
  for (uint32_t k = 0; k < all.n; k++) {
    if (!is_safe(l, all.at[k].value, all.at[k].first))
      continue;
    if (threads) {
      l->stash.at[l->stash.n++] = all.at[k];
      continue;
    }
    neo_kbuf b = {.name = "row", .use = NEO_BUF_SCRATCH, .scratch_elems = all.row + LANES};
    b.type = (uint8_t)neo_expr_type(l->m, all.at[k].value);
    if (l->stash_moves)
      b.scratch_elems += NEO_PAGE_BYTES / neo_type_bytes((neo_type)b.type);
    l->stash_buf[l->stash.n] = neo_kernel_buf(l->k, b);
    l->stash.at[l->stash.n++] = all.at[k];
  }
  plan_readers(l);
}

static const neo_lx *position(lowering *l, uint32_t buf) {
  const neo_lx *at = neo_lower_axis(l, (uint32_t)l->f->axes.n);
  return l->stash_moves ? lx_add(l, row_start(l, bytes_of(l, buf)), at) : at;
}

/* ---- registers of threads */

void neo_lower_declare_row_stash(lowering *l, neo_block *in, int64_t columns, int64_t width) {
  for (uint32_t k = 0; k < l->stash.n; k++) {
    neo_reg r = {.name = "row", .rank = width > 1 ? 2 : 1, .extent = {columns, width}};
    r.type = (uint8_t)neo_expr_type(l->m, l->stash.at[k].value);
    r.threads = l->stash_threads;
    l->stash_reg[k] = neo_kernel_reg(l->k, r);
    neo_ls_reg(l->k, in, l->stash_reg[k]);
  }
}

/* The current element of the stash: the indices of its register; returns their number. */
static size_t element(lowering *l, const neo_lx **index) {
  index[0] = l->col ? l->col : lx_int(l, 0);
  index[1] = l->lane;
  return l->lane ? 2 : 1;
}

static const neo_lx *stashed_in_thread(lowering *l, uint32_t k) {
  const neo_lx *index[2];
  size_t n = element(l, index);
  return l->stash_here ? neo_lx_reg(l->k, l->stash_reg[k], index, n) : NULL;
}

/* ---- both */

void neo_lower_put_stashed(lowering *l, neo_block *in, uint32_t k, const neo_lx *value) {
  const neo_lx *index[2];
  l->stash_filled[k] = true;
  if (l->stash_threads) {
    size_t n = element(l, index);
    neo_ls_set(l->k, in, l->stash_reg[k], index, n, value);
    return;
  }
  neo_ls_store(l->k, in, l->stash_buf[k], position(l, l->stash_buf[k]), value, l->mask);
}

bool neo_lower_reads_stash(const lowering *l, uint32_t k, uint32_t stage) {
  return l->stash.at[k].first < stage && l->reads_stash[stage];
}

const neo_lx *neo_lower_stashed(lowering *l, neo_expr e) {
  for (uint32_t k = 0; k < l->stash.n; k++)
    if (l->stash.at[k].value.i == e.i && l->tile && l->stage && l->stash_filled[k] &&
        neo_lower_reads_stash(l, k, (uint32_t)(l->stage - l->f->stages.at)))
      return l->stash_threads ? stashed_in_thread(l, k)
                              : neo_lx_load(l->k, l->stash_buf[k], position(l, l->stash_buf[k]));
  return NULL;
}
