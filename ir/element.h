/* Ends of the elements of integer tensors that depend on where an element is: `: -1 <= i32 < v`. */
#pragma once
#include "ir/ir.h"

enum { NEO_ELEMENT_RANK = 16 };

typedef struct {         /* least <= element < below */
  neo_expr least, below; /* i64; 0: not known */
  neo_expr
      limit; /* an end that follows from `below`, whatever the element's indices are; 0: none does */
} neo_element_ends;

/* May the node stand in an expression of constants and sizes? */
static inline bool neo_node_is_of_sizes(const neo_node *n) {
  bool leaf = n->op == NEO_OP_CONST || n->op == NEO_OP_SIZE;
  return (leaf || neo_op_is_elementwise((neo_op)n->op)) && !neo_type_is_float((neo_type)n->type);
}

/* Those of what a LOAD or LOAD_ELSE reads where it is inside of the tensor, over what its indices are
 * made of. A load of a form, by an offset, has only those that are the same for all elements. */
neo_element_ends neo_element_ends_of(neo_module *m, neo_expr load);

/* An end of a tensor's record as rest + sum of coef[k] * index k; false: it has another form. */
typedef struct {
  neo_expr rest; /* over constants and sizes */
  int64_t coef[NEO_ELEMENT_RANK];
} neo_element_end;
bool neo_element_end_of(neo_module *m, neo_expr e, uint32_t rank,
                        neo_element_end *out) NEO_MUST_CHECK;

/* Has it that form, as far as its operators say? */
bool neo_element_end_is_affine(const neo_module *m, neo_expr e, uint32_t rank);

/* Forgets ends that depend on indices: of a record whose dimensions become others. */
static inline void neo_element_ends_drop(neo_tensor_rec *r) {
  r->least = r->below = (neo_expr){0};
}
