/* Checks that the pieces of a tensor cover it and do not overlap.
 *
 * At given sizes, a piece's image is a product of arithmetic progressions, one per dimension. Two
 * images are disjoint if their progressions are disjoint in some dimension. Images cover the tensor
 * if each is inside of it, all are disjoint, and their volumes add up to the tensor's. */
#include "base/whole.h"
#include "ir/out_map.h"
#include "ir/verify/parts.h"

#define MAX_ELEMENTS (1LL << 60)

/* stride*x + offset for 0 <= x < n */
typedef struct {
  int64_t stride, offset, n;
} progression;

static int64_t last_of(const progression *p) {
  return p->stride * (p->n - 1) + p->offset;
}

/* Smallest k >= 0 with k*a = b (mod m), for coprime a and m. */
static int64_t solve_mod(int64_t a, int64_t b, int64_t m) {
  int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1;
    r1 = r;
    t0 = t1;
    t1 = t;
  }
  int64_t inverse = t0 < 0 ? t0 + m : t0, k = b % m;
  return (int64_t)((__int128)(k < 0 ? k + m : k) * inverse % m);
}

/* Whether the progressions, both non-empty and with positive strides, share a value. */
static bool meet(const progression *a, const progression *b) {
  int64_t g = neo_gcd(a->stride, b->stride), gap = b->offset - a->offset;
  int64_t lo = a->offset > b->offset ? a->offset : b->offset;
  int64_t hi = last_of(a) < last_of(b) ? last_of(a) : last_of(b);
  if (gap % g != 0 || lo > hi)
    return false;
  int64_t period = b->stride / g; /* period of the common values in steps of a */
  int64_t x = period == 1 ? 0 : solve_mod(a->stride / g, gap / g, period);
  int64_t common = a->offset + a->stride * x, step = a->stride * period;
  if (common < lo)
    common += (lo - common + step - 1) / step * step;
  return common <= hi;
}

typedef struct {
  uint32_t def;
  progression dim[NEO_VERIFY_RANK];
} image;

static void image_of(const neo_verifier *v, uint32_t sample, uint32_t def, image *im) {
  const neo_def_rec *d = neo_def_at(v->m, (neo_def){def});
  im->def = def;
  for (uint32_t k = 0; k < d->n_out; k++) {
    progression *p = &im->dim[k];
    p->n = neo_verify_eval(v, sample, neo_def_axis(v->m, d, k)->hi);
    neo_out_dim place = neo_out_map_at(v->m, d->out_map, k);
    p->stride = place.stride;
    p->offset = place.offset;
  }
}

static bool image_empty(const image *im, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++)
    if (im->dim[k].n <= 0)
      return true;
  return false;
}

static bool images_meet(const image *a, const image *b, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++)
    if (!meet(&a->dim[k], &b->dim[k]))
      return false;
  return true;
}

static bool image_inside(const image *im, const int64_t *extent, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++) {
    const progression *p = &im->dim[k];
    __int128 last = (__int128)p->stride * (p->n - 1) + p->offset; /* nothing is known of n yet */
    if (p->offset < 0 || last >= extent[k])
      return false;
  }
  return true;
}

static __int128 volume(const image *im, uint32_t rank) {
  __int128 n = 1;
  for (uint32_t k = 0; k < rank; k++)
    n *= im->dim[k].n;
  return n;
}

/* Computes the non-empty images; each must be inside the tensor and disjoint from the previous
 * ones. */
static bool check_images(neo_verifier *v, const int64_t *extent, uint32_t rank, image *im,
                         neo_list pieces, uint32_t sample, __int128 *total) {
  uint32_t n = 0;
  *total = 0;
  for (uint32_t k = 0; k < pieces.n; k++) {
    image_of(v, sample, neo_list_at(v->m, pieces, k), &im[n]);
    if (image_empty(&im[n], rank))
      continue;
    if (!image_inside(&im[n], extent, rank))
      return neo_verify_fail(v, "piece %u writes outside", im[n].def);
    for (uint32_t j = 0; j < n; j++)
      if (images_meet(&im[j], &im[n], rank))
        return neo_verify_fail(v, "pieces %u and %u overlap", im[j].def, im[n].def);
    *total += volume(&im[n++], rank);
  }
  return true;
}

/* The number of elements; more than MAX_ELEMENTS if there are too many to count. */
static __int128 elements(const neo_verifier *v, uint32_t sample, neo_tensor t, int64_t *extent) {
  __int128 n = 1;
  bool large = false;
  for (uint32_t k = 0; k < neo_tensor_rank(v->m, t); k++) {
    extent[k] = neo_verify_eval(v, sample, neo_tensor_extent(v->m, t, k));
    if (extent[k] <= 0)
      return 0;
    large = large || extent[k] > MAX_ELEMENTS || n * extent[k] > MAX_ELEMENTS;
    if (!large)
      n *= extent[k];
  }
  return large ? (__int128)MAX_ELEMENTS + 1 : n;
}

bool neo_verify_cover(neo_verifier *v, neo_tensor t) {
  neo_list pieces = neo_tensor_at(v->m, t)->pieces;
  uint32_t rank = neo_tensor_rank(v->m, t);
  int64_t extent[NEO_VERIFY_RANK];
  if (!pieces.n)
    return true;
  neo_def made = {neo_list_at(v->m, pieces, 0)};
  if (pieces.n == 1 && neo_def_is_levels(neo_def_at(v->m, made)))
    return true;
  image *im = NEO_NEW_ARRAY(v->arena, image, pieces.n);
  for (uint32_t s = 0; s < v->n_samples; s++) {
    __int128 total, whole = elements(v, s, t, extent);
    if (whole > MAX_ELEMENTS)
      continue; /* memory holds no such tensor, and the arithmetic would overflow */
    if (!check_images(v, extent, rank, im, pieces, s, &total))
      return false;
    if (total != whole)
      return neo_verify_fail(v, "the pieces do not cover all elements");
  }
  return true;
}
