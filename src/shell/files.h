#pragma once

// The files port: the few things that machines want of a file system. Every answer comes on the strand, exactly once.

#include <functional>
#include <string>

#include "base/result.h"

namespace tiphys::shell {

class Files {
 public:
  virtual ~Files() = default;

  // Replaces the file's content in one go, making missing folders: after a crash it holds the old or the new bytes.
  virtual void write(std::string path, std::string bytes, std::function<void(Status)> sink) = 0;
  virtual void read(std::string path,
                    std::function<void(Result<std::string>)> sink) = 0;  // kNotFound
  // The folder with all it holds; a missing one counts as removed.
  virtual void remove_tree(std::string path, std::function<void(Status)> sink) = 0;
};

}  // namespace tiphys::shell
