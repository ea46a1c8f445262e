/* The form of a group: what its kernel computes, with members put together, and storage made flat.
 *
 *   H[b,j] = sum[i] X[b,i]*W[i,j]                     shared axes: b, j
 *   Y[b,j] = relu(H[b,j] + c[j])             ->       stage 0  axes i
 *                                                       acc0 = sum X[b*784 + i]*W[i*128 + j]
 *                                                     stage 1  Y[b*128 + j] = relu(acc0 + c[j])
 *
 * A stage runs over its own axes, whose positions follow those of the shared axes, at each point of
 * the shared axes. It accumulates (accs), or stores (outs), never both. Stages run in order; an
 * expression may use ACC k of earlier stages, k counting through the form.
 *
 * A sum that is nested in others (nested.h) is a stage before the one that uses it, which has that
 * stage's own axes first, and sums over those after them:
 *
 *   S[i,j] = sum[d] Q[i,d]*K[j,d]           shared axes: i
 *   m[i] = max[j] S[i,j]             ->     stage 0  axes j d, over 1   acc0 = sum Q[..]*K[..]
 *                                           stage 1  axes j             acc1 = max acc0
 *                                           stage 2                     m[i] = acc1
 *
 * Differences from the expressions of definitions:
 *   LOAD has one index, the element's offset in the memory that holds the tensor (ir/store.h), row-major
 *     (a scalar's: none); sums in offsets are in linear form (ir.h);
 *   offsets count from where the form begins in a tensor (form/rebase.c)
 *   LOAD_ELSE is select(conditions that could not be proved, LOAD, other)
 *   MEAN is a sum and a count; LOGSUMEXP a maximum and a sum of exponentials; f16 and bf16
 *     accumulate as f32
 *   axes of one element are none, axes of groups are two; neighbouring axes that every access
 *   walks as one are one axis
 *
 * Expressions live in the module, the rest in its arena. */
#pragma once
#include "fusion/group.h"
#include "ir/prove.h"

enum { NEO_FORM_MAX_AXES = 64 };

typedef struct {
  /* SUM PROD MAX MIN ANY ALL; NONE: payload of the acc before, taken over when that one changes */
  uint8_t kind;
  uint8_t type;
  neo_expr body;
} neo_form_acc;

typedef struct {
  neo_tensor tensor;
  neo_expr offset, value;
  int64_t
      row_block; /* above 0: values are added up over runs of so many points of the last shared axis,
                  during which the offset is the same (ir/row_blocks.h) */
} neo_form_out;

typedef struct {
  NEO_VEC(neo_axis_rec) axes; /* own; positions from form->axes.n */
  uint32_t over;  /* above 0: an inner sum, of so many first own axes a value at each point */
  neo_expr where; /* 0: always */
  uint32_t first_acc;
  NEO_VEC(neo_form_acc) accs;
  NEO_VEC(neo_form_out) outs;
} neo_stage;

typedef struct { /* how a tensor is accessed */
  neo_tensor tensor;
  int64_t base; /* offsets count from this element on */
  bool closed;  /* every access is inside the tensor wherever the axes are in their ranges */
} neo_form_access;

typedef struct neo_form {
  NEO_VEC(neo_axis_rec) axes; /* shared; from 0 to an extent over sizes */
  NEO_VEC(neo_stage) stages;
  uint32_t n_accs;
  bool in_order;                     /* as neo_group.in_order */
  NEO_VEC(neo_form_access) accesses; /* of each tensor that is read or written */
  /* What was found in it, once: nested reductions (nested.h), and what strategies of schedules match
   * (schedule/match.h). Null: nobody has asked yet. */
  struct neo_nested_match *nested;
  struct neo_match *match;
  uint64_t
      keyed; /* shared axes that keys say, as bits, once matched (schedule/segment/segment.h) */
} neo_form;

/* The form of a group; made once, kept in the group. */
const neo_form *neo_group_form(neo_module *m, const neo_group *g);

