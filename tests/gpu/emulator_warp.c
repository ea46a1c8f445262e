/* Instructions of warps and warpgroups of an emulated block: products and matrices of warps, words
 * that they give each other, products of warpgroups, and their registers.
 *
 * A thread waits for the others of its warp where the hardware says .sync.aligned. */
#include "codegen/loop/warp.h"
#include "tests/gpu/emulator_block.h"
#include <stdio.h>
#include <string.h>

SHOWN void neo_gpu_warp(unsigned op, void *fragments);
SHOWN void neo_gpu_warp_read(unsigned op, void *row, void *cells);
SHOWN void neo_gpu_warpgroup(unsigned op, unsigned transposed, int columns, float *sums,
                             uint64_t rows, uint64_t other);
SHOWN void neo_gpu_warpgroup_commit(void);
SHOWN void neo_gpu_warpgroup_wait(unsigned left);
SHOWN void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count,
                           unsigned mask);
SHOWN void neo_gpu_registers(unsigned more, unsigned n, unsigned at_first);

static unsigned lane_of(unsigned thread) {
  return thread % EMU_WARP;
}

/* A product of a warp: each thread reads the others' factors, which stay until all have
 * met again. */
void neo_gpu_warp(unsigned op, void *fragments) {
  unsigned thread = emu_thread(), first = thread - lane_of(thread);
  const uint32_t *a[EMU_WARP], *b[EMU_WARP];
  emu_own->handed[thread] = fragments;
  emu_meet_warp();
  for (unsigned t = 0; t < EMU_WARP; t++) {
    a[t] = (const uint32_t *)emu_own->handed[first + t] + NEO_MMA_C;
    b[t] = a[t] + NEO_MMA_A;
  }
  neo_mma_product((neo_mma_op)op, (int)lane_of(thread), a, b, fragments);
  emu_meet_warp();
}

/* A load of matrices by a warp: each thread names a row, which stays as it is until all have met
 * again. */
void neo_gpu_warp_read(unsigned op, void *row, void *cells) {
  unsigned thread = emu_thread(), first = thread - lane_of(thread);
  emu_own->handed[thread] = row;
  emu_meet_warp();
  neo_ldmatrix_read((neo_ldmatrix_op)op, (int)lane_of(thread),
                    (const void *const *)emu_own->handed + first, cells);
  emu_meet_warp();
}

/* `count` words of another thread, behind this thread's own; the mask says which threads of the
 * warp take part. */
void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count,
                     unsigned mask) {
  unsigned thread = emu_thread(), place = EMU_WARPS + thread / EMU_WARP;
  unsigned others = (unsigned)__builtin_popcount(mask);
  unsigned from = (unsigned)neo_shuffle_source((neo_shuffle)what, (int)thread, (int)n, (int)of);
  if (!(mask >> lane_of(thread) & 1) || !(mask >> lane_of(from) & 1))
    emu_fail("shuffles with thread %u by the mask %08x", from, mask);
  emu_own->handed[thread] = words;
  emu_meet(place, others);
  memcpy((uint32_t *)words + count, emu_own->handed[from], count * sizeof(uint32_t));
  emu_meet(place, others);
}

/* ---- products of warpgroups: made when they are waited for, from what shared memory then holds */

static double factor_at(void *op, int factor, uint32_t address) {
  uint32_t bits = 0;
  unsigned bytes = *(neo_wgmma_op *)op == NEO_WGMMA_TF32 ? 4 : 2;
  (void)factor;
  memcpy(&bits, emu_own->shared + address, bytes);
  return neo_wgmma_number(*(neo_wgmma_op *)op, bits);
}

void neo_gpu_warpgroup(unsigned op, unsigned transposed, int columns, float *sums, uint64_t rows,
                       uint64_t other) {
  emu_fibre *f = emu_own->now;
  if (f->n_products == EMU_PRODUCTS)
    emu_fail("has more than %d products under way", EMU_PRODUCTS);
  emu_product *x = &f->product[f->n_products++];
  *x = (emu_product){{(neo_wgmma_op)op, transposed, columns, {rows, other}}, f->batch, sums, 0};
  if (!lane_of(f->thread))
    x->read = emu_proxy_product(&x->of);
}

void neo_gpu_warpgroup_commit(void) {
  emu_own->now->batch++;
}

void neo_gpu_warpgroup_wait(unsigned left) {
  emu_fibre *f = emu_own->now;
  unsigned n = 0, ended = 0, read[EMU_PRODUCTS];
  for (unsigned i = 0; i < f->n_products; i++) {
    emu_product *x = &f->product[i];
    if (x->batch + left >= f->batch) {
      f->product[n++] = *x;
      continue;
    }
    neo_wgmma_multiply(&x->of, (int)(f->thread % NEO_WARPGROUP), factor_at, &x->of.op, x->sums);
    read[ended++] = x->read;
  }
  f->n_products = n;
  if (!lane_of(f->thread))
    emu_proxy_ended(read, ended);
  emu_meet_warp();
}

/* ---- registers of warpgroups
 *
 * All threads begin with as many as the kernel's bound says; a warpgroup that wants more waits
 * until others have given up so many. */

enum { REGISTERS = 64 << 10, LEAST = 24, MOST = 256, STEP = 8 };

static bool are_free(const void *x, unsigned n) {
  (void)x;
  return emu_own->free_registers >= n;
}

static void say_registers(const void *x, unsigned n, char *text, size_t bytes) {
  (void)x;
  snprintf(text, bytes, "%u registers, of which %u are free", n, emu_own->free_registers);
}

static void begin_registers(unsigned at_first) {
  unsigned groups = emu_own->threads / NEO_WARPGROUP;
  if (at_first % STEP || at_first * emu_own->threads > REGISTERS)
    emu_fail("%u threads begin with %u registers each, of %d", emu_own->threads, at_first,
             REGISTERS);
  for (unsigned k = 0; k < groups; k++)
    emu_own->registers[k] = at_first;
  emu_own->free_registers = 0;
}

/* setmaxnreg: of the whole warpgroup, whose first thread counts. */
void neo_gpu_registers(unsigned more, unsigned n, unsigned at_first) {
  unsigned thread = emu_thread(), group = thread / NEO_WARPGROUP;
  unsigned *has = &emu_own->registers[group];
  if (n % STEP || n < LEAST || n > MOST)
    emu_fail("sets its registers to %u, no multiple of %d from %d to %d", n, STEP, LEAST, MOST);
  emu_meet(EMU_WARPGROUPS + group, NEO_WARPGROUP);
  if (thread % NEO_WARPGROUP == 0) {
    if (!*has)
      begin_registers(at_first);
    if (more ? n < *has : n > *has)
      emu_fail("%s its registers from %u to %u", more ? "increases" : "decreases", *has, n);
    if (more)
      emu_until(are_free, NULL, (n - *has) * NEO_WARPGROUP, say_registers);
    emu_own->free_registers += (*has - n) * NEO_WARPGROUP;
    *has = n;
  }
  emu_meet(EMU_WARPGROUPS + group, NEO_WARPGROUP);
}
