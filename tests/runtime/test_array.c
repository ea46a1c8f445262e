/* Arrays from files: .npy, .npz, IDX, text; conversions. */
#include "runtime/files.h"
#include "tests/fault.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* A .npy of version 1 in `out`: the literal, padding, the data; returns its length. */
static size_t make_npy(unsigned char *out, const char *literal, const void *data, size_t n) {
  size_t head = strlen(literal) + 1;
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (unsigned char)(head & 0xff);
  out[9] = (unsigned char)(head >> 8);
  memcpy(out + 10, literal, head - 1);
  out[10 + head - 1] = '\n';
  if (n > 0)
    memcpy(out + 10 + head, data, n);
  return 10 + head + n;
}

static neo_rt_status parse_npy(const char *literal, const void *data, size_t n, neo_rt_array *out,
                               char error[256]) {
  unsigned char file[2048];
  size_t total = make_npy(file, literal, data, n);
  unsigned char *exact = malloc(total); /* so that reading past the end is noticed */
  memcpy(exact, file, total);
  error[0] = 0;
  neo_rt_status status = neo_rt_npy_parse(exact, total, out, error, 256);
  free(exact);
  return status;
}

static void npy_elements_come_native_and_row_major(void **state) {
  (void)state;
  neo_rt_array a;
  char error[256];
  const float f[6] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(
      parse_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", f, 24, &a, error),
      NEO_OK);
  assert_true(a.type == NEO_RT_F32 && a.rank == 2 && a.extent[0] == 2 && a.extent[1] == 3);
  assert_memory_equal(a.data, f, 24);
  neo_rt_array_free(&a);
  assert_int_equal(
      parse_npy("{'descr':'<f4','fortran_order':True,'shape':(2,3)}", f, 24, &a, error), NEO_OK);
  const float transposed[6] = {1, 3, 5, 2, 4, 6};
  assert_memory_equal(a.data, transposed, 24);
  neo_rt_array_free(&a);
  const unsigned char big[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
  assert_int_equal(
      parse_npy("{\"shape\": (2,), \"fortran_order\": True, \"descr\": '>f4'}", big, 8, &a, error),
      NEO_OK);
  assert_true(((float *)a.data)[0] == 1 && ((float *)a.data)[1] == -2);
  neo_rt_array_free(&a);
  const int16_t small[2] = {-5, 300};
  assert_int_equal(
      parse_npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2L,)}", small, 4, &a, error),
      NEO_OK);
  assert_true(a.type == NEO_RT_I32 && ((int32_t *)a.data)[0] == -5 &&
              ((int32_t *)a.data)[1] == 300);
  neo_rt_array_free(&a);
  const uint8_t flags[3] = {0, 1, 9};
  assert_int_equal(
      parse_npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", flags, 3, &a, error),
      NEO_OK);
  assert_true(a.type == NEO_RT_BOOL && ((uint8_t *)a.data)[2] == 1);
  neo_rt_array_free(&a);
  assert_int_equal(parse_npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}",
                             &(int64_t){-9}, 8, &a, error),
                   NEO_OK);
  assert_true(a.rank == 0 && *(int64_t *)a.data == -9);
  neo_rt_array_free(&a);
  assert_int_equal(
      parse_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0)}", "", 0, &a, error),
      NEO_OK);
  assert_int_equal(a.size_bytes, 0);
  neo_rt_array_free(&a);
}

