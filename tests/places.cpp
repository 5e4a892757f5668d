#include "tests/places.h"

namespace megalith {

const char* const kSourceDir = SOURCE_DIR;
const char* const kBinaryDir = BINARY_DIR;
const char* const kSharedDir = SHARED_DIR;

}  // namespace megalith
