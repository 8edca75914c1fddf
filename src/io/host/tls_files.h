#pragma once

// Certificates and keys as they lie on the disk. A key that others can read, or a certificate that others can change, is
// refused before it is used. No error ever shows what a file holds.

#include <string>

#include "base/result.h"

namespace tiphys::host {

// PEM text. Each may be empty; what that means is for the one who uses it to say.
struct TlsMaterial {
  std::string ca{};
  std::string certificate{};
  std::string key{};
};

// Paths of PEM files.
struct TlsFiles {
  std::string ca{};
  std::string certificate{};
  std::string key{};
};

// Reads each file; for an empty path the text stays empty. The sentences are the ones that stock Ankaios shows inside
// "Certificate error: '...'".
Result<TlsMaterial> read_tls_files(const TlsFiles& files);

}  // namespace tiphys::host