static void bad_npy_headers_are_told_what_is_wrong(void **state) {
  (void)state;
#define ORDER "'fortran_order': False, "
  static const char *const cases[][2] = {
      {"", "bad .npy header: expected '{'"},
      {"{'descr': '<f4', " ORDER "}", "bad .npy header: a key is missing"},
      {"{'descr': '<f4', 'descr': '<f4'}", "bad .npy header: a key occurs twice"},
      {"{'color': '<f4'}", "bad .npy header: unknown key"},
      {"{'descr': '<c8', " ORDER "'shape': ()}", "element type '<c8' of .npy is not supported"},
      {"{'descr': '<u8', " ORDER "'shape': ()}", "element type '<u8' of .npy is not supported"},
      {"{'descr': [('a', '<f4')]}",
       "bad .npy header: records (structured types) are not supported"},
      {"{'descr': '<f4', 'fortran_order': 0}",
       "bad .npy header: fortran_order is neither True nor False"},
      {"{'descr': '<f4', " ORDER "'shape': (3)}", "bad .npy header: (n) is not a tuple"},
      {"{'descr': '<f4', " ORDER "'shape': (-3,)}", "bad .npy header: expected a dimension"},
      {"{'descr': '<f4', " ORDER "'shape': (99999999999999999999,)}",
       "bad .npy header: a dimension is too large"},
      {"{'descr': '<f4', " ORDER "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
       "bad .npy header: more than 16 dimensions"},
      {"{'descr': '<f4', " ORDER "'shape': (3,)} x", "bad .npy header: text after '}'"},
      {"{'descr': '<f4", "bad .npy header: a string is not closed or too long"},
      {"{'descr': '<f4', " ORDER "'shape': (3,)}",
       ".npy has 8 bytes of elements, its shape asks for 3 of 4"},
      {"{'descr': '<f4', " ORDER "'shape': (4294967296, 4294967296)}",
       ".npy has 8 bytes of elements, its shape asks for -1 of 4"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    neo_rt_array a;
    char error[256];
    neo_rt_status status = parse_npy(cases[i][0], "12345678", 8, &a, error);
    assert_string_equal(error, cases[i][1]);
    assert_true(status == NEO_FORMAT || status == NEO_TYPE);
    assert_null(a.data);
  }
}

static void folder_of(char out[64]) {
  snprintf(out, 64, "/tmp/neo-array-XXXXXX");
  assert_non_null(mkdtemp(out));
}

static void what_is_saved_as_npy_or_npz_is_loaded_again(void **state) {
  (void)state;
  char folder[64], path[96], member[128];
  folder_of(folder);
  for (uint8_t type = 0; type <= NEO_RT_BOOL; type++) {
    unsigned char data[6 * 8];
    for (size_t i = 0; i < sizeof data; i++)
      data[i] = type == NEO_RT_BOOL ? i % 2 : (unsigned char)(i * 5);
    neo_rt_array a = {type, 2, {2, 3}, data, 6 * neo_rti_type_bytes(type)}, b, c, as_f32;
    neo_rt_array scalar = {type, 0, {0}, data, neo_rti_type_bytes(type)};
    const neo_rt_named_array both[] = {{"first", &scalar}, {"second", &a}};
    snprintf(path, sizeof path, "%s/a.npy", folder);
    assert_int_equal(neo_rt_array_save_npy(path, &a), NEO_OK);
    assert_int_equal(neo_rt_array_load(path, &b, NULL, 0), NEO_OK);
    snprintf(path, sizeof path, "%s/a.npz", folder);
    snprintf(member, sizeof member, "%s:second", path);
    assert_int_equal(neo_rt_array_save_npz(path, both, 2), NEO_OK);
    assert_int_equal(neo_rt_array_load(member, &c, NULL, 0), NEO_OK);
    assert_int_equal(neo_rt_array_convert(&a, NEO_RT_F32, &as_f32), NEO_OK);
    const neo_rt_array *want = type == NEO_RT_BF16 ? &as_f32 : &a;
    assert_int_equal(b.type, want->type);
    assert_true(b.rank == 2 && b.extent[0] == 2 && b.extent[1] == 3);
    assert_memory_equal(b.data, want->data, want->size_bytes);
    assert_int_equal(c.type, want->type);
    assert_memory_equal(c.data, want->data, want->size_bytes);
    neo_rt_array_free(&b);
    neo_rt_array_free(&c);
    neo_rt_array_free(&as_f32);
    unlink(path);
    snprintf(path, sizeof path, "%s/a.npy", folder);
    unlink(path);
  }
  rmdir(folder);
}

/* ------------------------------------------------------------ zip */

static void put(unsigned char *p, uint64_t x, int n) {
  for (int i = 0; i < n; i++)
    p[i] = (unsigned char)(x >> (8 * i));
}

/* An archive with one member "w.npy", deflated, 64-bit sizes if wide; returns its length. */
static size_t make_zip(unsigned char *out, const unsigned char *npy, size_t n, bool wide) {
  unsigned char packed[2048];
  z_stream z = {0};
  deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  z.next_in = (Bytef *)(uintptr_t)npy;
  z.avail_in = (uInt)n;
  z.next_out = packed;
  z.avail_out = sizeof packed;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t m = z.total_out, at = 30 + 5;
  deflateEnd(&z);
  memset(out, 0, 4096);
  put(out, 0x04034b50, 4);
  put(out + 26, 5, 2);
  memcpy(out + 30, "w.npy", 5);
  memcpy(out + at, packed, m);
  at += m;
  size_t directory = at, extra = wide ? 20 : 0;
  unsigned char *p = out + at;
  put(p, 0x02014b50, 4);
  put(p + 10, 8, 2);
  put(p + 16, crc32(0, npy, (uInt)n), 4);
  put(p + 20, wide ? UINT32_MAX : m, 4);
  put(p + 24, wide ? UINT32_MAX : n, 4);
  put(p + 28, 5, 2);
  put(p + 30, extra, 2);
  memcpy(p + 46, "w.npy", 5);
  if (wide) {
    put(p + 51, 1, 2);
    put(p + 53, 16, 2);
    put(p + 55, n, 8);
    put(p + 63, m, 8);
  }
  p += 51 + extra;
  put(p, 0x06054b50, 4);
  put(p + 8, 1, 2);
  put(p + 10, 1, 2);
  put(p + 12, 51 + extra, 4);
  put(p + 16, directory, 4);
  put(p + 20, 3, 2); /* a comment */
  memcpy(p + 22, "hey", 3);
  return (size_t)(p + 25 - out);
}

static neo_rt_status parse_npz(const unsigned char *p, size_t n, const char *name,
                               neo_rt_array *out, char error[256]) {
  unsigned char *exact = malloc(n);
  memcpy(exact, p, n);
  error[0] = 0;
  neo_rt_status status = neo_rti_format_named("npz")->read_array(
      &(neo_rti_source){&neo_alloc_default, exact, n, name, error, 256}, out);
  free(exact);
  return status;
}

static void deflated_members_are_read_and_damage_is_noticed(void **state) {
  (void)state;
  unsigned char npy[1024], zip[4096];
  float data[100] = {1, 2, 3};
  char error[256];
  neo_rt_array a;
  size_t n =
      make_npy(npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (100,)}", data, sizeof data);
  for (int wide = 0; wide < 2; wide++) {
    size_t z = make_zip(zip, npy, n, wide), refused = 0;
    assert_int_equal(parse_npz(zip, z, NULL, &a, error), NEO_OK);
    assert_memory_equal(a.data, data, sizeof data);
    neo_rt_array_free(&a);
    assert_int_equal(parse_npz(zip, z, "q", &a, error), NEO_NAME);
    assert_string_equal(error, ".npz has no array 'q'; it has: w");
    for (size_t at = 0; at < z; at++) { /* wherever it is damaged: refused, or the same array */
      zip[at] ^= 0x41;
      neo_rt_status status = parse_npz(zip, z, "w", &a, error);
      if (status == NEO_OK)
        assert_memory_equal(a.data, data, sizeof data);
      refused += status != NEO_OK;
      neo_rt_array_free(&a);
      zip[at] ^= 0x41;
    }
    assert_true(refused > z / 2);
    for (size_t cut = 0; cut < z; cut++)
      assert_int_not_equal(parse_npz(zip, cut, "w", &a, error), NEO_OK);
  }
}

static void the_array_of_a_npz_must_be_chosen_by_name(void **state) {
  (void)state;
  char folder[64], path[96], error[256];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/two.npz", folder);
  float x = 1;
  neo_rt_array a = {NEO_RT_F32, 0, {0}, &x, 4}, out;
  const neo_rt_named_array both[] = {{"x", &a}, {"y", &a}};
  assert_int_equal(neo_rt_array_save_npz(path, both, 2), NEO_OK);
  assert_int_equal(neo_rt_array_load(path, &out, error, sizeof error), NEO_NAME);
  assert_non_null(strstr(error, ".npz has 2 arrays, choose one as FILE.npz:NAME: x, y"));
  assert_int_equal(neo_rt_array_save_npz(path, both, 0), NEO_OK);
  assert_int_equal(neo_rt_array_load(path, &out, error, sizeof error), NEO_NAME);
  unlink(path);
  assert_int_equal(neo_rt_array_load(path, &out, error, sizeof error), NEO_IO);
  assert_non_null(strstr(error, "No such file"));
  rmdir(folder);
}

/* ------------------------------------------------------------ IDX, text */

static void idx_arrays_are_read_plain_and_gzipped(void **state) {
  (void)state;
  const unsigned char u8[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 250};
  const unsigned char i16[] = {0, 0, 0x0b, 1, 0, 0, 0, 2, 0xff, 0xfe, 1, 0};
  const unsigned char f64[] = {0, 0, 0x0e, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
  neo_rt_array a;
  assert_int_equal(neo_rt_idx_parse(u8, sizeof u8, &a, NULL, 0), NEO_OK);
  assert_true(a.type == NEO_RT_U8 && a.rank == 2 && a.extent[1] == 3);
  assert_int_equal(((uint8_t *)a.data)[5], 250);
  neo_rt_array_free(&a);
  assert_int_equal(neo_rt_idx_parse(i16, sizeof i16, &a, NULL, 0), NEO_OK);
  assert_true(((int32_t *)a.data)[0] == -2 && ((int32_t *)a.data)[1] == 256);
  neo_rt_array_free(&a);
  assert_int_equal(neo_rt_idx_parse(f64, sizeof f64, &a, NULL, 0), NEO_OK);
  assert_true(a.rank == 0 && *(double *)a.data == 1);
  neo_rt_array_free(&a);
  unsigned char gz[256];
  z_stream z = {0};
  deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  z.next_in = (Bytef *)(uintptr_t)u8;
  z.avail_in = sizeof u8;
  z.next_out = gz;
  z.avail_out = sizeof gz;
  deflate(&z, Z_FINISH);
  size_t n = z.total_out;
  deflateEnd(&z);
  assert_int_equal(neo_rt_idx_parse(gz, n, &a, NULL, 0), NEO_OK);
  assert_int_equal(((uint8_t *)a.data)[4], 5);
  neo_rt_array_free(&a);
  for (size_t cut = 0; cut < n; cut++)
    assert_int_equal(neo_rt_idx_parse(gz, cut, &a, NULL, 0), NEO_FORMAT);
  for (size_t cut = 0; cut < sizeof u8; cut++)
    assert_int_equal(neo_rt_idx_parse(u8, cut, &a, NULL, 0), NEO_FORMAT);
}

static void bad_idx_headers_are_told_what_is_wrong(void **state) {
  (void)state;
  neo_rt_array a;
  char error[256];
  const unsigned char type[] = {0, 0, 0x0a, 0}, rank[] = {0, 0, 8, 17};
  const unsigned char size[] = {0, 0, 8, 1, 0, 0, 0, 9, 1};
  const unsigned char huge[] = {0,   0,   8,   3,   255, 255, 255, 255,
                                255, 255, 255, 255, 255, 255, 255, 255};
  assert_int_equal(neo_rt_idx_parse(type, 4, &a, error, sizeof error), NEO_FORMAT);
  assert_string_equal(error, "IDX type 0x0a is not known");
  assert_int_equal(neo_rt_idx_parse(rank, 4, &a, error, sizeof error), NEO_FORMAT);
  assert_string_equal(error, "IDX rank 17: more than 16");
  assert_int_equal(neo_rt_idx_parse(size, 9, &a, error, sizeof error), NEO_FORMAT);
  assert_string_equal(error, "IDX has 1 bytes of elements, its header asks for 9 elements of 1");
  assert_int_equal(neo_rt_idx_parse(huge, sizeof huge, &a, error, sizeof error), NEO_FORMAT);
}

static void inflating_stops_at_its_limit(void **state) {
  (void)state;
  static unsigned char zeros[1 << 20], packed[4096];
  uLongf n = sizeof packed;
  assert_int_equal(compress2(packed, &n, zeros, sizeof zeros, 9), Z_OK);
  unsigned char *out;
  size_t m;
  assert_int_equal(neo_rti_inflate(&neo_alloc_default, 15, packed, n, 100000, false, &out, &m),
                   NEO_FORMAT);
  assert_int_equal(neo_rti_inflate(&neo_alloc_default, 15, packed, n, 1 << 20, false, &out, &m),
                   NEO_OK);
  assert_int_equal(m, 1 << 20);
  free(out);
  assert_int_equal(neo_rti_inflate(&neo_alloc_default, 15, packed, n, 1 << 20, true, &out, &m),
                   NEO_OK);
  free(out);
  assert_int_equal(
      neo_rti_inflate(&neo_alloc_default, 15, packed, n, (1 << 20) + 1, true, &out, &m),
      NEO_FORMAT);
}

static void text_becomes_classes(void **state) {
  (void)state;
  char folder[64], path[96], error[256];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/text", folder);
  assert_int_equal(neo_file_write(&neo_io_default, path, "banana\n", 7), NEO_OK);
  int16_t vocab[256];
  int n = 0;
  neo_rt_array a;
  memset(vocab, 0xff, sizeof vocab);
  assert_int_equal(neo_rt_text_load(path, vocab, &n, &a, error, sizeof error), NEO_OK);
  const int32_t want[] = {2, 1, 3, 1, 3, 1, 0};
  assert_int_equal(n, 4);
  assert_true(a.type == NEO_RT_I32 && a.rank == 1 && a.extent[0] == 7);
  assert_memory_equal(a.data, want, sizeof want);
  assert_true(vocab['\n'] == 0 && vocab['n'] == 3 && vocab['x'] == -1);
  neo_rt_array_free(&a);
  assert_int_equal(neo_rt_text_load(path, NULL, &n, &a, NULL, 0), NEO_OK);
  neo_rt_array_free(&a);
  assert_int_equal(neo_file_write(&neo_io_default, path, "ban\nax", 6), NEO_OK);
  assert_int_equal(neo_rt_text_load(path, vocab, &n, &a, error, sizeof error), NEO_RANGE);
  assert_non_null(strstr(error, "text:2: byte 0x78 ('x') at offset 5 is not in the vocabulary"));
  assert_int_equal(neo_file_write(&neo_io_default, path, "", 0), NEO_OK);
  assert_int_equal(neo_rt_text_load(path, vocab, &n, &a, error, sizeof error), NEO_FORMAT);
  unlink(path);
  rmdir(folder);
}

static void rows_are_gathered(void **state) {
  (void)state;
  int32_t data[] = {1, 2, 3, 4, 5, 6, 7, 8}, out[6];
  neo_rt_array a = {NEO_RT_I32, 2, {4, 2}, data, sizeof data};
  neo_rt_gather(&a, (int64_t[]){3, 0, 3}, 3, out);
  const int32_t want[] = {7, 8, 1, 2, 7, 8};
  assert_memory_equal(out, want, sizeof want);
}

static void rows_of_formats_are_complete(void **state) {
  (void)state;
  const neo_rti_format *f;
  for (size_t k = 0; (f = neo_rti_format_at(k)) != NULL; k++) {
    assert_true(f->name && f->title && f->detect && (f->read_array || f->read_tensors));
    assert_true(!f->member || f->read_array);
    assert_true(!f->write_arrays || f->read_array);
    assert_true(!f->write_head || f->read_tensors);
    assert_ptr_equal(neo_rti_format_named(f->name), f);
    assert_false(f->detect((const unsigned char *)"", 0));
  }
  assert_null(neo_rti_format_named("none"));
  assert_non_null(neo_rti_checkpoint_format()->write_head);
}

/* Formats that take these bytes for theirs. */
static int n_formats_of(const unsigned char *p, size_t n) {
  int found = 0;
  const neo_rti_format *f;
  for (size_t k = 0; (f = neo_rti_format_at(k)) != NULL; k++)
    found += f->detect(p, n);
  return found;
}

static void arrays_of_every_format_that_writes_are_read_again(void **state) {
  (void)state;
  char folder[64], path[96], error[256];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/a", folder); /* the name tells nothing */
  const neo_rti_env env = {neo_alloc_default, neo_io_default};
  float x[6] = {1, 2, 3, 4, 5, 6};
  neo_rt_array a = {NEO_RT_F32, 2, {2, 3}, x, sizeof x}, b;
  const neo_rti_format *f;
  for (size_t k = 0; (f = neo_rti_format_at(k)) != NULL; k++) {
    unsigned char *p;
    size_t n;
    if (!f->write_arrays)
      continue;
    assert_int_equal(f->write_arrays(&env, path, &(neo_rt_named_array){"x", &a}, 1), NEO_OK);
    assert_int_equal(neo_rti_file_read(&env, path, &p, &n), NEO_OK);
    assert_true(f->detect(p, n) && n_formats_of(p, n) == 1);
    free(p);
    assert_int_equal(neo_rt_array_load(path, &b, error, sizeof error), NEO_OK);
    assert_true(b.type == a.type && b.rank == 2 && b.extent[0] == 2 && b.extent[1] == 3);
    assert_memory_equal(b.data, x, sizeof x);
    neo_rt_array_free(&b);
  }
  unlink(path);
  rmdir(folder);
}

static void tensors_of_every_format_that_writes_are_read_again(void **state) {
  (void)state;
  char folder[64], path[96], error[256];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/a", folder);
  const neo_rti_env env = {neo_alloc_default, neo_io_default};
  neo_rti_file_tensor one = {
      .name = "w", .type = NEO_RT_I32, .rank = 1, .extent = {2}, .begin = 0, .end = 8};
  neo_rt_pair pair = {"key", "value"};
  neo_rti_file_tensors given = {.tensors = &one, .n_tensors = 1, .meta = &pair, .n_meta = 1}, got;
  const neo_rti_format *f;
  for (size_t k = 0; (f = neo_rti_format_at(k)) != NULL; k++) {
    neo_file_writer w;
    neo_rti_source s = {.alloc = &env.alloc, .error = error, .error_bytes = sizeof error};
    unsigned char *p;
    if (!f->write_head)
      continue;
    assert_int_equal(neo_file_begin(&w, &env.io, path, 0666), NEO_OK);
    f->write_head(&w, &given);
    neo_file_put(&w, (const int32_t[]){7, 8}, 8);
    assert_int_equal(neo_file_commit(&w), NEO_OK);
    assert_int_equal(neo_rti_file_read(&env, path, &p, &s.n), NEO_OK);
    s.p = p;
    assert_true(f->detect(p, s.n) && n_formats_of(p, s.n) == 1);
    assert_int_equal(neo_rti_tensors_read(&s, &got), NEO_OK);
    assert_true(got.n_tensors == 1 && got.n_meta == 1 && got.tensors[0].type == NEO_RT_I32);
    assert_string_equal(got.tensors[0].name, "w");
    assert_string_equal(got.meta[0].value, "value");
    assert_memory_equal(got.data + got.tensors[0].begin, ((const int32_t[]){7, 8}), 8);
    neo_rti_file_tensors_free(&got);
    free(p);
  }
  unlink(path);
  rmdir(folder);
}

static void a_file_of_no_known_format_is_told_which_there_are(void **state) {
  (void)state;
  char folder[64], path[96], member[104], error[256];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/a.npz", folder);
  snprintf(member, sizeof member, "%s:x", path);
  neo_rt_array a;
  assert_int_equal(neo_file_write(&neo_io_default, path, "text", 4), NEO_OK);
  assert_int_equal(neo_rt_array_load(path, &a, error, sizeof error), NEO_FORMAT);
  assert_non_null(strstr(error, "is neither .npy, .npz"));
  for (size_t k = 0; neo_rti_format_at(k); k++)
    assert_true(!neo_rti_format_at(k)->read_array || strstr(error, neo_rti_format_at(k)->title));
  assert_int_equal(neo_rt_array_load(member, &a, error, sizeof error), NEO_FORMAT);
  assert_non_null(strstr(error, "is not a .npz file"));
  unlink(path);
  rmdir(folder);
}

static void failing_reads_of_arrays_give_a_status(void **state) {
  (void)state;
  char folder[64], path[96];
  folder_of(folder);
  snprintf(path, sizeof path, "%s/a.npz", folder);
  float x[3] = {1, 2, 3};
  neo_rt_array a = {NEO_RT_F32, 1, {3}, x, 12}, out;
  const neo_rt_named_array one = {"x", &a};
  assert_int_equal(neo_rt_array_save_npz(path, &one, 1), NEO_OK);
  for (int kind = 0; kind < 2; kind++)
    for (size_t at = 1;; at++) {
      neo_io_fault io = {.fail_at = kind ? 0 : at};
      neo_alloc_fault memory = {.fail_at = kind ? at : 0};
      neo_rti_env env = {neo_alloc_with_fault(&memory), neo_io_with_fault(&io)};
      neo_rt_status status = neo_rti_array_load(&env, path, &out, NULL, 0);
      neo_rt_array_free(&out);
      if (status == NEO_OK)
        break;
      assert_int_equal(status, kind ? NEO_MEMORY : NEO_IO);
      assert_true(at < 20);
    }
  neo_io_fault io = {.fail_at = 1, .forever = 1};
  neo_rti_env env = {neo_alloc_default, neo_io_with_fault(&io)};
  assert_int_equal(neo_rti_format_named("npz")->write_arrays(&env, path, &one, 1), NEO_IO);
  assert_int_equal(neo_rti_format_named("npy")->write_arrays(&env, path, &one, 1), NEO_IO);
  unlink(path);
  assert_int_equal(rmdir(folder), 0); /* no temporary is left */
}

/* ------------------------------------------------------------ conversions */

static void every_f16_and_bf16_survives_the_round_trip(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    uint16_t x = (uint16_t)h;
    if (!isnan(neo_rti_f16_to(x)))
      assert_int_equal(neo_rti_f16_of(neo_rti_f16_to(x)), x);
    else
      assert_true(isnan(neo_rti_f16_to(neo_rti_f16_of(neo_rti_f16_to(x)))));
    if (!isnan(neo_rti_bf16_to(x)))
      assert_int_equal(neo_rti_bf16_of(neo_rti_bf16_to(x)), x);
    else
      assert_true(isnan(neo_rti_bf16_to(neo_rti_bf16_of(neo_rti_bf16_to(x)))));
  }
  assert_true(neo_rti_f16_to(0x3c00) == 1 && neo_rti_f16_to(0x7bff) == 65504);
  assert_true(neo_rti_f16_to(1) == 0x1p-24 && neo_rti_bf16_to(0x3f80) == 1);
  assert_true(neo_rti_bf16_to(1) == 0x1p-133);
}

static void narrowing_rounds_to_nearest_even(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x7bff; h++) { /* between two neighbours, and just beside the middle */
    double a = neo_rti_f16_to((uint16_t)h), b = neo_rti_f16_to((uint16_t)(h + 1));
    double middle = a / 2 + b / 2;
    assert_int_equal(neo_rti_f16_of(middle), h + (h & 1));
    assert_int_equal(neo_rti_f16_of(nextafter(middle, 0)), h);
    assert_int_equal(neo_rti_f16_of(nextafter(middle, 1e9)), h + 1);
    assert_int_equal(neo_rti_f16_of(-middle), 0x8000 | (h + (h & 1)));
  }
  for (uint32_t h = 0; h < 0x7f7f; h++) {
    double middle = neo_rti_bf16_to((uint16_t)h) / 2 + neo_rti_bf16_to((uint16_t)(h + 1)) / 2;
    assert_int_equal(neo_rti_bf16_of(middle), h + (h & 1));
    assert_int_equal(neo_rti_bf16_of(nextafter(middle, 0)), h);
  }
  assert_int_equal(neo_rti_f16_of(65519.999), 0x7bff);
  assert_int_equal(neo_rti_f16_of(65520), 0x7c00);
  assert_int_equal(neo_rti_f16_of(-1e300), 0xfc00);
  assert_int_equal(neo_rti_f16_of(5e-324), 0);
  assert_int_equal(neo_rti_bf16_of(-0.0), 0x8000);
  assert_int_equal(neo_rti_bf16_of((double)INFINITY), 0x7f80);
}

