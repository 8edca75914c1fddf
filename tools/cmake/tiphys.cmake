# How this tree is built: one target per folder, named by its path below src/.
#
#   tiphys_library(core_workload
#     SOURCES control_loop.cc
#     DEPENDS model
#     SYSTEM  nettle                  third-party libraries, linked privately
#     TESTS   control_loop_test.cc)
#
#   tiphys_proto(greeter_proto greeter.proto)      messages for the lite runtime, as a library
#
# DEPENDS is what the folder may include. TESTS become one executable <name>_test which ctest runs and which
# leaves its list of results in build/<preset>/results/<name>.json for the requirement trace.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

option(TIPHYS_WERROR "Treat warnings as errors" ON)
option(TIPHYS_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
set(TIPHYS_SANITIZE "" CACHE STRING "Value of -fsanitize=, empty for none")
option(TIPHYS_COVERAGE "Instrument for coverage" OFF)
option(TIPHYS_STATIC "Link what gets installed statically" OFF)

if(TIPHYS_STATIC)
  # What a build with shared libraries has left in the cache would be taken again.
  foreach(found OPENSSL_SSL_LIBRARY OPENSSL_CRYPTO_LIBRARY Protobuf_LITE_LIBRARY_RELEASE ZLIB_LIBRARY_RELEASE)
    if("${${found}}" MATCHES "\\.so$")
      unset(${found} CACHE)
    endif()
  endforeach()
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(Protobuf_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
endif()
# For programs that get installed, and for what is measured in their place. Code that nobody calls is left out, and what
# runs only at the start stands together: a process then maps half a megabyte less of its file. The start files are those of
# a dynamic program: those that g++ takes for static ones make the first exception sort the unwind tables of the whole
# program, a millisecond and half a megabyte, instead of using the sorted table that the linker makes.
function(tiphys_start_file variable name)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}" OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()
function(tiphys_link_as_installed target)
  if(TIPHYS_STATIC)
    foreach(name crt1 crti crtbegin crtend crtn)
      tiphys_start_file(${name} ${name}.o)
    endforeach()
    target_link_options(${target} PRIVATE
      -static -nostartfiles ${crt1} ${crti} ${crtbegin} -Wl,--gc-sections -Wl,--eh-frame-hdr)
    target_link_libraries(${target} PRIVATE -Wl,--start-group stdc++ m gcc gcc_eh c -Wl,--end-group ${crtend} ${crtn})
    if(MOLD_PROGRAM)
      target_link_options(${target} PRIVATE -Wl,-z,keep-text-section-prefix)
    endif()
  endif()
endfunction()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths below this tree count as relative, so that a clone finds what another one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

if(TIPHYS_SANITIZE)
  add_compile_options(-fsanitize=${TIPHYS_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TIPHYS_SANITIZE})
  if(TIPHYS_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,alignment -fno-sanitize-recover=undefined)
  endif()
endif()
if(TIPHYS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(TIPHYS_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

add_library(tiphys_flags INTERFACE)
target_include_directories(tiphys_flags INTERFACE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}")
# A call has more coroutine frames than the two that Asio keeps for the next one; must be the same in every file.
target_compile_definitions(tiphys_flags INTERFACE BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)
target_compile_options(tiphys_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  $<$<BOOL:${TIPHYS_WERROR}>:-Werror>
  # g++ 12 sees uninitialised members in variants where there are none, and once it optimises, a wrong operator delete in
  # coroutines that use Asio's.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)

find_package(GTest REQUIRED)
find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)

function(tiphys_test name)
  if(TIPHYS_FUZZ)
    return()  # that preset builds the fuzz targets and what they need
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;SYSTEM;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tiphys_flags ${ARG_DEPENDS} ${ARG_SYSTEM} GTest::gtest GTest::gtest_main ${RAPIDCHECK_LIBRARY})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name}
    COMMAND ${name} --gtest_brief=1 "--gtest_output=json:${CMAKE_BINARY_DIR}/results/${name}.json"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  if(ARG_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
endfunction()

function(tiphys_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;SYSTEM;TESTS;TEST_DEPENDS" ${ARGN})
  # The linker takes a shared library by its path even for a static program, and its functions are then at address zero.
  if(TIPHYS_STATIC AND "${ARG_SYSTEM}" MATCHES "\\.so(;|$)")
    message(FATAL_ERROR "${name}: ${ARG_SYSTEM} is shared; name the library instead of its file")
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE tiphys_flags ${ARG_SYSTEM})
  if(ARG_TESTS)
    tiphys_test(${name}_test SOURCES ${ARG_TESTS} DEPENDS ${name} ${ARG_TEST_DEPENDS})
  endif()
endfunction()

find_package(Protobuf REQUIRED)

# Generated code is held to no rules of ours, neither as a source nor as a header.
function(tiphys_proto name proto)
  get_filename_component(source "${proto}" ABSOLUTE)
  get_filename_component(folder "${source}" DIRECTORY)
  get_filename_component(stem "${source}" NAME_WE)
  set(generated "${CMAKE_CURRENT_BINARY_DIR}")
  add_custom_command(
    OUTPUT "${generated}/${stem}.pb.cc" "${generated}/${stem}.pb.h"
    COMMAND protobuf::protoc "--proto_path=${folder}" "--cpp_out=lite:${generated}" "${source}"
    DEPENDS "${source}" protobuf::protoc
    VERBATIM)
  add_library(${name} STATIC "${generated}/${stem}.pb.cc" "${generated}/${stem}.pb.h")
  target_include_directories(${name} SYSTEM PUBLIC "${generated}")
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()
