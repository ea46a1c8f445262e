/* The C source of kernels, good and bad, that the tests of the measurer compile. Y[i] = 2*X[i] + 1, i < 4096, in 16 units
 * of 256. */
#ifndef NEO_TESTS_CANDIDATES_H
#define NEO_TESTS_CANDIDATES_H

#define CANDIDATE(name, body) "int " name "(const args *a) { " body " return good(a); }\n"

static const char candidates_source[] =
    "#define _GNU_SOURCE\n"
    "#include <fcntl.h>\n#include <math.h>\n#include <signal.h>\n#include <stdint.h>\n"
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
    "#include <unistd.h>\n"
    "typedef struct { void *const *buf; const int64_t *size; const uint64_t *key; int64_t lo, hi;\n"
    "  void *scratch; } args;\n"
    "int good(const args *a) {\n"
    "  const float *x = a->buf[0]; float *y = a->buf[1];\n"
    "  for (int64_t i = a->lo * 256; i < a->hi * 256; i++) y[i] = 2 * x[i] + 1;\n"
    "  return 0; }\n"
    "static volatile long sink;\n" CANDIDATE(
        "slow",
        "for (long k = 0; k < (a->hi - a->lo) * 20000; k++) sink += k;") CANDIDATE("crash",
                                                                                   "*(volatile int *)16 = 1;")
        CANDIDATE("illegal", "__builtin_trap();") CANDIDATE("endless", "for (;;) sink++;") CANDIDATE(
            "huge",
            "for (;;) { volatile char *p = malloc(64 << 20); for (long k = 0; k < 64 << 20; k += 4096) p[k] = 1; }")
            CANDIDATE("storm", "for (int k = 0; k < 24; k++) if (fork() == 0) for (;;) sink++;") CANDIDATE(
                "flood", "for (;;) { printf(\"%s\", \"nonsense\\n\"); fflush(stdout); }")
                CANDIDATE("leak", "if (open(\"/dev/null\", O_RDONLY) + dup(1) < 0) sink++;") CANDIDATE(
                    "reader",
                    "((float *)a->buf[0])[3] = 1;") CANDIDATE("beyond",
                                                              "((float *)a->buf[1])[4096] = 1;")
                    CANDIDATE("signals", "kill(getppid(), SIGKILL);") CANDIDATE(
                        "leaves",
                        "setsid(); if (fork() == 0) { setsid(); for (;;) sink++; }") "int nan_(const args *a) { good(a); if (a->lo == 0) ((float *)a->buf[1])[77] = NAN; return 0; }\n"
                                                                                     "int wrong(const args *a) { good(a); ((float *)a->buf[1])[a->lo * 256] += 0.001f; return 0; }\n"
                                                                                     "int nothing(const args *a) { (void)a; return 0; }\n"
                                                                                     "int refuses(const args *a) { (void)a; return 1; }\n"
                                                                                     "int fickle(const args *a) { static int n; good(a); ((float *)a->buf[1])[9] += (float)(n++ > 20);\n"
                                                                                     "  return 0; }\n"
                                                                                     "int rounded(const args *a) { good(a); ((float *)a->buf[1])[a->lo * 256] *= 1.000001f; return 0; }\n";

#endif
