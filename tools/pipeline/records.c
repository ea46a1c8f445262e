/* Records of schedules in a compilation. */
#include "tools/pipeline/records.h"
#include "fusion/family.h"
#include "schedule/space.h"
#include "tools/pipeline/compile.h"
#include "tools/pipeline/searched.h"
#include <errno.h>
#include <string.h>

/* ---- which files */

static bool is_word(const char *p, size_t n, const char *word) {
  return strlen(word) == n && memcmp(p, word, n) == 0;
}

static const char *user_source(neo_arena *a, neo_records_source *out) {
  *out = (neo_records_source){neo_records_place(a), NEO_RECORDS_PRIVATE, true};
  return out->path ? NULL : "user: neither XDG_CACHE_HOME nor HOME names a folder";
}

const neo_records_source *neo_records_sources(neo_arena *a, const char *list, bool *shipped,
                                              const char **why) {
  NEO_VEC(neo_records_source) v = {0};
  *shipped = true;
  for (const char *p = list ? list : ""; *p;) {
    neo_records_source s = {0};
    size_t n = strcspn(p, ",");
    *why = n ? NULL : "an empty name";
    if (is_word(p, n, "none"))
      *shipped = false;
    else if (is_word(p, n, "user"))
      *why = user_source(a, &s);
    else
      s.path = neo_arena_strndup(a, p, n);
    if (*why)
      return NULL;
    if (s.path)
      NEO_PUSH(a, &v, s);
    p += n + (p[n] == ',');
  }
  NEO_PUSH(a, &v, (neo_records_source){0});
  return v.at;
}

const char *neo_records_shipped_name(neo_arena *a, const neo_target *t) {
  bool named = strncmp(t->level, "x86", 3) == 0; /* other names are levels of an architecture */
  const char *arch = named ? "" : neo_arena_strndup(a, t->triple, strcspn(t->triple, "-"));
  return neo_arena_printf(a, "%s%s%s.records", arch, named ? "" : "-", t->level);
}

/* ---- reading */

static void note(neo_compilation *c, const char *text) {
  if (!c->records_remark)
    c->records_remark = neo_diag(c->diags, 0, NEO_D_RECORDS_PARTLY_READ) + 1;
  neo_diag_note(c->diags, c->records_remark - 1, "%s", text);
}

static neo_status read_source(neo_compilation *c, const neo_records_source *s) {
  const char *why = NULL;
  neo_status status = neo_records_load(&c->records, &neo_io_default, s->path, s->flags, &why);
  bool missing = status == NEO_IO && errno == ENOENT;
  if (status == NEO_MEMORY || (status && !s->optional)) {
    c->why = why;
    return status;
  }
  if (status) {
    if (!missing)
      note(c, why);
    return NEO_OK;
  }
  const neo_records_file *f = &c->records.files.at[c->records.files.n - 1];
  if (f->bad_lines)
    note(c, neo_arena_printf(&c->arena, "%s: %zu damaged line%s passed over; %s", f->path,
                             f->bad_lines, f->bad_lines == 1 ? "" : "s", f->first_bad));
  return NEO_OK;
}

/* Reports shipped records that no compilation can use, as all are of other compilers. */
static void report_stale(neo_compilation *c, const char *path) {
  const char *build = neo_record_build_text();
  for (size_t k = 0; k < c->records.all.n; k++)
    if (neo_streq(c->records.all.at[k].build, build))
      return;
  if (!c->records.all.n)
    return;
  int h = neo_diag(c->diags, 0, NEO_D_RECORDS_STALE);
  neo_diag_note(c->diags, h, "this is   %s", build);
  neo_diag_note(c->diags, h, "%s: %s", path, c->records.all.at[0].build);
}

static neo_status read_shipped(neo_compilation *c) {
  const char *name = neo_records_shipped_name(&c->arena, &c->target);
  const char *path = neo_path_join(&c->arena, c->options.records_dir, name);
  neo_status status = read_source(c, &(neo_records_source){path, 0, true});
  if (!status)
    report_stale(c, path);
  return status;
}

neo_status neo_compile_read_records(neo_compilation *c) {
  neo_records_init(&c->records, &c->arena);
  neo_status status = c->options.records_dir ? read_shipped(c) : NEO_OK;
  c->shipped_records = c->records.all.n;
  for (const neo_records_source *s = c->options.records; !status && s && s->path; s++)
    status = read_source(c, s);
  for (size_t k = 0; c->options.more_records && k < c->options.more_records->all.n; k++)
    neo_records_add(&c->records, &c->options.more_records->all.at[k]);
  return status;
}

/* ---- describing a group */

/* The text that names the machine in records. All processors of a level share it, whichever was
 * given; a profile has its own. */
