# The target ruy_like_docs: reference pages of the public headers, in
# build/.../doc/html. Any warning of Doxygen's is an error.
find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  message(STATUS "ruy_like: no Doxygen, no target ruy_like_docs")
  return()
endif()

get_property(headers TARGET ruy_like PROPERTY HEADER_SET)
if(TARGET ruy_like_quantize)
  get_property(quantize_headers TARGET ruy_like_quantize PROPERTY HEADER_SET)
  list(APPEND headers ${quantize_headers})
endif()
if(TARGET ruy_like_c)
  get_property(c_headers TARGET ruy_like_c PROPERTY HEADER_SET)
  list(APPEND headers ${c_headers})
endif()
list(JOIN headers " " RUY_LIKE_DOXYGEN_INPUT)
configure_file(doc/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
add_custom_target(ruy_like_docs
  COMMAND Doxygen::doxygen ${PROJECT_BINARY_DIR}/Doxyfile
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  VERBATIM)
