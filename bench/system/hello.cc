// The least that a program can do: the floor of every start.

#include <unistd.h>

int main() { return write(STDOUT_FILENO, "hello\n", 6) == 6 ? 0 : 1; }
