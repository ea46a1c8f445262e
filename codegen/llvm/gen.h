/* Private to codegen/llvm and its tests: the module, the emitter's state, and short names for
 * instructions.
 *
 * Values of the loop IR as LLVM values: f64 double; f32, f16, bf16 float (the last two already
 * rounded to their type); integers iN; bool i1. In memory f16 and bf16 are i16, bool is i8. Inside
 * a VECTOR loop a value is either uniform (scalar) or has lanes (a vector of the loop's width). */
#pragma once
#include "base/vec.h"
#include "codegen/llvm/emit.h"
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/TargetMachine.h>

typedef struct { /* a module with one function that kernels share */
  const char *name;
  LLVMModuleRef mod;
} neo_ll_module;

struct neo_llvm {
  neo_arena *arena;
  neo_target target;
  const char *name;
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMTargetMachineRef machine;
  LLVMBuilderRef b;     /* the insertion point of instructions */
  LLVMBuilderRef entry; /* the end of the entry block: allocas, argument loads */
  LLVMOrcLLJITRef jit;
  uint32_t n_private; /* private constants made */
  bool finished;
  bool checked;  /* no kernel loses masks, or none can */
  bool outlines; /* shared functions are in modules of their own */
  NEO_VEC(neo_ll_module) shared;
};

/* ---- types and constants (llvm/core/type.c). w = 1 is a scalar. */
LLVMTypeRef neo_ll_type(neo_llvm *l, neo_type t, uint32_t w);     /* as a value */
LLVMTypeRef neo_ll_mem_type(neo_llvm *l, neo_type t, uint32_t w); /* in memory */
LLVMTypeRef neo_ll_int_type(neo_llvm *l, uint32_t bits, uint32_t w);
LLVMTypeRef neo_ll_float_type(neo_llvm *l, uint32_t bits, uint32_t w);
LLVMTypeRef neo_ll_ptr_type(neo_llvm *l);
uint32_t neo_ll_width(LLVMValueRef x); /* lanes; 1 for a scalar */
uint32_t neo_ll_bits(LLVMValueRef x);  /* bits of an element, integer or float */
LLVMValueRef neo_ll_splat(neo_llvm *l, LLVMValueRef scalar, uint32_t w);
LLVMValueRef neo_ll_int(LLVMTypeRef t, int64_t x);  /* constant of an integer (vector) type */
LLVMValueRef neo_ll_float(LLVMTypeRef t, double x); /* constant of a float (vector) type */
static inline LLVMTypeRef neo_ll_i32(const neo_llvm *l) {
  return LLVMInt32TypeInContext(l->ctx);
}
static inline LLVMTypeRef neo_ll_i64(const neo_llvm *l) {
  return LLVMInt64TypeInContext(l->ctx);
}
static inline LLVMValueRef neo_ll_int32(const neo_llvm *l, int64_t x) {
  return neo_ll_int(neo_ll_i32(l), x);
}
static inline LLVMValueRef neo_ll_int64(const neo_llvm *l, int64_t x) {
  return neo_ll_int(neo_ll_i64(l), x);
}
/* 0, step, 2 step ... */
LLVMValueRef neo_ll_lanes(neo_llvm *l, LLVMTypeRef scalar, uint32_t w, int64_t step);
/* A constant vector. */
LLVMValueRef neo_ll_numbers(neo_llvm *l, LLVMTypeRef scalar, const int64_t *x, uint32_t w);
LLVMValueRef neo_ll_call(neo_llvm *l, const char *intrinsic, LLVMTypeRef overload,
                         LLVMValueRef *arg, unsigned n);
