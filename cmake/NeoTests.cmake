# tests/<folder>/test_<x>.c  -> program and test <folder>_<x>, linked with that folder's library and
#                               all below it; other *.c of the folder are shared by its tests.
#                               A name with "pool" or "thread" in it: also under the thread sanitizer.
# tests/test_<x>.sh          -> test <x>; exit code 77 means skipped.
# tests/fuzz/fuzz_<x>.c      -> program fuzz_<x>, test of 10 s (NEO_FUZZ and clang).
#
# Whatever asks how much it should do (tests/effort.h, also by neo_seeds_of and lower_check, or
# NEO_TEST_LONG or long_only in a script) is also the test <name>_long, with the label long, which
# only `tools/test --long` and `ctest --preset long` run.

find_library(NEO_cmocka_LIBRARY cmocka REQUIRED)
set(layers base ir frontend autodiff transform fusion schedule codegen)
set(test_environment "NEO_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "NEO_BUILD_DIR=${CMAKE_BINARY_DIR}"
    "NEO_SANITIZE=${NEO_SANITIZE}" "NEOC=${CMAKE_BINARY_DIR}/bin/neoc"
    # A leak in LLVM's or the C library's start-up is not ours to mend.
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.txt:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1" "TSAN_OPTIONS=halt_on_error=1")

function(neo_test_library folder out)
  if(folder STREQUAL frontend)
    set(${out} neo_test_syntax PARENT_SCOPE)
  elseif(folder STREQUAL pairs)
    set(${out} neo_pipeline neo_test_syntax neo_test_draw PARENT_SCOPE)
  elseif(folder MATCHES "^(schedule|codegen|pipeline)$")
    set(${out} neo_${folder} neo_test_draw PARENT_SCOPE)
  elseif(folder IN_LIST layers)
    set(${out} neo_${folder} PARENT_SCOPE)
  elseif(folder STREQUAL runtime)
    set(${out} neort_static PARENT_SCOPE)
  elseif(folder STREQUAL cache)
    set(${out} neo_cache PARENT_SCOPE)
  elseif(folder STREQUAL tree)
    set(${out} ir_test_support pairs_test_support PARENT_SCOPE)
  elseif(folder STREQUAL tune)
    set(${out} neo_tune PARENT_SCOPE)
  elseif(folder STREQUAL embed)
    set(${out} neo_shared PARENT_SCOPE)
  elseif(folder STREQUAL measure)
    set(${out} neort_static PARENT_SCOPE)
  elseif(folder MATCHES "^(library|recurrences|second|zoo|device|network)$")
    set(${out} neo_test_oracle PARENT_SCOPE)
  else()
    set(${out} neo_pipeline PARENT_SCOPE)
  endif()
endfunction()

# Sources of a test folder that several of its tests share.
function(neo_test_support folder library out)
  set(target ${folder}_test_support)
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.c)
  list(FILTER support EXCLUDE REGEX "/(test|fuzz)_[^/]*$")
  if(TARGET neo_test_random AND NOT folder MATCHES "^(base|runtime|cache|measure|embed)$")
    list(APPEND library neo_test_random)
  endif()
  neo_add_static(${target} "${support}" "${library}")
  set(${out} ${target} PARENT_SCOPE)
endfunction()

function(neo_register name timeout_s)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_environment}" SKIP_RETURN_CODE 77
                                          TIMEOUT ${timeout_s})
endfunction()

# The same test once more with NEO_TEST_LONG=1, if the source asks for it. Under sanitizers there is
# none: what is rare is looked for in the quick build.
function(neo_add_long_test name path)
  file(STRINGS ${path} asks REGEX "neo_seeds_of|neo_test_(count|draws|long)|NEO_TEST_LONG|long_only|lower_check")
  if(NOT asks OR NEO_SANITIZE)
    return()
  endif()
  add_test(NAME ${name}_long COMMAND ${ARGN})
  neo_register(${name}_long 14400)
  set_tests_properties(${name}_long PROPERTIES LABELS long)
  set_property(TEST ${name}_long APPEND PROPERTY ENVIRONMENT NEO_TEST_LONG=1)
