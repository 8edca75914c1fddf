// What a workload writes into its pipe, from the bytes to the decision: frames are read within their limit however they
// arrive, what comes out of them is a message or an offence, and the machine answers each with exactly one leave to read
// on or with a close.
//
// An input is the size of the pieces in which it arrives (one byte), then the bytes of the pipe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/agent/control_interfaces.h"
#include "io/control/frames.h"
#include "io/control/pipe_reader.h"

namespace {

using namespace tiphys;
using Found = control::FrameReader::Found;

constexpr std::size_t kLimit = 4096;

// What was found and the messages, in order.
struct Reading {
  std::vector<Found> found;
  std::vector<std::string> messages;

  friend bool operator==(const Reading&, const Reading&) = default;
};

Reading read(std::string_view stream, std::size_t piece) {
  Reading reading;
  control::FrameReader reader(kLimit);
  while (!stream.empty()) {
    std::string_view part = stream.substr(0, piece);
    stream.remove_prefix(part.size());
    while (!part.empty()) {
      const std::size_t before = part.size();
      const Found found = reader.push(part);
      TIPHYS_CHECK(part.size() < before, "nothing was taken");
      if (found == Found::kNothing) continue;
      reading.found.push_back(found);
      if (found == Found::kTooLong) return reading;
      if (found != Found::kMessage) continue;
      reading.messages.push_back(reader.take());
      TIPHYS_CHECK(reading.messages.back().size() <= kLimit, "a message over the limit");
    }
  }
  return reading;
}

// The frames of what was read are read as the same.
void check_round_trip(const Reading& reading) {
  std::string stream;
  for (const auto& message : reading.messages) stream += control::to_frame(message);
  TIPHYS_CHECK(read(stream, stream.size()).messages == reading.messages, "a frame changed");
}

void check_answers(const Reading& reading) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->access.edit().allow_rules = {StateRule{Operation::kReadWrite, {"desiredState"}},
                                         LogRule{{"web*"}}};
  const auto spec = WorkloadSpec::unchecked({WorkloadName{"web"}, WorkloadId{"1"}, AgentName{"A"}},
                                            std::move(workload));
  agent::ControlInterfaces interfaces;
  (void)interfaces.connected();
  TIPHYS_CHECK(interfaces.equip(*spec).size() == 1, "the interface was not opened");
  bool is_open = true;
  for (const auto& message : reading.messages) {
    int leaves = 0;
    int ends = 0;
    for (const auto& effect : interfaces.told(1, control::event_of(message))) {
      (void)to_string(effect);
      leaves += std::holds_alternative<agent::ReadOn>(effect) ? 1 : 0;
      ends += std::holds_alternative<agent::StopReading>(effect) ? 1 : 0;
      if (const auto* forward = std::get_if<agent::Forward>(&effect))
        TIPHYS_CHECK(forward->request.id.starts_with("web@"), "a request without its prefix");
    }
    TIPHYS_CHECK(leaves + ends == (is_open ? 1 : 0), "not one answer to one message");
    is_open = is_open && ends == 0;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading reading = read(stream, std::max<std::size_t>(data[0], 1));
  TIPHYS_CHECK(read(stream, stream.size()) == reading, "it matters how the bytes arrive");
  check_round_trip(reading);
  check_answers(reading);
  return 0;
}
