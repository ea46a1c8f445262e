/* load_file.c: shared by all loads: reads a file of tensors, and takes over its metadata. */
#include "runtime/core/call_cache.h"
#include "runtime/core/load.h"
#include <errno.h>
#include <string.h>

static const char *meta_value(const neo_rt_pair *meta, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(meta[i].key, key) == 0)
      return meta[i].value;
  return NULL;
}

/* Reads a decimal number of the metadata; *out stays where it is absent (files of others). */
static neo_rt_status read_u64(neo_rt_ctx *c, const char *path, const neo_rti_file_tensors *st,
                              const char *key, uint64_t *out) {
  const char *p = meta_value(st->meta, st->n_meta, key);
  uint64_t x = 0;
  if (!p)
    return NEO_OK;
  bool ok = *p != 0;
  for (; ok && *p; p++)
    ok = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(x, 10, &x) &&
         !__builtin_add_overflow(x, (uint64_t)(*p - '0'), &x);
  if (!ok)
    return neo_rti_fail(c, NEO_FORMAT, "%s: metadata '%s' is not a number", path, key);
  *out = x;
  return NEO_OK;
}

/* Copies the metadata to one block that outlives the file: the pairs, then their text. */
static neo_rt_pair *copy_meta(const neo_rt_ctx *c, const neo_rti_file_tensors *st) {
  size_t n = st->n_meta * sizeof(neo_rt_pair) + 1;
  for (size_t i = 0; i < st->n_meta; i++)
    n += strlen(st->meta[i].key) + strlen(st->meta[i].value) + 2;
  neo_rt_pair *copy = c->env.alloc.resize(c->env.alloc.ctx, NULL, n);
  if (!copy)
    return NULL;
  char *text = (char *)(copy + st->n_meta);
  for (size_t i = 0; i < st->n_meta; i++) {
    size_t key = strlen(st->meta[i].key) + 1, value = strlen(st->meta[i].value) + 1;
    copy[i].key = memcpy(text, st->meta[i].key, key);
    copy[i].value = memcpy(text + key, st->meta[i].value, value);
    text += key + value;
  }
  return copy;
}

static neo_rt_status read_file(neo_rt_ctx *c, const char *path, unsigned char **p, size_t *n) {
  errno = 0;
  neo_rt_status status = neo_rti_file_read(&c->env, path, p, n);
  if (status == NEO_MEMORY)
    return neo_rti_fail(c, status, "%s: out of memory", path);
  if (status)
    return neo_rti_fail(c, status, "%s: cannot be read: %s", path,
                        errno ? strerror(errno) : "input/output error");
  return NEO_OK;
}

static neo_rt_status parse(neo_rt_ctx *c, const char *path, neo_rti_loading *l, size_t n) {
  char what[512] = "";
  neo_rti_source s = {&c->env.alloc, l->bytes, n, NULL, what, sizeof what};
  neo_rt_status status = neo_rti_tensors_read(&s, &l->file);
  return status ? neo_rti_fail(c, status, "%s: %s", path, what) : NEO_OK;
}

static neo_rt_status take_meta(neo_rt_ctx *c, const char *path, bool with_step,
                               neo_rti_loading *l) {
  neo_rt_status status = with_step ? read_u64(c, path, &l->file, "seed", &l->seed) : NEO_OK;
  if (!status && with_step)
    status = read_u64(c, path, &l->file, "step", &l->step);
  if (!status && with_step)
    status = read_u64(c, path, &l->file, "calls", &l->calls);
  if (status)
    return status;
  l->meta = copy_meta(c, &l->file);
  return l->meta ? NEO_OK : neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
}

static void end(neo_rt_ctx *c, neo_rti_loading *l) {
  neo_rti_file_tensors_free(&l->file);
  NEO_RTI_FREE(&c->env.alloc, l->bytes);
}

neo_rt_status neo_rti_loading_open(neo_rt_ctx *c, const char *path, bool with_step,
                                   neo_rti_loading *l) {
  size_t n;
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  if (!path)
    return neo_rti_fail(c, NEO_NULL, "the path is null");
  *l = (neo_rti_loading){.seed = c->seed, .step = c->step, .calls = c->calls};
  status = read_file(c, path, &l->bytes, &n);
  if (status)
    return status;
  status = parse(c, path, l, n);
  if (!status)
    status = take_meta(c, path, with_step, l);
  if (status)
    end(c, l);
  return status;
}

neo_rt_status neo_rti_loading_close(neo_rt_ctx *c, neo_rti_loading *l, neo_rt_status status) {
  neo_rt_pair *unused = status ? l->meta : c->loaded;
  neo_rti_call_cache_written(c, -1);
  if (!status) {
    c->loaded = l->meta;
    c->n_loaded = l->file.n_meta;
    c->seed = l->seed;
    c->step = l->step;
    c->calls = l->calls;
  }
  if (unused)
    NEO_RTI_FREE(&c->env.alloc, unused);
  end(c, l);
  return status;
}

const char *neo_rt_loaded(const neo_rt_ctx *c, const char *key) {
  return c && key ? meta_value(c->loaded, c->n_loaded, key) : NULL;
}
