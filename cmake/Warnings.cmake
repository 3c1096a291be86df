# The project's warnings, for its own targets alone.
function(ruy_like_set_warnings target)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  # gcc: plain -Wshadow also minds a constructor's parameter that is named like a
  # member; -Wtsan minds fences in headers of Abseil's.
  target_compile_options(${target} PRIVATE -Wall -Wextra
    $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wno-tsan,-Wshadow>)
  if(RUY_LIKE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
