/* Declarations that the files of autodiff/ share. Private to autodiff. */
#pragma once
#include "autodiff/autodiff.h"
#include "ir/prove/prove.h"

/* ---- rules.c: float arithmetic that drops structural zeros and ones, and the derivative of each
 * operator */
neo_expr ad_zero(neo_module *m, neo_type t);
neo_expr ad_add(neo_module *m, neo_expr a, neo_expr b); /* either may be 0: no term */
/* x[0] + ... + x[n - 1], as a tree if n is large: walks over expressions recurse. */
neo_expr ad_sum(neo_module *m, const neo_expr *x, size_t n);
/* adj*d, multiplied inside the branches of selects against 0, so that a NaN of d in a branch not
 * taken cannot get out. */
neo_expr ad_scale(neo_module *m, neo_expr adj, neo_expr d);
neo_expr ad_quotient(neo_module *m, neo_expr adj, neo_expr d);
neo_expr ad_convert(neo_module *m, neo_type to, neo_expr adj);
neo_expr ad_select(neo_module *m, neo_expr cond, neo_expr a, neo_expr b);
/* The adjoint of the k-th argument of node e, whose own adjoint is g; 0: no gradient flows. `kept`:
 * the value of e is in memory. */
neo_expr ad_rule(neo_module *m, neo_expr e, uint32_t k, bool kept, neo_expr g);

/* ---- local.c: reverse mode inside one expression */
typedef struct {
  neo_expr leaf; /* a LOAD, LOAD_ELSE or ACC node */
  neo_expr adj;
} ad_leaf;
typedef NEO_VEC(ad_leaf) ad_leaves;
typedef bool ad_active_fn(void *ctx, const neo_module *m, neo_expr leaf);
/* Adds the adjoint of every active leaf of `root` to *out. `seed` is the adjoint of `root`. `kept`:
 * the root's value is in memory. */
void ad_local(neo_module *m, neo_expr root, bool kept, neo_expr seed, ad_active_fn *active,
              void *ctx, neo_arena *scratch, ad_leaves *out);

typedef struct ad_state ad_state;

/* ---- solve.c */
typedef struct {
  neo_prover *prover;
  neo_module *m;
  neo_arena *scratch;
} ad_env;

/* The iteration space of a read: the definition's axes (all of them for the body, the output ones
 * for finish). */
typedef struct {
  neo_axis_rec axis[NEO_DEF_AXES];
  uint32_t n;
} ad_space;

/* A gathered term: sum over axes n_out .. n of `value` where `where`, at output position AXIS 0 ..
 * n_out. */
typedef struct {
  ad_space space; /* output axes of the read tensor, then the free ones */
  uint32_t n_out;
  neo_expr where; /* 0: always */
  neo_expr value;
} ad_term;

/* Forms the contribution of a read to the adjoint of the tensor t that it reads: the sum of `value`
 * over the points of `from` (where `where`) whose index[] equals the output position. False: the
 * sum cannot be formed; a diagnostic at `span` says why. */
bool ad_gather(ad_env *env, const ad_space *from, neo_expr where, const neo_expr *index,
               neo_tensor t, neo_expr value, neo_span span, ad_term *out) NEO_MUST_CHECK;

/* ---- lists.c: sums over the edges of a graph run along its lists */
void ad_run_lists(neo_module *m, ad_term *t);

/* ---- define.c: new tensors and definitions */
/* The value where the condition holds (0: everywhere), 0 elsewhere, as an expression. */
neo_expr ad_guarded(neo_module *m, neo_expr where, neo_expr value);
/* A new tensor for an adjoint of t. */
neo_tensor ad_new_adjoint(ad_state *s, neo_tensor t);
/* A new tensor "<prefix>.<name of like>" with the extents of the first n_out axes. */
neo_tensor ad_temp(neo_module *m, const char *prefix, neo_tensor like, neo_type type,
                   const neo_axis_rec *axis, uint32_t n_out, neo_span span);
neo_def ad_define(neo_module *m, neo_tensor out, neo_def_rec rec, const neo_axis_rec *axis,
                  uint32_t n);
