/* Handlers for the end of memory in LLVM and the C++ library. LLVM cannot recover: it prints a line
 * and aborts, and so does C++ for an uncaught exception. Both accept a handler, but not through
 * LLVM's interface for C; so this file declares the two functions by their mangled names. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "codegen/llvm/emit.h"
#include <dlfcn.h>
#include <string.h>

typedef void on_bad_alloc(void *handler, const char *why, bool with_dump);
typedef void on_no_memory(void);

/* void llvm::install_bad_alloc_error_handler(on_bad_alloc *, void *user)
 * (llvm/Support/ErrorHandling.h) */
void neo_llvm_install_bad_alloc(on_bad_alloc *f, void *user) __asm__(
    "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

static void forward(void *user, const char *why, bool with_dump) {
  on_no_memory *handler;
  (void)why, (void)with_dump;
  memcpy(&handler, &user, sizeof handler);
  handler();
}

/* std::set_new_handler, of a library that only LLVM may be linked with. */
static void set_new_handler(on_no_memory *handler) {
  on_no_memory *(*set)(on_no_memory *);
  void *symbol = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
  memcpy(&set, &symbol, sizeof set);
  if (symbol)
    set(handler);
}

void neo_llvm_on_no_memory(void (*handler)(void)) {
  void *user;
  memcpy(&user, &handler, sizeof user);
  neo_llvm_install_bad_alloc(forward, user);
  set_new_handler(handler);
}
