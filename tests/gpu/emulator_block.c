/* The threads of a block on an emulated device.
 *
 * Each runs on a stack of its own until it ends, or stands where others have to come first: at a
 * barrier, at an instruction that a warp or a warpgroup executes as one (.sync.aligned), or until
 * something has happened. Whoever is complete goes on, the meeting that was complete first, or,
 * with a seed, any of them: so one warpgroup gets ahead of another. When nobody can go on and some
 * have not ended, the launch has failed. A stack whose thread has ended serves the next one; it is
 * entered for the first time by swapcontext, and by longjmp from then on, which is no matter of the
 * kernel. */
#define _GNU_SOURCE 1
#include "tests/gpu/emulator_block.h"
#include "tests/gpu/emulator_asan.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 << 10 };

_Thread_local emu_team *emu_own;
static _Thread_local emu_team *teams[EMU_TEAMS];

unsigned emu_thread(void) {
  return emu_own->now->thread;
}

/* ---- who did wrong */

static const char *kernel_name(void) {
  Dl_info info;
  bool found = dladdr((void *)(uintptr_t)emu_own->run, &info) && info.dli_sname;
  return found ? info.dli_sname : "a kernel";
}

static void leave(void);

void emu_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (!emu_own->failed) {
    fprintf(stderr, "emulator: %s, block %u", kernel_name(), emu_own->block);
    if (emu_own->now)
      fprintf(stderr, ", thread %u", emu_own->now->thread);
    fputs(": ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
  }
  va_end(args);
  emu_own->failed = true;
  while (emu_own->now)
    leave();
}

/* ---- stacks */

/* From a thread to whoever entered it, and back. */
static void leave(void) {
  emu_fibre *f = emu_own->now;
  emu_leave_stack(&f->kept, emu_own->home_stack, emu_own->home_bytes);
  if (_setjmp(f->place) == 0)
    _longjmp(emu_own->home, 1);
  emu_on_stack(emu_own->now->kept, &emu_own->home_stack, &emu_own->home_bytes);
}

/* A stack's whole life. */
static void run_fibre(void) {
  emu_on_stack(NULL, &emu_own->home_stack, &emu_own->home_bytes);
  for (;;) {
    leave();
    emu_own->run(emu_own->params);
    emu_fibre *f = emu_own->now;
    if (emu_own->is_early && !f->waited)
      emu_fail("may come early, and waits for no other kernel");
    if (f->n_products)
      emu_fail("ends while products of its warpgroup are under way");
    if (!emu_copy_end(&f->copies))
      emu_fail("ends while copies of its own are under way");
  }
}

static void begin(emu_fibre *f, ucontext_t *first) {
  ucontext_t back;
  emu_own->now = f;
  emu_leave_stack(&emu_own->kept, f->stack, STACK_BYTES);
  if (_setjmp(emu_own->home) == 0)
    swapcontext(&back, first);
  emu_on_stack(emu_own->kept, NULL, NULL);
  emu_own->now = NULL;
}

static emu_fibre *new_fibre(void) {
  ucontext_t first;
  emu_fibre *volatile f = calloc(1, sizeof *f); /* getcontext may return twice, for all gcc knows */
  if (!f || !(f->stack = malloc(STACK_BYTES)) || getcontext(&first))
    abort();
  first.uc_stack.ss_sp = f->stack;
  first.uc_stack.ss_size = STACK_BYTES;
  makecontext(&first, run_fibre, 0);
  begin(f, &first);
  return f;
}

static void free_fibre(emu_fibre *f) {
  emu_copy_free(&f->copies);
  free(f->stack);
  free(f);
}

static void free_teams(void *p) {
  emu_team **of = p;
  for (unsigned k = 0; k < EMU_TEAMS && of[k]; k++) {
    emu_phases_free(of[k]->phases);
    emu_proxy_free(of[k]->proxy);
    for (unsigned i = 0; i < of[k]->n_idle; i++)
      free_fibre(of[k]->idle[i]);
    free(of[k]->shared);
    free(of[k]);
    of[k] = NULL;
  }
}

/* A thread's teams end with it, and with the driver those of the thread that unloads it. */
static pthread_key_t teams_key;

__attribute__((constructor)) static void begin_teams(void) {
  if (pthread_key_create(&teams_key, free_teams))
    abort();
}

__attribute__((destructor)) static void end_teams(void) {
  pthread_key_delete(teams_key);
  free_teams(teams);
}

emu_team *emu_team_of(unsigned k) {
  if (teams[k])
    return teams[k];
  teams[k] = calloc(1, sizeof(emu_team));
  if (!teams[k] || posix_memalign((void **)&teams[k]->shared, 1024, EMU_SHARED) ||
      pthread_setspecific(teams_key, teams))
    abort();
  return teams[k];
}

/* ---- threads go on */

static void enter(emu_fibre *f) {
  emu_team *t = emu_own;
  if (t->failed)
    return;
  t->now = f;
  t->entered++;
  f->wait.kind = EMU_RUNS;
  emu_leave_stack(&t->kept, f->stack, STACK_BYTES);
  if (_setjmp(t->home) == 0)
    _longjmp(f->place, 1);
  emu_on_stack(emu_own->kept, NULL, NULL);
  t = emu_own;
  f = t->now;
  t->now = NULL;
  if (f->wait.kind != EMU_RUNS || t->failed)
    return;
  t->at[f->thread] = NULL;
  t->idle[t->n_idle++] = f;
  t->left--;
}

static void start(unsigned thread) {
  emu_team *t = emu_own;
  emu_fibre *f = t->n_idle ? t->idle[--t->n_idle] : new_fibre();
  f->thread = thread;
  f->waited = false;
  t->at[thread] = f;
  enter(f);
}

