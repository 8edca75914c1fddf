// What gRPC puts on an HTTP stream: fields, timeouts, texts and messages. Whatever a peer sends is read or refused within
// the limits, and what we write is read back unchanged; then a server takes the same bytes as a request in memory.
//
// An input is a line of settings (two bytes), header fields as "name: value" lines up to an empty one, and the body, which
// arrives in chunks of the size that the settings say.

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "io/rpc/coroutines.h"
#include "io/rpc/memory/memory_network.h"
#include "io/rpc/message_reader.h"
#include "io/rpc/metadata.h"
#include "io/rpc/status.h"
#include "io/rpc/timeout.h"
#include "shell/log.h"

namespace {

namespace asio = boost::asio;
using namespace tiphys;

constexpr std::size_t kMessageLimit = 16 * rpc::kKiB;
constexpr std::size_t kBudget = 64 * rpc::kKiB;
constexpr std::uint8_t kGzip = 1;
constexpr std::uint8_t kIsCut = 2;  // the connection is lost instead of ended

struct Input {
  rpc::Fields fields;
  std::string_view body;
  std::uint8_t ways;
  std::size_t chunk;
};

Input parse(std::string_view text) {
  Input input{.fields = {},
              .body = {},
              .ways = static_cast<std::uint8_t>(text[0]),
              .chunk = std::max<std::size_t>(static_cast<unsigned char>(text[1]), 1)};
  text.remove_prefix(2);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) break;
    const auto colon = line.find(": ", 1);
    input.fields.add(line.substr(0, colon),
                     colon == std::string_view::npos ? "" : line.substr(colon + 2));
  }
  input.body = text;
  return input;
}

// --- texts ---

void check_texts(std::string_view text) {
  TIPHYS_CHECK(rpc::percent_decode(rpc::percent_encode(text)) == text, "percent coding lost it");
  if (const auto timeout = rpc::parse_timeout(text)) {
    TIPHYS_CHECK(*timeout >= Duration::zero(), "a timeout below zero");
    const auto again = rpc::parse_timeout(rpc::format_timeout(*timeout));
    TIPHYS_CHECK(again && *again >= *timeout, "a timeout became shorter");
  }
}

void check_metadata(const rpc::Fields& fields) {
  const rpc::Metadata read = rpc::metadata_of(fields);
  rpc::Metadata sendable;
  for (const auto& entry : read)
    if (rpc::check({entry})) sendable.push_back(entry);
  rpc::Fields written;
  rpc::append(written, read);
  TIPHYS_CHECK(rpc::metadata_of(written) == sendable, "metadata changed");
}

void check_status(const rpc::Fields& fields) {
  const rpc::Outcome outcome = rpc::outcome_of_trailers(fields);
  constexpr std::size_t kLimit = 200;
  const rpc::Fields written = rpc::to_trailers(outcome, kLimit);
  TIPHYS_CHECK(written.list_size() <= kLimit, "trailers are larger than the limit");
  const rpc::Outcome again = rpc::outcome_of_trailers(rpc::to_trailers(outcome, rpc::kMiB));
  TIPHYS_CHECK(again.status.has_value() == outcome.status.has_value(), "the status changed");
  if (!outcome.status)
    TIPHYS_CHECK(again.status.error() == outcome.status.error(), "the error changed");
}

// --- messages ---

void check_messages(const Input& input) {
  const auto budget = std::make_shared<rpc::ReceiveBudget>(kBudget);
  {
    rpc::MessageReader reader(kMessageLimit, budget);
    if ((input.ways & kGzip) != 0) reader.set_encoding(rpc::Encoding::kGzip);
    std::string_view rest = input.body;
    while (!rest.empty()) {
      const std::string_view chunk = rest.substr(0, input.chunk);
      const auto taken = reader.push(chunk);
      if (!taken) break;
      TIPHYS_CHECK(*taken > 0 && *taken <= chunk.size(), "took nothing, or more than there was");
      rest.remove_prefix(*taken);
      if (!reader.has_message()) continue;
      const std::string message = reader.take();
      TIPHYS_CHECK(message.size() <= kMessageLimit, "a message is larger than the limit");
      TIPHYS_CHECK(!reader.is_inside_message(), "a message was taken and is still there");
    }
  }
  TIPHYS_CHECK(budget->take(kBudget), "bytes of the budget are lost");
}

