/* The safetensors reader, on headers good and bad. */
#include "runtime/files.h"
#include "tests/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Parses a header with n bytes of data behind it, in memory of exactly that size. */
/* The reader of the format. */
static neo_rt_status read_all(const neo_alloc *alloc, const unsigned char *p, size_t n,
                              neo_rti_file_tensors *st, char *error, size_t error_bytes) {
  neo_rti_source s = {alloc, p, n, NULL, error, error_bytes};
  return neo_rti_format_named("safetensors")->read_tensors(&s, st);
}

static neo_rt_status parse(const char *header, size_t n_data, neo_rti_file_tensors *st,
                           char error[256], unsigned char **memory) {
  size_t head = strlen(header), n = 8 + head + n_data;
  unsigned char *p = malloc(n);
  for (int i = 0; i < 8; i++)
    p[i] = (unsigned char)((uint64_t)head >> (8 * i));
  memcpy(p + 8, header, head);
  memset(p + 8 + head, 1, n_data);
  error[0] = 0;
  *memory = p;
  return read_all(&neo_alloc_default, p, n, st, error, 256);
}

static void a_good_file_gives_tensors_and_metadata(void **state) {
  (void)state;
  neo_rti_file_tensors st;
  char error[256];
  unsigned char *p;
  const char *header = "{ \"b\" : {\"shape\":[2,3],\"dtype\":\"F16\",\"data_offsets\":[5,17]},\n"
                       "\"__metadata__\":{\"k\":\"v\\u00e9\\ud83d\\ude00\\n\"},"
                       "\"a\\/x\":{\"dtype\":\"U8\",\"data_offsets\":[0,5],\"shape\":[5]},"
                       "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[17,25]},"
                       "\"none\":{\"dtype\":\"BOOL\",\"shape\":[9999999999,0,9999999999],"
                       "\"data_offsets\":[5,5]}}   ";
  assert_int_equal(parse(header, 25, &st, error, &p), NEO_OK);
  assert_int_equal(st.n_tensors, 4);
  assert_string_equal(st.tensors[0].name, "b");
  assert_int_equal(st.tensors[0].type, NEO_RT_F16);
  assert_int_equal(st.tensors[0].rank, 2);
  assert_int_equal(st.tensors[0].extent[1], 3);
  assert_string_equal(st.tensors[1].name, "a/x");
  assert_int_equal(st.tensors[2].rank, 0);
  assert_int_equal(st.tensors[2].begin, 17);
  assert_int_equal(st.n_meta, 1);
  assert_string_equal(st.meta[0].value, "v\xc3\xa9\xf0\x9f\x98\x80\n");
  neo_rti_file_tensors_free(&st);
  free(p);
  assert_int_equal(parse("{}", 0, &st, error, &p), NEO_OK);
  assert_int_equal(st.n_tensors, 0);
  neo_rti_file_tensors_free(&st);
  free(p);
}

typedef struct {
  const char *header;
  size_t n_data;
  const char *message;
} bad_case;