/* A constant in memory; align 0: the alignment of its type. llvm/core/const.c */
LLVMValueRef neo_ll_private_data(neo_llvm *l, LLVMValueRef value, uint32_t align);
/* Memory to value and back; rounding of a float (as f32) to f16 or bf16; conversions. */
LLVMValueRef neo_ll_from_mem(neo_llvm *l, neo_type t, LLVMValueRef x);
LLVMValueRef neo_ll_to_mem(neo_llvm *l, neo_type t, LLVMValueRef x);
LLVMValueRef neo_ll_round(neo_llvm *l, neo_type t, LLVMValueRef x);
LLVMValueRef neo_ll_cast(neo_llvm *l, neo_type to, neo_type from, LLVMValueRef x);

/* ---- operators on values of equal width (llvm/core/op.c; llvm/math) */
LLVMValueRef neo_ll_op(neo_llvm *l, neo_op op, neo_type result, neo_type arg, LLVMValueRef *x);
/* Floor division and modulo. nonneg: neither operand is negative. */
LLVMValueRef neo_ll_div(neo_llvm *l, LLVMValueRef x, LLVMValueRef y, bool is_signed, bool nonneg);
LLVMValueRef neo_ll_mod(neo_llvm *l, LLVMValueRef x, LLVMValueRef y, bool is_signed, bool nonneg);
/* x % y of floats or doubles (vectors), exact, with the sign of y (llvm/math/mod.c). */
LLVMValueRef neo_ll_float_mod(neo_llvm *l, LLVMValueRef x, LLVMValueRef y);
/* Element functions on float or double (vectors); y for pow. */
LLVMValueRef neo_ll_math(neo_llvm *l, neo_op op, LLVMValueRef x, LLVMValueRef y);
/* element: i64. Result: in [0, 1), a float of `bits` bits. */
LLVMValueRef neo_ll_rand(neo_llvm *l, const LLVMValueRef key[3], uint32_t site,
                         LLVMValueRef element, uint32_t bits);

/* ---- functions (llvm/core/module.c) */
LLVMValueRef neo_ll_function(neo_llvm *l, const char *symbol, LLVMTypeRef type, bool exported);
void neo_ll_text_attribute(neo_llvm *l, LLVMValueRef fn, const char *name, const char *value);
void neo_ll_enum_attribute(neo_llvm *l, LLVMValueRef fn, const char *name);
/* A pure function "<prefix>.<what>" that several places of a model call. If it is new, the caller
 * writes its body: the builder is in `body` until neo_ll_shared_end. */
typedef struct {
  LLVMValueRef fn;   /* the function for calls */
  LLVMValueRef body; /* the function to write; null: it has a body */
  LLVMBasicBlockRef back;
  LLVMModuleRef mod; /* the caller's module */
} neo_ll_shared;
neo_ll_shared neo_ll_shared_begin(neo_llvm *l, const char *what, LLVMTypeRef type);
void neo_ll_shared_end(neo_llvm *l, const neo_ll_shared *f);
LLVMValueRef neo_ll_extern(neo_llvm *l, const char *symbol, LLVMTypeRef type);
/* Calls a function of the emulated device with at most eight arguments. */
void neo_ll_tell(neo_llvm *l, const char *symbol, LLVMValueRef *arg, unsigned n);
/* Gives `made` this name, and replaces a placeholder of that name by it. */
void neo_ll_define(neo_llvm *l, const char *symbol, LLVMValueRef made);
const char *neo_ll_message(neo_llvm *l, char *llvm_text); /* to the arena; frees llvm_text */

/* ---- the emitter of kernels */
typedef struct {
  LLVMValueRef v;
  bool lanes;
  uint32_t depth; /* depth of the innermost loop in which the value changes */
  bool of_data;   /* a condition that depends on elements of tensors */
} neo_ll_val;

typedef enum { NEO_LL_UNSET, NEO_LL_FIXED, NEO_LL_LOOP, NEO_LL_LANE } neo_ll_var_kind;
typedef struct {
  uint8_t kind;
  bool nonneg;
  uint32_t depth;
  int64_t fixed;    /* FIXED: the value; LANE: the value of lane 0, not negative */
  int64_t multiple; /* LOOP: a number that divides all values */
  int64_t most;     /* LOOP: the last value; 0: unknown */
  LLVMValueRef v;   /* LOOP */
  bool rolled; /* LOOP: an UNROLL loop's; as an index of a register it is 0 (llvm/core/roll.c) */
} neo_ll_var;

