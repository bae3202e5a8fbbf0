# The library that is installed: one shared library of all the static ones. They are position-independent already, so it
# costs a link. It exports what the public headers mark, and nothing else.
set_target_properties(lanefold_api PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

add_library(lanefold_shared SHARED $<TARGET_OBJECTS:lanefold_api>)
# Before 1.0 a minor version may change the C++ classes, so it is part of the name that programs are linked to.
set_target_properties(lanefold_shared PROPERTIES
  OUTPUT_NAME lanefold
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/exports.map
  INSTALL_RPATH "$ORIGIN"
  INSTALL_RPATH_USE_LINK_PATH ON)
target_link_libraries(lanefold_shared PRIVATE lanefold_verify)
target_link_options(lanefold_shared PRIVATE
  -Wl,--no-undefined -Wl,--exclude-libs,ALL -Wl,--version-script,${CMAKE_SOURCE_DIR}/src/api/exports.map)
