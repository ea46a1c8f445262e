/* features.c: does this machine have the CPU features that a library was compiled for?
 *
 * Names are LLVM's ("avx512f", "fma"). x86: CPUID bits, and the register state that the system has
 * switched on (XGETBV), without which the instructions fault. aarch64: the kernel's hardware
 * capabilities. A name that the table lacks counts as missing: running on is not safe. */
#include "runtime/processor.h"
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { A, B, C, D };
enum { NO_STATE = 0, YMM = 0x6, ZMM = 0xe6, TILE = 0x60000 };
typedef struct {
  const char *name;
  uint32_t leaf, sub;
  uint8_t reg, bit;
  uint32_t state; /* bits of XCR0 */
} feature;
static const feature features_of[] = {
    {"64bit", 0x80000001u, 0, D, 29, 0},
    {"cmov", 1, 0, D, 15, 0},
    {"cx8", 1, 0, D, 8, 0},
    {"cx16", 1, 0, C, 13, 0},
    {"mmx", 1, 0, D, 23, 0},
    {"fxsr", 1, 0, D, 24, 0},
    {"x87", 1, 0, D, 0, 0},
    {"sse", 1, 0, D, 25, 0},
    {"sse2", 1, 0, D, 26, 0},
    {"sse3", 1, 0, C, 0, 0},
    {"ssse3", 1, 0, C, 9, 0},
    {"sse4.1", 1, 0, C, 19, 0},
    {"sse4.2", 1, 0, C, 20, 0},
    {"popcnt", 1, 0, C, 23, 0},
    {"crc32", 1, 0, C, 20, 0},
    {"movbe", 1, 0, C, 22, 0},
    {"aes", 1, 0, C, 25, 0},
    {"pclmul", 1, 0, C, 1, 0},
    {"xsave", 1, 0, C, 26, 0},
    {"rdrnd", 1, 0, C, 30, 0},
    {"avx", 1, 0, C, 28, YMM},
    {"f16c", 1, 0, C, 29, YMM},
    {"fma", 1, 0, C, 12, YMM},
    {"avx2", 7, 0, B, 5, YMM},
    {"bmi", 7, 0, B, 3, 0},
    {"bmi2", 7, 0, B, 8, 0},
    {"adx", 7, 0, B, 19, 0},
    {"sha", 7, 0, B, 29, 0},
    {"rdseed", 7, 0, B, 18, 0},
    {"clflushopt", 7, 0, B, 23, 0},
    {"fsgsbase", 7, 0, B, 0, 0},
    {"gfni", 7, 0, C, 8, 0},
    {"vaes", 7, 0, C, 9, YMM},
    {"vpclmulqdq", 7, 0, C, 10, YMM},
    {"rdpid", 7, 0, C, 22, 0},
    {"avxvnni", 7, 1, A, 4, YMM},
    {"avxifma", 7, 1, A, 23, YMM},
    {"avx512f", 7, 0, B, 16, ZMM},
    {"avx512dq", 7, 0, B, 17, ZMM},
    {"avx512ifma", 7, 0, B, 21, ZMM},
    {"avx512cd", 7, 0, B, 28, ZMM},
    {"avx512bw", 7, 0, B, 30, ZMM},
    {"avx512vl", 7, 0, B, 31, ZMM},
    {"avx512vbmi", 7, 0, C, 1, ZMM},
    {"avx512vbmi2", 7, 0, C, 6, ZMM},
    {"avx512vnni", 7, 0, C, 11, ZMM},
    {"avx512bitalg", 7, 0, C, 12, ZMM},
    {"avx512vpopcntdq", 7, 0, C, 14, ZMM},
    {"avx512fp16", 7, 0, D, 23, ZMM},
    {"avx512bf16", 7, 1, A, 5, ZMM},
    {"amx-bf16", 7, 0, D, 22, TILE},
    {"amx-tile", 7, 0, D, 24, TILE},
    {"amx-int8", 7, 0, D, 25, TILE},
    {"sahf", 0x80000001u, 0, C, 0, 0},
    {"lzcnt", 0x80000001u, 0, C, 5, 0},
    {"prfchw", 0x80000001u, 0, C, 8, 0},
};

