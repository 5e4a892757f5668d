// A mapped file whose bytes can't be had when they are touched (an I/O error, a lost mount, a file that somebody cut)
// raises SIGBUS, which ends a process without a word.
#pragma once

namespace megalith {

// From now on SIGBUS in a mapped file ends the process with exit code 1 and one line on stderr that names the file, as
// Linux's /proc/self/maps knows it; anywhere else it is fatal as ever.
void tell_bus_errors();

}  // namespace megalith