endfunction()

function(neo_add_unit_test path)
  cmake_path(GET path STEM name)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  string(REGEX REPLACE "^test_" "" short ${name})
  set(target test_${folder}_${short})
  add_executable(${target} ${path})
  target_link_libraries(${target} PRIVATE ${folder}_test_support ${NEO_cmocka_LIBRARY})
  target_compile_definitions(${target} PRIVATE NEO_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(folder MATCHES "^(measure|tune)$") # they run it
    add_dependencies(${target} neo-measure)
  endif()
  if(folder MATCHES "^(zoo|device)$") # their tests are below
    return()
  endif()
  add_test(NAME ${folder}_${short} COMMAND ${target})
  neo_register(${folder}_${short} 900)
  if(folder STREQUAL embed) # no program looks for libraries in the build tree by itself
    set_property(TEST ${folder}_${short} APPEND PROPERTY ENVIRONMENT
                 "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/lib")
  endif()
  neo_add_long_test(${folder}_${short} ${path} ${target})
  set(labels ${folder})
  # What runs under the thread sanitizer; the threads of codegen's tests are a GPU's, interpreted.
  if(short MATCHES "pool|thread|ahead" AND NOT folder STREQUAL codegen)
    list(APPEND labels threads)
    add_dependencies(thread_tests ${target})
  endif()
  set_tests_properties(${folder}_${short} PROPERTIES LABELS "${labels}")
endfunction()

function(neo_add_fuzz_target path)
  cmake_path(GET path STEM target)
  string(REGEX REPLACE "^fuzz_" "" short ${target})
  add_executable(${target} ${path})
  target_link_libraries(${target} PRIVATE neo_pipeline neo_test_syntax)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${target})
  set(found ${CMAKE_BINARY_DIR}/corpus/${short})
  file(MAKE_DIRECTORY ${found})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${short})
  if(NOT IS_DIRECTORY ${corpus})
    set(corpus "")
  endif()
  set(dictionary ${PROJECT_SOURCE_DIR}/tests/fuzz/${short}.dict)
  if(EXISTS ${dictionary})
    set(dictionary -dict=${dictionary})
  else()
    set(dictionary "")
  endif()
  # A crash must not end with 77, libFuzzer's number for it, which says here that a test is skipped.
  add_test(NAME fuzz_${short} COMMAND ${target} -max_total_time=10 -timeout=10 -rss_limit_mb=2048
           -error_exitcode=1 -print_final_stats=0 -verbosity=0 ${dictionary}
           -artifact_prefix=${CMAKE_BINARY_DIR}/corpus/crash_${short}_ ${found} ${corpus})
  neo_register(fuzz_${short} 300)
  set_tests_properties(fuzz_${short} PROPERTIES LABELS fuzz)
endfunction()

add_custom_target(thread_tests)
# tests/random: the generator of programs, for the tests of every folder that sees ir.
if(EXISTS ${PROJECT_SOURCE_DIR}/tests/random/gen.c)
  file(GLOB random_sources CONFIGURE_DEPENDS tests/random/*.c)
  neo_add_static(neo_test_random "${random_sources}" neo_ir)
endif()

# tests/syntax: syntax trees as text.
file(GLOB syntax_sources CONFIGURE_DEPENDS tests/syntax/*.c)
neo_add_static(neo_test_syntax "${syntax_sources}" neo_frontend)

# tests/draw: random schedules.
file(GLOB draw_sources CONFIGURE_DEPENDS tests/draw/*.c)
neo_add_static(neo_test_draw "${draw_sources}" neo_schedule)

# tests/oracle: models run against stored values of other frameworks.
file(GLOB oracle_sources CONFIGURE_DEPENDS tests/oracle/*.c)
neo_add_static(neo_test_oracle "${oracle_sources}" neo_pipeline)

file(GLOB unit_tests CONFIGURE_DEPENDS tests/*/test_*.c)
set(seen "")
foreach(path IN LISTS unit_tests)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  if(NOT folder IN_LIST seen)
    list(APPEND seen ${folder})
    neo_test_library(${folder} library)
    neo_test_support(${folder} "${library}" support)
  endif()
  neo_add_unit_test(${path})
