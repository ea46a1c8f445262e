/* See merge.h. In three steps: the numbers of sections; symbols, those that are local first, as
 * ELF wants it, with one for each global name; then the contents, in which numbers of sections
 * and symbols are replaced. */
#include "tools/pipeline/merge.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include <elf.h>
#include <string.h>

typedef struct {
  const neo_object *object;
  const Elf64_Ehdr *head;
  const Elf64_Shdr *sections; /* head->e_shnum */
  const char *names;          /* names of sections */
  const Elf64_Sym *symbols;
  size_t n_symbols;
  const char *symbol_names;
  uint32_t *section; /* by old number: the new one; 0: left out */
  uint32_t *symbol;
} input;

typedef struct {
  neo_arena *arena;
  input *in;
  size_t n;
  NEO_VEC(Elf64_Shdr) sections;
  NEO_VEC(Elf64_Sym) locals, globals;
  neo_map by_name; /* hash of a global's name -> the first of that hash, + 1 */
  NEO_VEC(uint32_t) next;
  neo_str names, symbol_names, data;
  const char *why;
} merger;

/* ---- reading */

static const void *at(const input *in, uint64_t offset) {
  return in->object->data + offset;
}

static const char *section_name(const input *in, size_t k) {
  return in->names + in->sections[k].sh_name;
}

static const char *symbol_name(const input *in, size_t k) {
  return in->symbol_names + in->symbols[k].st_name;
}

static bool read_head(merger *m, input *in) {
  const Elf64_Ehdr *h = in->head = at(in, 0);
  bool good = in->object->size_bytes > sizeof *h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
              h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
              h->e_type == ET_REL && h->e_shnum && h->e_machine == m->in->head->e_machine;
  m->why = good ? NULL : "an object is not as it must be";
  return good;
}

static bool read_tables(merger *m, input *in) {
  in->sections = at(in, in->head->e_shoff);
  in->names = at(in, in->sections[in->head->e_shstrndx].sh_offset);
  in->section = NEO_NEW_ARRAY(m->arena, uint32_t, in->head->e_shnum);
  for (size_t k = 0; k < in->head->e_shnum; k++) {
    const Elf64_Shdr *s = &in->sections[k];
    if (s->sh_type == SHT_REL || s->sh_type == SHT_GROUP || s->sh_type == SHT_SYMTAB_SHNDX)
      m->why = "an object has a section of an unknown kind";
    if (s->sh_type != SHT_SYMTAB)
      continue;
    in->symbols = at(in, s->sh_offset);
    in->n_symbols = s->sh_size / sizeof *in->symbols;
    in->symbol_names = at(in, in->sections[s->sh_link].sh_offset);
  }
  in->symbol = NEO_NEW_ARRAY(m->arena, uint32_t, in->n_symbols + 1);
  return !m->why;
}

/* ---- sections */

static void number_sections(merger *m, input *in) {
  for (size_t k = 1; k < in->head->e_shnum; k++) {
    Elf64_Shdr s = in->sections[k];
    if (s.sh_type == SHT_SYMTAB || s.sh_type == SHT_STRTAB || s.sh_type == SHT_NULL)
      continue;
    s.sh_name = (Elf64_Word)m->names.n;
    neo_str_addn(&m->names, section_name(in, k), strlen(section_name(in, k)) + 1);
    in->section[k] = (uint32_t)m->sections.n;
    NEO_PUSH(m->arena, &m->sections, s);
  }
}

/* ---- symbols */

static bool is_special(const Elf64_Sym *s) {
  return s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE;
}

/* The symbol with the new number of its section. */
static Elf64_Sym placed(const input *in, const Elf64_Sym *s) {
  Elf64_Sym out = *s;
  if (!is_special(s))
    out.st_shndx = (Elf64_Section)in->section[s->st_shndx];
  return out;
}

static uint32_t add_name(merger *m, const char *name) {
  uint32_t n = (uint32_t)m->symbol_names.n;
  if (!*name)
    return 0;
  neo_str_addn(&m->symbol_names, name, strlen(name) + 1);
  return n;
}

