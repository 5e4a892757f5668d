// A mapped file raises SIGBUS when bytes that are touched can't be read: an I/O error, a lost mount, a file that
// somebody cut. SIGBUS ends a process without a message.
#pragma once

namespace megalith {

// From now on SIGBUS in a mapped file ends the process with exit code 1 and one line on stderr. The line names the file
// as in Linux's /proc/self/maps. Anywhere else SIGBUS is fatal as ever.
void tell_bus_errors();

}  // namespace megalith
