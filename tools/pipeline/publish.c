/* The files of a compilation appear together or not at all.
 *
 * All are made in one temporary folder inside of the output folder, under their final names. When
 * the last one is complete, they are moved; nothing else happens between the first and the last
 * change that a user can see. A move that fails restores the state before; only a kill between two
 * moves leaves a mixture, and `create` refuses a header beside another library (neo_rt_create_for).
 *
 * The order is for such a kill, and for make: the target of a rule, the library, comes last, and
 * the depfile first. So a target that is up to date has its header, and its list of sources, beside
 * it. */
#include "base/file.h"
#include "base/temp.h"
#include "tools/pipeline/emit.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPFILE_LIMIT_BYTES = 64 << 20 };

typedef struct {
  const char *from, *to, *old; /* old: temporary name of the earlier file */
  bool kept, moved;            /* the earlier file was kept; `to` is the new file */
} output;

typedef struct {
  neo_compilation *c;
  NEO_VEC(output) outputs;
  bool has_depfile; /* it was written; `before` has its former contents, null: it did not exist */
  char *before;
  size_t before_bytes;
} publisher;

static neo_status fail(neo_compilation *c, const char *path) {
  int why = errno;
  c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(why));
  return neo_status_of_errno(why);
}

/* ---- one file */

/* Keeps the earlier file under a second name, by a link; on a file system without links it is
 * moved. */
static neo_status keep(neo_compilation *c, output *o) {
  struct stat st;
  if (lstat(o->to, &st) != 0)
    return errno == ENOENT ? NEO_OK : fail(c, o->to);
  if (S_ISDIR(st.st_mode)) {
    errno = EISDIR;
    return fail(c, o->to);
  }
  if (S_ISREG(st.st_mode)) /* the user may have changed its permissions */
    (void)chmod(o->from, st.st_mode & 0777);
  o->kept = link(o->to, o->old) == 0 || rename(o->to, o->old) == 0;
  return o->kept ? NEO_OK : fail(c, o->to);
}

static neo_status move(neo_compilation *c, output *o) {
  o->moved = rename(o->from, o->to) == 0;
  return o->moved ? NEO_OK : fail(c, o->to);
}

static void restore(const output *o) {
  if (o->kept)
    (void)rename(o->old, o->to); /* no effect if both names are of one file */
  else if (o->moved)
    unlink(o->to);
}

/* ---- the depfile, which may be in any folder */

