/* The sandbox of a child: resource limits of the kernel, and a filter of system calls that only
 * allows memory, clocks, waking threads, exiting, and open pipes. A child that opens a file, makes
 * a process or a socket, or sends a signal is killed. Where the filter is not available (an old
 * kernel, a container that forbids it) the limits alone remain. */
#include "tools/measure/measure.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* sanitizers map terabytes of addresses */
#else
enum { SANITIZED = 0 };
#endif

enum { DESCRIPTORS = 32, PROCESSES = 64 };

static void limit(__rlimit_resource_t what, rlim_t most) {
  struct rlimit x = {most, most};
  (void)setrlimit(what, &x); /* other limits remain if this one cannot be set */
}

static size_t mapped_now(void) {
  unsigned long long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%llu", &pages) != 1)
    pages = 0;
  if (f)
    fclose(f);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

void measure_limits_set(const measure_job *j, size_t scratch_bytes) {
  size_t stacks = (size_t)j->threads * (16u << 20);
  size_t memory =
      mapped_now() + (size_t)j->memory_bytes + scratch_bytes * (size_t)j->threads + stacks;
  if (!SANITIZED && mapped_now())
    limit(RLIMIT_AS, memory);
  limit(RLIMIT_CPU, (rlim_t)(j->cpu_ms / 1000 + 1) * (rlim_t)j->threads);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, DESCRIPTORS);
  limit(RLIMIT_NPROC, (rlim_t)PROCESSES + (rlim_t)j->threads);
}

/* ---- system calls */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW(name)                                       \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allows the call for one descriptor only. Comparing its low word suffices, as no larger number is
 * open. */
#define ALLOW_ON(name, fd)                                                                         \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4),                                          \
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),                  \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, fd, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

void measure_limits_calls(void) {
#ifdef ARCH
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(clock_gettime),
      ALLOW(futex),
      ALLOW(sched_yield),
      ALLOW(nanosleep),
      ALLOW(clock_nanosleep),
      ALLOW(exit),
      ALLOW(exit_group),
      ALLOW(brk),
      ALLOW(munmap),
      ALLOW(mmap),
      ALLOW(mremap),
      ALLOW(mprotect),
      ALLOW(madvise),
      ALLOW_ON(write, MEASURE_TO_PARENT),
      ALLOW_ON(read, MEASURE_FROM_PARENT),
      ALLOW(fcntl),
      ALLOW(rt_sigreturn),
      ALLOW(rt_sigprocmask),
      ALLOW(rt_sigaction),
      ALLOW(sigaltstack),
      ALLOW(getpid),
      ALLOW(gettid),
      ALLOW(tgkill),
      ALLOW(sched_getaffinity),
      ALLOW(restart_syscall),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return;
  /* for all threads of the child, those of the pool too */
  (void)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
#endif
}
