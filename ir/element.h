/* Ends of the elements of integer tensors; they may depend on the element's position, as in
 * `: -1 <= i32 < v`. */
#pragma once
#include "ir/ir.h"

enum { NEO_ELEMENT_RANK = 16 };

typedef struct {         /* least <= element < below */
  neo_expr least, below; /* i64; 0: not known */
  /* An exclusive end that follows from `below` and holds at all indices; 0: none is known. */
  neo_expr limit;
} neo_element_ends;

/* Whether the node may occur in an expression of constants and sizes. */
static inline bool neo_node_is_of_sizes(const neo_node *n) {
  bool leaf = n->op == NEO_OP_CONST || n->op == NEO_OP_SIZE;
  return (leaf || neo_op_is_elementwise((neo_op)n->op)) && !neo_type_is_float((neo_type)n->type);
}

/* Ends of the element that a LOAD or LOAD_ELSE reads if it is inside of the tensor, as expressions
 * over the operands of its indices. A load of a form, by a flat offset, has only the ends that all
 * elements share. */
neo_element_ends neo_element_ends_of(neo_module *m, neo_expr load);

/* An end of a tensor's record as rest + sum of coef[k] * index k. False: it has another form. */
typedef struct {
  neo_expr rest; /* over constants and sizes */
  int64_t coef[NEO_ELEMENT_RANK];
} neo_element_end;
bool neo_element_end_of(neo_module *m, neo_expr e, uint32_t rank,
                        neo_element_end *out) NEO_MUST_CHECK;

/* Whether e has that form, judged by its operators alone. */
bool neo_element_end_is_affine(const neo_module *m, neo_expr e, uint32_t rank);

/* Removes ends that depend on indices, from a record whose dimensions change. */
static inline void neo_element_ends_drop(neo_tensor_rec *r) {
  r->least = r->below = (neo_expr){0};
}
