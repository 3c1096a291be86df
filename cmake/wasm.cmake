# Toolchain file: WebAssembly, by Debian's Emscripten (`third_party/install.sh wasm`).
# Programs of the build, tests among them, are run by Node. RUY_LIKE_WASM_THREADS=ON
# compiles with -pthread.
set(RUY_LIKE_EMSCRIPTEN_ROOT /usr/share/emscripten CACHE PATH "Emscripten's folder")
option(RUY_LIKE_WASM_THREADS "Compile with threads" OFF)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES
  RUY_LIKE_EMSCRIPTEN_ROOT RUY_LIKE_WASM_THREADS)
include(${RUY_LIKE_EMSCRIPTEN_ROOT}/cmake/Modules/Platform/Emscripten.cmake)

# Without exceptions the library cannot turn a failed allocation into a Status;
# without growth a failed malloc ends the program.
set(ruy_like_wasm_flags "-fexceptions")
set(ruy_like_wasm_link_flags
  "-sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=2GB -sEXIT_RUNTIME=1 -sNODERAWFS=1")
if(RUY_LIKE_WASM_THREADS)
  string(APPEND ruy_like_wasm_flags " -pthread")
  # main() runs on a thread of its own, which may wait for others.
  string(APPEND ruy_like_wasm_link_flags " -sPROXY_TO_PTHREAD=1")
endif()
set(CMAKE_C_FLAGS_INIT "${ruy_like_wasm_flags}")
set(CMAKE_CXX_FLAGS_INIT "${ruy_like_wasm_flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${ruy_like_wasm_link_flags}")

# Emscripten 3.1.6 takes a global fetch(), which Node has since 18, for a browser's.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
