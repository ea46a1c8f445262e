/* Builds candidates in children (build.h). A child reports each candidate through a pipe once its
 * library exists; candidates that were not reported have failed. */
#define _GNU_SOURCE /* pipe2 */
#include "tools/tune/build.h"
#include "base/clock.h"
#include "codegen/make.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORKERS = 16 };

typedef struct {
  size_t number;
  neo_candidate candidate;
} message;

typedef struct {
  pid_t pid;
  int from;
  size_t first, step; /* numbers of its candidates: first, first + step, ... */
  size_t n;           /* number of all candidates */
  uint32_t serial;
} worker;

static double now_ms(void) {
  return 1e3 * neo_now_s();
}

/* ---- in a child */

static bool fail(neo_candidate *x, const char *why) {
  x->ok = false;
  snprintf(x->why, sizeof x->why, "%s", why);
  return false;
}

static const neo_target *target_of(const neo_builder *b) {
  return b->target ? b->target : &b->c->target;
}

/* Writes at most four maps of five axes, for which the text has room. */
static void say_maps(const neo_builder *b, const neo_kernel *k, neo_candidate *x) {
  neo_kernel_map map[NEO_KERNEL_MAPS];
  uint32_t n = target_of(b)->sm ? neo_kernel_maps(k, map) : 0;
  neo_str text = neo_str_in(&b->c->arena);
  for (uint32_t i = 0; i < n; i++) {
    const neo_box *box = map[i].box;
    neo_type t = (neo_type)k->bufs.at[map[i].buf].type;
    neo_str_addf(&text, "%s%u:%s", i ? ";" : "", map[i].buf, neo_type_text(t));
    for (uint32_t d = 0; d < box->rank; d++)
      neo_str_addf(&text, ":%lld,%lld,%lld",
                   (long long)neo_kernel_number(k, box->extent[d], b->numbers),
                   (long long)(box->stride[d] * neo_type_bytes(t)), (long long)box->count[d]);
  }
  snprintf(x->maps, sizeof x->maps, "%s", neo_str_text(&text));
}

static bool lower(neo_builder *b, neo_llvm *l, neo_candidate *x, size_t number) {
  neo_kernel *k;
  const char *why = "";
  neo_str text = neo_str_in(&b->c->arena);
  if (!neo_schedule_legal(b->c->module, b->g, b->machine, &x->schedule, &text))
    return fail(x, neo_str_text(&text));
  if (b->segment ? neo_compile_segment(b->c, b->segment, &x->schedule, x->reference, &k, &why)
                 : neo_compile_lower(b->c, b->g, &x->schedule, &k, &why))
    return fail(x, why);
  snprintf(x->symbol, sizeof x->symbol, "k%zu", number);
  if (neo_llvm_kernel(l, k, x->symbol, &why))
    return fail(x, why);
  neo_llvm_export(l, x->symbol);
  if (target_of(b)->sm)
    neo_kernel_launch(k, &x->block, &x->block_units);
  x->persistent = (int32_t)k->persistent;
  say_maps(b, k, x);
  x->units = neo_kernel_units(k, b->numbers);
  x->scratch_bytes = neo_kernel_scratch_bytes(k);
  return x->ok = true;
}

/* ---- files: the stages from a module to its final file */

typedef enum { OBJECT, LIBRARY, PTX, CUBIN, N_FILES } file;

static const char *name_file(const neo_builder *b, uint32_t serial, file f, char path[600]) {
  static const char *const end[N_FILES] = {"o", "so", "ptx", "cubin"};
  snprintf(path, 600, "%s/%u.%s", b->folder, serial, end[f]);
  return path;
}

static file final_file(const neo_builder *b) {
  const neo_target *t = target_of(b);
  if (!t->sm || t->emulated)
    return LIBRARY;
  return t->sm_own && neo_on_path("ptxas") ? CUBIN : PTX;
}

/* Links without a compiler's start-up code, as neo-measure refuses code that would run when the
 * library is opened (library.c). */
static bool link_library(neo_arena *a, const char *object, const char *library) {
  const char *const quick[] = {"ld", "-shared", "--build-id=none", "-o", library, object, NULL};
  const char *const usual[] = {"cc",    "-shared", "-nostartfiles", "-o",
                               library, object,    "-lm",           NULL};
  char *output;
  return neo_spawn(a, quick, &output) == NEO_OK || neo_spawn(a, usual, &output) == NEO_OK;
}

static bool assemble(const neo_builder *b, const char *ptx, const char *cubin) {
  neo_arena *a = &b->c->arena;
  char *output;
  const char *device = neo_arena_printf(a, "-arch=%s", target_of(b)->device);
  const char *const argv[] = {"ptxas", device, "-o", cubin, ptx, NULL};
  return neo_spawn(a, argv, &output) == NEO_OK;
}

