/* Helpers of the files of large.h: text that is drawn piece by piece. */
#ifndef NEO_TESTS_RANDOM_LARGE_PARTS_H
#define NEO_TESTS_RANDOM_LARGE_PARTS_H
#include "base/str.h"
#include "tests/random/large.h"

typedef struct {
  neo_str text; /* statements so far */
  neo_arena *a;
  uint64_t state;
  neo_precision math; /* the family may change it */
  bool rounds;        /* the program rounds its inputs itself */
} lg_writer;

/* An index and its extent; `size` names the run-time size that the extent is, or is null. */
typedef struct {
  const char *name;
  int64_t extent;
  const char *size;
} lg_axis;

/* A dimension of an input: the subscript that it is read with, and at least how long it is; `size`
 * as above. */
typedef struct {
  const char *at;
  int64_t room;
  const char *size;
} lg_dim;
enum { LG_RANK = 5 };

int64_t lg_pick(lg_writer *w, int64_t lo, int64_t hi);
bool lg_chance(lg_writer *w, int percent);
const char *lg_choose(lg_writer *w, const char *const *of, size_t n);
#define LG_CHOOSE(w, of) lg_choose((w), (of), sizeof(of) / sizeof *(of))

/* In lo..hi; half of them multiples of 8. */
int64_t lg_extent(lg_writer *w, int64_t lo, int64_t hi);
/* The axis; of a run-time size, which is declared here, in so many percent. */
lg_axis lg_axis_of(lg_writer *w, const char *name, int64_t extent, int percent);
/* "i < 100", or "i < I". */
const char *lg_range(lg_writer *w, const lg_axis *x);
/* The dimension that such an axis reads by itself. */
lg_dim lg_dim_of(const lg_axis *x, int64_t more);

/* bf16, f16 or f32. */
const char *lg_type(lg_writer *w);
/* Declares an input whose dimensions are these in a random order; returns the element that is read.
 * In so many percent the innermost is a multiple of 16 bytes; in 100, it is long, and no run-time
 * size. */
const char *lg_input(lg_writer *w, const char *name, const char *type, lg_dim *dim, int n,
                     int aligned);
/* The same in the order given, as it is. */
const char *lg_given(lg_writer *w, const char *name, const char *type, const lg_dim *dim, int n);
/* An element of this type as f32. */
const char *lg_f32(lg_writer *w, const char *type, const char *element);

/* The families, each a file. */
void lg_product(lg_writer *w);
void lg_window(lg_writer *w);
void lg_attention(lg_writer *w);

#endif
