#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/pipeline/compile.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *read_all(neo_arena *a, int fd) {
  char buf[4096];
  ssize_t n;
  neo_str s = neo_str_in(a);
  while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0)
      neo_str_addn(&s, buf, (size_t)n);
  return neo_arena_strdup(a, neo_str_text(&s));
}

neo_status neo_spawn(neo_arena *a, const char *const *argv, char **output) {
  int fd[2];
  pid_t pid;
  *output = neo_arena_strdup(a, "");
  if (pipe(fd)) {
    *output = neo_arena_strdup(a, strerror(errno));
    return NEO_IO;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, fd[0]);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
  posix_spawn_file_actions_addclose(&actions, fd[1]);
  int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fd[1]);
  if (error) {
    close(fd[0]);
    *output = neo_arena_printf(a, "%s: %s", argv[0], strerror(error));
    return neo_status_of_errno(error);
  }
  *output = read_all(a, fd[0]);
  close(fd[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return NEO_IO;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NEO_OK : NEO_IO;
}

static bool find(const char *name, char file[4096]) {
  const char *path = secure_getenv("PATH");
  for (size_t n; path && *path; path += n + (path[n] == ':')) {
    n = strcspn(path, ":");
    if (n + strlen(name) + 2 > 4096)
      continue;
    memcpy(file, path, n);
    file[n] = '/';
    strcpy(file + n + 1, name);
    if (access(file, X_OK) == 0)
      return true;
  }
  return false;
}

bool neo_on_path(const char *name) {
  char file[4096];
  return find(name, file);
}

const char *neo_program_path(neo_arena *a, const char *name) {
  char file[4096];
  return find(name, file) ? neo_arena_strdup(a, file) : NULL;
}