/* LOAD of t at AXIS 0 .. rank. */
neo_expr ad_read(neo_module *m, neo_tensor t);
bool ad_is_plain(const neo_module *m, neo_expr e);       /* one read, or no read at all */
bool ad_is_plain_index(const neo_module *m, neo_expr e); /* no read in it */
/* The image of a piece: its axis `axis`, of extent 1, is at position `at`. */
typedef struct {
  uint32_t axis;
  int64_t at;
} ad_place;
/* Defines `out`, or the piece of it at `place` (NULL: all of it), as the term's reduction plus
 * `more` (0: nothing) over the output axes. */
void ad_define_sum(ad_state *s, neo_tensor out, const ad_term *term, neo_expr more,
                   const ad_place *place);
/* Defines `out` as the value over AXIS 0 .. rank. */
void ad_define_value(neo_module *m, neo_tensor out, neo_expr value, neo_span span);
/* Defines `out` as the term says: a reduction, or a plain value. */
void ad_define_term(ad_state *s, neo_tensor out, const ad_term *term, neo_span span);

/* ---- adjoint.c: the adjoint of each tensor, collected term by term */
typedef struct {
  neo_expr value; /* over AXIS 0 .. rank of the tensor */
  int32_t axis; /* the value is 0 except where AXIS axis == at; -1: it may be nonzero everywhere */
  int64_t at;
  neo_expr slice; /* the value at that position */
} ad_part;
typedef NEO_VEC(ad_part) ad_parts;
typedef NEO_VEC(ad_term) ad_terms;

typedef struct {
  ad_terms terms; /* terms with free axes: one reduction each */
  ad_parts parts; /* the others */
  neo_expr rest;  /* when final: the sum of the parts; 0: none */
  neo_expr value; /* when final: the adjoint at AXIS 0 .. rank; 0: none */
  /* Once final: a condition on indices outside of which the value is 0; 0: none is known. */
  neo_expr where;
  neo_tensor open; /* the tensor that holds it while terms are still added; 0: none */
  bool final;
} ad_adjoint;

/* ---- conditions.c: conditions under which the adjoint of a tensor can be other than zero */
typedef struct {
  uint32_t result, read, condition; /* a read of a tensor by the definition with this result */
  neo_expr value;                   /* the condition over AXIS 0 .. rank of the tensor; 0: none */
} ad_asked;
typedef struct {
  neo_module *m;
  NEO_VEC(ad_asked)
  asked;                 /* conditions of those parts of a definition that have fewer axes than
                              the definition */
  neo_map of;            /* tensor -> its conditions */
  neo_map recurring;     /* tensors of recurrences */
  const uint64_t *loops; /* by definition: neo_loop_axes; null: nothing recurs */
  neo_map choices;       /* conditions that select between whole tensors */
} ad_conditions;
void ad_conditions_init(ad_state *s, ad_conditions *c);
/* Notes which conditions of a definition select between whole tensors. Called for all definitions,
 * before any step. */
void ad_conditions_note(ad_state *s, ad_conditions *c, neo_def def);
/* Takes in the reads of a definition, after all its readers. True: something changed. */
bool ad_conditions_step(ad_state *s, ad_conditions *c, neo_def def);
/* Takes in a read of t without conditions. True: something changed. */
bool ad_conditions_none(ad_state *s, ad_conditions *c, neo_tensor t);
/* The use of a condition, which decides whether it is worth its cost:
 *
 * - AD_ELEMENT: an elementwise value
 * - AD_SUM: sums that an adjoint goes into; the condition filters them where slopes may be infinite
 * - AD_PRODUCT: sums of products, which are faster over all points than over those that the
 *   condition selects
 * - AD_ITERATION_PRODUCT: sums of products in a loop, each iteration of which makes its own */
typedef enum { AD_ELEMENT, AD_SUM, AD_ITERATION_PRODUCT, AD_PRODUCT } ad_condition_use;
/* The condition over AXIS 0 .. rank of t; 0: always. */
neo_expr ad_condition(ad_state *s, const ad_conditions *c, neo_tensor t, ad_condition_use use);

struct ad_state {
  ad_env env;
  neo_module *m;
  neo_arena *scratch;
  neo_grad_rec request;
  /* A request on copies (batch.c): a copy -> its original; null: the tensors are the program's. */
  const neo_map *back;
  NEO_VEC(ad_adjoint) adjoint;
  neo_map adjoint_of; /* tensor -> number in `adjoint` */
  neo_map needs;      /* tensors that depend on a `wrt` */
  neo_map out_of;     /* wrt tensor -> the request's out */
  neo_map custom_of;  /* result of a function with its own gradient -> row of m->customs */
  ad_conditions conditions;
  bool failed;
};