typedef struct {
  LLVMValueRef ptr, scope, noalias;
} neo_ll_buf;

typedef struct {
  int64_t width; /* width of VECTOR loops that index it by their lane; -1: several widths */
  bool vector;   /* elements are vectors over the last dimension */
  bool together; /* elements are contiguous in memory */
  LLVMValueRef *at;
} neo_ll_reg;

typedef enum { NEO_LL_ALL, NEO_LL_PRODUCER, NEO_LL_CONSUMER } neo_ll_role;

typedef struct {
  neo_llvm *l;
  const neo_kernel *k;
  LLVMValueRef fn, args;
  LLVMBasicBlockRef entry_block;
  neo_ll_var *var;
  neo_ll_buf *buf;
  neo_ll_reg *reg;
  LLVMValueRef *size, key[3], scratch;
  LLVMValueRef units; /* number of units of a GPU's kernel */
  int64_t threads;    /* a GPU block's threads, if the kernel has loops of threads; else 0 */
  LLVMValueRef block; /* in a persistent grid: the current block of this kernel; else null */
  int64_t team;       /* in a persistent grid: threads of a block; else 0 */
  bool in_threads;
  neo_ll_role role; /* the current arm of SPECIALIZE; a producer is one thread */
  uint32_t n_maps;  /* tensor maps of copied boxes: parameters after all others */
  neo_kernel_map maps[NEO_KERNEL_MAPS];
  LLVMValueRef map[NEO_KERNEL_MAPS];
  uint8_t *open;      /* [buffer] accesses of threads since the last barrier (llvm/nvptx/sync.c) */
  bool *matrix;       /* [buffer] it has factors of warpgroups */
  bool *by_mbarriers; /* [buffer] mbarriers order its accesses (llvm/nvptx/specialize.c) */
  uint32_t width, depth; /* width of the enclosing VECTOR loop, else 1; depth of loops */
  uint32_t n_accesses;   /* number of memory accesses so far */
  uint32_t *mentions;    /* [register] its uses, once they are counted (llvm/core/roll.c) */
  bool nontemporal;      /* nontemporal buffers begin at multiples of a vector here */
  neo_ll_val guard;      /* the condition of loads; v null: always */
  struct {
    uint32_t stamp, no_form; /* the statement in which val holds; in which it has no linear form */
    neo_ll_val val;
  } * memo; /* by node id, as is `facts` */
  uint8_t *facts;
  uint32_t stamp;
  NEO_VEC(uint32_t) trail;
  bool tiles;              /* the kernel uses tile registers */
  bool dots;               /* the kernel multiplies pairs by instructions of the processor */
  LLVMValueRef tile_state; /* the content of tile registers, if the target has none */
} neo_ll_gen;

enum {
  NEO_LL_LOADS = 1, /* evaluating it reads a buffer */
  NEO_LL_INDEX = 2  /* i64 arithmetic of constants, variables and sizes: does not wrap */
};

/* A sum: c + sum of coef * v + lane * (step + stride) + pattern[lane]. */
typedef struct {
  int64_t c, step;
  LLVMValueRef stride;    /* null: none */
  const int64_t *pattern; /* a constant for each lane, pattern[0] = 0; null: none */
  uint32_t n;
  struct {
    LLVMValueRef v;
    int64_t coef;
    uint32_t depth;
    int64_t multiple; /* v is a multiple of it */
  } t[16];
} neo_ll_lin;

neo_ll_val neo_ll_expr(neo_ll_gen *g, const neo_lx *e);  /* llvm/core/expr.c */
LLVMValueRef neo_ll_spread(neo_ll_gen *g, neo_ll_val x); /* with lanes if width > 1 */
/* Arguments of the kernel (llvm/core/args.c), loaded in its entry block at first use: a field of
 * neo_rt_args; a size; a part of the key; the address of a buffer. And the alias scopes of its
 * buffers. */
