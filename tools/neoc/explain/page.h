/* The parts of the page that `neoc explain --html` writes.
 *
 *   page.c           the page: head, entries with their steps and prices
 *   page_facts.c     the source lines and the decisions of each group
 *   page_source.c    the model's text, and files of the library that it uses
 *   page_groups.c    groups, and the kernels that they share
 *   page_measured.c  times of a trace
 *   page_memory.c    memory over time, as a picture
 *   page_network.c   the networks of --network, as pictures
 *   page.css         style
 *   page.js          lights up all elements of a group together, and unfolds the target of a link;
 *                    the page works without it. Neither text has a '<' or an '&', so that it needs
 *                    no escaping in XML
 *   page_text.c      short texts that the others share
 *
 * Anchors: f0-12 is line 12 of file 0, g7 group 7, k3 kernel 3, entry-step an entry. Elements of a
 * group have its number in data-g.
 *
 * Texts that these functions return are in the page's arena. */
#pragma once
#include "runtime/model.h"
#include "tools/neoc/explain/explain.h"
#include "tools/neoc/explain/html.h"

typedef struct {
  uint32_t file, line; /* line from 1 */
  double part;         /* share of the group's time: see page_facts.c */
} page_line;

typedef struct {
  NEO_VEC(page_line)
  lines; /* where its definitions were written and called from, each once;
                               those of the model first */
  NEO_VEC(const neo_decision *) decisions;
  bool init;       /* makes an initial value: it has no price */
  double share;    /* share of the main entry's time */
  double measured; /* seconds in the main entry; 0: not in the trace */
} page_group;

typedef struct {
  neo_compilation *c;
  neo_arena *a;
  neo_str *out;
  page_group *group;         /* by number */
  const neo_rt_entry *entry; /* the main one: the first training entry, else the first */
  neo_rt_model model;
  const int64_t *sizes;   /* sizes given by --size, by number in the model; null: none */
  double *measured_step;  /* seconds of each step of the plan; null: there is no trace */
  double *measured_entry; /* seconds of each entry; 0: not in the trace */
} page;

/* ---- page_facts.c */
/* Finds the source lines and the decisions of each group. */
void page_find_facts(page *p);
/* The group of the k-th step of an entry; -1: it is a copy. */
int32_t page_step_group(const page *p, const neo_rt_entry *e, int32_t k);
/* Whether the entry was run in the trace. */
bool page_is_measured(const page *p, const neo_rt_entry *e);
/* Whether the step is the first of its group, at which the group's price is shown: a recurrence has
 * several steps. */
bool page_step_is_first(const page *p, const neo_rt_entry *e, int32_t k);
/* Seconds of a step: measured, if the entry was; else by the target's profile, which gives 0 for a
 * copy, for values cached between calls, and for later steps of a group. */
double page_step_seconds(const page *p, const neo_rt_entry *e, int32_t k);
/* The seconds of an entry, the sum over its steps. */
double page_entry_seconds(const page *p, const neo_rt_entry *e);
/* The name of a tensor, valid as long as the module. */
const char *page_tensor_name(const page *p, neo_tensor t);

/* ---- page_measured.c, for page.c */
/* Reads the trace; call it before page_find_facts. A failure has its text in *why. */
neo_status page_read_trace(page *p, const char *path, const char **why) NEO_MUST_CHECK;

/* ---- texts, in the arena (page_text.c) */
const char *page_href(const page *p, const char *prefix, uint32_t n); /* "#g12" */
const char *page_seconds(const page *p, double s);                    /* "3.12 us" */
const char *page_count(const page *p, double n);                      /* "1.2 M" */
/* The share, 1 for all, as text: "12 %". */
const char *page_percent(const page *p, double share);
/* Writes a link to a line: "12", or "nn:26" in the library. */
void page_put_line(page *p, page_line l);

/* ---- parts, for page.c */
/* Appends the model's text, and the files of the library that it uses. */
void page_put_source(page *p);
/* Appends the section of all groups. */
void page_put_groups(page *p);
/* Appends the section of all kernels. */
void page_put_kernels(page *p);
/* Appends the decisions of fusion in their order. */
void page_put_decisions(page *p);
/* Appends a picture of an entry's memory over its steps; nothing for an entry without steps. */
void page_put_memory(page *p, const neo_rt_entry *e);
/* Appends the pictures of networks; nothing without --network. */
void page_put_networks(page *p);
extern const char neoc_text_page_css[], neoc_text_page_js[];
