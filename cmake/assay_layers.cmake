# Who may include whom, enforced by the include path.
#
# The repository root is on nobody's include path. Each layer has a folder in the build tree that holds one
# symbolic link to its own sources, and a target sees the folders of the layers it links, no others: an
# include of a layer that was not declared fails with "No such file". tests/tidy checks the same rules on
# the text, so that a header-only cheat is seen too.

# assay_layer(NAME FOLDER sources... [USES targets...]) makes the library assay_NAME from FOLDER's sources.
function(assay_layer name folder)
  cmake_parse_arguments(ARG "" "" "USES;PRIVATE_USES" ${ARGN})
  set(root "${CMAKE_BINARY_DIR}/layers/${name}")
  get_filename_component(parent "${root}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${root}/${folder}" SYMBOLIC)
  if(ARG_UNPARSED_ARGUMENTS)
    add_library(assay_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    target_include_directories(assay_${name} PUBLIC "${root}")
    target_link_libraries(assay_${name} PUBLIC ${ARG_USES} PRIVATE assay_flags ${ARG_PRIVATE_USES})
  else()
    add_library(assay_${name} INTERFACE)
    target_include_directories(assay_${name} INTERFACE "${root}")
    target_link_libraries(assay_${name} INTERFACE ${ARG_USES})
  endif()
endfunction()

# assay_test(NAME sources... USES targets...) makes a Catch2 program of one test folder and registers its cases.
function(assay_test name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  add_executable(test_${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(test_${name} PRIVATE "${CMAKE_BINARY_DIR}/layers/tests")
  target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${ARG_USES} assay_flags Catch2::Catch2WithMain)
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 120)
endfunction()
