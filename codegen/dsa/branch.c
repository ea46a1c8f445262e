/* The decisions of the search.
 *
 * A valley is a run of columns with the same floor between higher ones. A buffer on the floor of a
 * valley is within the valley's columns, because the neighbouring floors are higher. Consider a
 * plan in which every buffer rests on another or on the ground, and any column of a valley. The
 * column's lowest free buffer either
 *   - is one of the few buffers within the valley, and is on the floor; or
 *   - rests on a buffer that is still free and is not in this column: the floor rises to the lowest
 *     offset at which such a pair ends. The bytes below are lost, which a column without slack
 *     cannot afford. */
#include "codegen/dsa/branch.h"

static bool counts(dsa_pick pick) {
  return pick != DSA_PICK_LOWEST && pick != DSA_PICK_TIGHT;
}

int64_t dsa_charge(const dsa_instance *in, dsa_pick pick, int32_t begin, int32_t end) {
  enum { COLUMNS = 256, BUFFERS = 4096 };
  int64_t charge = 1 + (end - begin) / COLUMNS;
  if (counts(pick))
    charge += (in->cover_at[end] - in->cover_at[begin]) / BUFFERS;
  return charge;
}

static bool is_candidate(const dsa_state *s, int32_t c, int32_t i) {
  return !s->placed[i] && s->low[i] == s->floor[c];
}

static int32_t count(const dsa_state *s, int32_t c) {
  int32_t n = 0;
  for (int32_t k = s->in->cover_at[c]; k < s->in->cover_at[c + 1]; k++)
    n += is_candidate(s, c, s->in->cover[k]);
  return n;
}

static int64_t slack(const dsa_state *s, int32_t c) {
  return s->capacity - s->floor[c] - s->left[c];
}

typedef struct {
  int64_t major, minor;
} urgency; /* the least first */

static urgency urgency_of(const dsa_state *s, dsa_pick pick, int32_t c) {
  int64_t room = slack(s, c), choices = counts(pick) ? count(s, c) : 0;
  switch (pick) {
  case DSA_PICK_FORCED:
    return (urgency){choices <= 1 ? 0 : room + 1, choices};
  case DSA_PICK_CHOICES:
    return (urgency){choices + (room > 0), s->floor[c]};
  case DSA_PICK_SLACK:
    return (urgency){room, choices};
  case DSA_PICK_TIGHT:
    return (urgency){room, s->floor[c]};
  default:
    return (urgency){s->floor[c], room};
  }
}

static bool before(urgency a, urgency b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

static bool is_higher(const dsa_state *s, int32_t c, int64_t floor, int32_t begin, int32_t end) {
  return c < begin || c >= end || s->floor[c] > floor;
}

int32_t dsa_branch_column(const dsa_state *s, const dsa_strategy *by, int32_t begin, int32_t end) {
  int32_t best = -1, stop;
  urgency least = {INT64_MAX, INT64_MAX};
  for (int32_t c = begin; c < end; c = stop) {
    for (stop = c + 1; stop < end && s->floor[stop] == s->floor[c];)
      stop++;
    if (!is_higher(s, c - 1, s->floor[c], begin, end) ||
        !is_higher(s, stop, s->floor[c], begin, end))
      continue;
    for (int32_t k = c; k < stop; k++) {
      urgency u = urgency_of(s, by->pick, k);
      if (best >= 0 && !before(u, least))
        continue;
      best = k;
      least = u;
    }
  }
  return best;
}

static double rank(const dsa_buffer *b, dsa_first first) {
  double width = b->end - b->begin;
  switch (first) {
  case DSA_WIDEST:
    return width * 1e12 + (double)b->size;
  case DSA_LARGEST:
    return (double)b->size;
  case DSA_AREA:
    return (double)b->size * (double)b->life;
  default:
    return -width;
  }
}

static bool is_first(const dsa_state *s, dsa_first first, int32_t a, int32_t b) {
  double x = rank(&s->in->buffer[a], first), y = rank(&s->in->buffer[b], first);
  return x != y ? x > y : a < b;
}

static bool same(const dsa_buffer *a, const dsa_buffer *b) {
  return a->begin == b->begin && a->end == b->end && a->size == b->size && a->align == b->align &&
         a->fixed == b->fixed;
}

static bool is_listed(const dsa_state *s, const int32_t *at, int32_t n, int32_t i) {
  for (int32_t k = 0; k < n; k++)
    if (same(&s->in->buffer[at[k]], &s->in->buffer[i]))
      return true;
  return false;
}

int32_t dsa_branch_buffers(const dsa_state *s, const dsa_strategy *by, int32_t c, int32_t *at) {
  int32_t n = 0, k;
  for (int32_t j = s->in->cover_at[c]; j < s->in->cover_at[c + 1]; j++) {
    int32_t i = s->in->cover[j];
    if (!is_candidate(s, c, i) || is_listed(s, at, n, i))
      continue;
    for (k = n++; k > 0 && is_first(s, by->first, i, at[k - 1]); k--)
      at[k] = at[k - 1];
    at[k] = i;
  }
  return n;
}

/* The least end of a buffer on which a candidate of the column can rest. */
static int64_t least_support(const dsa_state *s, int32_t c, int32_t begin, int32_t end) {
  const dsa_instance *in = s->in;
  int64_t least = INT64_MAX;
  for (int32_t k = in->cover_at[begin]; k < in->cover_at[begin + 1]; k++) {
    int32_t i = in->cover[k];
    if (!s->placed[i] && in->buffer[i].end <= c && s->low[i] + in->buffer[i].size < least)
      least = s->low[i] + in->buffer[i].size;
  }
  for (int32_t i = in->start_at[begin + 1]; i < in->start_at[end]; i++)
    if (!s->placed[i] && (in->buffer[i].end <= c || in->buffer[i].begin > c) &&
        s->low[i] + in->buffer[i].size < least)
      least = s->low[i] + in->buffer[i].size;
  return least;
}

static int64_t rise_of(const dsa_state *s, int32_t c, int32_t i) {
  const dsa_buffer *b = &s->in->buffer[i];
  if (!is_candidate(s, c, i))
    return s->low[i];
  if (b->fixed >= 0)
    return INT64_MAX;
  int64_t support = least_support(s, c, b->begin, b->end);
  return support == INT64_MAX ? support : dsa_align_up(support, b->align);
}

int64_t dsa_branch_rise(const dsa_state *s, int32_t c) {
  int64_t least = INT64_MAX;
  if (slack(s, c) == 0)
    return least;
  for (int32_t k = s->in->cover_at[c]; k < s->in->cover_at[c + 1]; k++) {
    int32_t i = s->in->cover[k];
    int64_t rise = s->placed[i] ? INT64_MAX : rise_of(s, c, i);
    if (rise < least)
      least = rise;
  }
  return least;
}
