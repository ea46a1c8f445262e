/* log.c: see log.h. */
#include "runtime/net/log.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, LONGEST = 64 };
static const char head[] = "neo log 1, %d actors, %d nodes\n";

/* ---- writing */

static neo_rt_status open_file(neo_rt_network *n) {
  neo_rti_net_log *l = n->log;
  size_t owners = (size_t)n->net->n_actors + 1;
  if (!n->config.log)
    return NEO_OK;
  l->buffers = calloc(owners, sizeof *l->buffers);
  bool good = l->buffers != NULL;
  for (size_t k = 0; k < owners && good; k++)
    good = (l->buffers[k].text = malloc(ROOM)) != NULL;
  if (!good)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for a log");
  errno = 0;
  l->file = fopen(n->config.log, "w");
  if (!l->file || setvbuf(l->file, NULL, _IONBF, 0) ||
      fprintf(l->file, head, n->net->n_actors, n->net->n_nodes) < 0)
    return neo_rti_net_fail(n, NEO_RT_E_IO, "%s: cannot be written: %s", n->config.log,
                            strerror(errno));
  return NEO_OK;
}

/* A write of whole lines, which is not divided by those of other threads. */
static void write_buffer(neo_rti_net_log *l, neo_rti_log_buffer *b) {
  errno = 0;
  if (b->n && fwrite(b->text, 1, b->n, l->file) != b->n)
    atomic_store(&l->error, errno ? errno : EIO);
  b->n = 0;
}

void neo_rti_net_log_note(neo_rt_network *n, int32_t actor, const neo_rti_net_task *t) {
  if (!n->log || !n->log->file)
    return;
  neo_rti_log_buffer *b = &n->log->buffers[actor];
  if (b->n + LONGEST > ROOM)
    write_buffer(n->log, b);
  b->n += (size_t)snprintf(b->text + b->n, LONGEST, "%d %d %" PRIu64 " %c\n", (int)actor,
                           (int)t->node, t->number, t->back ? 'b' : 'f');
}

neo_rt_status neo_rti_net_log_flush(neo_rt_network *n) {
  neo_rti_net_log *l = n->log;
  for (int32_t k = 0; l && l->file && k <= n->net->n_actors; k++)
    write_buffer(l, &l->buffers[k]);
  int error = l ? atomic_load(&l->error) : 0;
  return error ? neo_rti_net_fail(n, NEO_RT_E_IO, "%s: cannot be written: %s", n->config.log,
                                  strerror(error))
               : NEO_OK;
}

/* ---- reading */

static neo_rt_status broken(neo_rt_network *n, int64_t line, const char *why) {
  return neo_rti_net_fail(n, NEO_RT_E_FORMAT, "%s:%lld: %s", n->config.replay, (long long)line,
                          why);
}

static bool add_step(neo_rti_log_track *t, neo_rti_log_step s) {
  enum { FIRST = 256 };
  if (t->n == t->room) {
    size_t room = t->room ? 2 * t->room : FIRST;
    neo_rti_log_step *more = realloc(t->steps, room * sizeof *more);
    if (!more)
      return false;
    t->steps = more;
    t->room = room;
  }
  t->steps[t->n++] = s;
  return true;
}

static neo_rt_status read_line(neo_rt_network *n, const char *text, int64_t line) {
  int actor, node;
  uint64_t number;
  char way;
  if (sscanf(text, "%d %d %" SCNu64 " %c", &actor, &node, &number, &way) != 4 ||
      (way != 'f' && way != 'b'))
    return broken(n, line, "not a message of a log");
  bool good = actor >= 0 && actor <= n->net->n_actors && node >= 0 && node < n->net->n_nodes;
  if (good)
    good = node ? n->net->nodes[node].actor == actor : actor == n->net->n_actors;
  if (!good)
    return broken(n, line, "the network has no such node");
  return add_step(&n->log->tracks[actor], (neo_rti_log_step){number, node, way == 'b'})
             ? NEO_OK
             : neo_rti_net_fail(n, NEO_RT_E_MEMORY, "%s: no memory", n->config.replay);
}

static neo_rt_status read_lines(neo_rt_network *n, FILE *f) {
  char text[128];
  int actors = 0, nodes = 0;
  neo_rt_status status = NEO_OK;
  if (!fgets(text, sizeof text, f) || sscanf(text, head, &actors, &nodes) != 2)
    return broken(n, 1, "not a log");
  if (actors != n->net->n_actors || nodes != n->net->n_nodes)
    return broken(n, 1, "the log is of another network");
  for (int64_t line = 2; !status && fgets(text, sizeof text, f); line++)
    status = read_line(n, text, line);
  return status;
}

static neo_rt_status read_file(neo_rt_network *n) {
  const char *path = n->config.replay;
  if (!path)
    return NEO_OK;
  n->log->tracks = calloc((size_t)n->net->n_actors + 1, sizeof *n->log->tracks);
  if (!n->log->tracks)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "%s: no memory", path);
  errno = 0;
  FILE *f = fopen(path, "r");
  if (!f)
    return neo_rti_net_fail(n, NEO_RT_E_IO, "%s: cannot be read: %s", path, strerror(errno));
  neo_rt_status status = read_lines(n, f);
  fclose(f);
  return status;
}

neo_rt_status neo_rti_net_log_open(neo_rt_network *n) {
  if (!n->config.log && !n->config.replay)
    return NEO_OK;
  n->log = calloc(1, sizeof *n->log);
  if (!n->log)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for a log");
  neo_rt_status status = read_file(n); /* first, as both may be one file */
  return status ? status : open_file(n);
}

void neo_rti_net_log_close(neo_rt_network *n) {
  neo_rti_net_log *l = n->log;
  for (int32_t k = 0; l && k <= n->net->n_actors; k++) {
    if (l->file && l->buffers)
      write_buffer(l, &l->buffers[k]);
    if (l->buffers)
      free(l->buffers[k].text);
    if (l->tracks)
      free(l->tracks[k].steps);
  }
  if (l && l->file)
    fclose(l->file);
  if (l) {
    free(l->buffers);
    free(l->tracks);
  }
  free(l);
  n->log = NULL;
}

bool neo_rti_net_replays(const neo_rt_network *n) {
  return n->log && n->log->tracks;
}