static int64_t to_int(double x, uint8_t type) {
  unsigned char out[8];
  neo_rti_convert(NEO_RT_F64, &x, type, out, 1);
  return neo_rti_int_at(type, out, 0);
}

static void floats_become_integers_by_truncation_and_saturation(void **state) {
  (void)state;
  assert_int_equal(to_int(2.9, NEO_RT_I32), 2);
  assert_int_equal(to_int(-2.9, NEO_RT_I8), -2);
  assert_int_equal(to_int(1e30, NEO_RT_I64), INT64_MAX);
  assert_int_equal(to_int(-1e30, NEO_RT_I64), INT64_MIN);
  assert_int_equal(to_int(9223372036854774784.0, NEO_RT_I64), INT64_C(9223372036854774784));
  assert_int_equal(to_int(3e9, NEO_RT_I32), INT32_MAX);
  assert_int_equal(to_int(-3e9, NEO_RT_I32), INT32_MIN);
  assert_int_equal(to_int(300, NEO_RT_U8), 255);
  assert_int_equal(to_int(-1, NEO_RT_U8), 0);
  assert_int_equal(to_int(200, NEO_RT_I8), 127);
  for (uint8_t type = NEO_RT_I64; type <= NEO_RT_U8; type++)
    assert_int_equal(to_int((double)NAN, type), 0);
  assert_int_equal(to_int(0.25, NEO_RT_BOOL), 1);
}

