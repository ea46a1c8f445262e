/* Saving and loading: resuming bit by bit, failing without a trace. */
#define _GNU_SOURCE 1 /* memmem, memrchr */
#include "runtime/context.h"
#include "tests/fault.h"
#include "tests/runtime/toy.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
  char folder[64], path[96];
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  snprintf(f->folder, sizeof f->folder, "/tmp/neo-checkpoint-XXXXXX");
  if (!mkdtemp(f->folder))
    return -1;
  snprintf(f->path, sizeof f->path, "%s/w.safetensors", f->folder);
  *state = f;
  return 0;
}

static int count_files(const char *folder, bool remove_them) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    char path[512];
    if (e->d_name[0] == '.' && (e->d_name[1] == 0 || e->d_name[1] == '.'))
      continue;
    n++;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (remove_them)
      unlink(path);
  }
  closedir(d);
  return n;
}

static int tear_down(void **state) {
  fixture *f = *state;
  count_files(f->folder, true);
  rmdir(f->folder);
  free(f);
  return 0;
}

static unsigned char *read_file(const char *path, size_t *n) {
  unsigned char *p;
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  assert_int_equal(neo_rti_file_read(&env, path, &p, n), NEO_OK);
  return p;
}

static void write_file(const char *path, const void *p, size_t n) {
  assert_int_equal(neo_file_write(&neo_io_default, path, p, n), NEO_OK);
}

static void interrupted_and_resumed_training_is_bitwise_equal(void **state) {
  fixture *f = *state;
  neo_rt_ctx *whole = toy_create(1, 21), *first = toy_create(2, 21), *second = toy_create(3, 99);
  const neo_rt_pair extra[] = {{"data_position", "17"}, {"note", "a \"quoted\"\n\\ caf\xc3\xa9"}};
  toy_train(whole, 0, 25);
  neo_rt_set_scalar(whole, "lr", 0.125);
  toy_train(whole, 25, 5);
  toy_train(first, 0, 25);
  neo_rt_set_scalar(first, "lr", 0.125);
  assert_int_equal(neo_rt_save(first, f->path, extra, 2), NEO_OK);
  toy_train(second, 0, 3);
  assert_int_equal(neo_rt_load(second, f->path), NEO_OK);
  assert_int_equal(neo_rt_step_count(second), 25);
  assert_string_equal(neo_rt_loaded(second, "data_position"), "17");
  assert_string_equal(neo_rt_loaded(second, "note"), extra[1].value);
  assert_string_equal(neo_rt_loaded(second, "seed"), "21");
  assert_null(neo_rt_loaded(second, "nothing"));
  toy_train(second, 25, 5);
  assert_int_equal(toy_digest(second), toy_digest(whole));
  neo_rt_destroy(whole);
  neo_rt_destroy(first);
  neo_rt_destroy(second);
}

static void the_same_state_gives_the_same_file(void **state) {
  fixture *f = *state;
  neo_rt_ctx *a = toy_create(1, 4), *b = toy_create(2, 4);
  char other[128];
  snprintf(other, sizeof other, "%s/other", f->folder);
  toy_train(a, 0, 5);
  toy_train(b, 0, 5);
  assert_int_equal(neo_rt_save(a, f->path, NULL, 0), NEO_OK);
  assert_int_equal(neo_rt_save(b, other, NULL, 0), NEO_OK);
  size_t n, m;
  unsigned char *p = read_file(f->path, &n), *q = read_file(other, &m);
  assert_int_equal(n, m);
  assert_memory_equal(p, q, n);
  free(p);
  free(q);
  neo_rt_destroy(a);
  neo_rt_destroy(b);
}

typedef struct {
  neo_rt_ctx *ctx;
  const char *path;
  neo_rt_status status;
} saving;

static void *save_in_thread(void *p) {
  saving *s = p;
  s->status = neo_rt_save(s->ctx, s->path, NULL, 0);
  return NULL;
}

static void saving_needs_little_stack(void **state) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
  (void)state;
  skip();
