/* The compiler as a library: compiles the model that it is given, and reports the errors of another
 * one, from two threads at once. Linked with libneo (tests/test_cli_library.sh). */
#include <neo/neo.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *path, *folder;
  int32_t status;
  int good;
} job;

static void *compile(void *p) {
  job *j = p;
  char *messages = NULL;
  const neo_define define = {"H", 5};
  neo_request r = {.struct_size = sizeof r, .path = j->path, .out_dir = j->folder};
  r.defines = &define;
  r.n_defines = 1;
  j->status = neo_compile(&r, &messages);
  j->good = j->status == 0 ? *messages == 0 : strstr(messages, "error[E0") != NULL;
  neo_messages_free(messages);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  job good = {argv[1], argv[3], 0, 0}, bad = {argv[2], argv[3], 0, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, compile, &good) != 0)
    return 2;
  compile(&bad);
  pthread_join(thread, NULL);
  printf("good: %d %d, bad: %d %d, version %s\n", good.status, good.good, bad.status, bad.good,
         neo_version());
  neo_request early = {.struct_size = offsetof(neo_request, records), .path = argv[1]};
  early.records = "/nowhere"; /* beyond its size */
  if (neo_check(&early, NULL) != 0)
    return 3;
  early.struct_size = sizeof early;
  early.out_dir = argv[3];
  if (neo_compile(&early, NULL) != 7)
    return 4;
  early.struct_size++;
  if (neo_check(&early, NULL) != 1)
    return 5;
  neo_request none = {0};
  return !(good.status == 0 && good.good && bad.status == 12 && bad.good &&
           neo_check(&none, NULL) == 1);
}
