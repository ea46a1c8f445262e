/* mailbox.c: see mailbox.h. */
#include "runtime/net/mailbox.h"
#include <stdlib.h>

/* The state of an actor without tasks, as an address that no task has. */
static const neo_rti_net_task idle;
#define IDLE ((neo_rti_net_task *)(uintptr_t)&idle)

static uint64_t rank(const neo_rti_net_task *t) {
  return t->number | (t->back ? 0 : (uint64_t)1 << 63);
}

static bool is_before(const neo_rti_net_task *a, const neo_rti_net_task *b) {
  uint64_t x = rank(a), y = rank(b);
  return x != y ? x < y : a->node < b->node;
}

bool neo_rti_mailbox_open(neo_rti_net_mailbox *b, size_t most) {
  atomic_store(&b->inbox, IDLE);
  atomic_store(&b->best, UINT64_MAX);
  b->heap = calloc(most + 1, sizeof(neo_rti_net_task *));
  return b->heap != NULL;
}

bool neo_rti_mailbox_put(neo_rti_net_mailbox *b, neo_rti_net_task *t) {
  uint64_t r = rank(t);
  if (r < atomic_load_explicit(&b->best, memory_order_relaxed)) /* others may write: it is a hint */
    atomic_store_explicit(&b->best, r, memory_order_relaxed);
  neo_rti_net_task *head = atomic_load_explicit(&b->inbox, memory_order_relaxed);
  do
    t->next = head == IDLE ? NULL : head;
  while (!atomic_compare_exchange_weak_explicit(&b->inbox, &head, t, memory_order_release,
                                                memory_order_relaxed));
  return head == IDLE;
}

/* ---- the heap */

static int32_t size(const neo_rti_net_mailbox *b) {
  return atomic_load_explicit(&b->n_heap, memory_order_relaxed);
}

static void set_size(neo_rti_net_mailbox *b, int32_t n) {
  atomic_store_explicit(&b->n_heap, n, memory_order_relaxed);
  if (n > atomic_load_explicit(&b->most_heap, memory_order_relaxed))
    atomic_store_explicit(&b->most_heap, n, memory_order_relaxed);
}

static void push(neo_rti_net_mailbox *b, neo_rti_net_task *t) {
  int32_t k = size(b);
  set_size(b, k + 1);
  for (; k > 0 && is_before(t, b->heap[(k - 1) / 2]); k = (k - 1) / 2)
    b->heap[k] = b->heap[(k - 1) / 2];
  b->heap[k] = t;
}

static neo_rti_net_task *pop(neo_rti_net_mailbox *b) {
  int32_t n = size(b) - 1, k = 0;
  neo_rti_net_task *first = b->heap[0], *last = b->heap[n];
  set_size(b, n);
  for (int32_t child = 1; child < n; child = 2 * k + 1) {
    if (child + 1 < n && is_before(b->heap[child + 1], b->heap[child]))
      child++;
    if (!is_before(b->heap[child], last))
      break;
    b->heap[k] = b->heap[child];
    k = child;
  }
  b->heap[k] = last;
  return first;
}

static void take_all(neo_rti_net_mailbox *b) {
  if (!atomic_load_explicit(&b->inbox, memory_order_relaxed))
    return;
  neo_rti_net_task *t = atomic_exchange_explicit(&b->inbox, NULL, memory_order_acquire);
  while (t) {
    neo_rti_net_task *next = t->next;
    push(b, t);
    t = next;
  }
}

/* ---- the worker's side */

neo_rti_net_task *neo_rti_mailbox_take(neo_rti_net_mailbox *b) {
  take_all(b);
  neo_rti_net_task *t = size(b) ? pop(b) : NULL;
  atomic_store_explicit(&b->best, size(b) ? rank(b->heap[0]) : UINT64_MAX, memory_order_relaxed);
  return t;
}

bool neo_rti_mailbox_release(neo_rti_net_mailbox *b) {
  neo_rti_net_task *none = NULL;
  return size(b) || !atomic_compare_exchange_strong_explicit(
                        &b->inbox, &none, IDLE, memory_order_seq_cst, memory_order_relaxed);
}

bool neo_rti_mailbox_is_idle(const neo_rti_net_mailbox *b) {
  return atomic_load(&b->inbox) == IDLE;
}
