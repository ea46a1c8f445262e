/* Private to autodiff: a request with n_batch > 0 on its way. See batch.c. */
#pragma once
#include "autodiff/internal.h"

/* What a tensor is to the request, as bits. */
enum {
  AD_ASKED = 1, /* it is one of its `wrt` */
  AD_HELD = 2,  /* nothing flows through it */
  AD_PATH = 4,  /* a float that depends on one that is asked for, and y on it */
  AD_LIFTED = 8 /* its copy has the dimensions of the points before its own */
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
  uint32_t n;      /* dimensions of the points */
  uint8_t *is;     /* by tensor, of those before the request was begun */
  uint32_t *twin;  /* by tensor: its copy; 0: none yet */
  neo_map *back;   /* tensor of the copies -> the one of which it has the values, see ad_back */
  NEO_VEC(ad_path_def) defs; /* to be copied */
  NEO_VEC(uint32_t) customs; /* rows of m->customs, to be copied */
  neo_tensor *leaf;          /* by place in `wrt`; 0: not made yet */
  bool failed;
} ad_batch_state;

/* ---- batch_path.c: what lies between y and what is asked for, and which of it is lifted */
void ad_batch_path(ad_batch_state *b);
/* Has the k-th tensor asked for the dimensions of the points itself? */
bool ad_batch_is_own(const ad_batch_state *b, uint32_t k);
neo_expr ad_batch_extent(const ad_batch_state *b, uint32_t k);
