/* Code of the kernels for a GPU: one LLVM module, as PTX for the driver, and as machine code (a
 * cubin) where ptxas is installed, which also checks every kernel.
 *
 * The code generator ends the process where it meets an instruction that the GPU lacks; so it runs
 * in a child, and its end is an error with a text. This compilation has started no thread yet;
 * those of others are not within LLVM when it forks (neo_llvm_fork_begin).
 *
 * For a GPU that is emulated (tests), the same module is made for the processor, and its image is a
 * shared library. */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IMAGE_LIMIT_BYTES = 256 << 20 };

/* ---- in the child */

static neo_status write_grid(neo_compilation *c, const neo_plan_grid *g) {
  const neo_grid_part *part = neo_plan_grid_parts(c->plan, g, &c->arena);
  return neo_llvm_grid(c->llvm, part, (size_t)g->rt.n_steps, g->rt.block, g->symbol, &c->why);
}

static neo_status write_code(neo_compilation *c, const char *path, const char *ll) {
  neo_status s = neo_llvm_new(&c->arena, &c->target, c->prefix, &c->llvm, &c->why);
  for (size_t k = 0; !s && k < c->kernels.n; k++)
    s = neo_emit_kernel(c->llvm, &c->kernels.at[k], &c->why);
  for (size_t k = 0; !s && k < c->plan->grids.n; k++)
    s = write_grid(c, &c->plan->grids.at[k]);
  if (!s)
    s = neo_llvm_finish(c->llvm, &c->why);
  if (!s && ll)
    s = neo_llvm_emit_text(c->llvm, ll, &c->why);
  if (s)
    return s;
  return c->target.emulated ? neo_llvm_emit_object(c->llvm, path, &c->why)
                            : neo_llvm_emit_asm(c->llvm, path, &c->why);
}

static void no_memory(void) {
  _exit(NEO_MEMORY);
}

static void run_child(neo_compilation *c, const char *path, const char *ll, int fd) {
  neo_llvm_on_no_memory(no_memory);
  neo_status s = write_code(c, path, ll);
  const char *text = s ? c->why : "";
  for (size_t n = strlen(text); n > 0;) {
    ssize_t done = write(fd, text, n);
    if (done <= 0)
      break;
    text += done;
    n -= (size_t)done;
  }
  _exit(s);
}

/* ---- in the parent */

static neo_status ended(neo_compilation *c, int status, const char *text) {
  if (WIFEXITED(status)) {
    neo_status s = (neo_status)WEXITSTATUS(status);
    c->why = s == NEO_MEMORY && !*text ? NULL : neo_arena_strdup(&c->arena, text);
    return s;
  }
  c->why = neo_arena_printf(&c->arena, "the code generator for %s ended by signal %d%s%s",
                            c->target.level, WTERMSIG(status), *text ? ": " : "", text);
  return NEO_INTERNAL;
}

static neo_status emit_in_child(neo_compilation *c, const char *path, const char *ll) {
  int fd[2];
  if (pipe(fd)) {
    c->why = strerror(errno);
    return NEO_IO;
  }
  neo_llvm_fork_begin();
  pid_t pid = fork();
  if (pid)
    neo_llvm_fork_end();
  if (pid == 0) {
    close(fd[0]);
    dup2(fd[1], 2);
    run_child(c, path, ll, fd[1]);
  }
  close(fd[1]);
  char text[4096];
  size_t n = 0;
  ssize_t got;
  while (pid > 0 && ((got = read(fd[0], text + n, sizeof text - 1 - n)) > 0 || errno == EINTR))
    n += got > 0 && n < sizeof text - 1 ? (size_t)got : 0;
  text[n] = 0;
  close(fd[0]);
  int status = 0;
  if (pid < 0) {
    c->why = strerror(errno);
    return NEO_IO;
  }
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return NEO_IO;
  return ended(c, status, text);
}

static neo_status add_image(neo_compilation *c, enum neo_rt_image_kind kind, const char *path) {
  char *data;
  size_t n;
  neo_status s = neo_file_read(&neo_io_default, &c->arena, path, IMAGE_LIMIT_BYTES, &data, &n);
  if (s) {
    c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(errno));
    return s;
  }
  bool is_text = kind == NEO_RT_IMAGE_PTX; /* the length of a text counts its NUL */
  neo_plan_image image = {kind, data, n + is_text};
  NEO_PUSH(&c->arena, &c->images, image);
  return NEO_OK;
}

static neo_status run(neo_compilation *c, const char *const *argv) {
  char *output;
  neo_status s = neo_spawn(&c->arena, argv, &output);
  if (s)
    c->why = neo_arena_printf(&c->arena, "%s failed: %s", argv[0], output);
  return s;
}

static neo_status assemble(neo_compilation *c, const char *ptx, const char *cubin) {
  const neo_target *t = &c->target;
  if (!neo_on_path("ptxas"))
    return NEO_OK;
  const char *device = neo_arena_printf(&c->arena, "-arch=%s", t->device);
  const char *argv[] = {"ptxas", device, "-o", cubin, ptx, NULL};
  neo_status s = run(c, argv);
  if (s && !neo_streq(t->device, t->level)) /* perhaps this ptxas is older than the device */
    c->why = neo_arena_printf(&c->arena, "%s; --target=nvptx:%s leaves %s to the driver", c->why,
                              t->level, t->device);
  return s ? s : add_image(c, NEO_RT_IMAGE_CUBIN, cubin);
}

static neo_status link_emulated(neo_compilation *c, const char *object, const char *library) {
  const char *argv[] = {"cc", "-shared", "-Wl,--build-id=none", "-o", library, object, "-lm", NULL};
  neo_status s = run(c, argv);
  return s ? s : add_image(c, NEO_RT_IMAGE_CUBIN, library);
}

static neo_status make(neo_compilation *c, const char *code, const char *linked) {
  const char *ll = c->options.emit & NEO_EMIT_LL ? neo_emit_staged(c, "", ".ll") : NULL;
  neo_status s = emit_in_child(c, code, ll);
  if (s)
    return s;
  if (c->target.emulated)
    return link_emulated(c, code, linked);
  if (c->options.emit & NEO_EMIT_OBJECTS)
    s = assemble(c, code, linked);
  return s ? s : add_image(c, NEO_RT_IMAGE_PTX, code);
}

neo_status neo_emit_device(neo_compilation *c) {
  if (!c->target.sm)
    return NEO_OK;
  neo_status s = neo_emit_stage(c);
  if (s)
    return s;
  const char *name = c->target.emulated ? "kernels.o" : NULL;
  const char *code =
      name ? neo_path_join(&c->arena, c->staging, name) : neo_emit_staged(c, "", ".ptx");
  return make(c, code, neo_path_join(&c->arena, c->staging, "kernels.image"));
}
