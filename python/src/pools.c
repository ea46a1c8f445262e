/* pools.c: pools of threads of the whole process.
 *
 * All contexts of as many threads share one pool, so that a hundred operators do not start a
 * hundred times as many threads as there are cores. Pools are never destroyed: calls may still run
 * when the interpreter ends. So this file has the one variable of the module that is not of an
 * interpreter's state.
 *
 * After a fork the child has none of the workers. Pools are started again in place, where contexts
 * that hold parameters point to them. */
#include "python/src/core.h"
#include <pthread.h>

enum { MOST = 64 }; /* pools of different sizes */

static struct {
  pthread_mutex_t lock;
  neo_rt_pool *at[MOST];
  int32_t n;
  int32_t threads;     /* as neoc.set_threads says; 0: as many as cores */
  uint32_t generation; /* counts changes of `threads` */
} pools = {.lock = PTHREAD_MUTEX_INITIALIZER};

static neo_rt_pool *search(int32_t threads) {
  for (int32_t k = 0; k < pools.n; k++)
    if (neo_rt_pool_threads(pools.at[k]) == threads)
      return pools.at[k];
  return NULL;
}

/* How many threads 0 means is known only once a pool is made. */
static neo_rt_pool *find(int32_t threads) {
  neo_rt_pool *found = search(threads), *made = NULL;
  if (found || pools.n == MOST || neo_rt_pool_create(threads, &made) != NEO_RT_OK)
    return found;
  found = search(neo_rt_pool_threads(made));
  if (found)
    neo_rt_pool_destroy(made);
  else
    pools.at[pools.n++] = found = made;
  return found;
}

static neo_rt_pool *find_default(void) {
  neo_rt_pool *p = find(pools.threads);
  if (p)
    pools.threads = neo_rt_pool_threads(p);
  return p;
}

neo_rt_pool *neo_py_pool(int32_t threads, uint32_t *generation) {
  pthread_mutex_lock(&pools.lock);
  neo_rt_pool *p = threads ? find(threads) : find_default();
  *generation = pools.generation;
  pthread_mutex_unlock(&pools.lock);
  return p;
}

uint32_t neo_py_pool_generation(void) {
  return __atomic_load_n(&pools.generation, __ATOMIC_RELAXED);
}

void neo_py_pool_set_threads(int32_t threads) {
  pthread_mutex_lock(&pools.lock);
  pools.threads = threads;
  __atomic_add_fetch(&pools.generation, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&pools.lock);
}

int32_t neo_py_pool_threads(void) {
  pthread_mutex_lock(&pools.lock);
  neo_rt_pool *p = find_default();
  pthread_mutex_unlock(&pools.lock);
  return p ? neo_rt_pool_threads(p) : 1;
}

void neo_py_pool_after_fork(void) {
  pthread_mutex_init(&pools.lock, NULL);
  for (int32_t k = 0; k < pools.n; k++)
    neo_rt_pool_restart(pools.at[k]);
}
