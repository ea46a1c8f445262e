/* See gpu_count.h. */
#include "tests/pipeline/gpu_count.h"
#include "fusion/form.h"
#include <stdio.h>
#include <string.h>

static const struct {
  const char *text, *ptx;
} rows[] = {
#define X(name, text, ptx, meaning) {text, ptx},
#include "tests/pipeline/gpu_count.def"
#undef X
};

const char *gpu_count_text(gpu_count_what k) {
  return rows[k].text;
}

/* ---- loop IR */

static void add_bits(void *ctx, neo_ls *s) {
  unsigned *has = ctx;
  *has |= (unsigned)(s->kind == NEO_LS_MMA) << GPU_COUNT_MMA;
  *has |= (unsigned)(s->kind == NEO_LS_WGMMA) << GPU_COUNT_WGMMA;
  *has |= (unsigned)(s->kind == NEO_LS_TMA_COPY) << GPU_COUNT_BOXES;
  *has |= (unsigned)(s->kind == NEO_LS_COPY) << GPU_COUNT_STAGES;
  *has |= (unsigned)(s->kind == NEO_LS_SPECIALIZE) << GPU_COUNT_PRODUCERS;
  *has |= (unsigned)(s->kind == NEO_LS_SPECIALIZE && s->specialize.registers[NEO_PRODUCER])
          << GPU_COUNT_SETMAXNREG;
}

static unsigned bits_of(const neo_block *b) {
  unsigned has = 0;
  neo_block_visit(b, add_bits, &has);
  return has;
}

/* Does some group of kernel k have nested sums? */
static bool nests(const neo_compilation *c, size_t k) {
  bool has = false;
  for (size_t g = 0; g < c->kernel_of_group.n; g++)
    has = has || (c->kernel_of_group.at[g] == k &&
                  neo_form_is_nested(neo_group_form(c->module, &c->grouping.groups.at[g])));
  return has;
}

static unsigned kernel_bits(const neo_compilation *c, size_t k) {
  return bits_of(&c->kernels.at[k].kernel->body) | (unsigned)nests(c, k) << GPU_COUNT_NESTED |
         (unsigned)(c->kernels.at[k].kernel->persistent > 0) << GPU_COUNT_PERSISTENT;
}

static void add(gpu_counts *all, unsigned has) {
  for (int k = 0; k < GPU_COUNTS; k++)
    all->at[k] += has >> k & 1;
}

/* The features that a schedule demands and its kernel must have. */
static unsigned asked(const neo_schedule *s) {
  const neo_block_params *p = &s->block;
  return (unsigned)(p->tma != 0) << GPU_COUNT_BOXES |
         (unsigned)(p->producer != 0) << GPU_COUNT_PRODUCERS |
         (unsigned)(p->persistent != 0) << GPU_COUNT_PERSISTENT;
}

static bool has_what_is_asked(neo_compilation *c) {
  for (size_t g = 0; g < c->kernel_of_group.n; g++) {
    uint32_t k = c->kernel_of_group.at[g];
    unsigned lacks = k == NEO_NO_KERNEL ? 0 : asked(&c->schedules.at[g]) & ~kernel_bits(c, k);
    if (lacks) {
      c->why = neo_arena_printf(&c->arena, "%s lacks %x of its schedule", c->kernels.at[k].symbol,
                                lacks);
      return false;
    }
  }
  return true;
}

bool gpu_count_kernels(gpu_counts *all, plan_world *w, int processors) {
  const neo_compilation *c = &w->c;
  for (size_t k = 0; k < c->kernels.n; k++) {
    int64_t blocks = (int64_t)w->model.kernels[k].persistent * processors;
    unsigned has = kernel_bits(c, k);
    if (blocks && neo_kernel_units(c->kernels.at[k].kernel, w->sizes + 1) <= blocks)
      has &= ~(1u << GPU_COUNT_PERSISTENT);
    add(all, has);
  }
  all->at[GPU_COUNT_GRIDS] += (uint32_t)c->plan->grids.n;
  return has_what_is_asked(&w->c);
}

/* ---- PTX */

/* The text of an entry; null: there is none. */
static const char *entry_of(neo_arena *a, const char *ptx, const char *symbol) {
  const char *from = strstr(ptx, neo_arena_printf(a, ".entry %s(", symbol));
  const char *to = from ? strstr(from + 1, ".entry ") : NULL;
  return from && to ? neo_arena_printf(a, "%.*s", (int)(to - from), from) : from;
}

static unsigned instructions_of(const char *text, unsigned otherwise) {
  unsigned has = 0;
  for (int k = 0; k < GPU_COUNTS; k++)
    has |= rows[k].ptx ? (unsigned)(strstr(text, rows[k].ptx) != NULL) << k : otherwise & 1u << k;
  return has;
}

static bool count_ptx(gpu_counts *all, neo_compilation *c, const char *ptx) {
  for (size_t k = 0; k < c->kernels.n; k++) {
    const char *text = entry_of(&c->arena, ptx, c->kernels.at[k].symbol);
    unsigned by_loops = kernel_bits(c, k), has = text ? instructions_of(text, by_loops) : 0;
    if (!text || has != by_loops) {
      c->why = neo_arena_printf(&c->arena, "%s: PTX has %x, the loop IR %x",
                                c->kernels.at[k].symbol, has, by_loops);
      return false;
    }
    add(all, has);
  }
  for (size_t k = 0; k < c->plan->grids.n; k++)
    all->at[GPU_COUNT_GRIDS] += entry_of(&c->arena, ptx, c->plan->grids.at[k].symbol) != NULL;
  return true;
}

bool gpu_count_images(gpu_counts *all, neo_compilation *c) {
  const char *ptx = NULL;
  bool assembled = false;
  for (size_t k = 0; k < c->images.n; k++) {
    assembled = assembled || c->images.at[k].kind == NEO_RT_IMAGE_CUBIN;
    if (c->images.at[k].kind == NEO_RT_IMAGE_PTX)
      ptx = c->images.at[k].data;
  }
  c->why = "there is no machine code beside the PTX";
  return assembled && ptx && has_what_is_asked(c) && count_ptx(all, c, ptx);
}

/* ---- telling */

void gpu_counts_tell(const gpu_counts *all) {
  fputs("counted", stderr);
  for (int k = 0; k < GPU_COUNTS; k++)
    fprintf(stderr, " %s=%u", rows[k].text, all->at[k]);
  fputs("\n", stderr);
}
