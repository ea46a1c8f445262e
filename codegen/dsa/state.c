/* The state of the search: the placed buffers, and the offset from which on each column is free.
 *
 * Buffers are placed upwards: a buffer that is placed later is above all others of its columns.
 * `floor` of a column is the lowest offset at which one of its free buffers can begin. `low` of a
 * free buffer is the lowest offset at which the buffer can begin: the largest floor of its columns,
 * aligned. Each of the two depends on the other; `watch` finds the columns whose floor must be
 * computed again, as the watched literals of a SAT solver do. In every column floor + left <=
 * capacity. */
#include "codegen/dsa/state.h"

void dsa_state_init(dsa_state *s, const dsa_instance *in) {
  neo_arena *a = in->arena;
  *s = (dsa_state){.in = in, .dirty_begin = in->n_columns};
  s->floor = NEO_NEW_ARRAY(a, int64_t, in->n_columns);
  s->left = neo_arena_copy(a, in->load, sizeof *in->load * (size_t)in->n_columns);
  s->crossing = NEO_NEW_ARRAY(a, int32_t, in->n_columns + 1);
  s->watch = NEO_NEW_ARRAY(a, int32_t, in->n_columns);
  s->next = NEO_NEW_ARRAY(a, int32_t, in->n_columns);
  s->previous = NEO_NEW_ARRAY(a, int32_t, in->n_columns);
  s->heap = NEO_NEW_ARRAY(a, int32_t, in->n);
  s->is_dirty = NEO_NEW_ARRAY(a, bool, in->n_columns);
  s->low = NEO_NEW_ARRAY(a, int64_t, in->n);
  s->offset = NEO_NEW_ARRAY(a, int64_t, in->n);
  s->placed = NEO_NEW_ARRAY(a, bool, in->n);
  s->watched = NEO_NEW_ARRAY(a, int32_t, in->n);
  for (int32_t c = 0; c < in->n_columns; c++)
    s->watch[c] = -1;
  for (int32_t i = 0; i < in->n; i++) {
    s->watched[i] = -1;
    s->low[i] = in->buffer[i].fixed >= 0 ? in->buffer[i].fixed : 0;
    for (int32_t c = in->buffer[i].begin + 1; c < in->buffer[i].end; c++)
      s->crossing[c]++;
  }
}

/* ---- watches */

static void unlink(dsa_state *s, int32_t c) {
  int32_t next = s->next[c], previous = s->previous[c];
  if (s->watch[c] < 0)
    return;
  if (previous >= 0)
    s->next[previous] = next;
  else
    s->watched[s->watch[c]] = next;
  if (next >= 0)
    s->previous[next] = previous;
}

static void set_watch(dsa_state *s, int32_t c, int32_t buffer) {
  unlink(s, c);
  s->watch[c] = buffer;
  if (buffer < 0)
    return;
  s->previous[c] = -1;
  s->next[c] = s->watched[buffer];
  if (s->next[c] >= 0)
    s->previous[s->next[c]] = c;
  s->watched[buffer] = c;
}

static void touch(dsa_state *s, int32_t c) {
  s->is_dirty[c] = true;
  s->dirty_begin = c < s->dirty_begin ? c : s->dirty_begin;
  s->dirty_end = c < s->dirty_end ? s->dirty_end : c + 1;
}

static void touch_watched(dsa_state *s, int32_t buffer) {
  for (int32_t c = s->watched[buffer]; c >= 0; c = s->next[c])
    touch(s, c);
}

/* ---- raising */

static void note(dsa_state *s, dsa_change_kind kind, int32_t at, int64_t old) {
  NEO_PUSH(s->in->arena, &s->trail, (dsa_change){kind, at, old});
}

static bool raise_low(dsa_state *s, int32_t i, int64_t floor) {
  const dsa_buffer *b = &s->in->buffer[i];
  if (s->placed[i] || s->low[i] >= floor)
    return true;
  if (b->fixed >= 0)
    return false;
  int64_t low = dsa_align_up(floor, b->align);
  if (low + b->size > s->capacity)
    return false;
  note(s, DSA_WAS_LOW, i, s->low[i]);
  s->low[i] = low;
  touch_watched(s, i);
  return true;
}

/* Free buffers in columns begin to end - 1 begin at `floor` at least. */
static bool raise_lows(dsa_state *s, int32_t begin, int32_t end, int64_t floor) {
  const dsa_instance *in = s->in;
  for (int32_t k = in->cover_at[begin]; k < in->cover_at[begin + 1]; k++)
    if (!raise_low(s, in->cover[k], floor))
      return false;
  for (int32_t i = in->start_at[begin + 1]; i < in->start_at[end]; i++)
    if (!raise_low(s, i, floor))
      return false;
  return true;
}

/* ---- floors */

/* The least `low` first; of equals, the one that reaches further. */
static bool is_before(const dsa_state *s, int32_t a, int32_t b) {
  if (s->low[a] != s->low[b])
    return s->low[a] < s->low[b];
  return s->in->buffer[a].end > s->in->buffer[b].end;
}

