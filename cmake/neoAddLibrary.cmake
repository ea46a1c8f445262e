# neoc_add_library(<target> <model.expr> [SHARED|STATIC] [OPTIONS <option>...])
#
# A library target made by `neoc compile`: link it, and include "<model>.h". It is made again when
# the model, or a module that it imports, changes. OPTIONS go to neoc as they are: -D B=128,
# -I folder, --prefix=..., --mcpu=...

function(neoc_add_library target model)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SHARED;STATIC" "" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "neoc_add_library: unexpected ${arg_UNPARSED_ARGUMENTS}")
  endif()
  cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  cmake_path(GET model STEM name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.neo)
  file(MAKE_DIRECTORY ${folder}) # imported targets demand that include folders exist

  if(arg_STATIC)
    set(kind STATIC)
    set(emit a)
    set(runtime neo::neort_static)
  else()
    set(kind SHARED)
    set(emit so)
    set(runtime neo::neort)
  endif()
  set(library ${folder}/lib${name}.${emit})
  set(header ${folder}/${name}.h)

  set(depfile "")
  if(CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    set(depfile DEPFILE ${folder}/${name}.d)
    if(POLICY CMP0116)
      cmake_policy(SET CMP0116 NEW)
    endif()
  endif()
  add_custom_command(OUTPUT ${library} ${header}
    COMMAND neo::neoc compile ${model} -o ${folder} --emit=${emit},h
            --depfile=${folder}/${name}.d ${arg_OPTIONS}
    DEPENDS ${model} neo::neoc
    ${depfile}
    VERBATIM COMMENT "Compiling ${name}.expr")
  add_custom_target(${target}_neoc DEPENDS ${library} ${header})

  add_library(${target} ${kind} IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${folder}
    INTERFACE_LINK_LIBRARIES ${runtime})
  if(NOT arg_STATIC)
    # The program itself must name libneort: the model's library is found through the program's
    # RUNPATH, but what that library needs in its turn is not.
    set_target_properties(${target} PROPERTIES IMPORTED_SONAME lib${name}.so
      INTERFACE_LINK_OPTIONS LINKER:--no-as-needed)
  endif()
  add_dependencies(${target} ${target}_neoc)
endfunction()