static bool write_files(const neo_builder *b, neo_llvm *l, uint32_t serial) {
  char from[600], to[600];
  const char *why;
  file last = final_file(b), first = last == LIBRARY ? OBJECT : PTX;
  name_file(b, serial, first, from);
  name_file(b, serial, last, to);
  bool made =
      !(first == OBJECT ? neo_llvm_emit_object(l, from, &why) : neo_llvm_emit_asm(l, from, &why));
  if (first == last)
    return made;
  made = made && (last == LIBRARY ? link_library(&b->c->arena, from, to) : assemble(b, from, to));
  unlink(from);
  return made;
}

static void no_memory(void) {
  _exit(1);
}

static void work(neo_builder *b, const worker *w, neo_candidate *x, int to) {
  neo_llvm *l;
  char path[600];
  const char *why = "";
  neo_llvm_on_no_memory(no_memory);
  if (neo_llvm_new(&b->c->arena, target_of(b), "tune", &l, &why))
    _exit(1);
  name_file(b, w->serial, final_file(b), path);
  for (size_t k = w->first; k < w->n; k += w->step) {
    snprintf(x[k].path, sizeof x[k].path, "%.500s", path);
    lower(b, l, &x[k], k);
  }
  if (neo_llvm_finish(l, &why) || !write_files(b, l, w->serial))
    _exit(1);
  for (size_t k = w->first; k < w->n; k += w->step) {
    message m = {k, x[k]};
    if (write(to, &m, sizeof m) != sizeof m)
      _exit(1);
  }
  _exit(0);
}

static void start(neo_builder *b, worker *w, neo_candidate *x) {
  int fd[2];
  w->pid = -1;
  w->from = -1;
  if (pipe2(fd, O_CLOEXEC))
    return;
  neo_llvm_fork_begin();
  w->pid = fork();
  if (w->pid)
    neo_llvm_fork_end();
  if (w->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1), dup2(null, 2); /* hides output of a crashing LLVM */
    work(b, w, x, fd[1]);
  }
  close(fd[1]);
  w->from = fd[0];
}

/* ---- in the parent */

/* Removes files of a child that may have been killed. */
static void clean_up(const neo_builder *b, const worker *w, bool spare_last) {
  char path[600];
  for (int f = 0; f < N_FILES; f++)
    if (!spare_last || f != (int)final_file(b))
      unlink(name_file(b, w->serial, (file)f, path));
}

/* Reads the child's reports until it ends or time is over. */
static void listen(neo_builder *b, worker *w, neo_candidate *x, double deadline_ms) {
  message m;
  size_t n = 0, told = 0;
  while (w->from >= 0) {
    double left = deadline_ms - now_ms();
    struct pollfd fd = {w->from, POLLIN, 0};
    if (left <= 0 || (poll(&fd, 1, (int)left + 1) < 0 && errno != EINTR))
      break;
    if (!(fd.revents & (POLLIN | POLLHUP)))
      continue;
    ssize_t got = read(w->from, (char *)&m + n, sizeof m - n);
    if (got == 0 || (got < 0 && errno != EINTR))
      break;
    n += got > 0 ? (size_t)got : 0;
    if (n == sizeof m && m.number < w->n)
      x[m.number] = m.candidate, told++;
    n = n == sizeof m ? 0 : n;
  }
  if (w->pid > 0) {
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  if (w->from >= 0)
    close(w->from);
  clean_up(b, w, told > 0);
}

static void run(neo_builder *b, neo_candidate *x, size_t first, size_t n, size_t workers) {
  worker w[MOST_WORKERS];
  double deadline = now_ms() + (double)b->limit_ms;
  for (size_t k = 0; k < workers; k++) {
    w[k] = (worker){.first = first + k, .step = workers, .n = n, .serial = ++b->serial};
    start(b, &w[k], x);
  }
  for (size_t k = 0; k < workers; k++)
    listen(b, &w[k], x, deadline);
}

void neo_build(neo_builder *b, neo_candidate *x, size_t n) {
  size_t workers = b->workers < 1              ? 1
                   : b->workers > MOST_WORKERS ? MOST_WORKERS
                                               : (size_t)b->workers;
  workers = workers < n ? workers : n;
  for (size_t k = 0; k < n; k++) {
    x[k].ok = false;
    x[k].why[0] = x[k].path[0] = 0;
  }
  run(b, x, 0, n, workers);
  for (size_t k = 0; k < n && n > 1; k++)
    if (!x[k].ok && !x[k].why[0])
      run(b, x, k, k + 1, 1);
  for (size_t k = 0; k < n; k++)
    if (!x[k].ok && !x[k].why[0])
      fail(&x[k], "the compiler failed, or took too long");
}

void neo_unbuild(const neo_candidate *x, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (x[k].path[0])
      unlink(x[k].path);
}
