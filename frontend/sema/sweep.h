/* For frontend/check: a sweep over a statement, which finds the extents of its indices. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct { /* a call to be visited once the extents of its indices are known */
  const neo_ast_expr *e;
  bool is_slice;
} neo_sweep_call;

typedef struct {
  neo_frame *f;
  neo_want *top;
  bool guarded, hushed;
  bool is_slice; /* the next argument is taken as a tensor: its `..` is no index */
  uint32_t reducers;
  NEO_VEC(neo_sweep_call) later;
} neo_sweep;

/* Whether a reference has the subscript `..`, as X[.., i]. */
bool neo_has_pack_sub(const neo_ast_expr *e);
/* Whether argument k of a call is taken as a tensor, so that its `..` is no index. */
bool neo_is_tensor_arg(neo_frame *f, const neo_ast_expr *call, uint32_t k);
neo_want *neo_sweep_find(const neo_sweep *s, const char *name); /* NULL: no index in scope */
/* Reports two extents of one index. */
void neo_sweep_conflict(neo_sweep *s, neo_want *w);
/* Gives each index that is a whole subscript of v the extent of that dimension. */
void neo_sweep_subs(neo_sweep *s, const neo_ast_expr *e, const neo_view *v, bool is_slice);
/* Whether the arguments of a call use indices, and whether the extents of these are known. */
bool neo_sweep_mentions(neo_sweep *s, const neo_ast_expr *call);
bool neo_sweep_ready(neo_sweep *s, const neo_ast_expr *call);
/* Gives the frame's axes the inferred extents. */
void neo_sweep_set_axes(neo_sweep *s);
