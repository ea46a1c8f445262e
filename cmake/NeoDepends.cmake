# Libraries from outside, each as an INTERFACE target: llvm isl cjson xxhash zlib_static cmocka.

# LLVM through llvm-config: LLVMConfig.cmake would demand C++ and the -dev packages of everything
# that LLVM itself was built with. 22 is preferred, 19 is the oldest that builds.
find_program(NEO_LLVM_CONFIG DOC "llvm-config of LLVM >= 19"
  NAMES llvm-config-22 llvm-config-21 llvm-config-20 llvm-config-19 llvm-config
  HINTS /usr/lib/llvm-22/bin /usr/lib/llvm-21/bin /usr/lib/llvm-20/bin /usr/lib/llvm-19/bin)
if(NOT NEO_LLVM_CONFIG)
  message(FATAL_ERROR "LLVM >= 19 is missing: run tools/setup, or set NEO_LLVM_CONFIG")
endif()

function(neo_llvm_query out)
  execute_process(COMMAND ${NEO_LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

neo_llvm_query(NEO_LLVM_VERSION --version)
if(NEO_LLVM_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "${NEO_LLVM_CONFIG} is LLVM ${NEO_LLVM_VERSION}; 19 is the oldest that works")
endif()
neo_llvm_query(llvm_include --includedir)
neo_llvm_query(llvm_libdir --libdir)
neo_llvm_query(llvm_libs --link-shared --libs)
separate_arguments(llvm_libs)
message(STATUS "LLVM ${NEO_LLVM_VERSION} (${NEO_LLVM_CONFIG})")
add_library(llvm INTERFACE)
target_include_directories(llvm SYSTEM INTERFACE ${llvm_include})
target_link_directories(llvm INTERFACE ${llvm_libdir})

# A program with the property NEO_LLVM_INSIDE takes the static libraries, where they are installed
# and link: the loader relocates a shared one of this size whole at every start, which takes as long
# as compiling a small model's passes. What they need is taken from the libraries of packages that
# are there with LLVM's own, not from their -dev packages.
execute_process(COMMAND ${NEO_LLVM_CONFIG} --link-static --libs x86 aarch64 nvptx passes orcjit
  OUTPUT_VARIABLE llvm_inside OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
separate_arguments(llvm_inside)
list(APPEND llvm_inside -l:libstdc++.so.6 -l:libzstd.so.1 -lz -lm)
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${llvm_include})
set(CMAKE_REQUIRED_LINK_OPTIONS -L${llvm_libdir})
set(CMAKE_REQUIRED_LIBRARIES ${llvm_inside})
check_c_source_compiles("
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
int main(void) {
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMDisposePassBuilderOptions(LLVMCreatePassBuilderOptions());
  return LLVMRunPasses(0, 0, 0, 0) != 0;
}" NEO_LLVM_INSIDE_LINKS)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NEO_LLVM_INSIDE_LINKS AND NOT NEO_SANITIZE)
  set(inside "$<BOOL:$<TARGET_PROPERTY:NEO_LLVM_INSIDE>>")
  target_link_libraries(llvm INTERFACE "$<IF:${inside},${llvm_inside},${llvm_libs}>")
else()
  target_link_libraries(llvm INTERFACE ${llvm_libs})
endif()

# neo_external(target header [library])
function(neo_external name header)
  find_path(NEO_${name}_INCLUDE ${header} REQUIRED)
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${NEO_${name}_INCLUDE})
  if(ARGC GREATER 2)
    find_library(NEO_${name}_LIBRARY ${ARGV2} REQUIRED)
    target_link_libraries(${name} INTERFACE ${NEO_${name}_LIBRARY})
  endif()
endfunction()

neo_external(isl isl/set.h isl)
neo_external(cjson cjson/cJSON.h cjson)
neo_external(xxhash xxhash.h)               # header only: XXH_INLINE_ALL
neo_external(zlib_static zlib.h libz.a)     # inside libneort, so that users need no libz.so
