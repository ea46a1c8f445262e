/* The parts of the generator of access maps; private to maps*.c. */
#ifndef NEO_TESTS_RANDOM_MAPS_PARTS_H
#define NEO_TESTS_RANDOM_MAPS_PARTS_H
#include "tests/random/maps.h"

enum { MAP_RANK = 6, MAP_AXES = 7, MAP_WORK = 300, MAP_ELEMENTS = 600 };

typedef struct {
  neo_expr e, hi; /* 0 <= e <= hi where the loops are not empty; hi over sizes */
} map_index;

typedef struct {
  neo_module *m;
  neo_arena *arena;
  const neo_map_options *o;
  int64_t *sizes; /* the largest, by id */
  uint64_t state;
  uint32_t names;
  neo_expr size[2]; /* run-time sizes; positive[k]: at least 1 */
  bool positive[2];
  uint32_t n_sizes;
  /* loops of the definition being made: axis k is in [0, end) or in a part of that */
  neo_expr end[MAP_AXES];
  uint32_t n_out, n_axes, axes[MAP_AXES];
  uint32_t usable; /* axes that an index may use: all, or the outputs' */
  neo_expr where;  /* conditions of the reads so far */
  bool guard;      /* the indices so far may be outside */
  bool windows;    /* mostly sums of strided axes: gradients on lattices */
  /* the tensor that is read */
  neo_tensor A;
  uint32_t rank;
  neo_expr extent[MAP_RANK];
} map_gen;

/* ---- numbers */
int64_t map_pick(map_gen *g, int64_t lo, int64_t hi);
bool map_chance(map_gen *g, int64_t percent);
neo_expr map_int(map_gen *g, int64_t x);
neo_expr map_op(map_gen *g, neo_op op, neo_expr a, neo_expr b);
int64_t map_now(map_gen *g, neo_expr e);         /* at the largest sizes */
neo_expr map_extent_of(map_gen *g, map_index x); /* of a dimension that has room for x */
neo_tensor map_tensor(map_gen *g, const char *stem, neo_role role, neo_type type, neo_expr bound,
                      const neo_expr *extent, uint32_t rank);

/* ---- maps_index.c */
map_index map_axis(map_gen *g, uint32_t k);
map_index map_linear(map_gen *g);
map_index map_any(map_gen *g, int depth);
/* The next dimensions of a read, 1 to `room` of them, of one form. */
uint32_t map_dims(map_gen *g, map_index *out, uint32_t room);

#endif
