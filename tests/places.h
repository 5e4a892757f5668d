// Where this checkout is, what was built of it, and the files for tests beside it. One object file has them, so that
// all others are the same wherever the checkout is.
#pragma once

namespace megalith {

extern const char* const kSourceDir;
extern const char* const kBinaryDir;
extern const char* const kSharedDir;

}  // namespace megalith
