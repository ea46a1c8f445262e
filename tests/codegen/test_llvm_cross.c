/* Objects for aarch64: assembled, linked with a small C program, run under qemu, compared with the
 * interpreter. Skipped (77) where the cross compiler or qemu is missing. */
#include "loop_support.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40 };

static const struct {
  const char *name, *text;
} kernels[] = {
    {"sums", "for i in 0..M step 8\n  for l in 0..8 vector\n"
             "    z[i + l] = x[i + l if i + l < M else 0.0] * 2.0 + x[0] if i + l < M\n"},
    {"functions", "for i in 0..5\n  for l in 0..8 vector\n"
                  "    z[i*8 + l] = tanh(x[i*8 + l]) + exp(x[i*8 + l]) + gelu(x[l]) + erf(x[i]) "
                  "+ sin(x[i*8 + l]*100.0) + pow(abs(x[i*8 + l]), 1.5) + log(abs(x[i*8 + l]))\n"},
    {"halves", "for i in 0..10\n  for l in 0..4 vector\n"
               "    z[i*4 + l] = f32(f16(x[i*4 + l])) + f32(bf16(x[i*4 + l]) * 3.0:bf16)\n"},
    {"product", "for i in 0..5\n  reg a[8]: f32\n  for l in 0..8 vector\n    a[l] = 0.0\n"
                "  for j in 0..5\n    for l in 0..8 vector\n"
                "      a[l] = fma(x[i*8 + j], x[j*8 + l], a[l])\n"
                "  for l in 0..8 vector\n    z[i*8 + l] = a[l]\n"},
    {"random", "for i in 0..10\n  for l in 0..4 vector\n    z[i*4 + l] = rand@3(i*4 + l)\n"},
    {"indices", "for i in 0..10\n  for l in 0..4 vector\n"
                "    z[i*4 + l] = x[2*(i*2 + l/2) % 40] + x[39 - i*4 - l] "
                "+ x[i64(x[l]*x[l]*9.0) % 40] + f32((i - l*3)/7)\n"},
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static const char source[] =
    "#include <stdio.h>\n#include <stdint.h>\n"
    "typedef struct { void *const *buf; const int64_t *size; const uint64_t *key;\n"
    "  int64_t lo, hi; void *scratch; } args;\n"
    "int32_t KERNEL(const args *);\n"
    "int main(void) {\n"
    "  static float x[40], z[40]; void *buf[] = {x, z}; int64_t size[] = {37};\n"
    "  uint64_t key[] = {5, 6, 7}; args a = {buf, size, key, 0, 1, 0};\n"
    "  for (int i = 0; i < 40; i++) x[i] = (float)(i * 7 % 40 - 19) / 8 + 0.0625f;\n"
    "  KERNEL(&a);\n"
    "  for (int i = 0; i < 40; i++) printf(\"%a\\n\", z[i]);\n  return 0;\n}\n";

static bool have(const char *program) {
  char line[200];
  snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
  return system(line) == 0;
}

static void write_file(const char *path, const char *text) {
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_true(fputs(text, out) >= 0);
  assert_int_equal(fclose(out), 0);
}

static void interpret(loop_fix *f, const neo_kernel *k, neo_value *z) {
  static neo_value x[N];
  neo_str why;
  neo_str_init(&why, &f->arena);
  for (int i = 0; i < N; i++)
    x[i].f = (double)((float)(i * 7 % 40 - 19) / 8 + 0.0625F);
  neo_kernel_run run = {.bufs = (neo_value *[]){x, z},
                        .n_elems = (const int64_t[]){N, N},
                        .sizes = (const int64_t[]){37},
                        .key = {5, 6, 7},
                        .hi = 1};
  for (int i = 0; i < N; i++)
    z[i].f = 0;
  if (neo_kernel_interp(k, &run, &why))
    fail_msg("%s", neo_str_text(&why));
}

static void emit(loop_fix *f, const neo_kernel *k, const char *path) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  if (neo_target_choose(&f->arena, "aarch64", NULL, &t, &why))
    fail_msg("%s", why);
  if (neo_llvm_new(&f->arena, &t, "cross", &l, &why))
    fail_msg("%s", why);
  if (neo_llvm_kernel(l, k, "neo_kernel", &why))
    fail_msg("%s", why);
  if (neo_llvm_finish(l, &why))
    fail_msg("%s", why);
  if (neo_llvm_emit_object(l, path, &why))
    fail_msg("%s", why);
  neo_llvm_free(l);
}

static void run_kernel(loop_fix *f, const char *dir, int n) {
  neo_kernel *k = loop_kernel(
      f, neo_arena_printf(&f->arena,
                          "neo-loop 2\nkernel k(x: f32 read, z: f32 write) sizes M units 1\n%s",
                          kernels[n].text));
  neo_value want[N];
  interpret(f, k, want);
  emit(f, k, neo_arena_printf(&f->arena, "%s/k.o", dir));
  const char *command = neo_arena_printf(
      &f->arena,
      "cd %s && aarch64-linux-gnu-gcc -static -DKERNEL=neo_kernel main.c k.o -lm -o a.out && "
      "qemu-aarch64 ./a.out > out.txt",
      dir);
  assert_int_equal(system(command), 0);
  FILE *in = fopen(neo_arena_printf(&f->arena, "%s/out.txt", dir), "rb");
  assert_non_null(in);
  for (int i = 0; i < N; i++) {
    char line[64];
    assert_non_null(fgets(line, sizeof line, in));
    double got = strtod(line, NULL);
    if (!(fabs(got - want[i].f) <= 1e-5 * fmax(1, fabs(want[i].f))))
      fail_msg("%s[%d] = %g, not %g", kernels[n].name, i, got, want[i].f);
  }
  fclose(in);
}

static void kernels_for_aarch64_agree_with_the_interpreter(void **state) {
  char dir[] = "/tmp/neo_cross_XXXXXX";
  loop_fix *f = *state;
  assert_non_null(mkdtemp(dir));
  write_file(neo_arena_printf(&f->arena, "%s/main.c", dir), source);
  for (int n = 0; n < N_KERNELS; n++)
    run_kernel(f, dir, n);
  assert_int_equal(system(neo_arena_printf(&f->arena, "rm -r %s", dir)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(kernels_for_aarch64_agree_with_the_interpreter, loop_setup,
                                      loop_teardown),
  };
  if (!have("aarch64-linux-gnu-gcc") || !have("qemu-aarch64"))
    return 77;
  return cmocka_run_group_tests_name("llvm_cross", tests, NULL, NULL);
}
