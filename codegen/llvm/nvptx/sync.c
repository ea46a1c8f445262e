/* Barriers between loops of threads. `open` records the accesses of threads to each buffer since
 * the last barrier. A statement gets a barrier before it if it writes what is open, or reads what
 * is open as written:
 *
 *   for t in 0..64 thread        ->   for t in 0..64 thread
 *     s[t] = x[t]                       s[t] = x[t]
 *   for t in 0..64 thread             barrier
 *     y[t] = s[63 - t]                for t in 0..64 thread
 *                                       y[t] = s[63 - t]
 *
 * Only shared memory counts: scratch, and buffers that the kernel both reads and writes. Buffers
 * that may overlap count as one. A loop around loops of threads begins and ends with a barrier if
 * anything is open there, so that its first iteration needs no barrier that all others would
 * execute too; after the loop nothing is open, even if it had no iteration. After a branch, the
 * accesses of both arms are open.
 *
 * A copy writes memory that no thread accesses any more. Its data are visible to its own thread
 * after a wait, and to others after a barrier. So a wait counts as a write of all of scratch, and a
 * copy in flight does not count: a read of its data before the wait is an error that no barrier
 * would correct.
 *
 * A vote is a barrier, too.
 *
 * Boxes are like these copies, but a thread that waits for their mbarrier sees them without a
 * barrier. If a producer issues the boxes, mbarriers also order the writes after earlier reads, and
 * no barrier does.
 *
 * A product of warpgroups reads its factors from the statement until the wait for it, and threads
 * reach these at different times: the factors count as read at both. The product reads by the
 * asynchronous proxy, so each thread that wrote factors executes a fence before the barrier. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <string.h>

enum { READS = 1, WRITES = 2, COPIES = 4 };

static bool is_shared(const neo_ll_gen *g, uint32_t buf) {
  uint8_t use = g->k->bufs.at[buf].use;
  bool alone = g->k->bufs.at[buf].no_alias;
  return (use & NEO_BUF_SCRATCH) || use == (NEO_BUF_READ | NEO_BUF_WRITE) || !alone;
}

/* The buffer that stands for all those that may overlap with `buf`: the first of them. */
static uint32_t place_in_memory(const neo_ll_gen *g, uint32_t buf) {
  const neo_kbuf *b = g->k->bufs.at;
  uint32_t first = 0;
  if (b[buf].no_alias || b[buf].use & NEO_BUF_SCRATCH)
    return buf;
  while (b[first].no_alias || b[first].use & NEO_BUF_SCRATCH)
    first++;
  return first;
}

