#pragma once

// Since when a state lasts, for people.

#include <chrono>
#include <string>

namespace tiphys::cli {

// "2026-11-16 04:12:09 (3m 12s ago)", in the time zone of the process.
std::string since_text(std::chrono::system_clock::time_point now, std::chrono::milliseconds age);

// The two largest units: "0s", "3m 12s", "2h 0m", "41d 5h".
std::string age_text(std::chrono::milliseconds age);

}  // namespace tiphys::cli