static unsigned pick(unsigned n) {
  uint64_t z = (emu_own->seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  return (unsigned)((z ^ z >> 27) % n);
}

void emu_mix(unsigned *order, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    order[i] = i;
  for (unsigned i = n; emu_own->seed && i-- > 1;) {
    unsigned k = pick(i + 1), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
}

/* ---- meetings */

void emu_until(emu_ready *ready, const void *x, unsigned n, emu_say *say) {
  while (!ready(x, n)) {
    emu_own->now->wait = (emu_wait){.kind = EMU_UNTIL, .ready = ready, .x = x, .n = n, .say = say};
    leave();
  }
}

void emu_meet(unsigned place, unsigned count) {
  emu_meeting *m = &emu_own->meeting[place];
  if (m->n && m->of != count)
    emu_fail("meets %u threads where others meet %u", count, m->of);
  if (m->n && m->n == m->of)
    emu_fail("comes to a barrier of %u threads, who are all there", count);
  m->of = count;
  if (++m->n == count)
    emu_own->complete[emu_own->n_complete++] = place;
  emu_own->now->wait = (emu_wait){.kind = EMU_MEETS, .place = place};
  leave();
}

void emu_meet_warp(void) {
  emu_meet(EMU_WARPS + emu_thread() / EMU_WARP, EMU_WARP);
}

static unsigned take_complete(void) {
  emu_team *t = emu_own;
  unsigned k = t->seed ? pick(t->n_complete) : 0, place = t->complete[k];
  t->n_complete--;
  memmove(&t->complete[k], &t->complete[k + 1], (t->n_complete - k) * sizeof *t->complete);
  return place;
}

/* Threads whose clocks a meeting joins: a shuffle, or a product of a warp, says nothing of memory
 * that the warp's own order would not. */
static void release(unsigned place) {
  emu_team *t = emu_own;
  unsigned n = 0, thread[EMU_THREADS];
  bool any = false;
  for (unsigned i = 0; i < t->threads; i++) {
    const emu_fibre *f = t->at[t->order[i]];
    if (f && f->wait.kind == EMU_MEETS && f->wait.place == place)
      thread[n++] = f->thread;
  }
  for (unsigned i = 0; i < n; i++)
    any = any || t->at[thread[i]]->says;
  for (unsigned i = 0; i < n; i++)
    t->at[thread[i]]->says = any;
  t->meeting[place].n = 0;
  emu_proxy_meet(thread, n);
  for (unsigned i = 0; i < n; i++)
    enter(t->at[thread[i]]);
}

static bool go_on(void) {
  emu_team *t = emu_own;
  bool any = false;
  if (t->n_complete) {
    release(take_complete());
    return true;
  }
  for (unsigned i = 0; i < t->threads && !t->failed; i++) {
    emu_fibre *f = t->at[t->order[i]];
    if (!f || f->wait.kind != EMU_UNTIL || !f->wait.ready(f->wait.x, f->wait.n))
      continue;
    enter(f);
    any = true;
  }
  return any;
}

/* ---- blocks */

/* Threads of a failed launch stop where they are. */
static void drop_threads(void) {
  emu_team *t = emu_own;
  for (unsigned k = 0; k < EMU_THREADS; k++)
    if (t->at[k]) {
      free_fibre(t->at[k]);
      t->at[k] = NULL;
    }
}

bool emu_block_go(void) {
  while (!emu_own->failed && go_on())
    continue;
  return !emu_own->failed;
}

bool emu_block_begin(unsigned block) {
  emu_team *t = emu_own;
  t->block = block;
  memset(t->shared, POISON, t->shared_bytes);
  memset(t->meeting, 0, sizeof t->meeting);
  memset(t->registers, 0, sizeof t->registers);
  t->n_complete = 0;
  t->failed = false;
  t->left = t->threads;
  emu_phases_begin(&t->phases, t->threads);
  emu_proxy_begin(&t->proxy, t->threads);
  emu_mix(t->order, t->threads);
  for (unsigned i = 0; i < t->threads && !t->failed; i++)
    start(t->order[i]);
  return emu_block_go();
}

enum { TEXT = 256, TEXTS = 4 * TEXT };

static void say_wait(const emu_wait *w, char *text) {
  const emu_meeting *m = &emu_own->meeting[w->place];
  if (w->kind == EMU_UNTIL)
    w->say(w->x, w->n, text, TEXT);
  else if (w->place < EMU_BARRIERS)
    snprintf(text, TEXT, "%u threads at barrier %u, where %u are", m->of, w->place, m->n);
  else
    snprintf(text, TEXT, "the %u threads of its %s, of which %u are there", m->of,
             w->place < EMU_WARPGROUPS ? "warp" : "warpgroup", m->n);
}

/* The threads that wait in vain: the first one of each different wait. */
static void say_who_waits(void) {
  char text[TEXT], all[TEXTS] = "";
  for (unsigned k = 0, n = 0; k < EMU_THREADS; k++) {
    if (!emu_own->at[k])
      continue;
    say_wait(&emu_own->at[k]->wait, text);
    if (!strstr(all, text) && n + TEXT < TEXTS)
      n += (unsigned)snprintf(all + n, TEXTS - n, "; thread %u waits for %s", k, text);
  }
  emu_fail("nobody can go on%s", all);
}

bool emu_block_end(void) {
  if (!emu_own->failed && emu_own->left)
    say_who_waits();
  if (!emu_own->failed)
    emu_phases_end(emu_own->phases);
  drop_threads();
  return !emu_own->failed;
}