#else
  fixture *f = *state;
  saving s = {toy_create(1, 4), f->path, NEO_INTERNAL};
  pthread_t thread;
  pthread_attr_t small;
  pthread_attr_init(&small);
  assert_int_equal(pthread_attr_setstacksize(&small, 32 << 10), 0);
  assert_int_equal(pthread_create(&thread, &small, save_in_thread, &s), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
  assert_int_equal(s.status, NEO_OK);
  assert_int_equal(neo_rt_load(s.ctx, f->path), NEO_OK);
  neo_rt_destroy(s.ctx);
#endif
}

/* Replaces text in the header by text of the same length, and tries to load. */
static void expect_load(fixture *f, const char *from, const char *to, neo_rt_status want,
                        const char *message) {
  neo_rt_ctx *ctx = toy_create(1, 4);
  char path[128], full[512];
  size_t n, length = strlen(from);
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  unsigned char *p = read_file(f->path, &n);
  char *at = memmem(p, n, from, length);
  assert_non_null(at);
  assert_int_equal(length, strlen(to));
  memcpy(at, to, length);
  snprintf(path, sizeof path, "%s/changed", f->folder);
  snprintf(full, sizeof full, "%s: %s", path, message);
  write_file(path, p, n);
  uint64_t before = toy_digest(ctx);
  neo_rt_status got = neo_rt_load(ctx, path);
  assert_string_equal(neo_rt_error(ctx), full);
  assert_int_equal(got, want);
  assert_int_equal(toy_digest(ctx), before);
  free(p);
  neo_rt_destroy(ctx);
}

static void a_file_that_does_not_fit_the_model_names_the_tensor(void **state) {
  fixture *f = *state;
  expect_load(f, "\"m\":", "\"q\":", NEO_NAME, "m: is missing from the file (toy.expr:9:7)");
  expect_load(f, "\"shape\":[4,10]", "\"shape\":[8,05]", NEO_FORMAT,
              "bad safetensors header: a number starts with 0");
  expect_load(f, "[4,10]", "[10,4]", NEO_SHAPE, "W: dim 0 is 10, expected 4 (toy.expr:8:7)");
  expect_load(f, "[4,10]", "[ 40 ]", NEO_SHAPE, "W: rank is 1, expected 2 (toy.expr:8:7)");
  expect_load(f, "\"W\":{\"dtype\":\"F32\"", "\"W\":{\"dtype\":\"I32\"", NEO_TYPE,
              "W: type is i32, expected f32 (toy.expr:8:7)");
  expect_load(f, "\"W\":{\"dtype\":\"F32\"", "\"W\":{\"dtype\":\"U32\"", NEO_TYPE,
              "W: type is u32, expected f32 (toy.expr:8:7)");
  expect_load(f, "\"W\":{\"dtype\":\"F32\"", "\"W\":{\"dtype\":\"C64\"", NEO_TYPE,
              "W: type 'C64' is not supported");
  expect_load(f, "\"step\":\"0\"", "\"step\":\"x\"", NEO_FORMAT, "metadata 'step' is not a number");
}

static void put_number(unsigned char *p, uint64_t x) {
  for (int i = 0; i < 8; i++)
    p[i] = (unsigned char)(x >> (8 * i));
}

static void a_tensor_that_the_model_lacks_is_named(void **state) {
  fixture *f = *state;
  neo_rt_ctx *ctx = toy_create(1, 4);
  size_t n;
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  unsigned char *p = read_file(f->path, &n), *q = calloc(1, n + 200);
  size_t head = (size_t)p[0] | (size_t)p[1] << 8;
  const char *more = ",\"extra.W\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
  char *close = memrchr(p + 8, '}', head);
  size_t before = (size_t)(close - (char *)p);
  memcpy(q, p, before);
  memcpy(q + before, more, strlen(more));
  size_t new_head = before + strlen(more) - 8;
  put_number(q, new_head);
  memcpy(q + 8 + new_head, p + 8 + head, n - 8 - head);
  write_file(f->path, q, 8 + new_head + n - 8 - head);
  assert_int_equal(neo_rt_load(ctx, f->path), NEO_NAME);
  assert_non_null(strstr(neo_rt_error(ctx), ": extra.W: the model has no such parameter or state"));
  free(p);
  free(q);
  neo_rt_destroy(ctx);
}

