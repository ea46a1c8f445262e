/* The verifier's parts; private to verify*.c. A check that returns false has written *why. */
#pragma once
#include "ir/ir.h"

enum { NEO_VERIFY_SAMPLES = 8, NEO_VERIFY_RANK = 16 };

typedef struct {
  const neo_module *m;
  neo_str *why;
  neo_arena *arena;                  /* scratch */
  int64_t *size[NEO_VERIFY_SAMPLES]; /* values of all sizes, by id */
  uint32_t n_samples;
  int64_t *value;    /* by node: values of size expressions, during an evaluation */
  const char *where; /* the part being checked, for messages */
} neo_verifier;

/* ---- expr.c */
/* Writes *why, formatted as by printf and after the place of the check; returns false. */
bool neo_verify_fail(neo_verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The leaves that an expression may use. */
typedef struct {
  uint32_t n_axes, n_accs;
  neo_type acc;    /* type of the first body element */
  bool sizes_only; /* constants and sizes only */
} neo_verify_scope;
/* Whether e exists, has this type, and all its nodes obey the type rules and the scope. */
bool neo_verify_expr(neo_verifier *v, const neo_verify_scope *in, neo_expr e, neo_type type,
                     const char *what) NEO_MUST_CHECK;
/* The value of an expression over constants and sizes, at the sizes of a sample. */
int64_t neo_verify_eval(const neo_verifier *v, uint32_t sample, neo_expr e);

/* ---- tables.c, for verify.c */
/* Checks of the module's tables; a false one has written *why. The first one takes the samples as
 * well. */
bool neo_verify_sizes(neo_verifier *v) NEO_MUST_CHECK;
bool neo_verify_tensors(neo_verifier *v) NEO_MUST_CHECK;
bool neo_verify_entries(neo_verifier *v) NEO_MUST_CHECK;
bool neo_verify_gradients(neo_verifier *v) NEO_MUST_CHECK;
bool neo_verify_customs(neo_verifier *v) NEO_MUST_CHECK;
/* The tensor as messages name it: "tensor 'x.h'", "tensor 7". In the verifier's arena. */
const char *neo_verify_tensor_name(neo_verifier *v, neo_tensor t);
/* Checks that the id is in range and not 0; false: *why says so. */
bool neo_verify_id(neo_verifier *v, uint32_t tensor) NEO_MUST_CHECK;
/* Checks that the extents of both tensors are equal for all samples; false: they differ. */
bool neo_verify_same_shape(neo_verifier *v, neo_tensor a, neo_tensor b) NEO_MUST_CHECK;

/* ---- levels.c, for verify.c */
/* Checks a definition over the levels of a graph; false: *why says what is wrong. */
bool neo_verify_levels(neo_verifier *v, const neo_def_rec *d) NEO_MUST_CHECK;

/* ---- cover.c, for verify.c */
/* Checks that the images of a tensor's pieces are disjoint and cover it, exactly for each sampled
 * size. False: *why says what is wrong. */
bool neo_verify_cover(neo_verifier *v, neo_tensor t) NEO_MUST_CHECK;