static void note_reads(neo_ll_gen *g, uint8_t *use, const neo_lx *e) {
  if ((e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && is_shared(g, e->attr))
    use[place_in_memory(g, e->attr)] |= READS;
  for (uint32_t k = 0; k < e->n; k++)
    note_reads(g, use, e->arg[k]);
}

static void note_access(neo_ll_gen *g, uint8_t *use, uint32_t buf, uint8_t what) {
  if (is_shared(g, buf))
    use[place_in_memory(g, buf)] |= what;
}

/* Records the accesses of the statement itself, without those of its blocks. */
static void note_head(neo_ll_gen *g, uint8_t *use, const neo_ls *s) {
  const neo_lx *own[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, own);
  for (uint32_t k = 0; k < n; k++)
    note_reads(g, use, own[k]);
  switch (s->kind) {
  case NEO_LS_STORE:
    note_access(g, use, s->store.to.buf, WRITES);
    break;
  case NEO_LS_LDMATRIX:
    use[place_in_memory(g, s->ldmatrix.from.buf)] |= READS;
    break;
  case NEO_LS_WGMMA:
    for (int k = 0; k < 2; k++)
      use[s->wgmma.factor[k].buf] |= READS;
    break;
  case NEO_LS_COPY:
    use[s->copy.to.buf] |= COPIES;
    note_access(g, use, s->copy.from.buf, READS);
    break;
  case NEO_LS_TMA_COPY:
    use[s->tma_copy.to.buf] |= COPIES;
    break;
  /* statements without an access of their own; protocol.c checks the order of phases */
  case NEO_LS_FOR:
  case NEO_LS_IF:
  case NEO_LS_REG:
  case NEO_LS_SET:
  case NEO_LS_PREFETCH:
  case NEO_LS_TILE:
  case NEO_LS_SHUFFLE:
  case NEO_LS_VOTE:
  case NEO_LS_MMA:
  case NEO_LS_WGMMA_WAIT:
  case NEO_LS_COPY_COMMIT:
  case NEO_LS_COPY_WAIT:
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
  case NEO_LS_MBARRIER_ARRIVE:
  case NEO_LS_SPECIALIZE:
    break;
  }
}

static void note_all(neo_ll_gen *g, uint8_t *use, const neo_ls *s) {
  note_head(g, use, s);
  for (uint32_t k = 0; neo_ls_block(s, k); k++)
    for (size_t i = 0; i < neo_ls_block(s, k)->n; i++)
      note_all(g, use, neo_ls_block(s, k)->at[i]);
}

static void note_threads(void *any, neo_ls *s) {
  *(bool *)any = *(bool *)any || neo_ls_is_loop(s, NEO_LOOP_THREAD);
}

static bool holds_threads(const neo_ls *s) {
  bool any = false;
  for (uint32_t k = 0; neo_ls_block(s, k); k++)
    neo_block_visit(neo_ls_block(s, k), note_threads, &any);
  return any;
}

static uint8_t *new_uses(neo_ll_gen *g) {
  return NEO_NEW_ARRAY(g->l->arena, uint8_t, g->k->bufs.n + 1);
}

/* The fence after which the asynchronous proxy (wgmma) sees what this thread wrote, if such a
 * buffer is open. */
static void fence(neo_ll_gen *g) {
  bool wanted = false;
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    wanted = wanted || (g->open[b] & WRITES && g->matrix[b]);
  if (wanted && g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_fence_async", NULL, 0);
  else if (wanted)
    neo_ll_gpu_assembly(g, "fence.proxy.async.shared::cta;", "", NULL);
}

static void meet(neo_ll_gen *g) {
  fence(g);
  neo_ll_gpu_barrier(g);
  memset(g->open, 0, g->k->bufs.n);
}

static bool any(const neo_ll_gen *g) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->open[b])
      return true;
  return false;
}

/* Puts a barrier before s if it needs one, and opens its accesses. A branch around loops of threads
 * counts with its head alone: its blocks get barriers of their own. */
void neo_ll_gpu_before(neo_ll_gen *g, const neo_ls *s) {
  uint8_t *use = new_uses(g);
  if (g->role == NEO_LL_PRODUCER)
    return;
  bool clash = false, again = neo_ls_is_loop(s, NEO_LOOP_SERIAL);
  if (holds_threads(s) && !neo_ls_is_loop(s, NEO_LOOP_THREAD) && !again)
    note_head(g, use, s);
  else
    note_all(g, use, s);
  bool loop = again && holds_threads(s);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    use[b] = g->by_mbarriers[b] ? 0 : use[b];
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    clash = clash || (loop && g->open[b]);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    clash = clash || (use[b] & (WRITES | COPIES) && g->open[b]) || (use[b] && g->open[b] & WRITES);
  if (clash)
    meet(g);
  bool runs =
      neo_ls_is_loop(s, NEO_LOOP_THREAD) || s->kind == NEO_LS_LDMATRIX || s->kind == NEO_LS_WGMMA;
  for (uint32_t b = 0; b < g->k->bufs.n; b++) {
    if (runs)
      g->open[b] |= use[b] & (READS | WRITES);
    if (s->kind == NEO_LS_WGMMA_WAIT && g->matrix[b] && !g->by_mbarriers[b])
      g->open[b] |= READS;
  }
}

void neo_ll_gpu_arrived(neo_ll_gen *g) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->k->bufs.at[b].use & NEO_BUF_SCRATCH)
      g->open[b] |= WRITES;
}

uint8_t *neo_ll_gpu_open(neo_ll_gen *g) {
  uint8_t *copy = new_uses(g);
  memcpy(copy, g->open, g->k->bufs.n);
  return copy;
}

void neo_ll_gpu_loop_end(neo_ll_gen *g) {
  if (any(g))
    meet(g);
}

void neo_ll_gpu_set_open(neo_ll_gen *g, const uint8_t *open, const uint8_t *also) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    g->open[b] = (uint8_t)(open[b] | (also ? also[b] : 0));
}
