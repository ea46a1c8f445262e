/* Parameters and states from files of other programs: found by name or table, turned, converted;
 * a load that fails changes nothing. */
#include "runtime/context.h"
#include "tests/fault.h"
#include "tests/runtime/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static int set_up(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/neo-weights-XXXXXX");
  int fd = mkstemp(path);
  return fd < 0 || close(fd);
}

static int tear_down(void **state) {
  (void)state;
  return unlink(path);
}

/* A file with this header and these bytes; the length of the header need not be a multiple of 8. */
static void write_tensors(const char *header, const void *data, size_t n) {
  size_t h = strlen(header);
  unsigned char *p = malloc(8 + h + n);
  for (int i = 0; i < 8; i++)
    p[i] = (unsigned char)((uint64_t)h >> (8 * i));
  memcpy(p + 8, header, h);
  memcpy(p + 8 + h, data, n);
  assert_int_equal(neo_file_write(&neo_io_default, path, p, 8 + h + n), NEO_OK);
  free(p);
}

/* w: W transposed, [10, 4]; n: i64. */
static const char transposed[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"n\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[0,2]},"
    "\"net.0.w\":{\"dtype\":\"F64\",\"shape\":[10,4],\"data_offsets\":[2,322]},"
    "\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[322,322]}} ";

static void write_transposed(int16_t n) {
  char data[322];
  memcpy(data, &n, 2);
  for (int i = 0; i < 40; i++)
    memcpy(data + 2 + 8 * i, &(double){i + 0.1}, 8);
  write_tensors(transposed, data, sizeof data);
}

static void a_table_renames_turns_and_converts(void **state) {
  (void)state;
  neo_rt_ctx *c = toy_create(1, 3);
  neo_rt_weights o = {.struct_size = sizeof o,
                      .only = "W, pick",
                      .rename = "# theirs = ours\nnet.*.w = W transpose # turned\n\nn=pick"};
  float w[40];
  int32_t pick;
  write_transposed(7);
  toy_train(c, 0, 3);
  assert_int_equal(neo_rt_load_weights(c, path, &o), NEO_OK);
  assert_int_equal(neo_rt_get(c, W, w, sizeof w), NEO_OK);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 10; j++)
      assert_true(w[10 * i + j] == (float)(4 * j + i + 0.1));
  assert_int_equal(neo_rt_get(c, PICK, &pick, sizeof pick), NEO_OK);
  assert_int_equal(pick, 7);
  assert_int_equal(neo_rt_step_count(c), 3);
  assert_string_equal(neo_rt_loaded(c, "format"), "pt");
  neo_rt_destroy(c);
}

static void refused(const char *only, const char *rename, int want, const char *why) {
  neo_rt_ctx *c = toy_create(1, 3);
  neo_rt_weights o = {.only = only, .rename = rename};
  char full[512];
  uint64_t before = toy_digest(c);
  snprintf(full, sizeof full, "%s: %s", path, why);
  int got = neo_rt_load_weights(c, path, &o);
  assert_string_equal(neo_rt_error(c), full);
  assert_int_equal(got, want);
  assert_int_equal(toy_digest(c), before);
  neo_rt_destroy(c);
}

static void what_does_not_fit_is_refused_before_anything_changes(void **state) {
  (void)state;
  write_transposed(10);
  refused(NULL, NULL, NEO_NAME,
          "W, m, pick: are missing from the file; in the file only: n, net.0.w, none");
  refused("Q*", NULL, NEO_NAME, "no parameter or state of the model is 'Q*'");
  refused(
      "W", "net.0.w = W", NEO_SHAPE,
      "net.0.w: shape is [10, 4], but W expects [4, 10] (toy.expr:8:7); a line of a table transposes "
      "it: net.0.w = W transpose");
  refused(
      "W", "net.0.w = W permute 0,1", NEO_SHAPE,
      "net.0.w: shape is [10, 4] before it is transposed, but W expects [4, 10] (toy.expr:8:7); a "
      "line of a table transposes it: net.0.w = W transpose");
  refused(
      "W", "net.0.w = W\nnet.1.w = W", NEO_SHAPE,
      "net.0.w: shape is [10, 4], but W expects [4, 10] (toy.expr:8:7); a line of a table transposes "
      "it: net.0.w = W transpose");
  refused("W", "net.0.w = W transpose\nnet.1.w = W", NEO_NAME,
          "line 2 of the table: the file has no tensor 'net.1.w'");
  refused("W", "net.0.w = V", NEO_NAME,
          "line 1 of the table: the model has no parameter or state 'V'");
  refused("W", "net.0.w W", NEO_FORMAT,
          "line 1 of the table is not THEIRS = OURS, perhaps with `transpose` or `permute 1,0` "
          "after it: 'net.0.w W'");
  refused("pick", "n = pick", NEO_RANGE, "pick: value 10 is not in [0, 10) (toy.expr:10:7)");
  refused("W", "n = W", NEO_SHAPE, "n: shape is [], but W expects [4, 10] (toy.expr:8:7)");
}

