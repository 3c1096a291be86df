# The project's warnings, for its own targets alone; as a part of another project
# none, whatever that one's flags ask for (-Wconversion -Werror, say).
function(ruy_like_set_warnings target)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT RUY_LIKE_WERROR)
    target_compile_options(${target} PRIVATE -w)
    return()
  endif()
  # Shadowing is clang's to find: gcc also minds constructor parameters named
  # like members and what GoogleTest's macros declare. gcc's -Wtsan minds fences
  # in Abseil's headers.
  target_compile_options(${target} PRIVATE -Wall -Wextra
    $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-tsan,-Wshadow>)
  if(RUY_LIKE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