/* Axes of a stage in position order (shared, then own) and how many. */
uint32_t neo_stage_axes(const neo_form *f, const neo_stage *s, neo_axis_rec *out);
/* Linear form of an i64 expression, in which a*n*(x/n) + a*(x%n) is a*x. */
bool neo_flat_linear(neo_module *m, neo_expr e, neo_linear *out);
/* Coefficient of AXIS k in an offset of the form; false: it is not constant, or another term of the
 * offset changes along the axis too. */
bool neo_flat_stride(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis,
                     int64_t *stride);
/* Is the offset s*(x/n) + x%n + what is free of x, for AXIS x? Then elements lie next to each other
 * within tiles of n. */
bool neo_flat_tiled(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis, int64_t *n);
/* Bit k: the value of an expression of the form changes along axis k, be it through an accumulator
 * that the expression holds. Whoever asks which axes matter asks this. (form/axes.c) */
uint64_t neo_form_axes(const neo_module *m, const neo_form *f, neo_expr e);
/* Does the value follow from data: elements of tensors, or accumulators? */
bool neo_form_reads(const neo_module *m, neo_expr e);
/* Calls f for every distinct node of a stage (bounds, where, bodies, offsets, values). */
void neo_stage_visit(const neo_module *m, const neo_stage *s, void (*f)(void *ctx, neo_expr e),
                     void *ctx);
/* Puts value() of each expression of a stage in its place, offset() of those of its stores. */
typedef neo_expr neo_form_rewriter(void *ctx, neo_module *m, neo_expr e);
void neo_stage_rewrite(neo_module *m, neo_stage *s, neo_form_rewriter *value,
                       neo_form_rewriter *offset, void *ctx);
/* Has it inner sums? */
bool neo_form_is_nested(const neo_form *f);
/* Are these a maximum of x and a sum of exp(x - base), of a logsumexp (see base in form/build.c)? */
bool neo_form_is_logsumexp(neo_module *m, const neo_stage *top, const neo_stage *sum);
/* Points of the runs that some result is a sum of (they are equal); 0: none is. */
int64_t neo_form_row_block(const neo_form *f);
/* The offset of a LOAD of a form, the element of a RAND. */
neo_expr neo_flat_at(neo_module *m, neo_expr load);
/* Upper bound of an extent over all sizes; -1: bounded by data. */
int64_t neo_extent_most(neo_module *m, neo_expr e);
/* The average length of an axis that goes from one element of a table of offsets to another, as a list of edges
 * does: over all lists of the table, at the largest sizes. 0: the axis is no such list. */
int64_t neo_list_length(neo_module *m, const neo_axis_rec *x);
/* Elements of the memory that holds a tensor: its own, or those of the tensor that it is a part of. */
neo_expr neo_tensor_elements(neo_module *m, neo_tensor t);

/* The element of t that offsets count from, and whether accesses are inside t in any case.
 * (form/rebase.c) */
int64_t neo_form_base(const neo_form *f, neo_tensor t);
bool neo_form_closed(const neo_form *f, neo_tensor t);
/* Is a LOAD of the form proved to be inside its tensor under the facts? */
bool neo_form_inside(neo_module *m, neo_prover *p, const neo_form *f, const neo_facts *facts,
                     neo_expr load);

/* Under which condition the results differ from what is there, if each of them is a new version that is the old one
 * elsewhere: T.next[n, d] = select(read[n], .., T[n, d]). It is over shared axes. Where it does not hold a kernel
 * may leave out what it would write, as the plan sees to it that the old version is there
 * (codegen/plan/entry.c). 0: there is none. */
neo_expr neo_form_changes_where(neo_module *m, const neo_form *f);
/* The element of a tensor of truths under which alone the results are needed, if all are `partial` under it; 0: there is
 * none. */
neo_expr neo_form_needed_where(neo_module *m, const neo_form *f);
/* Elements of a tensor of truths that lie along a shared axis, one a point: where an element is false, nothing is done.
 * The load is over this axis alone, and may be evaluated at each of its points. */
typedef struct {
  neo_expr load;
  uint32_t axis;
} neo_form_flags;
bool neo_form_flags_of(neo_module *m, const neo_form *f, neo_form_flags *out);