static void add_locals(merger *m, input *in) {
  for (size_t k = 1; k < in->n_symbols; k++) {
    Elf64_Sym s = placed(in, &in->symbols[k]);
    if (ELF64_ST_BIND(s.st_info) != STB_LOCAL)
      continue;
    s.st_name = add_name(m, symbol_name(in, k));
    in->symbol[k] = (uint32_t)m->locals.n;
    NEO_PUSH(m->arena, &m->locals, s);
  }
}

/* The number, from 0, of the global symbol of this name, which is added if it is new. */
static uint32_t global_named(merger *m, const char *name, const Elf64_Sym *first, bool *made) {
  uint64_t h[2], at_hash = 0;
  neo_hash128(name, strlen(name), h);
  neo_map_get(&m->by_name, h[0], &at_hash);
  for (uint32_t k = (uint32_t)at_hash; k; k = m->next.at[k - 1])
    if (neo_streq(m->symbol_names.at + m->globals.at[k - 1].st_name, name)) {
      *made = false;
      return k - 1;
    }
  Elf64_Sym s = *first;
  s.st_name = add_name(m, name);
  NEO_PUSH(m->arena, &m->globals, s);
  NEO_PUSH(m->arena, &m->next, (uint32_t)at_hash);
  neo_map_set(&m->by_name, h[0], m->globals.n);
  *made = true;
  return (uint32_t)m->globals.n - 1;
}

/* STV_DEFAULT < STV_PROTECTED < STV_HIDDEN < STV_INTERNAL in strictness; their numbers are 0, 3,
 * 2, 1. */
static unsigned char stricter(unsigned char x, unsigned char y) {
  unsigned char a = ELF64_ST_VISIBILITY(x), b = ELF64_ST_VISIBILITY(y);
  if (!a || !b)
    return a ? a : b;
  return a < b ? a : b;
}

/* Merges the symbols of one name from two objects. */
static void join(merger *m, Elf64_Sym *known, const Elf64_Sym *s, const char *name) {
  unsigned char visibility = stricter(known->st_other, s->st_other);
  bool defines = s->st_shndx != SHN_UNDEF, weak = ELF64_ST_BIND(s->st_info) == STB_WEAK;
  bool was = known->st_shndx != SHN_UNDEF, was_weak = ELF64_ST_BIND(known->st_info) == STB_WEAK;
  if (was && defines && !weak && !was_weak)
    m->why = neo_arena_printf(m->arena, "%s is defined twice", name);
  Elf64_Word at_name = known->st_name;
  if (defines ? !was || (was_weak && !weak) : !was && was_weak)
    *known = *s;
  known->st_name = at_name;
  known->st_other = visibility;
}

static void add_globals(merger *m, input *in) {
  for (size_t k = 1; k < in->n_symbols; k++) {
    Elf64_Sym s = placed(in, &in->symbols[k]);
    bool made;
    if (ELF64_ST_BIND(s.st_info) == STB_LOCAL)
      continue;
    uint32_t g = global_named(m, symbol_name(in, k), &s, &made);
    if (!made)
      join(m, &m->globals.at[g], &s, symbol_name(in, k));
    in->symbol[k] = (uint32_t)m->locals.n + g;
  }
}

/* ---- contents */

static void align(merger *m, uint64_t to) {
  while (to > 1 && m->data.n % to)
    neo_str_addc(&m->data, 0);
}

static void add_relocations(merger *m, const input *in, const Elf64_Shdr *s) {
  const Elf64_Rela *r = at(in, s->sh_offset);
  for (size_t k = 0; k < s->sh_size / sizeof *r; k++) {
    Elf64_Rela x = r[k];
    uint32_t old = (uint32_t)ELF64_R_SYM(x.r_info), now = in->symbol[old];
    if (old && !now)
      m->why = "a relocation has no symbol";
    x.r_info = ELF64_R_INFO((uint64_t)now, ELF64_R_TYPE(x.r_info));
    neo_str_addn(&m->data, (const char *)&x, sizeof x);
  }
}

static void add_section(merger *m, const input *in, size_t k, uint32_t symtab) {
  const Elf64_Shdr *s = &in->sections[k];
  Elf64_Shdr *to = &m->sections.at[in->section[k]];
  align(m, s->sh_addralign);
  to->sh_offset = m->data.n;
  if (s->sh_type == SHT_RELA) {
    add_relocations(m, in, s);
    to->sh_link = symtab;
    to->sh_info = in->section[s->sh_info];
  } else if (s->sh_type != SHT_NOBITS) {
    neo_str_addn(&m->data, at(in, s->sh_offset), s->sh_size);
    to->sh_link = s->sh_link ? in->section[s->sh_link] : 0; /* SHF_LINK_ORDER */
  }
}

