/* For tools/pipeline, tools/tune and codegen/plan: loop IR to LLVM to machine code. Only files
 * below codegen/llvm know LLVM. The order of calls: new; kernels, globals and entries; finish; then
 * objects, text or jit.
 *
 * Constants (neo_lconst) and names are owned by their neo_llvm and live until neo_llvm_free; no
 * function returns null unless it says so.
 *
 * A function that returns a status other than NEO_OK has a text in *why, which lives as long as
 * the neo_llvm. */
#pragma once
#include "codegen/llvm/target.h"
#include "codegen/loop/loop.h"

typedef struct neo_llvm neo_llvm; /* one LLVM module for one target */

/* Sets the handler for the end of memory in LLVM or C++, in any thread. The handler must not
 * return: locks may be held, and data incomplete, so that it can only end the process. Call this
 * once, before all else; without it LLVM aborts. (core/memory.c) */
void neo_llvm_on_no_memory(void (*handler)(void));

/* enter and leave enclose a thread's calls of LLVM while other threads may fork, as in
 * neo_jit_load. fork_begin and fork_end enclose a fork whose child uses LLVM, so that no other
 * thread is inside of LLVM then; only the parent calls fork_end. The forking thread must not have
 * entered. (core/users.c) */
void neo_llvm_enter(void);
void neo_llvm_leave(void);
void neo_llvm_fork_begin(void);
void neo_llvm_fork_end(void);

/* A module for the target; `name` is the prefix of its shared functions. *why has the reason of a
 * failure. */
neo_status neo_llvm_new(neo_arena *a, const neo_target *t, const char *name, neo_llvm **out,
                        const char **why) NEO_MUST_CHECK;
/* Frees the module with its code and constants; null is allowed. */
void neo_llvm_free(neo_llvm *l);
/* Adds `int32_t <symbol>(const neo_rt_args *)`, hidden. NEO_INTERNAL if the verifier refuses k. */
neo_status neo_llvm_kernel(neo_llvm *l, const neo_kernel *k, const char *symbol,
                           const char **why) NEO_MUST_CHECK;
/* Adds a persistent kernel of a GPU that runs all of these kernels (llvm/nvptx/grid.c). Its blocks
 * have at least as many threads as those of each kernel. Phases are numbered from 0 among the parts
 * of one loop, or outside of loops. A loop that is not lone is the only part of its phase. */
typedef struct {
  const neo_kernel *kernel; /* null: a loop around the next n parts */
  int32_t phase;
  bool
      /* a kernel of one block at most, or a loop around such; lone parts of a phase run in order */
      lone;
  /* Programs (neo_rt.h) over the model's sizes, and the indices of loops around the part. */
  const int64_t
      *units; /* units of a kernel in the current iteration of its loop; null: a parameter */
  const int64_t *lo, *hi; /* a loop runs for lo <= index < hi, as neo_rt_loop */
  int32_t n, index;       /* index: number of a size; -1: none */
  int32_t begin,
      /* a loop over blocks of rows: numbers of sizes, as neo_rt_loop; -1: another loop */
      end;
  bool down;
  bool whole; /* loop over blocks of rows: one iteration, with the rows of all of them */
  bool meets; /* a grid barrier is between two iterations */
} neo_grid_part;
neo_status neo_llvm_grid(neo_llvm *l, const neo_grid_part *part, size_t n, int64_t threads,
                         const char *symbol, const char **why) NEO_MUST_CHECK;
/* Makes a kernel visible outside of its library, so that it can be measured. */
void neo_llvm_export(neo_llvm *l, const char *symbol);

