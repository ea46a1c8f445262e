/* A kernel as a whole: its tables, its scratch, what its statements have. */
#include "base/whole.h"
#include "codegen/loop/loop.h"

enum { SCRATCH_ALIGN = 64 };

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

static int64_t scratch_end(const neo_kernel *k, uint32_t n) {
  int64_t at = 0;
  for (uint32_t b = 0; b < n; b++) {
    const neo_kbuf *buf = &k->bufs.at[b];
    if (!(buf->use & NEO_BUF_SCRATCH))
      continue;
    int64_t bytes = buf->scratch_elems * neo_type_bytes((neo_type)buf->type);
    at = neo_round_up(at, buf->align) + neo_round_up(bytes, SCRATCH_ALIGN);
  }
  return at;
}

int64_t neo_kernel_scratch_offset(const neo_kernel *k, uint32_t buf) {
  return neo_round_up(scratch_end(k, buf), k->bufs.at[buf].align);
}

bool neo_kernel_scratch_moves(const neo_kernel *k) {
  bool streams = false;
  for (size_t b = 0; b < k->bufs.n; b++)
    streams = streams || k->bufs.at[b].stream;
  return streams && !neo_kernel_threads(k) && scratch_end(k, (uint32_t)k->bufs.n) > 0;
}

int64_t neo_kernel_scratch_bytes(const neo_kernel *k) {
  int64_t end = scratch_end(k, (uint32_t)k->bufs.n);
  return neo_kernel_scratch_moves(k) ? end + NEO_PAGE_BYTES : end;
}

static bool has_tiles(const neo_block *b) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == NEO_LS_TILE || has_tiles(&b->at[i]->body) || has_tiles(&b->at[i]->other))
      return true;
  return false;
}

bool neo_kernel_has_tiles(const neo_kernel *k) {
  return has_tiles(&k->body);
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

static int64_t threads_of(const neo_block *b) {
  int64_t n = 0;
  for (size_t i = 0; i < b->n && n == 0; i++) {
    const neo_ls *s = b->at[i];
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_THREAD && neo_lx_is_int(s->hi, &n))
      return n;
    n = threads_of(&s->body);
    n = n ? n : threads_of(&s->other);
  }
  return n;
}

int64_t neo_kernel_threads(const neo_kernel *k) {
  return threads_of(&k->body);
}
