/* The form of a group: its kernel's computation, with members combined and storage flattened.
 *
 *   H[b,j] = sum[i] X[b,i]*W[i,j]                     shared axes: b, j
 *   Y[b,j] = relu(H[b,j] + c[j])             ->       stage 0  axes i
 *                                                       acc0 = sum X[b*784 + i]*W[i*128 + j]
 *                                                     stage 1  Y[b*128 + j] = relu(acc0 + c[j])
 *
 * At each point of the shared axes a stage runs over its own axes, whose positions follow the
 * shared ones. It accumulates (accs) or stores (outs), never both. Stages run in order; an
 * expression may use ACC k of earlier stages, k counting through the form.
 *
 * An inner sum (nested.h) is a stage before the one that uses it. Its axes are that stage's own
 * axes, then the axes that it sums over:
 *
 *   S[i,j] = sum[d] Q[i,d]*K[j,d]           shared axes: i
 *   m[i] = max[j] S[i,j]             ->     stage 0  axes j d, over 1   acc0 = sum Q[..]*K[..]
 *                                           stage 1  axes j             acc1 = max acc0
 *                                           stage 2                     m[i] = acc1
 *
 * Differences from the expressions of definitions:
 *   LOAD has one index, the element's row-major offset in the tensor's memory (ir/store.h; none
 *     for a scalar); sums in offsets are in linear form (ir.h)
 *   offsets count from the form's first element of a tensor (form/rebase.c)
 *   LOAD_ELSE is select(conditions that could not be proved, LOAD, other)
 *   MEAN is a sum and a count; LOGSUMEXP a maximum and a sum of exponentials; f16 and bf16
 *     accumulate as f32
 *   axes of one element are dropped, axes of groups are two, neighbouring axes with matching
 *   strides are one
 *
 * Expressions are in the module, the rest in its arena. */
#pragma once
#include "fusion/group.h"
#include "ir/prove/prove.h"

enum { NEO_FORM_MAX_AXES = NEO_DEF_AXES };

typedef struct {
  /* SUM PROD MAX MIN ANY ALL; NONE: payload of the acc before, replaced when that one changes */
  uint8_t kind;
  uint8_t type;
  neo_expr body;
} neo_form_acc;

typedef struct {
  neo_tensor tensor;
  neo_expr offset, value;
  /* above 0: values are added up over blocks of this many points of the last shared axis, which
   * share the offset (ir/row_blocks.h) */
  int64_t row_block;
} neo_form_out;

typedef struct {
  NEO_VEC(neo_axis_rec) axes; /* own; positions from form->axes.n */
  uint32_t over;  /* above 0: an inner sum, with a value at each point of this many own axes */
  neo_expr where; /* condition; 0: always */
  uint32_t first_acc;
  NEO_VEC(neo_form_acc) accs;
  NEO_VEC(neo_form_out) outs;
} neo_stage;

typedef struct { /* accesses of a tensor */
  neo_tensor tensor;
  int64_t base; /* the element that offsets count from */
  bool closed;  /* every access is inside the tensor for all points of the ranges */
} neo_form_access;

typedef struct neo_form {
  NEO_VEC(neo_axis_rec) axes; /* shared; from 0 to an extent over sizes */
  NEO_VEC(neo_stage) stages;
  uint32_t n_accs;
  bool in_order;                     /* as neo_group.in_order */
  NEO_VEC(neo_form_access) accesses; /* accesses to each tensor that is read or written */
  /* Facts of the form, computed once: nested reductions (nested.h), and matches of schedules'
   * strategies (schedule/match.h). Null: not computed yet. */
  struct neo_nested_match *nested;
  struct neo_match *match;
  uint64_t
      keyed; /* shared axes given by keys, as bits, once matched (schedule/segment/segment.h) */
} neo_form;

/* The form of a group; made once, kept in the group. */
const neo_form *neo_group_form(neo_module *m, const neo_group *g);

/* Axes of a stage in position order (shared, then own) and how many. */
uint32_t neo_stage_axes(const neo_form *f, const neo_stage *s, neo_axis_rec *out);
/* Linear form of an i64 expression, in which a*n*(x/n) + a*(x%n) is a*x. False: it has too many
 * terms, or coefficients overflow. */