static void parts_of_a_tensor_come_from_many(void **state) {
  (void)state;
  neo_rt_ctx *c = toy_create(1, 3);
  static const char header[] =
      "{\"l.1.b\":{\"dtype\":\"BF16\",\"shape\":[10],\"data_offsets\":[0,20]},"
      "\"l.0.b\":{\"dtype\":\"F16\",\"shape\":[10],\"data_offsets\":[20,40]},"
      "\"l.3.b\":{\"dtype\":\"F16\",\"shape\":[10],\"data_offsets\":[40,60]},"
      "\"l.2.b\":{\"dtype\":\"F32\",\"shape\":[10],\"data_offsets\":[60,100]}}";
  uint16_t data[50] = {0};
  float w[40];
  data[0] = 0x3fc0;  /* 1.5 */
  data[10] = 0x3800; /* 0.5 */
  data[29] = 0xc000; /* -2 */
  memcpy(&data[30], &(float){3.25f}, 4);
  write_tensors(header, data, sizeof data);
  neo_rt_weights o = {.only = "W", .rename = "l.*.b = W[ * ]"};
  assert_int_equal(neo_rt_load_weights(c, path, &o), NEO_OK);
  assert_int_equal(neo_rt_get(c, W, w, sizeof w), NEO_OK);
  assert_true(w[10] == 1.5f && w[0] == 0.5f && w[39] == -2 && w[20] == 3.25f && w[1] == 0);
  refused("W", "l.0.b = W[0]", NEO_NAME,
          "W (in part): is missing from the file; in the file only: l.1.b, l.3.b, l.2.b");
  refused("W", "l.0.b = W[1]\nl.1.b = W[1]", NEO_NAME, "l.1.b and l.0.b of the file are both W");
  refused("W", "l.0.b = W[1 1]", NEO_NAME, "line 1 of the table: W has no part [1 1]");
  refused("W", "l.0.b = W[]", NEO_NAME, "line 1 of the table: W has no part []");
  refused("W", "l.0.b = W[4]", NEO_NAME, "line 1 of the table: W has no part [4]");
  neo_rt_destroy(c);
}

static void every_failed_allocation_is_out_of_memory(void **state) {
  (void)state;
  neo_alloc_fault memory = {0};
  neo_rti_env env = {neo_alloc_with_fault(&memory), neo_io_default};
  neo_rt_config config = {.threads = 1};
  neo_rt_weights o = {.only = "W", .rename = "net.0.w = W transpose"};
  neo_rt_ctx *c;
  neo_rt_status s = NEO_MEMORY;
  assert_int_equal(neo_rti_create(&toy_model, &config, &env, &c), NEO_OK);
  write_transposed(7);
  for (uint64_t at = 1; s == NEO_MEMORY; at++) {
    uint64_t before = toy_digest(c);
    memory = (neo_alloc_fault){.fail_at = at};
    s = neo_rt_load_weights(c, path, &o);
    memory = (neo_alloc_fault){0};
    assert_true(s == NEO_OK || (s == NEO_MEMORY && strstr(neo_rt_error(c), "out of memory")));
    assert_true(s == NEO_OK || toy_digest(c) == before);
    assert_true(at < 100);
  }
  neo_rt_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_renames_turns_and_converts),
      cmocka_unit_test(what_does_not_fit_is_refused_before_anything_changes),
      cmocka_unit_test(parts_of_a_tensor_come_from_many),
      cmocka_unit_test(every_failed_allocation_is_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