const char *neo_record_target_text(neo_arena *a, const neo_target *t) {
  const neo_machine *m = neo_machine_named(t->level);
  return neo_arena_printf(a, "%s vector=%ux%u%s l1=%lld l2=%lld%s%s%s%s", t->level, m->vector_bytes,
                          m->vector_regs, m->fma ? " fma" : "", (long long)m->l1_bytes,
                          (long long)m->l2_bytes, t->emulated ? " emulated" : "",
                          t->split ? " 3xtf32" : "", t->profile ? " profile=" : "",
                          t->profile ? t->profile : "");
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *neo_record_build_text(void) {
  return "neo " NEO_VERSION ", schedules " TEXT(NEO_SCHEDULE_MEANING);
}

void neo_record_describe(neo_compilation *c, const neo_group *g, neo_record *r) {
  neo_family f;
  neo_group_family(c->module, g, &f);
  memcpy(r->key, f.key, sizeof r->key);
  memcpy(r->family, f.family, sizeof r->family);
  r->sizes = f.sizes.at;
  r->n_sizes = f.sizes.n < NEO_RECORD_MAX_SIZES ? (uint32_t)f.sizes.n : NEO_RECORD_MAX_SIZES;
  r->name = g->name;
  r->target = neo_record_target_text(&c->arena, &c->target);
  r->build = neo_record_build_text();
}

/* ---- choosing */

static void not_used(neo_compilation *c, const neo_group *g, const char *why) {
  neo_span at = neo_def_at(c->module, g->members.at[0].def)->span;
  neo_diag(c->diags, at, NEO_D_RECORD_NOT_USED, g->name, why);
}

/* Counts the user's records that fit the group except for the machine or the compiler. Shipped
 * records do not concern the user. */
static void count_foreign(neo_compilation *c, const neo_record *group) {
  for (size_t k = c->shipped_records; k < c->records.all.n; k++) {
    const neo_record *r = &c->records.all.at[k];
    if (r->key[0] != group->key[0] || r->key[1] != group->key[1])
      continue;
    c->foreign_groups++;
    c->foreign_record = k;
    return;
  }
}

static bool usable(neo_compilation *c, const neo_group *g, const neo_machine *machine,
                   const neo_record *r, neo_schedule *out) {
  neo_str why = neo_str_in(&c->arena);
  bool legal = neo_schedule_parse(r->schedule, out);
  if (!legal)
    neo_str_add(&why, "its schedule has parameters that this compiler does not know");
  else
    legal = neo_schedule_legal(c->module, g, machine, out, &why);
  if (!legal)
    not_used(c, g, neo_str_text(&why));
  return legal;
}

/* Whether the record beats the model's present choice. The model's choice at the time of the
 * measurement may have been another, slower one; the model's present prices tell by how much. */
static bool beats_default(neo_compilation *c, const neo_group *g, const neo_machine *machine,
                          const neo_record *r) {
  neo_schedule then, now;
  double ratio = neo_record_ratio(r);
  if (ratio >= 1 || !r->against || !*r->against)
    return ratio < 1;
  now = neo_compile_search(c, g, machine);
  if (!neo_schedule_parse(r->against, &then) ||
      !neo_schedule_legal(c->module, g, machine, &then, NULL))
    return false;
  if (neo_schedule_equal(&then, &now))
    return true;
  neo_space x = neo_space_of(c->module, g, machine);
  return ratio * neo_space_cost(&x, &then) < neo_space_cost(&x, &now);
}

neo_schedule neo_compile_schedule_on(neo_compilation *c, const neo_group *g,
                                     const neo_machine *machine, const neo_record **from) {
  neo_record group = {0};
  neo_schedule s;
  *from = NULL;
  if (c->records.all.n == 0)
    return neo_compile_search(c, g, machine);
  neo_record_describe(c, g, &group);
  const neo_record *r = neo_records_find(&c->records, group.key, group.target, group.build, 0);
  if (!r)
    count_foreign(c, &group);
  else if (beats_default(c, g, machine, r) && usable(c, g, machine, r, &s))
    *from = r;
  return *from ? s : neo_compile_search(c, g, machine);
}

neo_schedule neo_compile_schedule(neo_compilation *c, const neo_group *g, const neo_record **from) {
  *from = NULL;
  return c->options.schedule ? c->options.schedule(c->options.schedule_ctx, c, g)
                             : neo_compile_schedule_on(c, g, &c->machine, from);
}

void neo_compile_report_records(neo_compilation *c) {
  if (!c->foreign_groups)
    return;
  const neo_record *r = &c->records.all.at[c->foreign_record];
  int h = neo_diag(c->diags, 0, NEO_D_RECORDS_FOREIGN, (int)c->foreign_groups,
                   c->foreign_groups == 1 ? "group has" : "groups have");
  neo_diag_note(c->diags, h, "this is   %s; %s", neo_record_target_text(&c->arena, &c->target),
                neo_record_build_text());
  neo_diag_note(c->diags, h, "a record: %s; %s", r->target, r->build);
}
