/* The verifier's parts; private to verify*.c. Each check returns false after it has said why. */
#ifndef NEO_IR_VERIFY_PARTS_H
#define NEO_IR_VERIFY_PARTS_H
#include "ir/ir.h"

enum { NEO_VERIFY_SAMPLES = 8, NEO_VERIFY_RANK = 16 };

typedef struct {
  const neo_module *m;
  neo_str *why;
  neo_arena *arena;                  /* scratch */
  int64_t *size[NEO_VERIFY_SAMPLES]; /* values of all sizes, by id */
  uint32_t n_samples;
  int64_t *value;    /* of size expressions, by node, while one is evaluated */
  const char *where; /* what is looked at, for messages */
} neo_verifier;

bool neo_verify_fail(neo_verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Type rules of every node, and no operator that `allowed` refuses. */
bool neo_verify_expr(neo_verifier *v, neo_expr e, bool (*allowed)(const neo_node *n),
                     const char *refused);
/* i64, over constants and sizes only. */
bool neo_verify_size_expr(neo_verifier *v, neo_expr e, const char *what);

bool neo_verify_size_cond(neo_verifier *v, neo_expr e, const char *what); /* bool, as that */

/* ---- verify_tables.c */
bool neo_verify_sizes(neo_verifier *v); /* also takes the samples */
bool neo_verify_tensors(neo_verifier *v);
bool neo_verify_entries(neo_verifier *v);
bool neo_verify_gradients(neo_verifier *v);
bool neo_verify_customs(neo_verifier *v);
const char *neo_verify_tensor_name(neo_verifier *v, neo_tensor t);
bool neo_verify_id(neo_verifier *v, uint32_t tensor); /* in range and not none */
bool neo_verify_same_shape(neo_verifier *v, neo_tensor a, neo_tensor b);

/* ---- verify_cover.c: the images of a tensor's pieces are disjoint and cover it. Decided for the
 * sampled sizes, exactly for each of them. */
int64_t neo_verify_eval(const neo_verifier *v, uint32_t sample, neo_expr e);
bool neo_verify_cover(neo_verifier *v, neo_tensor t);

#endif
