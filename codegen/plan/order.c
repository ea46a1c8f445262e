/* The groups that an entry needs, and the order in which they run.
 *
 * A group runs after the groups that write tensors which it reads, and after those of tensors
 * that its definitions name in neo_def_rec.after. A group that writes an update also runs after
 * the groups that read the old version, so that the update can be in place. Among the groups
 * that may run next, the first one in the grouping's order is the next. If that group writes
 * only updates, the next one is the group, among all that write only updates, whose parameters
 * were read last: they are likely to be in a cache still. In a frugal order, a group that frees
 * at least as many bytes as it takes comes first. Updates that overwrite each other's inputs
 * form a cycle, which is cut at its first group; plan/entry.c then finds that the update of this
 * group cannot be in place. */
#include "codegen/plan/internal.h"

typedef struct {
  uint32_t group, next; /* next: number of a link; 0: the last */
} group_link;

typedef struct {
  const plan_entry_env *env;
  neo_module *m;
  neo_arena *scratch;
  const neo_map *updates;
  neo_map writers, readers;        /* tensor -> link */
  NEO_VEC(group_link) links;       /* [0] unused */
  NEO_VEC(neo_tensor) work;        /* roots whose writers have not been looked for */
  NEO_VEC(uint32_t) needed;        /* ascending */
  NEO_VEC(uint32_t) after, before; /* edges: before[i] runs before after[i] */
  uint32_t *first;                 /* group -> number of its first edge in the sorted edges */
  uint32_t *waiting;               /* group -> groups that must run before it */
  bool *is_needed;
  uint32_t *read_at, now; /* by tensor: number of the last group so far that reads it */
  uint32_t *unread;       /* by tensor: groups that read it and have not run */
  bool *begun;            /* by tensor: a piece of it has been written */
  bool frugal;
} order_ctx;

static const neo_group *group_at(const order_ctx *o, uint32_t g) {
  return &o->env->in->grouping->groups.at[g];
}

static size_t n_groups(const order_ctx *o) {
  return o->env->in->grouping->groups.n;
}

static void add_link(order_ctx *o, neo_map *of, neo_tensor t, uint32_t g) {
  uint64_t next = 0;
  neo_map_get(of, t.i, &next);
  neo_map_set(of, t.i, o->links.n);
  NEO_PUSH(o->scratch, &o->links, (group_link){g, (uint32_t)next});
}

static uint32_t first_link(const neo_map *of, neo_tensor t) {
  uint64_t k = 0;
  neo_map_get(of, t.i, &k);
  return (uint32_t)k;
}

/* Does a group that writes t run in this entry? Parameters, states and settings are written in
 * the entry of initial values only. */
static bool writes_here(const order_ctx *o, neo_tensor t, bool init) {
  neo_role r = (neo_role)neo_tensor_at(o->m, t)->role;
  bool stored = r == NEO_ROLE_PARAM || r == NEO_ROLE_STATE || r == NEO_ROLE_SETTING;
  return stored == init || r == NEO_ROLE_TEMP;
}

/* Is t computed in this entry? With `roots_only` parameters, states and settings that are no
 * roots have their values already. */
static bool is_made(const order_ctx *o, neo_tensor t, const neo_tensor *roots, size_t n) {
  bool made = !o->env->roots_only || neo_tensor_at(o->m, t)->role == NEO_ROLE_TEMP;
  for (size_t k = 0; k < n && !made; k++)
    made = roots[k].i == t.i;
  return made;
}

static void find_writers(order_ctx *o, const neo_entry_rec *entry, const neo_tensor *roots,
                         size_t n) {
  uint32_t number = entry ? neo_group_entry(o->m, entry) : 0;
  for (uint32_t g = (uint32_t)n_groups(o); g-- > 0;)
    for (size_t k = 0; k < group_at(o, g)->roots.n; k++) {
      neo_tensor t = group_at(o, g)->roots.at[k];
      if (group_at(o, g)->entry == number && writes_here(o, t, !entry) && is_made(o, t, roots, n))
        add_link(o, &o->writers, t, g);
    }
}

