#pragma once

// The peer made with src/io/rpc; README.md in the folder above says what it does.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "io/rpc/channel.h"
#include "io/rpc/server.h"

namespace tiphys::peer {

constexpr std::size_t kMessageLimit = 32 * rpc::kMiB;

// The bytes i mod 251.
std::string pattern(std::size_t size);

rpc::Handlers echo_handlers();

const std::vector<std::string>& case_names();
// Answers with an empty text, or what was expected and what was seen.
boost::asio::awaitable<std::string> run_case(rpc::Channel* channel, std::string name);
// One line of `talk`: the name of the status and its text.
boost::asio::awaitable<std::string> talk(rpc::Channel* channel, std::string line);

}  // namespace tiphys::peer
