# neo_pipeline: what the driver and its tests share (tools/pipeline).

file(GLOB pipeline CONFIGURE_DEPENDS tools/pipeline/*.c)
neo_add_static(neo_pipeline "${pipeline}" "neo_codegen;neo_network;neo_cache;neort_static")

# neo_cache: records of schedules, on base alone. neo-cache: the program; neoc answers `neoc cache`
# with the same code.
file(GLOB cache_sources CONFIGURE_DEPENDS tools/cache/*.c)
list(FILTER cache_sources EXCLUDE REGEX "/main\\.c$")
neo_add_static(neo_cache "${cache_sources}" neo_base)

# neoc finds the shipped library, the headers and libneort relative to itself (../share/neo/std,
# ../include, ../lib or ../NEO_INSTALL_LIBDIR); in the build tree these are links to the sources.
set(neo_definitions NEO_VERSION="${PROJECT_VERSION}"
                    NEO_STD_DIR_BUILD="${PROJECT_SOURCE_DIR}/models/std"
                    NEO_INSTALL_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
if(TARGET neort_objects)
  target_compile_definitions(neort_objects PRIVATE NEO_VERSION="${PROJECT_VERSION}")
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/neo ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models/std ${CMAKE_BINARY_DIR}/share/neo/std SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models/records ${CMAKE_BINARY_DIR}/share/neo/records
     SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models/zoo ${CMAKE_BINARY_DIR}/share/neo/zoo SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/AGENTS.md ${CMAKE_BINARY_DIR}/share/neo/AGENTS.md SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/docs/gallery ${CMAKE_BINARY_DIR}/share/neo/gallery SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/neo ${CMAKE_BINARY_DIR}/include/neo SYMBOLIC)

if(pipeline)
  target_compile_definitions(neo_pipeline PRIVATE ${neo_definitions})
endif()

# neo_tune: the tuner, for neoc and its tests.
file(GLOB tune_sources CONFIGURE_DEPENDS tools/tune/*.c)
list(APPEND tune_sources tools/measure/lines.c tools/measure/words.c) # what both it and neo-measure read
neo_add_static(neo_tune "${tune_sources}" "neo_pipeline")

# neo_neoc: all of neoc but what the program alone does (program/), for it and for libneo.
file(GLOB_RECURSE neoc_sources CONFIGURE_DEPENDS tools/neoc/*.c)
list(FILTER neoc_sources EXCLUDE REGEX "/neoc/program/")
neo_add_static(neo_neoc "${neoc_sources}" "neo_tune;neo_pipeline")
file(GLOB neoc_texts CONFIGURE_DEPENDS tools/neoc/new/templates/*.in tools/neoc/explain/page.css
     tools/neoc/explain/page.js)
neo_embed_texts(neo_neoc ${neoc_texts})
file(GLOB neoc_program CONFIGURE_DEPENDS tools/neoc/program/*.c)
if(neoc_program)
  target_compile_definitions(neo_neoc PRIVATE ${neo_definitions})
  add_executable(neoc ${neoc_program})
  target_compile_definitions(neoc PRIVATE ${neo_definitions})
  target_link_libraries(neoc PRIVATE neo_neoc)
  set_target_properties(neoc PROPERTIES NEO_LLVM_INSIDE ON)
  add_dependencies(neoc neort_shared neort_bundle)
  include(NeoLibrary)
endif()

# neo-cache: by itself, without LLVM.
add_executable(neo-cache tools/cache/main.c)
target_compile_definitions(neo-cache PRIVATE ${neo_definitions})
target_link_libraries(neo-cache PRIVATE neo_cache)

# neo-alloc: the memory planner on instances in files, for tools/bench; is not installed.
file(GLOB alloc_sources CONFIGURE_DEPENDS tools/benchmarks/alloc/*.c)
add_executable(neo-alloc ${alloc_sources})
target_link_libraries(neo-alloc PRIVATE neo_codegen)

# neo-measure: runs candidates of the tuner; without LLVM, as it forks.
file(GLOB measure_sources CONFIGURE_DEPENDS tools/measure/*.c)
add_executable(neo-measure ${measure_sources})
target_link_libraries(neo-measure PRIVATE neort_static)
target_link_options(neo-measure PRIVATE -Wl,--no-as-needed) # candidates call libm
if(TARGET neoc)
  add_dependencies(neoc neo-measure)
endif()
