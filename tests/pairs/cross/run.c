/* The program that the emulated processor runs: all models that it is linked with, one after the
 * other, each on a request from stdin, in a process of its own. Answers go to stdout. */
#include "tests/pairs/cross/request.h"
#include <neo/neo_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const neo_rt_model *const pairs_models[];
extern const int pairs_n_models;

enum { SECONDS = 60 };

static void get(void *p, int64_t n) {
  if (n && fread(p, (size_t)n, 1, stdin) != 1)
    exit(3);
}

static void put(int64_t state, const void *p, int64_t n) {
  pairs_answer a = {state, n};
  fwrite(&a, sizeof a, 1, stdout);
  fwrite(p, 1, (size_t)n, stdout);
  fflush(stdout);
}

static void put_text(int64_t state, const char *text) {
  put(state, text, (int64_t)strlen(text));
}

static int64_t answer_bytes(const pairs_request *q) {
  int64_t n = 0;
  for (int64_t k = q->n_inputs; k < q->n_args; k++)
    n += q->arg_bytes[k];
  for (int64_t k = 0; k < q->n_kept; k++)
    n += q->kept_bytes[k];
  return n * q->rounds;
}

static neo_rt_status run_iteration(neo_rt_ctx *c, const pairs_request *q, void *const *args,
                                   char **to) {
  neo_rt_status s = neo_rt_call(c, (int32_t)q->entry, q->sizes, args);
  for (int64_t k = q->n_inputs; !s && k < q->n_args; k++) {
    memcpy(*to, args[k], (size_t)q->arg_bytes[k]);
    *to += q->arg_bytes[k];
  }
  for (int64_t k = 0; !s && k < q->n_kept; k++) {
    s = neo_rt_get(c, (int32_t)q->kept[k], *to, (size_t)q->kept_bytes[k]);
    *to += q->kept_bytes[k];
  }
  return s;
}

static void answer(const neo_rt_model *m, const pairs_request *q, void *const *args) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .seed = (uint64_t)q->seed};
  neo_rt_ctx *c = NULL;
  int64_t n = answer_bytes(q);
  char *results = malloc((size_t)n + 1), *to = results;
  neo_rt_status s = neo_rt_create(m, &config, &c);
  for (int64_t k = 0; !s && k < q->rounds; k++)
    s = run_iteration(c, q, args, &to);
  if (s)
    put_text(PAIRS_ERROR, c ? neo_rt_error(c) : "no context");
  else
    put(PAIRS_DONE, results, n);
}

static void run(const neo_rt_model *m) {
  pairs_request q;
  void *args[PAIRS_MOST];
  int status = 0;
  get(&q, sizeof q);
  for (int64_t k = 0; k < q.n_args; k++) {
    args[k] = calloc(1, (size_t)q.arg_bytes[k] + 1);
    get(args[k], k < q.n_inputs ? q.arg_bytes[k] : 0);
  }
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    answer(m, &q, args);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child || WIFSIGNALED(status)) {
    char text[40];
    snprintf(text, sizeof text, "killed by signal %d", WTERMSIG(status));
    put_text(PAIRS_KILLED, text);
  }
  for (int64_t k = 0; k < q.n_args; k++)
    free(args[k]);
}

int main(void) {
  for (int k = 0; k < pairs_n_models; k++)
    run(pairs_models[k]);
  return 0;
}
