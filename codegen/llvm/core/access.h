/* Loads and stores of accesses whose addresses are known (core/load.c, core/store.c); core/mem.c
 * analyses the offsets. */
#pragma once
#include "codegen/llvm/gen.h"

enum { NEO_LL_DUMMY_ALIGN = 64 }; /* bytes */

typedef struct {
  neo_type type;
  uint32_t buf, align;
  bool affine, guarded;
  neo_ll_lin lin;
  LLVMValueRef base;    /* address of lane 0 */
  LLVMValueRef offsets; /* offsets of the lanes, as a vector, if it is not affine */
} neo_ll_access;

/* ---- core/access.c */
/* Whether the address differs between lanes of a vector; false: all lanes access one element. */
bool neo_ll_has_lanes(const neo_ll_access *p);
/* Whether lanes access contiguous elements, ascending or descending (step 1 or -1). */
bool neo_ll_is_run(const neo_ll_access *p);
/* The address `offset` elements after `at`. */
LLVMValueRef neo_ll_step_to(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at,
                            LLVMValueRef offset);
LLVMValueRef neo_ll_lane_address(neo_ll_gen *g, const neo_ll_access *p, uint32_t lane);
/* Tells LLVM which other accesses this access of a buffer cannot alias. */
void neo_ll_mark_alias(neo_ll_gen *g, uint32_t buf, LLVMValueRef access);
/* The lanes of v in reverse order, and in another order: n lanes, lane k is lane order[k] of v. */
LLVMValueRef neo_ll_reversed(neo_ll_gen *g, LLVMValueRef v);
LLVMValueRef neo_ll_shuffled(neo_ll_gen *g, LLVMValueRef v, const uint32_t *order, uint32_t n);
/* Lanes `lane` to `lane` + n - 1 of v. */
LLVMValueRef neo_ll_piece_of(neo_ll_gen *g, LLVMValueRef v, uint32_t lane, uint32_t n);
/* The length of the contiguous runs of lanes, a power of two: 8 for lanes l in 0..16 at (l/8)*pitch
 * + l%8. 0: there are no runs, or they are shorter than the shortest vector. */
uint32_t neo_ll_piece_lanes(const neo_ll_gen *g, const neo_ll_access *p);
/* The guard of one lane. */
LLVMValueRef neo_ll_lane_of(neo_ll_gen *g, neo_ll_val guard, uint32_t lane);
/* A masked load or store by the intrinsic of that name; argument at_ptr is the address. */
LLVMValueRef neo_ll_masked(neo_ll_gen *g, const neo_ll_access *p, const char *name, LLVMTypeRef t,
                           LLVMValueRef *arg, unsigned n, unsigned at_ptr);
/* The first address of a run in memory; *mask: the guard in the order of memory. */
LLVMValueRef neo_ll_run_start(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef *mask);
/* The alignment in bytes of a run's first address. */
uint32_t neo_ll_run_align(const neo_ll_access *p);
/* Puts the following code under cond; null: always. Returns the block after it. */
LLVMBasicBlockRef neo_ll_begin_if(neo_ll_gen *g, LLVMValueRef cond);
void neo_ll_end_if(neo_ll_gen *g, LLVMBasicBlockRef after);

/* ---- core/load.c: values of the type in memory; zeros where the guard does not hold */
LLVMValueRef neo_ll_load_access(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard);
/* The same for an access that is a run, or has no lanes. */
LLVMValueRef neo_ll_load_simple(neo_ll_gen *g, neo_ll_access *p, neo_ll_val guard);

/* ---- core/store.c */
/* Stores v at the address `at`, which is a multiple of `align` bytes. */
void neo_ll_store_one(neo_ll_gen *g, const neo_ll_access *p, LLVMValueRef at, LLVMValueRef v,
                      uint32_t align);
/* Stores a vector, by a nontemporal store if wanted. */
void neo_ll_store_lanes(neo_ll_gen *g, neo_ll_access *p, LLVMValueRef v, LLVMValueRef mask,
                        bool nontemporal);