/* ---- cases.c: the terms of a read, one per branch of its indices, added to the adjoint of its
 * tensor. False: as ad_gather. */
typedef struct {
  const ad_space *space;
  neo_expr where, value;
  neo_tensor tensor;
  neo_span span;
} ad_read_at;
bool ad_gather_cases(ad_state *s, const ad_read_at *r, const neo_expr *index) NEO_MUST_CHECK;

void ad_adjoint_add(ad_state *s, neo_tensor t, const ad_term *term);
void ad_adjoint_add_expr(ad_state *s, neo_tensor t, neo_expr e); /* over AXIS 0 .. rank */
/* Completes the adjoint of t, after its last term: writes its definitions. The adjoint of a `wrt`
 * becomes the request's out. Returns ad_adjoint's `value`. */
neo_expr ad_adjoint_final(ad_state *s, neo_tensor t);
/* For tensors that depend on each other. ad_adjoint_open makes the adjoint of t readable before its
 * terms are known, and ad_adjoint_close defines it after the last one. ad_adjoint_arrives: whether
 * there is a term so far. */
bool ad_adjoint_arrives(ad_state *s, neo_tensor t);
void ad_adjoint_open(ad_state *s, neo_tensor t);
void ad_adjoint_close(ad_state *s, neo_tensor t);
/* The `where` of a final adjoint. */
neo_expr ad_adjoint_where(ad_state *s, neo_tensor t);
bool ad_needs(const ad_state *s, neo_tensor t);
/* ---- domain.c: the points of a definition */
ad_space ad_space_of(const neo_module *m, const neo_def_rec *d, uint32_t n); /* its first n axes */
/* A range that contains axis k of a definition at every point, with ends over sizes only. exact: it
 * equals the axis' range. False: an end of the axis has no bound. */
typedef struct {
  neo_expr lo, length;
  bool exact;
} ad_box;
bool ad_box_of(ad_state *s, const neo_def_rec *d, uint32_t k, ad_box *out) NEO_MUST_CHECK;
/* Whether the number of a point, among all points of the boxes of the axes `first` on, fits i64.
 * False also if a box is not known. */
bool ad_points_fit(ad_state *s, const neo_def_rec *d, uint32_t first) NEO_MUST_CHECK;
/* Reports that a range has no bound, or that its points cannot be numbered; returns 0. */
neo_expr ad_no_range(ad_state *s, const neo_def_rec *d, const char *reducer);

/* ---- stored.c: accumulators in memory */
/* Whether another request, for another y, has t among its `wrt`. */
bool ad_is_asked_elsewhere(const ad_state *s, neo_tensor t);
/* The tensor that holds ACC k of definition d, which becomes an output of d if it is none yet. */
neo_tensor ad_stored_acc(ad_state *s, neo_def d, uint32_t k);
/* A new tensor that holds ACC 1 of a definition like d, a maximum or minimum, with the bodies
 * `body`. */
neo_tensor ad_winner_at(ad_state *s, neo_def d, neo_list body);

/* ---- definition.c: contributions of all reads of one definition */
void ad_definition(ad_state *s, neo_def d);
/* ---- reduce.c: adjoint of a reducer's body[0] at one point, given the adjoint g of ACC 0 (over
 * output axes); 0: none */
neo_expr ad_reducer(ad_state *s, neo_def d, neo_expr g);
/* ---- product.c: the same for prod */
neo_expr ad_product(ad_state *s, neo_def d, neo_expr g);

/* ---- autodiff.c, batch.c: carry out one request; false after a report */
bool ad_carry_out(neo_module *m, neo_prover *prover, neo_arena *scratch, neo_grad_rec request,
                  const neo_map *back) NEO_MUST_CHECK;
/* The tensor of the program that t is a copy of; t itself if it is none. */
neo_tensor ad_batch_origin(const neo_map *back, neo_tensor t);
/* The same for a request with n_batch > 0. */
bool ad_batch(neo_module *m, neo_prover *prover, neo_arena *scratch,
              neo_grad_rec request) NEO_MUST_CHECK;

/* ---- custom.c */
/* Carries out a call of a function with its own gradient (row `number` of m->customs); false if its
 * outputs have no adjoint. */
bool ad_custom(ad_state *s, uint32_t number);
