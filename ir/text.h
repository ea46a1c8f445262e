/* Shared by printer and parser of the text form; private to print*.c and parse*.c.
 *
 *   neo-ir 1
 *   module mlp
 *   sites 1
 *   size B 1..256
 *   size P 1..128 = (B + 1) / 2
 *   assert B % 8 == 0
 *   input X : f32 [B, 784]
 *   input Y : i32 [B] < 10
 *   const K : f32 [3] = {1.0, 2.0, 1.0}
 *   temp H : f32 [B, 128]
 *   update ?7 : f32 [784, 128] of W1
 *   init @1 W1[i: 784, j: 128] = rand(0, i * 128 + j)
 *   def @2 H[b: B, j: 128] =
 *       sum[i: 784] X[b, i] * W1[i, j]
 *       then relu(acc0 + b1[j])
 *   def @3 from @2 (V, I)[b: B] at [2*b + 1] =
 *       max[k: 0..b + 1]
 *       let $0 = exp(X[b, k]);
 *       where $0 < 2.0;
 *       $0 * $0, k
 *       then acc0, acc1
 *   entry train step: loss = loss; updates ?7
 *   gradient of loss seed - for W1, b1 into dW1, db1 done
 *   custom x, w -> y with dy -> dx, -
 *
 * A statement begins in the first column; its further lines are indented. `#` starts a comment. A
 * definition's number is `@n`. `?n` is tensor or size number n, which has no name. A subexpression
 * that is used more than once, or lies deep, is named `$n` where its definition first has its axes
 * in scope. Literals are f32 with a point, i64 without, or have their type at the end: `1.0bf16`,
 * `3u8`, `inf_f64`. */
#pragma once
#include "ir/ir.h"

enum { NEO_TEXT_DEPTH = 200 }; /* nesting that the parser accepts; the printer stays far below */

/* Binding strength, loosest first. */
enum {
  LEVEL_OR = 1,
  LEVEL_AND,
  LEVEL_NOT,
  LEVEL_CMP,
  LEVEL_SUM,
  LEVEL_MUL,
  LEVEL_UNARY,
  LEVEL_ATOM
};

/* Is this a word of the text form, so that a name spelled like it needs quotes? */
bool neo_text_reserved(const char *word, size_t n);
void neo_text_add_name(neo_str *out, const char *name);  /* quoted where needed */
void neo_text_add_label(neo_str *out, const char *name); /* where reserved words are no danger */

/* Settings for writing an expression as text. `axis` has the names of the axes. `let_of` may be
 * null; it returns n + 1 for an expression that has the name $n, else 0. */
typedef struct {
  const neo_module *m;
  neo_str *out;
  const char *const *axis;
  uint32_t n_axes;
  uint32_t (*let_of)(void *ctx, neo_expr e);
  void *ctx;
  size_t limit; /* stop with ... when the text is longer; 0: no limit */
} neo_text_expr;
/* Appends an expression, in parentheses if it binds less tightly than `level`. */
void neo_text_add_expr(const neo_text_expr *t, neo_expr e, int level);
void neo_text_add_number(neo_str *out, neo_type t, double f, int64_t i); /* without its type */
/* Append the name of a tensor or size, or its number if it has none. */
void neo_text_add_tensor(const neo_module *m, neo_str *out, neo_tensor t);
void neo_text_add_size(const neo_module *m, neo_str *out, neo_size s);
/* Names of a definition's axes, each different and different from the sizes'; from the arena. */
const char *const *neo_text_axes(const neo_module *m, const neo_def_rec *d, neo_arena *a);