static void an_index_state_outside_its_bound_is_not_loaded(void **state) {
  fixture *f = *state;
  neo_rt_ctx *ctx = toy_create(1, 4);
  size_t n;
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  unsigned char *p = read_file(f->path, &n);
  p[n - 4] = 200; /* pick is the last of the 4-byte tensors */
  write_file(f->path, p, n);
  uint64_t before = toy_digest(ctx);
  assert_int_equal(neo_rt_load(ctx, f->path), NEO_RANGE);
  assert_string_equal(neo_rt_error(ctx), "pick: value 200 is not in [0, 10) (toy.expr:10:7)");
  assert_int_equal(toy_digest(ctx), before);
  free(p);
  neo_rt_destroy(ctx);
}

static void a_file_cut_anywhere_is_refused_without_change(void **state) {
  fixture *f = *state;
  neo_rt_ctx *ctx = toy_create(1, 4);
  size_t n;
  toy_train(ctx, 0, 3);
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  toy_train(ctx, 3, 1);
  unsigned char *p = read_file(f->path, &n);
  uint64_t before = toy_digest(ctx);
  for (size_t cut = 0; cut < n; cut++) {
    FILE *out = fopen(f->path, "wb");
    assert_int_equal(fwrite(p, 1, cut, out), cut);
    fclose(out);
    assert_int_equal(neo_rt_load(ctx, f->path), NEO_FORMAT);
    assert_int_equal(toy_digest(ctx), before);
  }
  free(p);
  neo_rt_destroy(ctx);
}

/* A changed byte of the header is refused, or leaves a file that is as valid (a digit of the step,
 * a letter of the model's name); never half a load. Data bytes are the user's numbers. */
static void a_header_with_any_byte_changed_loads_whole_or_not_at_all(void **state) {
  fixture *f = *state;
  neo_rt_ctx *ctx = toy_create(1, 4), *saved = toy_create(1, 4);
  size_t n;
  toy_train(saved, 0, 3);
  assert_int_equal(neo_rt_save(saved, f->path, NULL, 0), NEO_OK);
  unsigned char *p = read_file(f->path, &n);
  size_t head = (size_t)p[0] | (size_t)p[1] << 8, refused = 0;
  float w[40], loaded[40], untouched[40];
  assert_int_equal(neo_rt_get(saved, W, w, sizeof w), NEO_OK);
  for (size_t at = 0; at < 8 + head; at++) {
    unsigned char old = p[at];
    p[at] = (unsigned char)(old ^ (1 << at % 7));
    FILE *out = fopen(f->path, "wb");
    assert_int_equal(fwrite(p, 1, n, out), n);
    fclose(out);
    assert_int_equal(neo_rt_reset(ctx, 4), NEO_OK);
    assert_int_equal(neo_rt_get(ctx, W, untouched, sizeof w), NEO_OK);
    bool ok = neo_rt_load(ctx, f->path) == NEO_OK;
    assert_int_equal(neo_rt_get(ctx, W, loaded, sizeof w), NEO_OK);
    assert_memory_equal(loaded, ok ? w : untouched, sizeof w);
    refused += !ok;
    p[at] = old;
  }
  assert_true(refused > head * 3 / 4);
  free(p);
  neo_rt_destroy(ctx);
  neo_rt_destroy(saved);
}

static neo_rt_ctx *faulty(neo_io_fault *io, neo_alloc_fault *memory) {
  neo_rti_env env = {neo_alloc_with_fault(memory), neo_io_with_fault(io)};
  neo_rt_config config = {.threads = 1, .seed = 8};
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rti_create(&toy_model, &config, &env, &ctx), NEO_OK);
  return ctx;
}

