/* Threads that compile, load and run models at the same time. */
#include "tests/embed/embed.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct {
  int number;
  float factor;
} job;

static void *compile_and_run(void *p) {
  const job *j = p;
  char text[200];
  for (int k = 0; k < 4; k++) {
    snprintf(text, sizeof text,
             "input X[%d]\nY[i] = %d*X[i] + exp(0*X[i])\nd = grad(Y, X, seed = X)\noutput Y, d\n",
             16 + k, j->number);
    neo_request r = embed_request(text);
    embed_model m = embed_load(&r);
    float x[20], y[20], d[20];
    for (int i = 0; i < 20; i++)
      x[i] = (float)i;
    void *args[] = {x, y, d};
    for (int i = 0; i < 50; i++)
      embed_call(&m, "forward", NULL, args);
    for (int i = 0; i < 16 + k; i++)
      CHECK(y[i] == j->factor * (float)i + 1 && d[i] == j->factor * (float)i);
    embed_free(&m);
  }
  return NULL;
}

static void threads_compile_and_run_at_the_same_time(void **state) {
  (void)state;
  enum { N = 4 };
  pthread_t thread[N];
  job jobs[N];
  for (int k = 0; k < N; k++) {
    jobs[k] = (job){k + 2, (float)(k + 2)};
    CHECK(pthread_create(&thread[k], NULL, compile_and_run, &jobs[k]) == 0);
  }
  for (int k = 0; k < N; k++)
    pthread_join(thread[k], NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_compile_and_run_at_the_same_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
