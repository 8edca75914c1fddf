#pragma once

// Stories of a machine as golden files: a head of comments, then events and what the machine answers to each.
//
//   # A stop during the pause before a retry wins.
//   # tags of requirements
//   > create failed: no such image
//     report web.1.A Pending(Starting): 'Retry 1 of 20: no such image'
//     timer +1000ms
//   > delete
//     (nothing)
//
// With TIPHYS_UPDATE=1 in the environment a run writes the answers into the files; the diff is what gets reviewed.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/execution_state.h"
#include "model/workload.h"

namespace tiphys::scenario {

// Told the text of an event, answers with the texts of the effects.
using Machine = std::function<std::vector<std::string>(const std::string& event)>;

// The files of a folder beside this one, in order of their names.
std::vector<std::filesystem::path> files_of(const std::string& folder);
// Names a test after its file.
std::string name_of(const std::filesystem::path& file);

// What stands behind these words in a line of the head, if there is such a line.
std::optional<std::string> head_of(const std::filesystem::path& file, const std::string& words);

// Plays the file and expects every answer to be the written one.
void play(const std::filesystem::path& file, const Machine& machine);

// Ids are 64 characters long; a reader needs seven.
std::string with_short_ids(const std::string& text);

// -- The words that events are made of
// ------------------------------------------------------------------------------------------------------------------

// Takes words off the front of an event. An event that cannot be read fails its test.
class Words {
 public:
  explicit Words(std::string text);

  // True, and the words are taken, when the text goes on with them.
  bool take(std::string_view words);
  std::string word();
  std::string rest();
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[noreturn]] void misread(const std::string& what) const;

 private:
  const std::string whole_;
  std::string text_;
};

// web.2 or web.2[ALWAYS,runtime=kube,tag=blue,file=/etc/x,reads=desiredState,db:RUNNING], of agent A.
WorkloadSpecPtr spec_of(const std::string& word);
// db.1 or db.1[web=NOT_PENDING_NOR_RUNNING], of agent A
DeletedWorkload deleted_of(const std::string& word);
// web.2, of agent A
InstanceName instance_of(const std::string& word);
// Running(Ok), or Failed(ExecFailed): 'Exit code: '1''
ExecutionState execution_state_of(const std::string& text);

}  // namespace tiphys::scenario
