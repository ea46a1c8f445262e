/* A kernel as a whole: its tables, its scratch, and properties of all its statements. */
#include "base/whole.h"
#include "codegen/loop/loop.h"
#include "include/neo/neo_rt.h"

neo_kernel *neo_kernel_new(neo_arena *a, const char *name) {
  neo_kernel *k = NEO_NEW(a, neo_kernel);
  k->arena = a;
  k->name = neo_arena_strdup(a, name);
  neo_map_init(&k->intern, a);
  k->units = neo_lx_int(k, 1);
  return k;
}

uint32_t neo_kernel_buf(neo_kernel *k, neo_kbuf buf) {
  NEO_PUSH(k->arena, &k->bufs, buf);
  return (uint32_t)k->bufs.n - 1;
}

uint32_t neo_kernel_scratch(neo_kernel *k, const char *name, neo_type type, int64_t elements) {
  return neo_kernel_buf(k, (neo_kbuf){.name = name,
                                      .type = (uint8_t)type,
                                      .use = NEO_BUF_SCRATCH,
                                      .scratch_elems = elements,
                                      .no_alias = true,
                                      .align = NEO_RT_ALIGN_BYTES});
}

uint32_t neo_kernel_reg(neo_kernel *k, neo_reg reg) {
  NEO_PUSH(k->arena, &k->regs, reg);
  return (uint32_t)k->regs.n - 1;
}

uint32_t neo_kernel_var(neo_kernel *k, const char *name) {
  NEO_PUSH(k->arena, &k->vars, name);
  return (uint32_t)k->vars.n - 1;
}

uint32_t neo_kernel_size(neo_kernel *k, uint32_t size, const char *name) {
  while (k->sizes.n <= size) {
    const char *unnamed = neo_arena_printf(k->arena, "size%zu", k->sizes.n);
    NEO_PUSH(k->arena, &k->sizes, unnamed);
  }
  k->sizes.at[size] = name;
  return size;
}

void neo_kernel_name_sizes(neo_kernel *k, const neo_module *m) {
  for (uint32_t s = 1; s < m->sizes.n; s++)
    neo_kernel_size(k, neo_size_number(m, (neo_size){s}),
                    neo_name_text(m->names, m->sizes.at[s].name));
}

static int64_t scratch_end(const neo_kernel *k, uint32_t n) {
  int64_t at = 0;
  for (uint32_t b = 0; b < n; b++) {
    const neo_kbuf *buf = &k->bufs.at[b];
    if (!(buf->use & NEO_BUF_SCRATCH))
      continue;
    int64_t bytes = buf->scratch_elems * neo_type_bytes((neo_type)buf->type);
    at = neo_round_up(at, buf->align) + neo_round_up(bytes, NEO_RT_ALIGN_BYTES);
  }
  return at;
}

int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf) {
  return neo_round_up(scratch_end(k, buf), k->bufs.at[buf].align);
}

bool neo_kernel_scratch_moves(const neo_kernel *k) {
  bool nontemporal = false;
  for (size_t b = 0; b < k->bufs.n; b++)
    nontemporal = nontemporal || k->bufs.at[b].nontemporal;
  return nontemporal && !neo_kernel_threads(k) && scratch_end(k, (uint32_t)k->bufs.n) > 0;
}

int64_t neo_kernel_scratch_bytes(const neo_kernel *k) {
  int64_t end = scratch_end(k, (uint32_t)k->bufs.n);
  return neo_kernel_scratch_moves(k) ? end + NEO_PAGE_BYTES : end;
}

bool neo_kernel_has(const neo_kernel *k, neo_ls_kind kind) {
  return neo_block_find(&k->body, kind, 0) != NULL;
}

bool neo_kernel_has_dots(const neo_kernel *k) {
  for (size_t i = 0; i < k->nodes.n; i++)
    if (k->nodes.at[i]->kind == NEO_LX_DOT)
      return true;
  return false;
}

bool neo_kernel_reads_key(const neo_kernel *k) {
  for (size_t i = 0; i < k->nodes.n; i++)
    if (k->nodes.at[i]->kind == NEO_LX_KEY || k->nodes.at[i]->kind == NEO_LX_RAND)
      return true;
  return false;
}

static bool reads_memory(const neo_lx *e) {
  bool reads = e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
  for (uint32_t k = 0; k < e->n && !reads; k++)
    reads = reads_memory(e->arg[k]);
  return reads;
}

static void note_uneven(void *uneven, neo_ls *s) {
  bool *is = uneven;
  if (s->kind == NEO_LS_FOR)
    *is = *is || reads_memory(s->loop.lo) || reads_memory(s->loop.hi) || s->loop.more;
  else if (s->kind == NEO_LS_IF)
    *is = *is || reads_memory(s->branch.cond);
}

bool neo_kernel_uneven(const neo_kernel *k) {
  const neo_ls *units = neo_kernel_unit_loop(k);
  bool uneven = false;
  if (units)
    neo_block_visit(&units->loop.body, note_uneven, &uneven);
  return uneven;
}

static void note_early(void *early, neo_ls *s) {
  bool *is = early;
  *is = *is || (s->kind == NEO_LS_FOR && s->loop.more);
}

bool neo_kernel_ends_early(const neo_kernel *k) {
  bool early = false;
  neo_block_visit(&k->body, note_early, &early);
  return early;
}

static void note_threads(void *n, neo_ls *s) {
  if (neo_ls_is_loop(s, NEO_LOOP_THREAD) && !*(int64_t *)n)
    neo_lx_is_int(s->loop.hi, n);
}

int64_t neo_kernel_threads(const neo_kernel *k) {
  int64_t n = 0;
  neo_block_visit(&k->body, note_threads, &n);
  return n;
}

const neo_ls *neo_kernel_unit_loop(const neo_kernel *k) {
  return k->body.n == 1 && neo_ls_is_loop(k->body.at[0], NEO_LOOP_UNIT) ? k->body.at[0] : NULL;
}

const neo_ls *neo_kernel_specialized(const neo_kernel *k) {
  const neo_ls *units = neo_kernel_unit_loop(k);
  const neo_block *b = units ? &units->loop.body : &k->body;
  return b->n == 1 && b->at[0]->kind == NEO_LS_SPECIALIZE ? b->at[0] : NULL;
}

int64_t neo_kernel_block_threads(const neo_kernel *k) {
  return neo_kernel_threads(k) + (neo_kernel_specialized(k) ? NEO_WARPGROUP : 0);
}