static void need_writers(order_ctx *o, neo_tensor t) {
  for (uint32_t k = first_link(&o->writers, t); k; k = o->links.at[k].next) {
    uint32_t g = o->links.at[k].group;
    if (o->is_needed[g])
      continue;
    o->is_needed[g] = true;
    const neo_group *gr = group_at(o, g);
    for (size_t i = 0; i < gr->reads.n; i++)
      NEO_PUSH(o->scratch, &o->work, gr->reads.at[i]);
  }
}

static void find_needed(order_ctx *o, const neo_tensor *roots, size_t n) {
  for (size_t k = 0; k < n; k++)
    NEO_PUSH(o->scratch, &o->work, roots[k]);
  while (o->work.n)
    need_writers(o, o->work.at[--o->work.n]);
  for (uint32_t g = 0; g < n_groups(o); g++)
    if (o->is_needed[g]) {
      NEO_PUSH(o->scratch, &o->needed, g);
      for (size_t k = 0; k < group_at(o, g)->reads.n; k++) {
        add_link(o, &o->readers, group_at(o, g)->reads.at[k], g);
        o->unread[group_at(o, g)->reads.at[k].i]++;
      }
    }
}

static void add_edges(order_ctx *o, uint32_t first, uint32_t h) {
  for (uint32_t k = first; k; k = o->links.at[k].next) {
    uint32_t g = o->links.at[k].group;
    if (g == h || !o->is_needed[g])
      continue;
    NEO_PUSH(o->scratch, &o->before, g);
    NEO_PUSH(o->scratch, &o->after, h);
    o->waiting[h]++;
  }
}

static void find_edges(order_ctx *o) {
  for (size_t i = 0; i < o->needed.n; i++) {
    uint32_t h = o->needed.at[i];
    const neo_group *hr = group_at(o, h);
    for (size_t k = 0; k < hr->reads.n; k++)
      add_edges(o, first_link(&o->writers, hr->reads.at[k]), h);
    for (size_t k = 0; k < hr->members.n; k++)
      add_edges(o, first_link(&o->writers, neo_def_at(o->m, hr->members.at[k].def)->after), h);
    for (size_t k = 0; k < hr->roots.n; k++)
      if (neo_map_get(o->updates, hr->roots.at[k].i, NULL))
        add_edges(o, first_link(&o->readers, neo_tensor_at(o->m, hr->roots.at[k])->updates), h);
  }
}

/* Edges by their first group: those of g are sorted[first[g] .. first[g + 1]). */
static uint32_t *sort_edges(order_ctx *o) {
  size_t n = n_groups(o);
  uint32_t *sorted = NEO_NEW_ARRAY(o->scratch, uint32_t, o->after.n + 1);
  o->first = NEO_NEW_ARRAY(o->scratch, uint32_t, n + 2);
  for (size_t e = 0; e < o->before.n; e++)
    o->first[o->before.at[e] + 2]++;
  for (size_t g = 2; g < n + 2; g++)
    o->first[g] += o->first[g - 1];
  for (size_t e = 0; e < o->before.n; e++)
    sorted[o->first[o->before.at[e] + 1]++] = o->after.at[e];
  return sorted;
}

/* The last read of the old versions of the updates that the group writes; 0: it writes other
 * tensors, too. */
static uint32_t last_read(const order_ctx *o, uint32_t g) {
  const neo_group *x = group_at(o, g);
  uint32_t last = 1;
  for (size_t k = 0; k < x->roots.n; k++) {
    neo_tensor t = x->roots.at[k];
    if (!neo_map_get(o->updates, t.i, NULL))
      return 0;
    uint32_t at = o->read_at[neo_tensor_at(o->m, t)->updates.i];
    last = at > last ? at : last;
  }
  return last;
}

static double temp_bytes(const order_ctx *o, neo_tensor t) {
  bool temporary = neo_tensor_at(o->m, t)->role == NEO_ROLE_TEMP;
  return temporary ? (double)plan_store_max_bytes(o->env->store, t) : 0;
}

