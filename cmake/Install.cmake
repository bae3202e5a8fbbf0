# cmake --install BUILD [--component library|command]. The prefix may be moved afterwards: files find each other by relative
# paths.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Lanefold)
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(generated ${CMAKE_BINARY_DIR}/generated/install)

install(TARGETS lanefold_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES include/lanefold/lanefold.h include/lanefold/program.h include/lanefold/c.h include/lanefold/export.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanefold COMPONENT library)

# Written by hand, not exported: an export would name the targets of the libraries that ours uses privately, and ask for them.
configure_package_config_file(cmake/LanefoldConfig.cmake.in ${generated}/LanefoldConfig.cmake
  INSTALL_DESTINATION ${config_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${generated}/LanefoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/LanefoldConfig.cmake ${generated}/LanefoldConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT library)

file(RELATIVE_PATH up_from_pkgconfig /prefix/${pkgconfig_folder} /prefix)
string(REGEX REPLACE "/$" "" up_from_pkgconfig ${up_from_pkgconfig})
configure_file(cmake/lanefold.pc.in ${generated}/lanefold.pc @ONLY)
install(FILES ${generated}/lanefold.pc DESTINATION ${pkgconfig_folder} COMPONENT library)

install(FILES LICENSE LICENSE-EMITTED DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

install(TARGETS lanefold RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
# The command carries the plotting library of report pages.
install(FILES third_party/vega/LICENSE-vega third_party/vega/LICENSE-d3
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
