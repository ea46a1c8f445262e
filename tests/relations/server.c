/* Makes a program a server of itself: preloaded (LD_PRELOAD) it takes the place of `main`, reads one
 * request after the other, and calls `main` for each in a child. So thousands of short runs pay for
 * loading and linking once, and each still has a process of its own.
 *
 *   request: the number of arguments as a line, then one argument in each line
 *   answer:  a line, "exit N" or "signal N" of the child
 *
 * Requests come on standard input and answers go to standard output. What the child prints goes to
 * the files that RELATIONS_STDOUT and RELATIONS_STDERR name. After RELATIONS_SECONDS of a processor it
 * gets SIGPROF, and where it waits ten times as long SIGALRM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 4096 };

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);

static main_function *program;

/* A line without its end, which the caller frees; NULL at the end of the requests. */
static char *line_of(FILE *from) {
  char *line = NULL;
  size_t room = 0;
  ssize_t n = getline(&line, &room, from);
  if (n <= 0) {
    free(line);
    return NULL;
  }
  if (line[n - 1] == '\n')
    line[n - 1] = 0;
  return line;
}

/* The arguments of the next request, ended by NULL; their number, or 0 where there is none. */
static int read_request(FILE *from, char **arguments) {
  char *head = line_of(from);
  int n = head ? atoi(head) : 0;
  free(head);
  if (n < 1 || n > MOST_ARGUMENTS)
    return 0;
  for (int k = 0; k < n; k++)
    if (!(arguments[k] = line_of(from)))
      return 0;
  arguments[n] = NULL;
  return n;
}

static void open_as(int descriptor, const char *path, int flags) {
  int file = path ? open(path, flags, 0600) : -1;
  if (file < 0 || dup2(file, descriptor) < 0)
    _exit(125);
  close(file);
}

static void limit_time(int seconds) {
  struct itimerval of_processor = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_PROF, &of_processor, NULL);
  alarm(10 * (unsigned)seconds);
}

static _Noreturn void run(int n, char **arguments, char **environment) {
  const char *seconds = getenv("RELATIONS_SECONDS");
  open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
  open_as(STDOUT_FILENO, getenv("RELATIONS_STDOUT"), O_WRONLY | O_CREAT | O_TRUNC);
  open_as(STDERR_FILENO, getenv("RELATIONS_STDERR"), O_WRONLY | O_CREAT | O_TRUNC);
  limit_time(seconds ? atoi(seconds) : 60);
  exit(program(n, arguments, environment));
}

static void answer(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    status = 0x7f;
  dprintf(STDOUT_FILENO, WIFSIGNALED(status) ? "signal %d\n" : "exit %d\n",
          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int serve(int n, char **arguments, char **environment) {
  (void)n, (void)arguments;
  static char *request[MOST_ARGUMENTS + 1];
  FILE *from = fdopen(STDIN_FILENO, "r");
  unsetenv("LD_PRELOAD");
  while (from && (n = read_request(from, request)) > 0) {
    pid_t child = fork();
    if (child == 0)
      run(n, request, environment);
    answer(child);
    for (int k = 0; k < n; k++)
      free(request[k]);
  }
  return 0;
}

int __libc_start_main(main_function *main, int n, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*unload)(void), void *stack);

/* The C library's start of every program, which is handed `main`. */
int __libc_start_main(main_function *main, int n, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*unload)(void), void *stack) {
  start_function *start = NULL;
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return start(serve, n, arguments, init, fini, unload, stack);
}
