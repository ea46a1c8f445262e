/* Threads that compile, load and run models at the same time. */
#include "tests/embed/embed.h"
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The code generator of a GPU runs in a child, which is forked while others compile. */
static void *compile_for_gpu(void *p) {
  (void)p;
  for (int k = 0; k < 4; k++) {
    neo_request r = embed_request("input X[64]\nY[i] = 2*X[i]\noutput Y\n");
    neo_build *b;
    r.target = "nvptx:sm_80";
    r.emit = "ptx,ll";
    CHECK(neo_build_make(&r, &b) == 0);
    size_t n;
    CHECK(strstr(neo_build_output(b, "ptx", &n), ".target sm_80") && n > 100);
    CHECK(strstr(neo_build_output(b, "ll", NULL), "nvptx64"));
    neo_build_free(b);
  }
  return NULL;
}

static void a_thread_compiles_for_a_gpu_beside_others(void **state) {
  pthread_t gpu[2];
  job j = {3, 3};
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* its allocator has locks that a child may find taken; the C library's has none such */
#endif
  for (int k = 0; k < 2; k++)
    CHECK(pthread_create(&gpu[k], NULL, compile_for_gpu, NULL) == 0);
  compile_and_run(&j);
  for (int k = 0; k < 2; k++)
    pthread_join(gpu[k], NULL);
}

static void a_forked_child_compiles_for_a_gpu(void **state) {
  pthread_t thread;
  job j = {3, 3};
  int status;
  (void)state;
  CHECK(pthread_create(&thread, NULL, compile_and_run, &j) == 0);
  pthread_join(thread, NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(120);
    compile_for_gpu(NULL);
    compile_and_run(&j);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A compilation leaves the float mode and the locale of the caller's threads unchanged. */
static void modes_of_the_caller_stay_and_change_nothing(void **state) {
  (void)state;
  neo_request r =
      embed_request("const C[2] = [0.1, 0.7]\ninput X[2]\nY[i] = X[i]*C[i] + 1.5\noutput Y\n");
  r.emit = "o,json";
  neo_build *plain, *other;
  CHECK(neo_build_make(&r, &plain) == 0);
  const char *comma = setlocale(LC_ALL, "de_DE.UTF-8");
  int before = fegetround();
  CHECK(fesetround(FE_UPWARD) == 0);
  CHECK(neo_build_make(&r, &other) == 0);
  CHECK(fegetround() == FE_UPWARD);
  fesetround(before);
  CHECK(!comma || strcmp(localeconv()->decimal_point, ",") == 0);
  size_t n, m;
  const void *x = neo_build_output(plain, "o", &n), *y = neo_build_output(other, "o", &m);
  CHECK(n == m && memcmp(x, y, n) == 0);
  x = neo_build_output(plain, "json", &n), y = neo_build_output(other, "json", &m);
  CHECK(n == m && memcmp(x, y, n) == 0);
  neo_build_free(plain);
  neo_build_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_compile_and_run_at_the_same_time),
      cmocka_unit_test(a_thread_compiles_for_a_gpu_beside_others),
      cmocka_unit_test(a_forked_child_compiles_for_a_gpu),
      cmocka_unit_test(modes_of_the_caller_stay_and_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