bool neo_flat_linear(neo_module *m, neo_expr e, neo_linear *out);
/* Coefficient of AXIS k in an offset of the form; false: it is not constant, or another term varies
 * along the axis too. */
bool neo_flat_stride(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis,
                     int64_t *stride);
/* Is the offset s*(x/n) + x%n + terms free of x, for AXIS x? Elements are then contiguous in tiles
 * of n. */
bool neo_flat_tiled(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis, int64_t *n);
/* Axes that the value of an expression of the form varies along, as bits, through its accumulators
 * too. (form/axes.c) */
uint64_t neo_form_axes(const neo_module *m, const neo_form *f, neo_expr e);
/* Does the value depend on data: elements of tensors, or accumulators? */
bool neo_form_reads(const neo_module *m, neo_expr e);
/* Calls f for every distinct node of a stage (bounds, where, bodies, offsets, values). */
void neo_stage_visit(const neo_module *m, const neo_stage *s, void (*f)(void *ctx, neo_expr e),
                     void *ctx);
/* Replaces each expression of a stage by value(), those of its stores' offsets by offset(). */
typedef neo_expr neo_form_rewriter(void *ctx, neo_module *m, neo_expr e);
/* Rewrites the expressions of a stage: offsets of elements by `offset`, all others by `value`. */
void neo_stage_rewrite(neo_module *m, neo_stage *s, neo_form_rewriter *value,
                       neo_form_rewriter *offset, void *ctx);
/* Has the form inner sums? */
bool neo_form_is_nested(const neo_form *f);
/* Are these a maximum of x and a sum of exp(x - base), of a logsumexp (see base in
 * form/build.c)? */
bool neo_form_is_logsumexp(neo_module *m, const neo_stage *top, const neo_stage *sum);
/* Points of the row blocks that results are summed over (all equal); 0: no result is. */
int64_t neo_form_row_block(const neo_form *f);
/* The offset of a LOAD of a form, the element of a RAND. */
neo_expr neo_flat_at(neo_module *m, neo_expr load);
/* Upper bound of an extent over all sizes; -1: bounded by data. */
int64_t neo_extent_most(neo_module *m, neo_expr e);
/* The average length of an axis between neighbouring entries of a table of offsets, such as a list
 * of edges, over all lists of the table, at the largest sizes. 0: the axis is no such list. */
int64_t neo_list_length(neo_module *m, const neo_axis_rec *x);
/* Elements of the memory of a tensor: its own, or that of the tensor that it is a part of. */
neo_expr neo_tensor_elements(neo_module *m, neo_tensor t);

/* The element of t that offsets count from; and whether all accesses are inside t.
 * (form/rebase.c) */
int64_t neo_form_base(const neo_form *f, neo_tensor t);
bool neo_form_closed(const neo_form *f, neo_tensor t);
/* Is a LOAD of the form proved to be inside its tensor under the facts? */
bool neo_form_inside(neo_module *m, neo_prover *p, const neo_form *f, const neo_facts *facts,
                     neo_expr load);

/* The condition, over shared axes, under which results change, if each is a new version that equals
 * the old one elsewhere: T.next[n, d] = select(read[n], .., T[n, d]). Where it fails a kernel may
 * skip its stores, since the plan provides the old version (codegen/plan/entry.c). 0: none. */
neo_expr neo_form_changes_where(neo_module *m, const neo_form *f);
/* The element of a tensor of truths under which alone the results are needed, if all are `partial`
 * under it; 0: none. */
neo_expr neo_form_needed_where(neo_module *m, const neo_form *f);
/* Flags: a tensor of truths along a shared axis; nothing is computed at the points where it is
 * false. The load is over this axis alone, and may be evaluated at each of its points. */
typedef struct {
  neo_expr load;
  uint32_t axis;
} neo_form_flags;
/* The flags of the elements that a form changes; false: its condition is none that flags can
 * tell. */
bool neo_form_flags_of(neo_module *m, const neo_form *f, neo_form_flags *out);