static void a_failing_save_keeps_the_old_file_and_leaves_no_other(void **state) {
  fixture *f = *state;
  neo_io_fault io = {0};
  neo_alloc_fault memory = {0};
  neo_rt_ctx *ctx = faulty(&io, &memory);
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  size_t n, m, failures = 0;
  unsigned char *old = read_file(f->path, &n);
  toy_train(ctx, 0, 2);
  for (size_t at = 1;; at++) {
    io = (neo_io_fault){.fail_at = at, .forever = 0};
    neo_rt_status status = neo_rt_save(ctx, f->path, NULL, 0);
    if (status == NEO_OK)
      break;
    failures++;
    assert_int_equal(status, NEO_IO);
    assert_non_null(strstr(neo_rt_error(ctx), f->path));
    assert_int_equal(count_files(f->folder, false), 1);
    unsigned char *p = read_file(f->path, &m);
    bool renamed = m != n || memcmp(p, old, n) != 0; /* only the fsync of the folder came after */
    assert_true(!renamed || at > 4);
    free(p);
    if (renamed)
      write_file(f->path, old, n);
  }
  assert_true(failures >= 4);
  free(old);
  neo_rt_destroy(ctx);
}

static void failing_reads_and_allocations_change_nothing(void **state) {
  fixture *f = *state;
  neo_io_fault io = {0};
  neo_alloc_fault memory = {0};
  neo_rt_ctx *ctx = faulty(&io, &memory);
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_OK);
  for (int kind = 0; kind < 2; kind++) {
    toy_train(ctx, 0, 2);
    uint64_t before = toy_digest(ctx);
    for (size_t at = 1;; at++) {
      io = (neo_io_fault){.fail_at = kind ? 0 : at};
      memory = (neo_alloc_fault){.fail_at = kind ? at : 0};
      neo_rt_status status = neo_rt_load(ctx, f->path);
      if (status == NEO_OK)
        break;
      assert_int_equal(status, kind ? NEO_MEMORY : NEO_IO);
      assert_int_equal(toy_digest(ctx), before);
      assert_true(at < 50);
    }
  }
  memory = (neo_alloc_fault){.fail_at = 1};
  assert_int_equal(neo_rt_save(ctx, f->path, NULL, 0), NEO_MEMORY);
  neo_rt_destroy(ctx);
}

static void bad_metadata_is_refused(void **state) {
  fixture *f = *state;
  neo_rt_ctx *ctx = toy_create(1, 4);
  const neo_rt_pair step = {"step", "1"}, null = {"a", NULL}, broken = {"a", "\xff"};
  const neo_rt_pair twice[] = {{"a", "1"}, {"a", "2"}};
  assert_int_equal(neo_rt_save(ctx, f->path, &step, 1), NEO_ARGUMENT);
  assert_int_equal(neo_rt_save(ctx, f->path, &null, 1), NEO_NULL);
  assert_int_equal(neo_rt_save(ctx, f->path, &broken, 1), NEO_ARGUMENT);
  assert_int_equal(neo_rt_save(ctx, f->path, twice, 2), NEO_ARGUMENT);
  assert_int_equal(neo_rt_save(ctx, NULL, NULL, 0), NEO_NULL);
  assert_int_equal(neo_rt_load(ctx, NULL), NEO_NULL);
  assert_int_equal(count_files(f->folder, false), 0);
  assert_int_equal(neo_rt_load(ctx, f->path), NEO_IO);
  assert_non_null(strstr(neo_rt_error(ctx), "No such file"));
  neo_rt_destroy(ctx);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      T(interrupted_and_resumed_training_is_bitwise_equal),
      T(the_same_state_gives_the_same_file),
      T(saving_needs_little_stack),
      T(a_file_that_does_not_fit_the_model_names_the_tensor),
      T(a_tensor_that_the_model_lacks_is_named),
      T(an_index_state_outside_its_bound_is_not_loaded),
      T(a_file_cut_anywhere_is_refused_without_change),
      T(a_header_with_any_byte_changed_loads_whole_or_not_at_all),
      T(a_failing_save_keeps_the_old_file_and_leaves_no_other),
      T(failing_reads_and_allocations_change_nothing),
      T(bad_metadata_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