static void add_table(merger *m, const char *name, Elf64_Shdr s, const void *data) {
  align(m, s.sh_addralign);
  s.sh_offset = m->data.n;
  s.sh_name = (Elf64_Word)m->names.n;
  neo_str_addn(&m->names, name, strlen(name) + 1);
  neo_str_addn(&m->data, data, s.sh_size);
  NEO_PUSH(m->arena, &m->sections, s);
}

static void add_symbols(merger *m, uint32_t symtab) {
  for (size_t k = 0; k < m->globals.n; k++)
    NEO_PUSH(m->arena, &m->locals, m->globals.at[k]);
  Elf64_Shdr s = {.sh_type = SHT_SYMTAB, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
  s.sh_link = symtab + 1;
  s.sh_info = (Elf64_Word)(m->locals.n - m->globals.n);
  s.sh_size = m->locals.n * sizeof(Elf64_Sym);
  add_table(m, ".symtab", s, m->locals.at);
  s = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1, .sh_size = m->symbol_names.n};
  add_table(m, ".strtab", s, m->symbol_names.at);
  s.sh_size = m->names.n + sizeof ".shstrtab";
  s.sh_name = (Elf64_Word)m->names.n;
  neo_str_addn(&m->names, ".shstrtab", sizeof ".shstrtab");
  s.sh_offset = m->data.n;
  neo_str_addn(&m->data, m->names.at, m->names.n);
  NEO_PUSH(m->arena, &m->sections, s);
}

static void finish(merger *m, neo_object *out) {
  Elf64_Ehdr head = *m->in->head;
  align(m, 8);
  head.e_shoff = m->data.n;
  head.e_shnum = (Elf64_Half)m->sections.n;
  head.e_shstrndx = (Elf64_Half)(m->sections.n - 1);
  neo_str_addn(&m->data, (const char *)m->sections.at, m->sections.n * sizeof(Elf64_Shdr));
  memcpy(m->data.at, &head, sizeof head);
  *out = (neo_object){m->data.at, m->data.n};
}

static void write_all(merger *m, neo_object *out) {
  Elf64_Ehdr head = {0};
  uint32_t symtab = (uint32_t)m->sections.n;
  neo_str_addn(&m->data, (const char *)&head, sizeof head);
  for (size_t i = 0; i < m->n; i++)
    for (size_t k = 1; k < m->in[i].head->e_shnum; k++)
      if (m->in[i].section[k])
        add_section(m, &m->in[i], k, symtab);
  add_symbols(m, symtab);
  if (m->sections.n >= SHN_LORESERVE)
    m->why = "there are too many sections";
  finish(m, out);
}

static void begin(merger *m) {
  neo_map_init(&m->by_name, m->arena);
  neo_str_init(&m->names, m->arena);
  neo_str_init(&m->symbol_names, m->arena);
  neo_str_init(&m->data, m->arena);
  neo_str_addc(&m->names, 0);
  neo_str_addc(&m->symbol_names, 0);
  NEO_PUSH(m->arena, &m->sections, (Elf64_Shdr){0});
  NEO_PUSH(m->arena, &m->locals, (Elf64_Sym){0});
}

neo_status neo_objects_merge(neo_arena *a, const neo_object *objects, size_t n, neo_object *out,
                             const char **why) {
  merger m = {.arena = a, .in = NEO_NEW_ARRAY(a, input, n), .n = n};
  begin(&m);
  for (size_t k = 0; k < n; k++) {
    m.in[k].object = &objects[k];
    if (!read_head(&m, &m.in[k]) || !read_tables(&m, &m.in[k])) {
      *why = m.why;
      return NEO_INTERNAL;
    }
  }
  for (size_t k = 0; k < n; k++)
    number_sections(&m, &m.in[k]);
  for (size_t k = 0; k < n; k++)
    add_locals(&m, &m.in[k]);
  for (size_t k = 0; k < n; k++)
    add_globals(&m, &m.in[k]);
  write_all(&m, out);
  *why = m.why;
  return m.why ? NEO_INTERNAL : NEO_OK;
}