/* Bytes of the temporaries that the group writes, less those of temporaries whose last reader it
 * is. */
static double taken_bytes(const order_ctx *o, uint32_t g) {
  const neo_group *x = group_at(o, g);
  double bytes = 0;
  for (size_t k = 0; k < x->roots.n; k++)
    bytes += o->begun[x->roots.at[k].i] ? 0 : temp_bytes(o, x->roots.at[k]);
  for (size_t k = 0; k < x->reads.n; k++)
    bytes -= o->unread[x->reads.at[k].i] == 1 ? temp_bytes(o, x->reads.at[k]) : 0;
  return bytes;
}

/* The position of the ready group that takes the fewest bytes, if it frees as many; n_left: none
 * does. */
static size_t freeing_group(const order_ctx *o, size_t n_left) {
  size_t best = n_left;
  double least = 0;
  for (size_t i = 0; i < n_left; i++) {
    if (o->waiting[o->needed.at[i]])
      continue;
    double bytes = taken_bytes(o, o->needed.at[i]);
    if (bytes > least || (bytes >= least && best < n_left))
      continue;
    best = i;
    least = bytes;
  }
  return best;
}

/* The position of the next group among the n_left remaining ones: one that waits for no other,
 * or, in a cycle, the first. */
static size_t next_group(const order_ctx *o, size_t n_left) {
  size_t best = o->frugal ? freeing_group(o, n_left) : n_left;
  uint32_t best_read = 0;
  if (best < n_left)
    return best;
  for (size_t i = 0; i < n_left; i++) {
    uint32_t g = o->needed.at[i], read = o->waiting[g] ? 0 : last_read(o, g);
    if (o->waiting[g] || (best < n_left && read <= best_read))
      continue;
    best = i;
    best_read = read;
    if (!read)
      break;
  }
  return best < n_left ? best : 0;
}

static void note_run(order_ctx *o, uint32_t g) {
  const neo_group *x = group_at(o, g);
  o->now++;
  for (size_t k = 0; k < x->roots.n; k++)
    o->begun[x->roots.at[k].i] = true;
  for (size_t k = 0; k < x->reads.n; k++) {
    o->read_at[x->reads.at[k].i] = o->now;
    o->unread[x->reads.at[k].i]--;
  }
}

plan_groups plan_order(const plan_entry_env *env, neo_arena *scratch, const neo_map *updates,
                       const neo_tensor *roots, size_t n_roots, const neo_entry_rec *entry,
                       bool frugal) {
  order_ctx o = {
      .env = env, .m = env->store->p->m, .scratch = scratch, .updates = updates, .frugal = frugal};
  plan_groups out = {0};
  neo_map_init(&o.writers, scratch);
  neo_map_init(&o.readers, scratch);
  NEO_PUSH(scratch, &o.links, (group_link){0, 0});
  o.is_needed = NEO_NEW_ARRAY(scratch, bool, n_groups(&o) + 1);
  o.waiting = NEO_NEW_ARRAY(scratch, uint32_t, n_groups(&o) + 1);
  o.read_at = NEO_NEW_ARRAY(scratch, uint32_t, o.m->tensors.n + 1);
  o.begun = NEO_NEW_ARRAY(scratch, bool, o.m->tensors.n + 1);
  o.unread = NEO_NEW_ARRAY(scratch, uint32_t, o.m->tensors.n + 1);
  find_writers(&o, entry, roots, n_roots);
  find_needed(&o, roots, n_roots);
  find_edges(&o);
  const uint32_t *sorted = sort_edges(&o);
  for (size_t left = o.needed.n; left; left--) {
    size_t pick = next_group(&o, left);
    uint32_t g = o.needed.at[pick];
    NEO_PUSH(scratch, &out, g);
    note_run(&o, g);
    for (size_t i = pick; i + 1 < left; i++)
      o.needed.at[i] = o.needed.at[i + 1];
    for (uint32_t e = o.first[g]; e < o.first[g + 1]; e++)
      o.waiting[sorted[e]]--;
  }
  return out;
}
