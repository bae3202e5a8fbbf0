# cmake -D SOURCE=folder -D OUTPUT=header -P Revision.cmake: writes the git revision of the source, and whether what is built
# differs from it (new files too, since the build takes every file of a folder), as a header. Runs with every build, and
# touches the header only when something has changed.
set(revision "")
set(dirty 0)
find_program(git git)

# A hook of git sets these for the repository that it runs in.
foreach(variable GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE)
  unset(ENV{${variable}})
endforeach()

# Sets `output`, without its last newline, and `failed`.
function(ask_git)
  # No optional locks: a build must not be in the way of git commands that run meanwhile.
  execute_process(COMMAND ${git} --no-optional-locks -C ${SOURCE} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(output "${text}" PARENT_SCOPE)
  if(result EQUAL 0)
    set(failed FALSE PARENT_SCOPE)
  else()
    set(failed TRUE PARENT_SCOPE)
  endif()
endfunction()

if(git)
  # A source archive that was unpacked inside some other repository has nothing to do with that one's revision.
  ask_git(ls-files --error-unmatch CMakeLists.txt)
  if(NOT failed)
    ask_git(rev-parse --verify HEAD)
    if(NOT failed AND output MATCHES "^[0-9a-f]+$")
      set(revision "${output}")
      ask_git(status --porcelain -- src include cmake third_party CMakeLists.txt)
      if(failed)
        set(revision "")
      elseif(NOT output STREQUAL "")
        set(dirty 1)
      endif()
    endif()
  endif()
endif()

set(text "// Made by cmake/Revision.cmake with every build.
#pragma once
#define LANEFOLD_BUILT_FROM_REVISION \"${revision}\"
#define LANEFOLD_BUILT_FROM_DIRTY ${dirty}
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
