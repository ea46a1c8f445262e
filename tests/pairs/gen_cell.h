/* Private to gen_cell.c, which draws vertex functions, and to what it is made of: gen_block.c draws
 * the definitions of their blocks, gen_gather.c what is gathered, scattered and pushed. */
#ifndef NEO_TESTS_PAIRS_GEN_CELL_H
#define NEO_TESTS_PAIRS_GEN_CELL_H
#include "tests/pairs/gen_vertex.h"

enum { MOST_ARGUMENTS = 5, MOST_MADE = 12, MOST_PUSHED = 3 };

typedef struct {
  pvertices *v;
  pgen *g;
  const pgraph *graph;
  bool plain, down; /* plain: a function without gathers */
  const char *name, *text;
  ptensor outer[MOST_TENSORS + 8]; /* what there was before */
  size_t n_outer;
  uint32_t argument[MOST_ARGUMENTS], local[MOST_ARGUMENTS], n_arguments, n_rows;
  uint32_t gathered[MOST_GATHERS], n_gathered;
  uint64_t scattered[MOST_GATHERS]; /* of which tensors it is a smooth function */
  uint32_t made[MOST_MADE], n_made;
  uint32_t pushed[MOST_PUSHED], n_pushed;
  /* what is gathered along a list of edges, of one of them; without a name: nothing */
  ptensor listed;
} cell;

/* ---- gen_block.c */
void pc_add_line(cell *c, const char *text);
uint32_t pc_add_local(cell *c, ptensor t);
/* A tensor that the block has defined. */
void pc_keep(cell *c, ptensor t);
/* The indices of a tensor of the block are at hand, and it is a function of nothing yet. */
void pc_begin(cell *c, const ptensor *t);
/* An element like those of this tensor, of what the gathered one `which` has, unless it is
 * UINT32_MAX. */
const char *pc_value(cell *c, const ptensor *t, uint32_t which, int depth);
void pc_block(cell *c);

/* ---- gen_gather.c */
void pc_gather(cell *c);
void pc_scatter(cell *c);
void pc_push(cell *c);
/* One of what was made or gathered, with the type and shape of an element of h; UINT32_MAX:
 * none. */
uint32_t pc_alike(cell *c, const ptensor *h);
/* The gathered value is a function of the scattered one. */
uint64_t pc_resolved(const cell *c, uint64_t from);

/* ---- gen_list.c */
/* Gathers along the graph's list, and what is made of that. */
void pc_gather_list(cell *c);
void pc_reduce_list(cell *c);
void pc_scatter_list(cell *c);

#endif
