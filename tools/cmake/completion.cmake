# Runs PROGRAM so that it prints what SHELL needs to complete its words, into SCRIPT.
set(ENV{COMPLETE} "${SHELL}")
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${SCRIPT}" "${text}")
