#include "sim/network.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys::sim {
namespace {

// A silent stream is pinged after ten seconds and dead after ten more.
constexpr Duration kNoticedAtTheLatest = seconds(20);

}  // namespace

ConnectionNumber Network::connect(const std::string& client, StreamEnd client_end) {
  const auto cut_off = cut_off_until_.find(client);
  if (cut_off != cut_off_until_.end() && cut_off->second > world_.now()) return 0;
  Stream stream;
  stream.client = client;
  stream.client_end = std::move(client_end);
  stream.last_to_server = stream.last_to_client = world_.now();
  const ConnectionNumber connection = ++last_;
  if (!accept_(connection, stream.server_end)) return 0;
  streams_.emplace(connection, std::move(stream));
  world_.line(concat("network: ", client, " connected as #", std::to_string(connection)));
  return connection;
}

Instant Network::arrival(Stream& stream, Side to) {
  Instant instant = world_.now() + world_.draw(milliseconds(0), milliseconds(5));
  if (world_.fault("message late", 1, 30))
    instant = instant + world_.draw(milliseconds(100), seconds(4));
  const auto cut_off = cut_off_until_.find(stream.client);
  if (cut_off != cut_off_until_.end()) instant = std::max(instant, cut_off->second);
  Instant& last = to == Side::kServer ? stream.last_to_server : stream.last_to_client;
  last = std::max(last, instant);
  return last;
}

void Network::deliver(ConnectionNumber connection, Side to, const std::string& bytes) {
  const auto entry = streams_.find(connection);
  if (entry == streams_.end() || !entry->second.open) return;
  const int copies = world_.fault("message doubled", 1, 60) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy)
    world_.at(arrival(entry->second, to), [this, connection, to, bytes] {
      const auto stream = streams_.find(connection);
      if (stream == streams_.end() || !stream->second.open) {
        world_.count("message lost");
        return;
      }
      (to == Side::kServer ? stream->second.server_end : stream->second.client_end).received(bytes);
    });
}

void Network::send_to_server(ConnectionNumber connection, const std::string& bytes) {
  deliver(connection, Side::kServer, bytes);
}

void Network::send_to_client(ConnectionNumber connection, std::string bytes) {
  const auto entry = streams_.find(connection);
  if (entry == streams_.end()) return;
  if (mutation_ == Mutation::kReorderedSends) {
    std::swap(bytes, entry->second.held_back);
    if (bytes.empty() && world_.random().chance(1, 2)) return;
    if (bytes.empty()) std::swap(bytes, entry->second.held_back);
    deliver(connection, Side::kClient,
            entry->second.held_back.empty() ? bytes : entry->second.held_back);
    if (!entry->second.held_back.empty()) deliver(connection, Side::kClient, bytes);
    entry->second.held_back.clear();
    return;
  }
  deliver(connection, Side::kClient, bytes);
}

void Network::close(ConnectionNumber connection) {
  const auto entry = streams_.find(connection);
  if (entry == streams_.end() || !entry->second.open) return;
  world_.at(arrival(entry->second, Side::kClient), [this, connection] {
    const auto stream = streams_.find(connection);
    if (stream == streams_.end() || !stream->second.open) return;
    stream->second.open = false;
    tell_end(connection, Side::kClient, {});
    tell_end(connection, Side::kServer, {});
  });
}

void Network::break_stream(ConnectionNumber connection) {
  auto& stream = streams_.at(connection);
  if (!stream.open) return;
  stream.open = false;
  world_.line(concat("network: #", std::to_string(connection), " broke"));
  tell_end(connection, Side::kClient, world_.draw(milliseconds(1), kNoticedAtTheLatest));
  tell_end(connection, Side::kServer, world_.draw(milliseconds(1), kNoticedAtTheLatest));
}

void Network::tell_end(ConnectionNumber connection, Side side, Duration after) {
  world_.after(after, [this, connection, side] {
    auto& stream = streams_.at(connection);
    (side == Side::kServer ? stream.server_end : stream.client_end).ended();
  });
}

void Network::client_died(const std::string& client) {
  for (auto& [connection, stream] : streams_)
    if (stream.client == client && stream.open) {
      stream.open = false;
      stream.client_end = {[](const std::string&) {}, [] {}};
      tell_end(connection, Side::kServer, world_.draw(milliseconds(1), kNoticedAtTheLatest));
    }
}

void Network::server_died() {
  for (auto& [connection, stream] : streams_)
    if (stream.open) {
      stream.open = false;
      tell_end(connection, Side::kClient, world_.draw(milliseconds(1), kNoticedAtTheLatest));
    }
}

void Network::disturb() {
  std::vector<ConnectionNumber> open;
  for (const auto& [connection, stream] : streams_)
    if (stream.open) open.push_back(connection);
  if (open.empty()) return;
  const ConnectionNumber connection = world_.random().pick(open);
  if (world_.fault("stream broken", 1, 3)) {
    break_stream(connection);
  } else if (world_.fault("client cut off", 1, 4)) {
    const std::string& client = streams_.at(connection).client;
    const Duration duration = world_.draw(seconds(1), seconds(60));
    cut_off_until_[client] = world_.now() + duration;
    world_.line(concat("network: ", client, " is cut off"));
    if (duration > kNoticedAtTheLatest)
      world_.after(kNoticedAtTheLatest, [this, connection] { break_stream(connection); });
  }
}

}  // namespace tiphys::sim