/* Constant data and functions for the model record. Constants are built as trees: */
typedef struct neo_lconst neo_lconst;
/* An integer of `bits` bits. */
const neo_lconst *neo_lconst_int(neo_llvm *l, uint32_t bits, int64_t x);
const neo_lconst *neo_lconst_null(neo_llvm *l); /* a null pointer */
/* Pointer to a private string. */
const neo_lconst *neo_lconst_string(neo_llvm *l, const char *text);
/* Pointer to a function or global by name; it may be defined later. */
const neo_lconst *neo_lconst_symbol(neo_llvm *l, const char *symbol);
/* C layout. */
const neo_lconst *neo_lconst_struct(neo_llvm *l, const neo_lconst *const *field, size_t n);
/* Pointer to a private constant array of equal elements (null pointer for n = 0). */
const neo_lconst *neo_lconst_array(neo_llvm *l, const neo_lconst *const *elem, size_t n);
/* Pointer to bytes. */
const neo_lconst *neo_lconst_bytes(neo_llvm *l, const void *p, size_t n, uint32_t align);
/* Defines a constant global; without `exported` only the library itself sees it. */
void neo_llvm_global(neo_llvm *l, const char *symbol, const neo_lconst *value, bool exported);

/* A thin exported entry: `ret symbol(params)` that calls a libneort function.
 * Parameter kinds: p pointer, i int32, l int64, d double, z size_t; ret may also be v, void. The
 * body passes to `callee` the arguments listed, each a parameter (by number), a constant int32, the
 * address of the model record, or a pointer to a local array of some of the parameters (int64 or
 * pointers). */
typedef struct {
  enum { NEO_ARG_PARAM, NEO_ARG_INT, NEO_ARG_SYMBOL, NEO_ARG_ARRAY } kind;
  int32_t value;      /* PARAM: number; INT: value; ARRAY: first parameter */
  int32_t n;          /* ARRAY: number of parameters */
  const char *symbol; /* SYMBOL */
} neo_entry_arg;
void neo_llvm_entry(neo_llvm *l, const char *symbol, char ret, const char *params,
                    const char *callee, const neo_entry_arg *arg, size_t n_args);

/* Puts each function that kernels share into a module of its own. The linker gets its object once
 * for all kernels of the same name (neo_llvm_new) that call it. Call this before the first kernel;
 * not for GPUs. */
void neo_llvm_outline_shared(neo_llvm *l);
/* The number of these functions, and their names, including functions that only other shared ones
 * call. */
size_t neo_llvm_n_outlined(const neo_llvm *l);
const char *neo_llvm_outlined_name(const neo_llvm *l, size_t k);
/* The object of one of them, in the arena; it depends on the name and the target alone. Once for
 * each, after the kernels. */
neo_status neo_llvm_take_outlined(neo_llvm *l, size_t k, neo_arena *a, const char **data, size_t *n,
                                  const char **why) NEO_MUST_CHECK;

/* Optimises (a short pipeline) and verifies. Once, before emitting. */
neo_status neo_llvm_finish(neo_llvm *l, const char **why) NEO_MUST_CHECK;
neo_status neo_llvm_emit_object(neo_llvm *l, const char *path, const char **why) NEO_MUST_CHECK;
/* The object in the arena. Code generation changes the module without a copy, so only neo_llvm_free
 * may follow. */
neo_status neo_llvm_take_object(neo_llvm *l, neo_arena *a, const char **data, size_t *n,
                                const char **why) NEO_MUST_CHECK;
/* The texts of .ll and .s in the arena, NUL-terminated. */
const char *neo_llvm_take_text(neo_llvm *l, neo_arena *a);
neo_status neo_llvm_take_asm(neo_llvm *l, neo_arena *a, const char **data, size_t *n,
                             const char **why) NEO_MUST_CHECK;
/* .ll and .s */
neo_status neo_llvm_emit_text(neo_llvm *l, const char *path, const char **why) NEO_MUST_CHECK;
neo_status neo_llvm_emit_asm(neo_llvm *l, const char *path, const char **why) NEO_MUST_CHECK;
/* Code callable in this process until neo_llvm_free, for tests and measuring: the address of a
 * symbol, or null and *why. */
void *neo_llvm_jit(neo_llvm *l, const char *symbol, const char **why);
