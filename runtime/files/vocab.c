/* vocab.c: ids of words, the most frequent first. */
#include "base/hash.h"
#include "include/neo/neo_graph.h"
#include "runtime/files.h"
#include <stdlib.h>
#include <string.h>

struct neo_rt_vocab {
  int64_t n;         /* ids */
  const char **word; /* [n]; of 0 null */
  uint32_t *slot;    /* ids by the word's hash; 0: free */
  size_t n_slots;
  uint64_t hash;
};

typedef struct {
  int64_t count, number;
} ranked;

static int by_rank(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->count != y->count    ? (x->count < y->count ? 1 : -1)
         : x->number < y->number ? -1
                                 : x->number > y->number;
}

static size_t slot_of(const neo_rt_vocab *v, const char *word) {
  size_t k = (size_t)neo_hash(word, strlen(word), 0) & (v->n_slots - 1);
  while (v->slot[k] && strcmp(v->word[v->slot[k]], word) != 0)
    k = (k + 1) & (v->n_slots - 1);
  return k;
}

static size_t round_up(size_t n) {
  return (n + 7) & ~(size_t)7;
}

/* Allocates one block: the struct, addresses of words, slots, texts. */
static neo_rt_vocab *make_room(int64_t n, size_t text_bytes, char **text) {
  size_t n_slots = 16;
  while (n_slots < 2 * (size_t)n)
    n_slots *= 2;
  size_t words = round_up(sizeof(neo_rt_vocab)), slots = words + (size_t)n * sizeof(char *),
         texts = slots + round_up(n_slots * sizeof(uint32_t));
  char *p = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, texts + text_bytes);
  if (!p)
    return NULL;
  memset(p, 0, texts);
  neo_rt_vocab *v = (neo_rt_vocab *)(void *)p;
  v->n = n;
  v->word = (const char **)(void *)(p + words);
  v->slot = (uint32_t *)(void *)(p + slots);
  v->n_slots = n_slots;
  *text = p + texts;
  return v;
}

static void fill(neo_rt_vocab *v, const neo_rt_trees *trees, const ranked *order, char *text) {
  for (int64_t id = 1; id < v->n; id++) {
    const char *word = trees->text[order[id - 1].number];
    size_t n = strlen(word) + 1;
    memcpy(text, word, n);
    v->word[id] = text;
    v->hash = neo_hash(text, n, v->hash);
    v->slot[slot_of(v, text)] = (uint32_t)id;
    text += n;
  }
}

neo_rt_status neo_rt_vocab_create(const neo_rt_trees *trees, int64_t most, neo_rt_vocab **out) {
  if (!trees || !out)
    return NEO_NULL;
  *out = NULL;
  if (most < 1)
    return NEO_ARGUMENT;
  size_t bytes = 0, words = (size_t)trees->words;
  ranked *order = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, words * sizeof *order + 1);
  if (!order)
    return NEO_MEMORY;
  for (size_t k = 0; k < words; k++)
    order[k] = (ranked){trees->count[k], (int64_t)k};
  qsort(order, words, sizeof *order, by_rank);
  int64_t n = trees->words < most - 1 ? trees->words + 1 : most;
  for (int64_t id = 1; id < n; id++)
    bytes += strlen(trees->text[order[id - 1].number]) + 1;
  char *text;
  neo_rt_vocab *v = make_room(n, bytes, &text);
  if (v)
    fill(v, trees, order, text);
  NEO_RTI_FREE(&neo_alloc_default, order);
  *out = v;
  return v ? NEO_OK : NEO_MEMORY;
}

void neo_rt_vocab_destroy(neo_rt_vocab *v) {
  NEO_RTI_FREE(&neo_alloc_default, v);
}

int64_t neo_rt_vocab_size(const neo_rt_vocab *v) {
  return v->n;
}

int32_t neo_rt_vocab_find(const neo_rt_vocab *v, const char *word) {
  return (int32_t)v->slot[slot_of(v, word)];
}

const char *neo_rt_vocab_word(const neo_rt_vocab *v, int64_t id) {
  return id > 0 && id < v->n ? v->word[id] : NULL;
}

uint64_t neo_rt_vocab_hash(const neo_rt_vocab *v) {
  return v->hash;
}