// --- a server ---

struct NoLog final : shell::Log {
  void write(shell::Level, std::string_view, Fields) override {}
};

asio::awaitable<rpc::Outcome> echo(rpc::ServerStream call) {
  while (auto message = co_await call.read()) {
    rpc::Payload answer{.own = std::move(*message)};
    const bool goes_on = co_await call.write(std::move(answer));
    if (!goes_on) break;
  }
  co_return rpc::Outcome{};
}

// A client that is only a stream: it takes whatever comes, and counts ends.
struct Reader final : rpc::HttpStream::Listener {
  rpc::HttpStream* stream = nullptr;
  int ends = 0;

  void on_fields(const rpc::Fields&) override {}
  void on_data(std::string_view bytes) override { stream->consume(bytes.size()); }
  void on_end() override {}
  void on_writable() override {}
  void on_closed(const rpc::StreamEnd&) override {
    stream = nullptr;
    ++ends;
  }
};

struct Owner final : rpc::HttpConnection::Owner {
  void on_stream(rpc::HttpStream&, const rpc::Fields&, bool) override {}
  void on_going_away() override {}
  void on_closed(const std::string&) override {}
};

// Everything happens on the executor, as it does in a process.
template <class Function>
void run(asio::io_context& context, Function function) {
  asio::post(context, function);
  context.restart();
  context.poll();
}

void send(asio::io_context& context, Reader& reader, const Input& input) {
  for (std::string_view rest = input.body; !rest.empty();) {
    const std::string_view chunk = rest.substr(0, input.chunk);
    rest.remove_prefix(chunk.size());
    run(context, [&] {
      if (reader.stream && reader.stream->has_room()) reader.stream->send_data(chunk, {});
    });
  }
  run(context, [&] {
    if (reader.stream) reader.stream->end();
  });
}

void check_server(const Input& input) {
  asio::io_context context(1);
  NoLog log;
  const auto reader = std::make_shared<Reader>();
  const rpc::CallLimits limits{.message = kMessageLimit,
                               .budget = std::make_shared<rpc::ReceiveBudget>(kBudget)};
  rpc::memory::Network network(context.get_executor());
  {
    rpc::Server server(context.get_executor(), log);
    rpc::Handlers handlers;
    handlers.add("/e", rpc::coroutine(echo));
    handlers.add("/a", rpc::coroutine(echo, rpc::Begins::kAtOnce));
    server.listen(network.listen("here"), {.handlers = std::move(handlers), .limits = limits});
    const auto connector = network.connector();
    const auto connection = connector->connect("here", std::make_shared<Owner>());
    TIPHYS_CHECK(connection.has_value(), "memory can't be reached");
    run(context, [] {});
    run(context, [&] { reader->stream = (*connection)->open(input.fields, reader); });
    const bool was_open = reader->stream != nullptr;
    if (was_open) send(context, *reader, input);
    run(context, [&] {
      if ((input.ways & kIsCut) != 0) network.cut();
      if (reader->stream) reader->stream->reset(rpc::Reset::kCancel);
    });
    TIPHYS_CHECK(!was_open || reader->ends == 1, "a stream did not end exactly once");
  }
  run(context, [&] { network.cut(); });
  TIPHYS_CHECK(limits.budget->take(kBudget), "bytes of the budget are lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Input input = parse({reinterpret_cast<const char*>(data), size});
  for (const rpc::Field& field : input.fields) {
    check_texts(field.name);
    check_texts(field.value);
  }
  check_metadata(input.fields);
  check_status(input.fields);
  check_messages(input);
  check_server(input);
  return 0;
}