static void push(dsa_state *s, int32_t i) {
  int32_t k = s->n_heap++;
  for (; k > 0 && is_before(s, i, s->heap[(k - 1) / 2]); k = (k - 1) / 2)
    s->heap[k] = s->heap[(k - 1) / 2];
  s->heap[k] = i;
}

static void pop(dsa_state *s) {
  int32_t i = s->heap[--s->n_heap], k = 0;
  for (int32_t child = 1; child < s->n_heap; child = 2 * k + 1) {
    child += child + 1 < s->n_heap && is_before(s, s->heap[child + 1], s->heap[child]);
    if (!is_before(s, s->heap[child], i))
      break;
    s->heap[k] = s->heap[child];
    k = child;
  }
  s->heap[k] = i;
}

/* The buffer with the least `low` of those that are free in the column; -1: none. The heap has
 * those of the column before it. */
static int32_t lowest(dsa_state *s, int32_t c) {
  for (int32_t i = s->in->start_at[c]; i < s->in->start_at[c + 1]; i++)
    if (!s->placed[i])
      push(s, i);
  while (s->n_heap && s->in->buffer[s->heap[0]].end <= c)
    pop(s);
  return s->n_heap ? s->heap[0] : -1;
}

static bool settle_column(dsa_state *s, int32_t c) {
  int32_t watch = lowest(s, c);
  if (watch != s->watch[c]) {
    note(s, DSA_WAS_WATCH, c, s->watch[c]);
    set_watch(s, c, watch);
  }
  if (watch < 0 || s->low[watch] <= s->floor[c])
    return true;
  note(s, DSA_WAS_FLOOR, c, s->floor[c]);
  s->floor[c] = s->low[watch];
  return s->floor[c] + s->left[c] <= s->capacity;
}

static bool settle_run(dsa_state *s, int32_t begin, int32_t end) {
  const dsa_instance *in = s->in;
  bool good = true;
  s->n_heap = 0;
  for (int32_t k = in->cover_at[begin]; k < in->cover_at[begin + 1]; k++)
    if (!s->placed[in->cover[k]] && in->cover[k] < in->start_at[begin])
      push(s, in->cover[k]);
  for (int32_t c = begin; c < end && good; c++)
    good = settle_column(s, c);
  return good;
}

/* A floor is the least `low` of its column, so raising it raises no `low`: one pass is enough. */
static bool settle(dsa_state *s, bool good) {
  int32_t stop, end = s->dirty_end;
  for (int32_t c = s->dirty_begin; c < end; c = stop + 1) {
    for (stop = c; stop < end && s->is_dirty[stop]; stop++)
      s->is_dirty[stop] = false;
    if (good && stop > c)
      good = settle_run(s, c, stop);
  }
  s->dirty_begin = s->in->n_columns;
  s->dirty_end = 0;
  return good;
}

bool dsa_state_settle(dsa_state *s) {
  bool good = true;
  for (int32_t c = 0; c < s->in->n_columns; c++) {
    good = good && s->left[c] <= s->capacity;
    touch(s, c);
  }
  return settle(s, good);
}

bool dsa_state_raise(dsa_state *s, int32_t c, int64_t floor) {
  note(s, DSA_WAS_FLOOR, c, s->floor[c]);
  s->floor[c] = floor;
  return settle(s, floor + s->left[c] <= s->capacity && raise_lows(s, c, c + 1, floor));
}

bool dsa_state_place(dsa_state *s, int32_t i) {
  const dsa_buffer *b = &s->in->buffer[i];
  int64_t end = s->low[i] + b->size;
  note(s, DSA_WAS_FREE, i, 0);
  s->offset[i] = s->low[i];
  s->placed[i] = true;
  touch_watched(s, i);
  for (int32_t c = b->begin; c < b->end; c++) {
    s->floor[c] = end;
    s->left[c] -= b->size;
    s->crossing[c] -= c > b->begin;
  }
  return settle(s, raise_lows(s, b->begin, b->end, end));
}

static void free_again(dsa_state *s, int32_t i) {
  const dsa_buffer *b = &s->in->buffer[i];
  s->placed[i] = false;
  for (int32_t c = b->begin; c < b->end; c++) {
    s->floor[c] = s->offset[i];
    s->left[c] += b->size;
    s->crossing[c] += c > b->begin;
  }
}

void dsa_state_undo(dsa_state *s, size_t mark) {
  while (s->trail.n > mark) {
    dsa_change change = s->trail.at[--s->trail.n];
    switch (change.kind) {
    case DSA_WAS_FLOOR:
      s->floor[change.at] = change.old;
      break;
    case DSA_WAS_LOW:
      s->low[change.at] = change.old;
      break;
    case DSA_WAS_WATCH:
      set_watch(s, change.at, (int32_t)change.old);
      break;
    case DSA_WAS_FREE:
      free_again(s, change.at);
      break;
    }
  }
}
