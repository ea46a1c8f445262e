# Flags of every target: warnings are errors, asserts stay in release builds (a bug is an assert).

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Programs lie anywhere in memory, and what the loader has filled in is read-only before main.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# The folders where libraries are found are those of the installation, none but LLVM's: the build tree's own
# would be padded, to be edited when it is installed, and the padding is an empty entry: the current folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

# address;undefined or thread
set(NEO_SANITIZE "" CACHE STRING "sanitizers, a list: address undefined thread")

add_library(neo_flags INTERFACE)
target_include_directories(neo_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(neo_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow
  -Wmissing-prototypes -Wvla -Werror
  # Contraction would make the interpreter's results depend on the machine.
  -ffp-contract=off
  # Paths inside __FILE__ and debug information do not depend on where the tree lies.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

target_link_options(neo_flags INTERFACE -Wl,-z,relro -Wl,-z,now)

if(NEO_SANITIZE)
  list(JOIN NEO_SANITIZE "," joined)
  # -O1 and lines alone: such a build takes half the time of one with -O2 -g.
  target_compile_options(neo_flags INTERFACE -O1 -g1 -fsanitize=${joined} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
  target_link_options(neo_flags INTERFACE -fsanitize=${joined})
  # gcc's flow warnings are wrong about instrumented code; the release build has them as errors.
  target_compile_options(neo_flags INTERFACE -Wno-error)
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(neo_flags INTERFACE -Wno-maybe-uninitialized -Wno-format-truncation
                                               -Wno-format-overflow -Wno-stringop-overflow)
  endif()
endif()