#define H "bad safetensors header: "
#define X "bad safetensors file: "
static const bad_case cases[] = {
    {"", 0, H "expected '{'"},
    {" {}", 0, H "expected '{'"},
    {"[]", 0, H "expected '{'"},
    {"{} x", 0, H "text after the object"},
    {"{", 0, H "expected '\"'"},
    {"{\"a\"", 0, H "expected ':'"},
    {"{\"a", 0, H "a string is not closed"},
    {"{\"a\\", 0, H "a string is not closed"},
    {"{\"a\\q\":1}", 0, H "unknown escape"},
    {"{\"\\ud800\":1}", 0, H "half of a surrogate pair"},
    {"{\"\\udc00\":1}", 0, H "half of a surrogate pair"},
    {"{\"\\ud800\\u0041\":1}", 0, H "half of a surrogate pair"},
    {"{\"\\u00g0\":1}", 0, H "bad \\u escape"},
    {"{\"\\u0000\":1}", 0, H "NUL in a string"},
    {"{\"a\nb\":1}", 0, H "control character in a string"},
    {"{\"\xc0\x80\":1}", 0, H "text is not valid UTF-8"},
    {"{\"a\":3}", 0, H "expected '{'"},
    {"{\"a\":{}}", 0, H "expected '\"'"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0,
     X "a: dtype, shape or data_offsets is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, X "a: a key occurs twice"},
    {"{\"a\":{\"color\":\"F32\"}}", 0, X "a: unknown key"},
    {"{\"a\":{\"dtype\":\"F8\"}}", 0, "a: type 'F8' is not supported"},
    {"{\"a\":{\"shape\":[-1]}}", 0, H "expected a whole number"},
    {"{\"a\":{\"shape\":[1.5]}}", 0, H "expected ']'"},
    {"{\"a\":{\"shape\":[1,]}}", 0, H "expected a whole number"},
    {"{\"a\":{\"shape\":[9223372036854775808]}}", 0, H "a number is too large"},
    {"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}", 0, H "an array is too long"},
    {"{\"a\":{\"data_offsets\":[4]}}", 0, X "a: bad data_offsets"},
    {"{\"a\":{\"data_offsets\":[4,0]}}", 0, X "a: bad data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
     X "a: data_offsets do not match type and shape"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[9223372036854775807,9223372036854775807],"
     "\"data_offsets\":[0,8]}}",
     8, X "a: the shape is too large"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}", 8,
     X "a: data end beyond the file"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 8,
     H "data after the last tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}", 8,
     X "a: there is a hole before its data"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[3,8]}}",
     8, X "b: its data overlaps another tensor's"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
     8, X "a: the name occurs twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, H "__metadata__ occurs twice"},
    {"{\"__metadata__\":{\"k\":1}}", 0, H "expected '\"'"},
    {"{\"__metadata__\":{\"k\":\"v\",}}", 0, H "expected '\"'"},
};

static void a_bad_header_is_told_what_is_wrong(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    neo_rti_file_tensors st;
    char error[256];
    unsigned char *p;
    neo_rt_status status = parse(cases[i].header, cases[i].n_data, &st, error, &p);
    assert_string_equal(error, cases[i].message);
    assert_int_equal(status, strstr(error, "not supported") ? NEO_TYPE : NEO_FORMAT);
    assert_null(st.tensors);
    free(p);
  }
}

static void impossible_lengths_are_refused(void **state) {
  (void)state;
  neo_rti_file_tensors st;
  const unsigned char longer[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  const unsigned char huge[] = {2, 0, 0, 0, 0, 0, 0, 0x80, '{', '}'};
  for (size_t n = 0; n <= sizeof longer; n++)
    assert_int_equal(read_all(&neo_alloc_default, longer, n, &st, NULL, 0), NEO_FORMAT);
  assert_int_equal(read_all(&neo_alloc_default, huge, 10, &st, NULL, 0), NEO_FORMAT);
}

static void every_failed_allocation_is_a_status(void **state) {
  (void)state;
  const char *text = "{\"__metadata__\":{\"k\":\"v\"},"
                     "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}";
  size_t head = strlen(text), n = head + 9;
  unsigned char p[256] = {(unsigned char)head};
  memcpy(p + 8, text, head);
  for (size_t at = 1;; at++) {
    neo_alloc_fault fault = {.fail_at = at};
    neo_alloc alloc = neo_alloc_with_fault(&fault);
    neo_rti_file_tensors st;
    neo_rt_status status = read_all(&alloc, p, n, &st, NULL, 0);
    neo_rti_file_tensors_free(&st);
    if (status == NEO_OK)
      break;
    assert_int_equal(status, NEO_MEMORY);
    assert_true(at < 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_file_gives_tensors_and_metadata),
      cmocka_unit_test(a_bad_header_is_told_what_is_wrong),
      cmocka_unit_test(impossible_lengths_are_refused),
      cmocka_unit_test(every_failed_allocation_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
