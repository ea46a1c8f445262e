#!/bin/sh
# A public prototype says its purpose; if it returns a pointer, who owns it or when it is null; if it returns a bool or a
# status, what false or an error means. The rules and the shares are in tests/prototypes.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3

(cd "$NEO_SOURCE_DIR" && python3 tests/prototypes.py -v) >"$work/report" ||
  fail "public prototypes lack comments" "$work/report"

# The rules can fail: of eight prototypes two have no purpose, one an owner that nobody knows, one a false without meaning.
mkdir -p toy/ir
cat >toy/ir/toy.h <<'END'
/* A toy. */
#pragma once
#define TOY(x) \
  toy_##x(int y)
/* ---- titles say nothing (toy.c) */
void toy_bare(void);

/* The sum, and the difference. */
int toy_sum(int a, int b);
int toy_difference(int a,
                   int b);

typedef struct { /* a thing */
  int x;         /* its number */
} toy_thing;
int toy_after_a_type(void);

/* The name of a thing. */
const char *toy_name(void);
/* The same; null: it has none. */
const char *toy_owned(void);
bool toy_done(void); /* is it done? */
/* Tries. */
bool toy_try(void);
static inline int toy_inline(void) {
  return 0;
}
END
printf '/* Private to ir. */\nint toy_private(void);\n' >toy/ir/private.h
cd toy
python3 "$NEO_SOURCE_DIR/tests/prototypes.py" -v >"$work/report" && fail "bare prototypes go unnoticed"
says "$work/report" '^ir/toy.h: purpose: toy_bare toy_after_a_type$' "a prototype without a comment"
says "$work/report" '^ir/toy.h: ownership: toy_name$' "a pointer without an owner"
says "$work/report" '^ir/toy.h: outcome: toy_try$' "a false without a meaning"
says "$work/report" '^purpose: 6 of 8 prototypes' "what prototypes.py counts"
exit "$status"
