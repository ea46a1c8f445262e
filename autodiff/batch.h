/* A request with n_batch > 0, during its expansion; see batch.c. Private to autodiff. */
#pragma once
#include "autodiff/internal.h"

/* The parts that a tensor plays in the request, as bits. */
enum {
  AD_ASKED = 1, /* one of the request's `wrt` */
  AD_HELD = 2,  /* held by the request: no gradient flows through it */
  AD_PATH = 4,  /* a float on a path: it depends on a `wrt`, and y depends on it */
  AD_LIFTED = 8 /* the copy has the dimensions of the points before its own */
};

typedef struct {
  neo_def d;
  neo_tensor *read;
  size_t n_reads;
} ad_path_def;

typedef struct {
  neo_module *m;
  neo_arena *scratch;
  neo_grad_rec request;
  uint32_t n;     /* number of dimensions of the points */
  uint8_t *is;    /* by tensor: AD_ASKED ...; for tensors that existed before the request was
                      expanded */
  uint32_t *twin; /* by tensor: its copy; 0: none yet */
  neo_map *back;  /* a tensor of the copies -> the tensor whose values it has, see ad_back */
  NEO_VEC(ad_path_def) defs; /* to be copied */
  NEO_VEC(uint32_t) customs; /* rows of m->customs, to be copied */
  neo_tensor *leaf;          /* by number in `wrt`; 0: not made yet */
  bool failed;
} ad_batch_state;

/* ---- batch_path.c: the tensors on paths from y to a `wrt`, and which of them are lifted */
void ad_batch_path(ad_batch_state *b);
/* Whether wrt[k] has the dimensions of the points itself. */
bool ad_batch_is_own(const ad_batch_state *b, uint32_t k);
neo_expr ad_batch_extent(const ad_batch_state *b, uint32_t k);
