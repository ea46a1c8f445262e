/* Limits that several files share: the lengths of their arrays, and the definitions that they leave
 * as they are. A limit of one algorithm alone is in its file, by a name that says of what. */
#pragma once

enum {
  NEO_DEF_AXES = 64, /* axes of a definition, which the verifier checks: a set of axes is a word */
  NEO_NODE_ARGS = NEO_DEF_AXES + 1, /* operands of a node: a read's index, and its default */
  NEO_SET_AXES = 63, /* axes that such a set tells apart: its last bit is for all further ones */
  NEO_PATTERN_AXES = 24,   /* axes of a definition that a pass writes anew by a pattern */
  NEO_TENSOR_RANK = 16,    /* axes of a tensor of a program */
  NEO_PRODUCT_FACTORS = 16 /* factors of a product that is taken apart (product.h) */
};
