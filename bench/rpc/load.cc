#include "bench/rpc/load.h"

#include <algorithm>
#include <string>
#include <utility>

#include "io/rpc/http2/connector.h"

namespace tiphys::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(30);  // beyond the time of a load
constexpr std::string_view kRequest =
    "\x0a\x10sixteen bytes !!";  // an EchoRequest with a payload of 16 bytes

rpc::Payload request() { return {.own = std::string(kRequest)}; }

// Makes one call after the other.
class Caller {
 public:
  Caller(rpc::Channel& channel, Clock::time_point until, std::size_t& left)
      : channel_(channel), until_(until), left_(left) {}

  void begin() {
    began_ = Clock::now();
    call_ = channel_.call("/tiphys.bench.Echo/Unary");
    call_->start([this](rpc::CallEvent event) {
      if (auto* finished = std::get_if<rpc::Finished>(&event)) end(std::move(finished->outcome));
    });
    call_->want();
    call_->send(request());
    call_->half_close();
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const std::vector<double>& latencies() const { return latencies_; }

 private:
  void end(rpc::Outcome outcome) {
    status_ = std::move(outcome.status);
    const auto now = Clock::now();
    latencies_.push_back(std::chrono::duration<double>(now - began_).count());
    if (status_ && now < until_) return begin();
    --left_;
  }

  rpc::Channel& channel_;
  Clock::time_point until_;
  std::size_t& left_;
  Clock::time_point began_;
  std::shared_ptr<rpc::ClientCall> call_;
  Status status_;
  std::vector<double> latencies_;
};

double at_part(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

Load::Load(std::uint16_t port, std::size_t connections) {
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  for (std::size_t i = 0; i < connections; ++i) {
    rpc::ChannelOptions options{.urls = {url}};
    channels_.push_back(std::make_unique<rpc::Channel>(
        context_.get_executor(), rpc::http2::connector(context_.get_executor(), resolver_, {}),
        std::move(options)));
  }
}

Status Load::run_until(const std::size_t& left) {
  context_.restart();
  const auto end = Clock::now() + kPatience;
  while (left > 0 && Clock::now() < end) context_.run_one_until(end);
  if (left > 0)
    return fail(Code::kDeadlineExceeded, std::to_string(left) + " calls were not answered");
  return {};
}

Status Load::touch() {
  return call(1, std::chrono::milliseconds(0)).map([](const CallFigures&) {});
}

Result<CallFigures> Load::call(std::size_t concurrent, std::chrono::milliseconds time) {
  std::size_t left = channels_.size() * concurrent;
  const auto began = Clock::now();
  std::vector<Caller> callers;
  callers.reserve(left);
  for (const auto& channel : channels_)
    for (std::size_t i = 0; i < concurrent; ++i) callers.emplace_back(*channel, began + time, left);
  for (Caller& caller : callers) caller.begin();
  TIPHYS_REQUIRE(run_until(left));

  CallFigures figures;
  figures.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::vector<double> latencies;
  for (const Caller& caller : callers) {
    TIPHYS_REQUIRE(caller.status());
    latencies.insert(latencies.end(), caller.latencies().begin(), caller.latencies().end());
  }
  std::ranges::sort(latencies);
  figures.calls = latencies.size();
  figures.p50_seconds = at_part(latencies, 0.5);
  figures.p99_seconds = at_part(latencies, 0.99);
  return figures;
}

Status Load::open_streams(std::size_t streams) {
  std::size_t left = channels_.size() * streams;
  Status problem;
  for (const auto& channel : channels_) {
    for (std::size_t i = 0; i < streams; ++i) {
      auto call = channel->call("/tiphys.bench.Echo/Chat");
      call->start([&left, &problem](rpc::CallEvent event) {
        if (std::holds_alternative<rpc::Message>(event)) --left;
        if (auto* finished = std::get_if<rpc::Finished>(&event); finished && left > 0) {
          problem = fail(Code::kInternal, "a stream ended early");
          left = 0;
        }
      });
      call->want();
      call->send(request());
      streams_.push_back(std::move(call));
    }
  }
  TIPHYS_REQUIRE(run_until(left));
  return problem;
}

}  // namespace tiphys::bench