static void integers_wrap_and_round_once(void **state) {
  (void)state;
  int64_t x = 300;
  uint8_t u;
  float f;
  uint16_t b;
  neo_rti_convert(NEO_RT_I64, &x, NEO_RT_U8, &u, 1);
  assert_int_equal(u, 44);
  for (int i = 0; i < 64; i++) /* around every power of two, against the compiler's own rounding */
    for (int64_t d = -3; d <= 3; d++) {
      x = (int64_t)((UINT64_C(1) << i) + (UINT64_C(1) << (i > 24 ? i - 24 : 0)) + (uint64_t)d);
      neo_rti_convert(NEO_RT_I64, &x, NEO_RT_F32, &f, 1);
      assert_true(f == (float)x);
    }
  x = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; /* just above the middle of two bf16 */
  neo_rti_convert(NEO_RT_I64, &x, NEO_RT_BF16, &b, 1);
  assert_true(neo_rti_bf16_to(b) == 0x1p62 + 0x1p55);
  x = INT64_MIN;
  neo_rti_convert(NEO_RT_I64, &x, NEO_RT_BF16, &b, 1);
  assert_true(neo_rti_bf16_to(b) == -0x1p63);
}

static void arrays_convert_to_every_type(void **state) {
  (void)state;
  uint8_t data[] = {0, 1, 7};
  neo_rt_array a = {NEO_RT_U8, 1, {3}, data, 3}, b, back;
  for (uint8_t type = 0; type <= NEO_RT_BOOL; type++) {
    assert_int_equal(neo_rt_array_convert(&a, type, &b), NEO_OK);
    assert_int_equal(b.size_bytes, 3 * neo_rti_type_bytes(type));
    assert_int_equal(neo_rt_array_convert(&b, NEO_RT_U8, &back), NEO_OK);
    assert_int_equal(((uint8_t *)back.data)[2], type == NEO_RT_BOOL ? 1 : 7);
    neo_rt_array_free(&b);
    neo_rt_array_free(&back);
  }
  assert_int_equal(neo_rt_array_convert(&a, 42, &b), NEO_TYPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npy_elements_come_native_and_row_major),
      cmocka_unit_test(bad_npy_headers_are_told_what_is_wrong),
      cmocka_unit_test(what_is_saved_as_npy_or_npz_is_loaded_again),
      cmocka_unit_test(deflated_members_are_read_and_damage_is_noticed),
      cmocka_unit_test(the_array_of_a_npz_must_be_chosen_by_name),
      cmocka_unit_test(idx_arrays_are_read_plain_and_gzipped),
      cmocka_unit_test(bad_idx_headers_are_told_what_is_wrong),
      cmocka_unit_test(inflating_stops_at_its_limit),
      cmocka_unit_test(text_becomes_classes),
      cmocka_unit_test(rows_are_gathered),
      cmocka_unit_test(failing_reads_of_arrays_give_a_status),
      cmocka_unit_test(rows_of_formats_are_complete),
      cmocka_unit_test(arrays_of_every_format_that_writes_are_read_again),
      cmocka_unit_test(tensors_of_every_format_that_writes_are_read_again),
      cmocka_unit_test(a_file_of_no_known_format_is_told_which_there_are),
      cmocka_unit_test(every_f16_and_bf16_survives_the_round_trip),
      cmocka_unit_test(narrowing_rounds_to_nearest_even),
      cmocka_unit_test(floats_become_integers_by_truncation_and_saturation),
      cmocka_unit_test(integers_wrap_and_round_once),
      cmocka_unit_test(arrays_convert_to_every_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