LLVMValueRef neo_ll_argument(neo_ll_gen *g, LLVMTypeRef t, size_t offset_bytes);
LLVMValueRef neo_ll_size_value(neo_ll_gen *g, uint32_t size);
LLVMValueRef neo_ll_key_value(neo_ll_gen *g, uint32_t which);
LLVMValueRef neo_ll_buf_value(neo_ll_gen *g, uint32_t buf);
/* Emits the buffers' origins at the builder's position, after all other arguments are loaded. */
void neo_ll_origins(neo_ll_gen *g);
/* A stack slot of the entry block; align 0: the alignment of its type. llvm/core/reg.c */
LLVMValueRef neo_ll_alloca(neo_ll_gen *g, LLVMTypeRef t, uint32_t align, const char *name);
/* Registers (llvm/core/reg.c): makes all registers of a kernel; the place of an element; the
 * statement REG. */
void neo_ll_registers(neo_ll_gen *g);
typedef struct {
  int64_t at;   /* number in neo_ll_reg.at */
  int64_t lane; /* number of a single element of a vector */
  bool all;     /* one element for each lane, from `at` on if the register is no vector */
} neo_ll_place;
neo_ll_place neo_ll_reg_place(neo_ll_gen *g, uint32_t reg, const neo_lx *const *index, size_t n);
void neo_ll_reg_declare(neo_ll_gen *g, const neo_ls *s);
/* llvm/core/tree.c. Reduces all lanes of a register by vector operations, if e is a tree over
 * them. */
bool neo_ll_lane_tree(neo_ll_gen *g, const neo_lx *e, neo_ll_val *out);
/* llvm/core/linear.c: x becomes x + coef*v; out = x + k*y, x * y; x = d*q + r, with q a sum and r a
 * constant in [0, d) for each lane. False: that is no sum of this form. */
bool neo_ll_lin_is_constant(const neo_ll_lin *x);
bool neo_ll_lin_add(neo_ll_lin *x, LLVMValueRef v, int64_t coef, uint32_t depth, int64_t multiple);
bool neo_ll_lin_add_scaled(neo_ll_gen *g, const neo_ll_lin *x, int64_t k, const neo_ll_lin *y,
                           neo_ll_lin *out);
bool neo_ll_lin_multiply(neo_ll_gen *g, const neo_ll_lin *x, const neo_ll_lin *y, neo_ll_lin *out);
bool neo_ll_lin_divide(neo_ll_gen *g, const neo_ll_lin *x, int64_t d, neo_ll_lin *q, neo_ll_lin *r);
/* llvm/core/addr.c. False: not affine in the lane. _form: by e's own operator, else false. */
bool neo_ll_linear(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out);
bool neo_ll_linear_form(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out);
/* The difference between the values of lane k and lane 0; x has no stride. */
int64_t neo_ll_lane_offset(const neo_ll_lin *x, uint32_t lane);
LLVMValueRef neo_ll_linear_value(neo_ll_gen *g, const neo_ll_lin *x, bool with_constant,
                                 uint32_t *depth);
int64_t neo_ll_multiple(neo_ll_gen *g, const neo_lx *e); /* a number that divides e; 0 for e = 0 */
bool neo_ll_nonneg(neo_ll_gen *g, const neo_lx *e);
int64_t neo_ll_most(neo_ll_gen *g,
                    const neo_lx *e); /* if it is not negative; INT64_MAX: no bound */
/* llvm/core/mem.c */
neo_ll_val neo_ll_load(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, neo_ll_val guard);
/* Two loads of adjacent bf16 as a pair; false: they are not adjacent, or their lanes are no run of
 * pairs. */
