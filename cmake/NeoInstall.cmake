# cmake --install: neoc, libneort (shared and static), headers, the shipped library of expressions,
# find_package(neo), pkg-config, man pages, completion of shells, grammars of editors, docs.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/neo)

if(TARGET neort_shared)
  install(TARGETS neort_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${NEORT_BUNDLE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET neo_shared)
  install(TARGETS neo_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
foreach(tool IN ITEMS neoc neo-cache neo-measure)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY include/neo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(DIRECTORY models/std DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING
        PATTERN *.expr)
install(DIRECTORY models/zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING PATTERN *.expr)
install(DIRECTORY docs/gallery DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING PATTERN *.expr)
install(DIRECTORY models/records DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING
        PATTERN *.records)
install(FILES AGENTS.md DESTINATION ${CMAKE_INSTALL_DATADIR}/neo)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.svg)
install(DIRECTORY editors DESTINATION ${CMAKE_INSTALL_DATADIR}/neo)
install(DIRECTORY editors/vim/ DESTINATION ${CMAKE_INSTALL_DATADIR}/vim/vimfiles)

# Man pages and completion of shells, which the programs print from the tables of their options.
set(printed "")
function(neo_print program folder name)
  set(file ${CMAKE_BINARY_DIR}/${folder}/${name})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/${folder}
    COMMAND $<TARGET_FILE:${program}> ${ARGN} > ${file}
    DEPENDS ${program} VERBATIM)
  set(printed ${printed} ${file} PARENT_SCOPE)
endfunction()
set(bash_dir share/bash-completion/completions)
set(zsh_dir share/zsh/site-functions)
set(fish_dir share/fish/vendor_completions.d)
foreach(program IN ITEMS neoc neo-cache)
  if(TARGET ${program})
    neo_print(${program} share/man/man1 ${program}.1 help man)
    neo_print(${program} ${bash_dir} ${program} completion bash)
    neo_print(${program} ${zsh_dir} _${program} completion zsh)
    neo_print(${program} ${fish_dir} ${program}.fish completion fish)
    install(FILES ${CMAKE_BINARY_DIR}/share/man/man1/${program}.1
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    foreach(script IN ITEMS ${bash_dir}/${program} ${zsh_dir}/_${program} ${fish_dir}/${program}.fish)
      cmake_path(GET script PARENT_PATH place)
      install(FILES ${CMAKE_BINARY_DIR}/${script} DESTINATION ${place})
    endforeach()
  endif()
endforeach()
add_custom_target(printed ALL DEPENDS ${printed})

configure_package_config_file(cmake/neoConfig.cmake.in ${CMAKE_BINARY_DIR}/package/neoConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/neoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/neoConfig.cmake
              ${CMAKE_BINARY_DIR}/package/neoConfigVersion.cmake
              cmake/neoAddLibrary.cmake
        DESTINATION ${package_dir})

# The prefix is found from the .pc file's own place, so that an installation can be moved.
file(RELATIVE_PATH prefix_from_pc /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
foreach(package IN ITEMS neo neort)
  configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${package}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