endforeach()

# The check of memory plans is the benchmark's.
target_sources(codegen_test_support PRIVATE tools/benchmarks/alloc/valid.c)

# The zoo is one program; each of its cases is a test.
file(GLOB zoo_cases CONFIGURE_DEPENDS tests/zoo/expected/*.txt)
foreach(path IN LISTS zoo_cases)
  cmake_path(GET path STEM name)
  add_test(NAME zoo_${name} COMMAND test_zoo_zoo ${name})
  neo_register(zoo_${name} 900)
  set_tests_properties(zoo_${name} PROPERTIES LABELS zoo)
  # Under sanitizers one of each kind: these have many layers of few kinds, or a smaller kin.
  if(name MATCHES "^(resnet.*|shufflenet|mobilenet|tagger|seq2seq|lattice_lstm|tree_gru|tree_lstm_sum.*|.*_unrolled|mamba_step|capsulenet_conv)$")
    set_property(TEST zoo_${name} APPEND PROPERTY LABELS slow)
  endif()
endforeach()

# tests/gpu: a CUDA driver that emulates a device.
file(GLOB emulator_sources CONFIGURE_DEPENDS tests/gpu/emulator*.c)
add_library(neo_gpu_emulator SHARED ${emulator_sources} codegen/loop/warp.c
            codegen/loop/wgmma.c)
target_link_libraries(neo_gpu_emulator PRIVATE neo_flags ${CMAKE_DL_LIBS})
target_include_directories(neo_gpu_emulator PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(neo_gpu_emulator PROPERTIES
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(folder pipeline runtime pairs)
  add_dependencies(${folder}_test_support neo_gpu_emulator)
  target_compile_definitions(${folder}_test_support
                             PUBLIC NEO_TEST_EMULATOR="$<TARGET_FILE:neo_gpu_emulator>")
endforeach()
target_compile_definitions(pairs_test_support PRIVATE NEO_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TARGET test_measure_device)
  add_dependencies(test_measure_device neo_gpu_emulator)
  set_tests_properties(measure_device PROPERTIES LABELS "measure;gpu_emulated")
endif()
# Models compiled for a GPU and run on that; its threads' stacks are not the thread sanitizer's.
function(neo_add_emulated_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  neo_register(${name} 900)
  set_tests_properties(${name} PROPERTIES LABELS gpu_emulated)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "NEO_TEST_TARGET=nvptx:sm_90a+host"
               "NEO_CUDA_DRIVER=$<TARGET_FILE:neo_gpu_emulator>")
endfunction()
if(NOT "thread" IN_LIST NEO_SANITIZE)
  neo_add_emulated_test(gpu_library test_library_library)
  set_property(TEST gpu_library APPEND PROPERTY LABELS slow) # minutes under sanitizers
  foreach(path IN LISTS zoo_cases)
    cmake_path(GET path STEM name)
    neo_add_emulated_test(gpu_zoo_${name} test_zoo_zoo ${name})
    # As graphs from the first call on, with all that can be in persistent grids.
    set_property(TEST gpu_zoo_${name} APPEND PROPERTY ENVIRONMENT NEO_CUDA_GRAPHS=2
                 NEO_TEST_GRIDS=1 NEO_EMULATOR_SEED=3)
    if(NOT name MATCHES "^(mlp|lltm|sublstm_scan|tree_lstm)$") # one of each kind
      set_property(TEST gpu_zoo_${name} APPEND PROPERTY LABELS slow) # as well
    endif()
    if(name MATCHES "^(resnet50|shufflenet|mobilenet)$") # a minute each, beside their smaller kin
      set_property(TEST gpu_zoo_${name} APPEND PROPERTY LABELS long)
    endif()
  endforeach()
endif()

# Many kernels, interpreted: minutes under sanitizers, where others run the same code with fewer.
foreach(name codegen_lower codegen_lower_nest codegen_lower_threads codegen_matrix codegen_producer
             pipeline_gpu_large pipeline_gpu_producer recurrences_recurrences second_second tune_search)
  set_property(TEST ${name} APPEND PROPERTY LABELS slow)
endforeach()

# The same on this machine's GPU, where there is one; and training there beside the processor's.
add_executable(neo_gpu_device tests/gpu/device.c base/gpu.c)
target_link_libraries(neo_gpu_device PRIVATE neo_flags ${CMAKE_DL_LIBS})
target_include_directories(neo_gpu_device PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(neo_gpu_device PROPERTIES
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
function(neo_add_device_test name)
  add_test(NAME ${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/gpu/on_device ${ARGN})
  neo_register(${name} 900)
  set_tests_properties(${name} PROPERTIES LABELS gpu RESOURCE_LOCK gpu)
endfunction()
neo_add_device_test(device_library $<TARGET_FILE:test_library_library>)
foreach(path IN LISTS zoo_cases)
  cmake_path(GET path STEM name)
  neo_add_device_test(device_zoo_${name} $<TARGET_FILE:test_zoo_zoo> ${name})
endforeach()
neo_add_device_test(device_grids $<TARGET_FILE:test_zoo_zoo> milstm scrnn sublstm lltm mlp)
set_property(TEST device_grids APPEND PROPERTY ENVIRONMENT NEO_CUDA_GRAPHS=2 NEO_TEST_GRIDS=1)
neo_add_device_test(device_steps $<TARGET_FILE:test_device_steps>)
neo_add_device_test(device_products sh ${PROJECT_SOURCE_DIR}/tests/gpu/products)
foreach(tool memcheck racecheck initcheck synccheck)
  neo_add_device_test(device_${tool} --check ${tool} $<TARGET_FILE:test_zoo_zoo> milstm mlp
                      capsulenet_conv)
endforeach()
if(NOT "thread" IN_LIST NEO_SANITIZE)
  neo_add_emulated_test(gpu_products sh ${PROJECT_SOURCE_DIR}/tests/gpu/products)
  neo_add_emulated_test(gpu_steps test_device_steps)
  set_property(TEST gpu_steps APPEND PROPERTY ENVIRONMENT "NEO_TEST_SMALL=1" "NEO_TEST_STEPS=3")
  set_property(TEST gpu_steps APPEND PROPERTY LABELS slow)
endif()

# tests/relations: neoc as a server of itself.
add_library(neo_test_server MODULE tests/relations/server.c)
target_link_libraries(neo_test_server PRIVATE neo_flags ${CMAKE_DL_LIBS})
set_target_properties(neo_test_server PROPERTIES PREFIX "" OUTPUT_NAME neo_server
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

file(GLOB scripts CONFIGURE_DEPENDS tests/test_*.sh)
foreach(path IN LISTS scripts)
  cmake_path(GET path STEM name)
  string(REGEX REPLACE "^test_" "" name ${name})
  add_test(NAME ${name} COMMAND sh ${path})
  neo_register(${name} 1500)
  set_tests_properties(${name} PROPERTIES LABELS script)
  neo_add_long_test(${name} ${path} sh ${path})
endforeach()

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
if(NEO_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "NEO_FUZZ needs clang: use the preset fuzz")
  endif()
  add_custom_target(fuzz_targets)
  foreach(path IN LISTS fuzz_sources)
    neo_add_fuzz_target(${path})
  endforeach()
endif()

# The Python package with a sanitizer's runtime that is loaded before Python. test_python_*.sh are
# for builds without.
if("address" IN_LIST NEO_SANITIZE AND TARGET neo_python)
  add_test(NAME python_sanitized COMMAND sh ${PROJECT_SOURCE_DIR}/tests/python_sanitized.sh)
  neo_register(python_sanitized 900)
  set_tests_properties(python_sanitized PROPERTIES LABELS python)
  set_property(TEST python_sanitized APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endif()
