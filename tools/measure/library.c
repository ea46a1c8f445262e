/* Opens a candidate's library without running any of its code.
 *
 * The system's loader runs code of a library before any function of it is called: constructors,
 * also those of the libraries that it names, and functions that choose a symbol's value (IFUNC). A
 * candidate may come from a folder of another machine, and code may run only after the filter of
 * limits.c; so its segments are copied and relocated here, by the few kinds of relocations that
 * such libraries have. All others are refused, and constructors are not run.
 *
 * Source: the tables of the System V ABI, and its supplements for x86-64 and AArch64. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/measure/measure.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, ABSOLUTE = R_X86_64_64, GLOBAL = R_X86_64_GLOB_DAT };
enum { CALL = R_X86_64_JUMP_SLOT, RELATIVE = R_X86_64_RELATIVE };
#else
enum { MACHINE = EM_AARCH64, ABSOLUTE = R_AARCH64_ABS64, GLOBAL = R_AARCH64_GLOB_DAT };
enum { CALL = R_AARCH64_JUMP_SLOT, RELATIVE = R_AARCH64_RELATIVE };
#endif

enum { MOST_SEGMENTS = 64, MOST_SECTIONS = 4096 };
static const uint64_t most_bytes = UINT64_C(1) << 30;

typedef struct {
  const char *file; /* mapped */
  uint64_t bytes;
  char *image; /* the segments, at their distances */
  uint64_t image_bytes;
  const Elf64_Ehdr *head;
  const Elf64_Phdr *segment;
  const Elf64_Shdr *section;
  const Elf64_Sym *symbols;
  const char *names; /* names of the symbols; the last byte is 0 */
  uint64_t n_symbols, names_bytes;
} library;

static const char damaged[] = "the library is damaged";

/* n elements of the file, or null. */
static const void *part(const library *l, uint64_t at, uint64_t n, size_t size) {
  if (at > l->bytes || at % 8 != 0 || n > (l->bytes - at) / size)
    return NULL;
  return l->file + at;
}

/* ---- the file */

static const char *map_file(library *l, const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return "the library cannot be opened";
  bool fits = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
              (uint64_t)st.st_size <= most_bytes;
  void *p = fits ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (p == MAP_FAILED)
    return "the library cannot be read";
  l->file = p;
  l->bytes = (uint64_t)st.st_size;
  return NULL;
}

