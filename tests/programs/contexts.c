/* Two models, and two contexts of each, trained from four threads of one process at once. Every
 * context gives what it gives alone. Linked with libfirst and libsecond
 * (tests/test_cli_library.sh).
 */
#include "first.h"
#include "second.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 13, STEPS = 40 };

typedef struct {
  int model; /* 0: first, 1: second */
  uint64_t seed;
  float loss[STEPS];
  char error[256];
} job;

static void fill(uint64_t seed, float *x, int32_t *y, int n) {
  uint64_t s = seed * 2654435761u + 1;
  for (int k = 0; k < n * 4; k++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    x[k] = (float)(s >> 40) / 16777216.0f - 0.5f;
  }
  for (int k = 0; k < n; k++)
    y[k] = x[4 * k] > 0;
}

static void run_first(job *j, const float *x, const int32_t *y) {
  first_ctx *c = NULL;
  first_config config = {.struct_size = sizeof config, .threads = 2, .seed = j->seed};
  first_status s = first_create(&config, &c);
  for (int k = 0; k < STEPS && !s; k++)
    s = first_step(c, ROWS, x, y, &j->loss[k]);
  if (s)
    snprintf(j->error, sizeof j->error, "%s", c ? first_error(c) : first_status_text(s));
  first_destroy(c);
}

static void run_second(job *j, const float *x, const int32_t *y) {
  second_ctx *c = NULL;
  second_config config = {.struct_size = sizeof config, .threads = 2, .seed = j->seed};
  second_status s = second_create(&config, &c);
  for (int k = 0; k < STEPS && !s; k++)
    s = second_step(c, ROWS, x, y, &j->loss[k]);
  if (s)
    snprintf(j->error, sizeof j->error, "%s", c ? second_error(c) : second_status_text(s));
  second_destroy(c);
}

static void *run(void *p) {
  job *j = p;
  float x[ROWS * 4];
  int32_t y[ROWS];
  fill(j->seed, x, y, ROWS);
  if (j->model)
    run_second(j, x, y);
  else
    run_first(j, x, y);
  return NULL;
}

int main(void) {
  job alone[4], together[4];
  pthread_t thread[4];
  int failed = 0;
  for (int k = 0; k < 4; k++) {
    alone[k] = together[k] = (job){.model = k / 2, .seed = (uint64_t)(k % 2) + 1};
    run(&alone[k]);
  }
  for (int k = 0; k < 4; k++)
    if (pthread_create(&thread[k], NULL, run, &together[k]) != 0)
      return 2;
  for (int k = 0; k < 4; k++)
    pthread_join(thread[k], NULL);
  for (int k = 0; k < 4; k++) {
    int same = memcmp(alone[k].loss, together[k].loss, sizeof alone[k].loss) == 0;
    int learns = alone[k].loss[STEPS - 1] < alone[k].loss[0];
    if (*alone[k].error || *together[k].error || !same || !learns) {
      printf("context %d: %s%s same %d, loss %g to %g\n", k, alone[k].error, together[k].error,
             same, (double)alone[k].loss[0], (double)alone[k].loss[STEPS - 1]);
      failed = 1;
    }
  }
  return failed;
}