/* The registers that the table of features reads. They are read once per check, as each CPUID takes
 * a virtual machine microseconds. */
typedef struct {
  uint32_t leaf_1[4], leaf_7[2][4], extended[4];
  uint32_t state; /* XCR0 */
} processor;

static void read_leaf(uint32_t leaf, uint32_t sub, uint32_t *r) {
  if (!__get_cpuid_count(leaf, sub, &r[A], &r[B], &r[C], &r[D]))
    memset(r, 0, 4 * sizeof *r);
}

static processor ask(void) {
  processor p = {0};
  uint32_t high;
  read_leaf(1, 0, p.leaf_1);
  read_leaf(7, 0, p.leaf_7[0]);
  read_leaf(7, 1, p.leaf_7[1]);
  read_leaf(0x80000001u, 0, p.extended);
  if (p.leaf_1[C] >> 27 & 1)
    __asm__ volatile("xgetbv" : "=a"(p.state), "=d"(high) : "c"(0));
  return p;
}

static const uint32_t *leaf_of(const processor *p, const feature *f) {
  if (f->leaf == 7)
    return p->leaf_7[f->sub];
  return f->leaf == 1 ? p->leaf_1 : p->extended;
}

/* Linux hands out the tile registers on request, once for the process. */
static bool tiles_granted(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

static bool has(const processor *p, const char *name, size_t n) {
  for (size_t i = 0; i < sizeof features_of / sizeof features_of[0]; i++) {
    const feature *f = &features_of[i];
    if (strlen(f->name) != n || memcmp(f->name, name, n) != 0)
      continue;
    if (!(leaf_of(p, f)[f->reg] >> f->bit & 1) || (p->state & f->state) != f->state)
      return false;
    return f->state != TILE || tiles_granted();
  }
  return false;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

typedef struct {
  const char *name;
  uint8_t word, bit; /* AT_HWCAP or AT_HWCAP2 */
} feature;
static const feature features_of[] = {
    {"fp-armv8", 0, 0}, {"neon", 0, 1},       {"aes", 0, 3},      {"sha2", 0, 6},
    {"crc", 0, 7},      {"lse", 0, 8},        {"fullfp16", 0, 9}, {"rdm", 0, 12},
    {"jsconv", 0, 13},  {"complxnum", 0, 14}, {"rcpc", 0, 15},    {"sha3", 0, 17},
    {"dotprod", 0, 20}, {"sve", 0, 22},       {"fp16fml", 0, 23}, {"sve2", 1, 1},
    {"i8mm", 1, 13},    {"bf16", 1, 14},
};

typedef struct {
  unsigned long word[2];
} processor;

static processor ask(void) {
  return (processor){{getauxval(AT_HWCAP), getauxval(AT_HWCAP2)}};
}

static bool has(const processor *p, const char *name, size_t n) {
  for (size_t i = 0; i < sizeof features_of / sizeof features_of[0]; i++) {
    const feature *f = &features_of[i];
    if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
      return p->word[f->word] >> f->bit & 1;
  }
  return false;
}

#else
typedef struct {
  bool none;
} processor;

static processor ask(void) {
  return (processor){true};
}

static bool has(const processor *p, const char *name, size_t n) {
  (void)p;
  (void)name;
  (void)n;
  return false;
}
#endif

static void append(char *to, size_t size, const char *name, size_t n) {
  size_t at = strlen(to), gap = at ? 2 : 0;
  if (at + gap + n + 1 > size)
    return;
  memcpy(to + at, ", ", gap);
  memcpy(to + at + gap, name, n);
  to[at + gap + n] = 0;
}

bool neo_rti_features_check(const char *features, char *missing, size_t missing_bytes) {
  const processor p = ask();
  missing[0] = 0;
  for (const char *name = features ? features : ""; *name;) {
    size_t n = strcspn(name, ",");
    size_t skip = *name == '+';
    if (n > skip && *name != '-' && !has(&p, name + skip, n - skip))
      append(missing, missing_bytes, name + skip, n - skip);
    name += n + (name[n] == ',');
  }
  return missing[0] == 0;
}
