/* The identity of this compiler: the build IDs that the linker gave to the files with its code,
 * with LLVM's, with isl's and with the C library's mathematical functions, which fold constants.
 * Another build has another identity. */
#define _GNU_SOURCE 1 /* dl_iterate_phdr */
#include "base/file.h"
#include "base/hash.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/compile.h"
#include <elf.h>
#include <link.h>
#include <math.h>
#include <string.h>

/* While the list of objects is walked through it is locked: nothing may fail there. */
typedef struct {
  uintptr_t of; /* an address in the object */
  bool found;
  const char *path;
  const unsigned char *note;
  size_t note_bytes;
} search;

static bool has_address(const struct dl_phdr_info *x, uintptr_t at) {
  for (int k = 0; k < x->dlpi_phnum; k++) {
    const ElfW(Phdr) *p = &x->dlpi_phdr[k];
    uintptr_t begin = x->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && at >= begin && at - begin < p->p_memsz)
      return true;
  }
  return false;
}

static const char *hex(neo_arena *a, const unsigned char *p, size_t n) {
  neo_str s = neo_str_in(a);
  for (size_t k = 0; k < n; k++)
    neo_str_addf(&s, "%02x", p[k]);
  return neo_str_text(&s);
}

static size_t padded(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* Finds the build's note among those of a segment. */
static void look_in(search *s, const char *p, size_t n) {
  ElfW(Nhdr) head;
  while (n >= sizeof head) {
    memcpy(&head, p, sizeof head);
    size_t name = padded(head.n_namesz), all = sizeof head + name + padded(head.n_descsz);
    if (all > n)
      return;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
        memcmp(p + sizeof head, "GNU", 4) == 0) {
      s->note = (const unsigned char *)p + sizeof head + name;
      s->note_bytes = head.n_descsz;
    }
    p += all;
    n -= all;
  }
}

/* A file that was linked without: its contents. */
static const char *hash_of_file(neo_arena *a, const char *path) {
  uint64_t h[2];
  char *data;
  size_t n;
  if (neo_file_read(&neo_io_default, a, *path ? path : "/proc/self/exe", 0, &data, &n))
    return NULL;
  neo_hash128(data, n, h);
  return hex(a, (const unsigned char *)h, sizeof h);
}

static int look_at(struct dl_phdr_info *x, size_t size, void *ctx) {
  search *s = ctx;
  (void)size;
  if (!has_address(x, s->of))
    return 0;
  s->found = true;
  s->path = x->dlpi_name;
  for (int k = 0; k < x->dlpi_phnum && !s->note; k++) {
    const ElfW(Phdr) *p = &x->dlpi_phdr[k];
    if (p->p_type == PT_NOTE)
      look_in(s, (const char *)(x->dlpi_addr + p->p_vaddr), p->p_memsz);
  }
  return 1;
}

/* The identity of the loaded object that contains this address; null: it cannot be found. */
static const char *identity(neo_arena *a, const void *of) {
  search s = {.of = (uintptr_t)of};
  dl_iterate_phdr(look_at, &s);
  if (!s.found)
    return NULL;
  return s.note ? hex(a, s.note, s.note_bytes) : hash_of_file(a, s.path);
}

const char *neo_compiler_id(neo_arena *a) {
  double (*numbers)(double) = exp;
  const char *own = identity(a, (const void *)(uintptr_t)neo_compiler_id);
  const char *llvm = identity(a, neo_llvm_place()), *isl = identity(a, neo_isl_place());
  const char *libm = identity(a, (const void *)(uintptr_t)numbers);
  if (!own || !llvm || !isl || !libm)
    return NULL;
  return neo_arena_printf(a, "neo %s %s, llvm %s %s, isl %s %s, libm %s", NEO_VERSION, own,
                          neo_llvm_version_text(a), llvm, neo_isl_version_text(a), isl, libm);
}
