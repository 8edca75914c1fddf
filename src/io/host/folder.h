#pragma once

// A folder that is held open, and what is done to the names in it. No name leads out of it: symbolic links are never
// followed, names with a slash are refused, and nothing is removed from what is mounted below. So others who may write in
// the folder cannot turn our hands against files that are none of theirs.
//
// Errors name the path and what the system says about it. The codes are those of files.h, and kAlreadyExists where
// something of another kind stands in the way. For whoever may wait.

#include <string>
#include <string_view>

#include "base/result.h"
#include "io/host/descriptor.h"

namespace tiphys::host {

class Folder {
 public:
  // The last part of the path is not followed either, the parts before it are.
  static Result<Folder> open(const std::string& path);

  // One of its folders: kNotFound. make() makes it if it is missing, with the permissions that the process gives.
  [[nodiscard]] Result<Folder> enter(const std::string& name) const;
  [[nodiscard]] Result<Folder> make(const std::string& name) const;

  // Makes a regular file or writes over the one that is there, which stays the same file for who has it open or mounted.
  [[nodiscard]] Status write(const std::string& name, std::string_view bytes) const;

  // Whatever has that name, with all that it holds. What is missing counts as removed.
  [[nodiscard]] Status remove(const std::string& name) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] int number() const { return descriptor_.number(); }

 private:
  Folder(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Descriptor descriptor_;
  std::string path_;  // for messages
};

}  // namespace tiphys::host
