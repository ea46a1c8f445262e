# neo_pipeline: what the driver and its tests share (tools/pipeline). Every other folder of tools
# with C files is a program of that name.

file(GLOB pipeline CONFIGURE_DEPENDS tools/pipeline/*.c)
neo_add_static(neo_pipeline "${pipeline}" "neo_codegen;neo_cache;neort_static")

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
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/docs/gallery ${CMAKE_BINARY_DIR}/share/neo/gallery SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/neo ${CMAKE_BINARY_DIR}/include/neo SYMBOLIC)

if(pipeline)
  target_compile_definitions(neo_pipeline PRIVATE ${neo_definitions})
  include(NeoLibrary)
endif()

# neo_tune: the tuner, for neoc and its tests.
file(GLOB tune_sources CONFIGURE_DEPENDS tools/tune/*.c)
list(APPEND tune_sources tools/measure/lines.c tools/measure/words.c) # what both it and neo-measure read
neo_add_static(neo_tune "${tune_sources}" "neo_pipeline")

file(GLOB tool_files CONFIGURE_DEPENDS tools/*/*.c)
set(tool_folders "")
foreach(path IN LISTS tool_files)
  cmake_path(GET path PARENT_PATH folder)
  list(APPEND tool_folders ${folder})
endforeach()
list(REMOVE_DUPLICATES tool_folders)
foreach(folder IN LISTS tool_folders)
  cmake_path(GET folder FILENAME tool)
  # cache, measure, alloc: below; tune, library: above; benchmarks: built by tools/bench
  if(NOT tool MATCHES "^(pipeline|cache|measure|alloc|tune|library|benchmarks)$")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c)
    add_executable(${tool} ${sources})
    target_compile_definitions(${tool} PRIVATE ${neo_definitions})
    target_link_libraries(${tool} PRIVATE neo_tune neo_pipeline)
    set_target_properties(${tool} PROPERTIES NEO_LLVM_INSIDE ON)
    if(TARGET neort_shared)
      add_dependencies(${tool} neort_shared neort_bundle)
    endif()
  endif()
endforeach()

# neo-cache: by itself, without LLVM.
add_executable(neo-cache tools/cache/main.c)
target_compile_definitions(neo-cache PRIVATE ${neo_definitions})
target_link_libraries(neo-cache PRIVATE neo_cache)

# neo-alloc: the memory planner on instances in files, for tools/bench; is not installed.
file(GLOB alloc_sources CONFIGURE_DEPENDS tools/alloc/*.c)
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
