# What find_package finds in one folder is seen in all of them: the tests link what src/ found.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# The warnings under which all of our own code compiles, tests too. Two are false: g++ 12 sees overlapping copies in
# "text" + std::string (GCC bug 105651), and clang calls libstdc++'s own std::stable_sort deprecated.
function(lanefold_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
endfunction()

# lanefold_library(name FOLDER folder DEPENDS targets…): one library per folder of src/, of every .cpp in it but tests.
# The global property LANEFOLD_LIBRARIES lists them all; the property LANEFOLD_TESTS of each holds its unit tests.
function(lanefold_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${ARG_FOLDER}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(lanefold_${name} STATIC ${sources})
    set(visibility PUBLIC)
    lanefold_warnings(lanefold_${name})
  else()
    add_library(lanefold_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(lanefold_${name} ${visibility} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(lanefold_${name} ${visibility} ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY LANEFOLD_LIBRARIES lanefold_${name})
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${ARG_FOLDER}/*_test.cpp)
  set_target_properties(lanefold_${name} PROPERTIES LANEFOLD_TESTS "${tests}")
endfunction()