bool neo_ll_load_pair(neo_ll_gen *g, const neo_lx *first, const neo_lx *second, neo_ll_val *out);
void neo_ll_store(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, const neo_lx *value,
                  neo_ll_val guard);
/* An atomic addition of an integer. */
void neo_ll_add(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, const neo_lx *value);
/* Stores the first n elements of v contiguously at an address, only if that lane of the guard holds
 * (v null: always). */
void neo_ll_store_first(neo_ll_gen *g, uint32_t buf, LLVMValueRef at, LLVMValueRef v, uint32_t n,
                        neo_ll_val guard, uint32_t lane);
void neo_ll_prefetch(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, int64_t cache);
/* The address of the element at an offset without lanes; guarded: the offset may be outside of the
 * buffer. *align: the known alignment of the address in bytes, at most 64. */
LLVMValueRef neo_ll_address(neo_ll_gen *g, uint32_t buf, const neo_lx *offset, bool guarded,
                            uint32_t *align);
neo_ll_val neo_ll_both(neo_ll_gen *g, neo_ll_val a, neo_ll_val b); /* conjunction; v null is true */
LLVMBasicBlockRef neo_ll_new_block(neo_ll_gen *g, const char *name);
/* The end of a loop's body: a branch back to it with x as `next` while x is below hi, else to the
 * block after it, where the builder is then. llvm/core/control.c */
void neo_ll_loop_end(neo_ll_gen *g, LLVMValueRef x, LLVMValueRef next, LLVMValueRef hi,
                     LLVMBasicBlockRef body, LLVMBasicBlockRef after);
/* llvm/core/roll.c. An UNROLL loop as a loop, where that is better; false: nothing was emitted. */
typedef void neo_ll_emit_block(neo_ll_gen *g, const neo_block *b);
bool neo_ll_roll(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block);
/* llvm/core/transpose.c. Emits an UNROLL loop of stores with strided lanes and contiguous rows by
 * transposing it in registers. False: the loop is none such, and nothing was emitted. */
bool neo_ll_transpose(neo_ll_gen *g, const neo_ls *s);
/* llvm/x86/amx.c: tile registers. `declare` runs once for a kernel; begin and end enclose each unit
 * of work. */
void neo_ll_tiles_declare(neo_ll_gen *g);
void neo_ll_tiles_begin(neo_ll_gen *g);
void neo_ll_tiles_end(neo_ll_gen *g);
void neo_ll_tile(neo_ll_gen *g, const neo_ls *s);
/* llvm/x86/dot.c: pairs of bf16, and products of them lane by lane. `declare` runs once for a
 * kernel that multiplies pairs. */
void neo_ll_dots_declare(neo_ll_gen *g);
LLVMValueRef neo_ll_dot(neo_llvm *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
/* Two vectors of f32, rounded, as pairs; null: the target has no instruction for it. */
LLVMValueRef neo_ll_rounded_pairs(neo_ll_gen *g, LLVMValueRef first, LLVMValueRef second);
/* Plain code: denormal numbers are zeros; one number of each pair as f32, flushed. */
LLVMValueRef neo_ll_flushed(neo_llvm *l, LLVMValueRef x);
LLVMValueRef neo_ll_half(neo_llvm *l, LLVMValueRef pairs, bool second);
uint32_t neo_ll_enter(
    neo_ll_gen *g); /* values that are made before the matching leave are forgotten there */
void neo_ll_leave(neo_ll_gen *g, uint32_t at);

/* Makes the state of a kernel, after its function; emits the kernel's body at the builder's
 * position. llvm/core/kernel.c */
void neo_ll_state(neo_ll_gen *g, const char *symbol);
void neo_ll_body(neo_ll_gen *g);
/* Statements (llvm/core/emit.c); the statements of a unit that is thread x of the grid, in loop s
 * if it is not null. */
void neo_ll_block(neo_ll_gen *g, const neo_block *b);
void neo_ll_thread_unit(neo_ll_gen *g, LLVMValueRef x, const neo_ls *s, const neo_block *in);