static const char *read_head(library *l) {
  static const unsigned char start[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  const Elf64_Ehdr *h = l->head = part(l, 0, 1, sizeof *h);
  if (!h || memcmp(h->e_ident, start, sizeof start) != 0)
    return "the file is no library";
  if (h->e_type != ET_DYN || h->e_machine != MACHINE)
    return "the library is for another machine";
  l->segment = part(l, h->e_phoff, h->e_phnum, sizeof *l->segment);
  l->section = part(l, h->e_shoff, h->e_shnum, sizeof *l->section);
  if (h->e_phentsize != sizeof *l->segment || h->e_shentsize != sizeof *l->section || !l->segment ||
      !l->section || h->e_phnum > MOST_SEGMENTS || h->e_shnum > MOST_SECTIONS)
    return damaged;
  return NULL;
}

static const char *read_symbols(library *l, const Elf64_Shdr *s) {
  if (s->sh_entsize != sizeof *l->symbols || s->sh_link >= l->head->e_shnum)
    return damaged;
  const Elf64_Shdr *names = &l->section[s->sh_link];
  l->n_symbols = s->sh_size / sizeof *l->symbols;
  l->symbols = part(l, s->sh_offset, l->n_symbols, sizeof *l->symbols);
  l->names_bytes = names->sh_size;
  bool inside = names->sh_offset < l->bytes && names->sh_size <= l->bytes - names->sh_offset;
  l->names = inside && names->sh_size ? l->file + names->sh_offset : NULL;
  return l->symbols && l->names && !l->names[l->names_bytes - 1] ? NULL : damaged;
}

static const char *read_sections(library *l) {
  const char *wrong = NULL;
  for (unsigned k = 0; k < l->head->e_shnum && !wrong; k++)
    if (l->section[k].sh_type == SHT_DYNSYM)
      wrong = read_symbols(l, &l->section[k]);
  return wrong || l->symbols ? wrong : "the library has no symbols";
}

/* ---- segments */

static uint64_t to_page(uint64_t bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

static const char *measure_segments(library *l) {
  for (unsigned k = 0; k < l->head->e_phnum; k++) {
    const Elf64_Phdr *s = &l->segment[k];
    if (s->p_type == PT_TLS)
      return "the library has variables of threads";
    if (s->p_type != PT_LOAD)
      continue;
    if (s->p_memsz > most_bytes || s->p_vaddr > most_bytes || s->p_filesz > s->p_memsz ||
        s->p_offset > l->bytes || s->p_filesz > l->bytes - s->p_offset)
      return damaged;
    uint64_t end = to_page(s->p_vaddr + s->p_memsz);
    l->image_bytes = end > l->image_bytes ? end : l->image_bytes;
  }
  return l->image_bytes ? NULL : damaged;
}

static const char *copy_segments(library *l) {
  const char *wrong = measure_segments(l);
  if (wrong)
    return wrong;
  void *p = mmap(NULL, l->image_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return "no memory for the library";
  l->image = p;
  for (unsigned k = 0; k < l->head->e_phnum; k++) {
    const Elf64_Phdr *s = &l->segment[k];
    if (s->p_type == PT_LOAD && s->p_filesz)
      memcpy(l->image + s->p_vaddr, l->file + s->p_offset, s->p_filesz);
  }
  return NULL;
}

static const char *protect_segments(const library *l) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  __builtin___clear_cache(l->image, l->image + l->image_bytes);
  for (unsigned k = 0; k < l->head->e_phnum; k++) {
    const Elf64_Phdr *s = &l->segment[k];
    uint64_t from = s->p_vaddr / page * page, to = to_page(s->p_vaddr + s->p_memsz);
    int how = (s->p_flags & PF_R ? PROT_READ : 0) | (s->p_flags & PF_W ? PROT_WRITE : 0) |
              (s->p_flags & PF_X ? PROT_EXEC : 0);
    if (s->p_type == PT_LOAD && mprotect(l->image + from, to - from, how) != 0)
      return "the library's memory cannot be made executable";
  }
  return NULL;
}

/* ---- relocations */

static const char *name_of(const library *l, const Elf64_Sym *s) {
  return s->st_name < l->names_bytes ? l->names + s->st_name : "";
}

/* The address of a symbol: the library's own, or one of the libraries that this program is linked
 * with. */
static const char *value_of(const library *l, uint64_t number, uint64_t *value) {
  const Elf64_Sym *s = number < l->n_symbols ? &l->symbols[number] : NULL;
  *value = 0;
  if (!s)
    return damaged;
  if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC || ELF64_ST_TYPE(s->st_info) == STT_TLS)
    return "the library has symbols of a kind that kernels have not";
  if (number && s->st_shndx != SHN_UNDEF) {
    *value = (uint64_t)(uintptr_t)l->image + s->st_value;
    return NULL;
  }
  *value = number ? (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name_of(l, s)) : 0;
  return *value || !number || ELF64_ST_BIND(s->st_info) == STB_WEAK
             ? NULL
             : "the library needs a function that is not here";
}

static const char *relocate(const library *l, const Elf64_Rela *r) {
  uint64_t type = ELF64_R_TYPE(r->r_info), value = (uint64_t)(uintptr_t)l->image;
  if (type == 0)
    return NULL;
  if (type != RELATIVE && type != ABSOLUTE && type != GLOBAL && type != CALL)
    return "the library has relocations of a kind that kernels have not";
  if (r->r_offset > l->image_bytes - sizeof value)
    return damaged;
  const char *wrong = type == RELATIVE ? NULL : value_of(l, ELF64_R_SYM(r->r_info), &value);
  if (wrong)
    return wrong;
  value += (uint64_t)r->r_addend;
  memcpy(l->image + r->r_offset, &value, sizeof value);
  return NULL;
}

static const char *relocate_section(const library *l, const Elf64_Shdr *s) {
  uint64_t n = s->sh_size / sizeof(Elf64_Rela);
  const Elf64_Rela *r = part(l, s->sh_offset, n, sizeof *r);
  const char *wrong = r && s->sh_entsize == sizeof *r ? NULL : damaged;
  for (uint64_t k = 0; k < n && !wrong; k++)
    wrong = relocate(l, &r[k]);
  return wrong;
}

/* Relocates all sections that are loaded; the others are for debuggers. */
static const char *relocate_all(const library *l) {
  const char *wrong = NULL;
  for (unsigned k = 0; k < l->head->e_shnum && !wrong; k++) {
    const Elf64_Shdr *s = &l->section[k];
    if (!(s->sh_flags & SHF_ALLOC))
      continue;
    if (s->sh_type == SHT_RELA)
      wrong = relocate_section(l, s);
    else if (s->sh_type == SHT_REL || s->sh_type == 19) /* SHT_RELR */
      wrong = "the library has relocations of another form";
  }
  return wrong;
}

/* ---- the whole */

static const char *find(const library *l, const char *symbol, void **out) {
  for (uint64_t k = 1; k < l->n_symbols; k++) {
    const Elf64_Sym *s = &l->symbols[k];
    if (s->st_shndx == SHN_UNDEF || strcmp(name_of(l, s), symbol) != 0)
      continue;
    uint64_t value;
    const char *wrong = value_of(l, k, &value);
    *out = (void *)(uintptr_t)value;
    return wrong;
  }
  return "no such symbol";
}

const char *measure_library_open(const char *path, const char *symbol, void **out) {
  library l = {0};
  const char *wrong = map_file(&l, path);
  *out = NULL;
  if (!wrong)
    wrong = read_head(&l);
  if (!wrong)
    wrong = read_sections(&l);
  if (!wrong)
    wrong = copy_segments(&l);
  if (!wrong)
    wrong = relocate_all(&l);
  if (!wrong)
    wrong = protect_segments(&l);
  if (!wrong)
    wrong = find(&l, symbol, out);
  if (l.file)
    munmap((void *)(uintptr_t)l.file, l.bytes);
  return wrong;
}