static bool is_regular(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- The depfile: the outputs and their sources, as a rule of make. */

/* Paths as make reads them: a space or '#' has a backslash before it, '$' is doubled. */
static void add_escaped(neo_str *s, const char *path) {
  for (; *path; path++) {
    if (*path == ' ' || *path == '#' || *path == '$')
      neo_str_addc(s, *path == '$' ? '$' : '\\');
    neo_str_addc(s, *path);
  }
}

/* Whether a source is a file: not a text that was passed to the compiler. Source 0 is the model. */
static bool is_file(const neo_compilation *c, uint32_t source) {
  size_t n;
  const char *text = neo_sources_text(c->sources, source, &n);
  if (source == 0)
    return !c->options.text;
  for (int k = 0; k < c->options.n_modules; k++)
    if (c->options.modules[k].text == text)
      return false;
  return true;
}

/* The text of the depfile; in the compilation's arena. */
static void emit_depfile(neo_compilation *c, neo_str *out) {
  neo_str_init(out, &c->arena);
  for (size_t k = 0; k < neo_emit_n_kinds; k++) {
    const neo_emit_kind *kind = &neo_emit_kinds[k];
    if (!(c->options.emit & kind->bit))
      continue;
    neo_str_add(out, out->n ? " " : "");
    add_escaped(out, neo_emit_path(c, kind->before, kind->after));
  }
  neo_str_addc(out, ':');
  for (uint32_t k = 0; k < neo_sources_count(c->sources); k++) {
    neo_str_add(out, is_file(c, k) ? " " : "");
    add_escaped(out, is_file(c, k) ? neo_sources_name(c->sources, k) : "");
  }
  for (size_t k = 0; k < c->records.files.n; k++) {
    neo_str_addc(out, ' ');
    add_escaped(out, c->records.files.at[k].path);
  }
  neo_str_addc(out, '\n');
}

/* ---- a depfile that would replace one of the files that it names */

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the paths are those of one file, or will be. */
static bool is_one_file(neo_arena *a, const char *x, const char *y) {
  struct stat of_x, of_y;
  bool has_x = stat(x, &of_x) == 0, has_y = stat(y, &of_y) == 0;
  if (has_x && has_y)
    return is_same(&of_x, &of_y) && S_ISREG(of_x.st_mode);
  return !has_x && !has_y && neo_streq(neo_path_name(x), neo_path_name(y)) &&
         stat(neo_path_folder(a, x), &of_x) == 0 && stat(neo_path_folder(a, y), &of_y) == 0 &&
         is_same(&of_x, &of_y);
}

/* The source, record or result that the depfile would be written over; null: there is none. */
static const char *emit_depfile_replaces(neo_compilation *c) {
  neo_arena *a = &c->arena;
  const char *path = c->options.depfile;
  for (uint32_t k = 0; path && k < neo_sources_count(c->sources); k++)
    if (is_file(c, k) && is_one_file(a, path, neo_sources_name(c->sources, k)))
      return neo_sources_name(c->sources, k);
  for (size_t k = 0; path && k < c->records.files.n; k++)
    if (is_one_file(a, path, c->records.files.at[k].path))
      return c->records.files.at[k].path;
  for (size_t k = 0; path && k < neo_emit_n_kinds; k++) {
    const neo_emit_kind *kind = &neo_emit_kinds[k];
    const char *to = neo_emit_path(c, kind->before, kind->after);
    if (c->options.emit & kind->bit && is_one_file(a, path, to))
      return to;
  }
  return NULL;
}

static neo_status write_depfile(publisher *p) {
  neo_compilation *c = p->c;
  const char *path = c->options.depfile;
  neo_str text;
  if (!path)
    return NEO_OK;
  const char *lost = emit_depfile_replaces(c);
  if (lost) {
    c->why = neo_arena_printf(&c->arena, "--depfile=%s would replace %s", path, lost);
    return NEO_ARGUMENT;
  }
  emit_depfile(c, &text);
  if (is_regular(path) && neo_file_read(&neo_io_default, &c->arena, path, DEPFILE_LIMIT_BYTES,
                                        &p->before, &p->before_bytes))
    return fail(c, path);
  if (neo_file_write(&neo_io_default, path, neo_str_text(&text), text.n))
    return fail(c, path);
  p->has_depfile = true;
  return NEO_OK;
}

static void restore_depfile(const publisher *p) {
  const char *path = p->c->options.depfile;
  if (!p->has_depfile || !is_regular(path))
    return;
  if (!p->before)
    unlink(path);
  else if (neo_file_write(&neo_io_default, path, p->before, p->before_bytes))
    unlink(path); /* without a depfile, make builds again */
}

/* ---- all */

static void find_outputs(publisher *p) {
  neo_compilation *c = p->c;
  for (size_t k = neo_emit_n_kinds; k-- > 0;) {
    const neo_emit_kind *kind = &neo_emit_kinds[k];
    const char *from = neo_emit_staged(c, kind->before, kind->after);
    if (!(c->options.emit & kind->bit) || !neo_path_exists(from))
      continue; /* emulated GPUs have no PTX */
    output o = {.from = from, .to = neo_emit_path(c, kind->before, kind->after)};
    o.old = neo_arena_printf(&c->arena, "%s/old.%zu", c->staging, k);
    NEO_PUSH(&c->arena, &p->outputs, o);
  }
}

static neo_status move_all(publisher *p) {
  neo_status s = NEO_OK;
  for (size_t k = 0; !s && k < p->outputs.n; k++)
    s = keep(p->c, &p->outputs.at[k]);
  for (size_t k = 0; !s && k < p->outputs.n; k++)
    s = move(p->c, &p->outputs.at[k]);
  return s;
}

neo_status neo_emit_publish(neo_compilation *c) {
  publisher p = {.c = c};
  find_outputs(&p);
  neo_status s = write_depfile(&p);
  if (!s)
    s = move_all(&p);
  if (!s)
    return NEO_OK;
  for (size_t k = 0; k < p.outputs.n; k++)
    restore(&p.outputs.at[k]);
  restore_depfile(&p);
  return s;
}

/* ---- the folder */

neo_status neo_emit_stage(neo_compilation *c) {
  const char *folder;
  if (c->staging)
    return NEO_OK;
  if (neo_temp_folder(&c->arena, c->options.in_memory ? NULL : neo_emit_folder(c), &folder))
    return fail(c, c->options.in_memory ? folder : neo_emit_folder(c));
  c->staging = folder;
  return NEO_OK;
}

const char *neo_emit_staged(neo_compilation *c, const char *before, const char *after) {
  const char *name = neo_arena_printf(&c->arena, "%s%s%s", before, c->prefix, after);
  return neo_path_join(&c->arena, c->staging, name);
}

void neo_emit_discard(neo_compilation *c) {
  if (c->staging)
    neo_temp_remove(c->staging);
  c->staging = NULL;
}
