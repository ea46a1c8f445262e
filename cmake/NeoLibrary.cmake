# libneo.so.0: the compiler as a library, with LLVM and the runtime inside. It exports the
# functions that the headers declare, and no others: names of ours that are internal begin with
# neo_, too, so the linker is given the list. The same list is the table in which loaded code finds
# the runtime.

set(library_headers include/neo/neo.h include/neo/neo_rt.h include/neo/neo_graph.h
    include/neo/neo_net.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library_headers})
set(exported "")
set(runtime_table "")
foreach(header IN LISTS library_headers)
  file(STRINGS ${header} lines REGEX "^NEO_(RT_)?API ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^NEO_(RT_)?API [^(]*[ *](neo_[a-z0-9_]+)\\(.*" "\\2" name "${line}")
    string(APPEND exported "    ${name};\n")
    if(name MATCHES "^neo_rt_")
      string(APPEND runtime_table "X(${name})\n")
    endif()
  endforeach()
endforeach()
set(library_generated ${CMAKE_BINARY_DIR}/generated)
file(CONFIGURE OUTPUT ${library_generated}/libneo.map
     CONTENT "{\n  global:\n${exported}  local:\n    *;\n};\n" @ONLY)
file(CONFIGURE OUTPUT ${library_generated}/neo_rt_symbols.def CONTENT "${runtime_table}" @ONLY)

file(GLOB library_sources CONFIGURE_DEPENDS tools/library/*.c)
add_library(neo_shared SHARED ${library_sources})
target_compile_definitions(neo_shared PRIVATE ${neo_definitions})
target_include_directories(neo_shared PRIVATE ${CMAKE_BINARY_DIR}) # generated/
target_link_libraries(neo_shared PRIVATE neo_neoc)
# LLVM keeps what it registers with the C++ library until the process ends.
target_link_options(neo_shared PRIVATE -Wl,--version-script=${library_generated}/libneo.map
                                       -Wl,--gc-sections -Wl,-z,nodelete)
set_target_properties(neo_shared PROPERTIES OUTPUT_NAME neo SOVERSION 0 VERSION ${PROJECT_VERSION}
                                            NEO_LLVM_INSIDE ON
                                            LINK_DEPENDS ${library_generated}/libneo.map)
if(NEO_LLVM_INSIDE_LINKS AND NOT NEO_SANITIZE) # no folder of LLVM's libraries is looked into
  set_target_properties(neo_shared PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)
endif()
