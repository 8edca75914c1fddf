#include <unistd.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "peer.grpc.pb.h"
#include "peer.h"

namespace peer {
namespace {

using tiphys::peer::EchoReply;
using tiphys::peer::EchoRequest;
using tiphys::peer::Wait;
using Clock = std::chrono::system_clock;

constexpr auto kShortDeadline = std::chrono::milliseconds(500);
constexpr auto kPollTime = std::chrono::seconds(20);
constexpr auto kPollPause = std::chrono::milliseconds(10);
constexpr auto kCaseTime = std::chrono::seconds(60);
constexpr std::size_t kLarge = 16 << 20;
constexpr auto kErrorText = "größer als 5 %\n— ✓";
const std::vector<std::string> kWhats = {"basic", "deadline", "cancel",
                                         "large", "metadata", "error"};

enum class Kind { kUnary, kCollect, kExpand, kChat };
const std::vector<std::pair<std::string, Kind>> kKinds = {{"unary", Kind::kUnary},
                                                          {"collect", Kind::kCollect},
                                                          {"expand", Kind::kExpand},
                                                          {"chat", Kind::kChat}};

// What was expected and what was seen.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string shown(const std::string& text) {
  std::string result = "'";
  for (const char letter : text.substr(0, 200)) result += letter == '\n' ? ' ' : letter;
  return result + "' (" + std::to_string(text.size()) + " bytes)";
}
std::string shown(const std::vector<std::string>& texts) {
  std::string result;
  for (const auto& text : texts) result += (result.empty() ? "" : ", ") + shown(text);
  return "[" + result + "]";
}
std::string shown(std::size_t number) { return std::to_string(number); }

template <typename T>
void expect(const std::string& what, const T& wanted, const T& seen) {
  if (wanted != seen) throw Mismatch(what + ": expected " + shown(wanted) + ", saw " + shown(seen));
}

void expect_reply(const std::string& what, const std::string& payload, std::size_t index,
                  const EchoReply& reply) {
  expect<std::size_t>(what + ", index", index, reply.index());
  if (payload != reply.payload())
    throw Mismatch(what + ": expected a payload of " + std::to_string(payload.size()) +
                   " bytes, saw other " + std::to_string(reply.payload().size()) + " bytes");
}

void expect_replies(const std::string& what, const std::vector<std::string>& payloads,
                    const std::vector<EchoReply>& replies) {
  expect<std::size_t>(what + ", number of replies", payloads.size(), replies.size());
  for (std::size_t i = 0; i < replies.size(); ++i)
    expect_reply(what + ", reply " + std::to_string(i), payloads[i], i, replies[i]);
}

void expect_code(const std::string& what, grpc::StatusCode wanted, const grpc::Status& seen) {
  if (seen.error_code() != wanted)
    throw Mismatch(what + ": expected status " + std::to_string(wanted) + ", saw " +
                   std::to_string(seen.error_code()) + " " + shown(seen.error_message()));
}

EchoRequest with_payload(std::string bytes) {
  EchoRequest request;
  request.set_payload(std::move(bytes));
  return request;
}

std::vector<std::string> values_of(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const std::string& key) {
  std::vector<std::string> values;
  const auto [begin, end] = metadata.equal_range(key);
  for (auto entry = begin; entry != end; ++entry)
    values.emplace_back(entry->second.data(), entry->second.size());
  return values;
}

// A call in any of the four kinds: messages are sent, replies received, and finish() gives the status. The destructor
// cancels what has not ended, because gRPC wants every call to be finished.
class Call {
 public:
  Call(
      tiphys::peer::Echo::Stub& stub, Kind kind,
      const std::function<void(grpc::ClientContext&)>& prepare = [](grpc::ClientContext&) {})
      : stub_(stub), kind_(kind) {
    context.set_deadline(Clock::now() + kCaseTime);
    prepare(context);
    if (kind == Kind::kCollect) writer_ = stub.Collect(&context, &reply_);
    if (kind == Kind::kChat) stream_ = stub.Chat(&context);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (status_) return;
    context.TryCancel();
    finish();
  }

  // A failure shows in the status.
  void send(const EchoRequest& request) {
    switch (kind_) {
      case Kind::kUnary:
        unary_ = std::thread(
            [this, request] { unary_status_ = stub_.Unary(&context, request, &reply_); });
        return;
      case Kind::kCollect:
        writer_->Write(request);
        return;
      case Kind::kExpand:
        reader_ = stub_.Expand(&context, request);
        return;
      case Kind::kChat:
        stream_->Write(request);
        return;
    }
  }

  void half_close() {
    if (writer_) writer_->WritesDone();
    if (stream_) stream_->WritesDone();
  }

  // Only for the kinds whose replies are a stream.
  bool receive(EchoReply& reply) { return reader_ ? reader_->Read(&reply) : stream_->Read(&reply); }

  EchoReply receive_one(const std::string& what) {
    EchoReply reply;
    if (!receive(reply)) {
      const grpc::Status& seen = finish();
      throw Mismatch(what + ": expected a reply, saw status " + std::to_string(seen.error_code()) +
                     " " + shown(seen.error_message()));
    }
    return reply;
  }

  void wait_for_initial_metadata() { stream_->WaitForInitialMetadata(); }

  // All replies and the status.
  std::vector<EchoReply> rest() {
    std::vector<EchoReply> replies;
    if (reader_ || stream_)
      for (EchoReply reply; receive(reply);) replies.push_back(std::move(reply));
    if (finish().ok() && (kind_ == Kind::kUnary || kind_ == Kind::kCollect))
      replies.push_back(reply_);
    return replies;
  }

  const grpc::Status& finish() {
    if (status_) return *status_;
    if (unary_.joinable()) {
      unary_.join();
      status_ = unary_status_;
    } else if (writer_) {
      status_ = writer_->Finish();
    } else if (reader_) {
      status_ = reader_->Finish();
    } else if (stream_) {
      status_ = stream_->Finish();
    } else {
      status_ = grpc::Status::CANCELLED;
    }
    return *status_;
  }

  void expect_ok() { expect_code("at the end", grpc::StatusCode::OK, finish()); }

  grpc::ClientContext context;

 private:
  tiphys::peer::Echo::Stub& stub_;
  Kind kind_;
  EchoReply reply_;
  std::thread unary_;
  grpc::Status unary_status_;
  std::unique_ptr<grpc::ClientWriter<EchoRequest>> writer_;
  std::unique_ptr<grpc::ClientReader<EchoReply>> reader_;
  std::unique_ptr<grpc::ClientReaderWriter<EchoRequest, EchoReply>> stream_;
  std::optional<grpc::Status> status_;
};

class Caller {
 public:
  explicit Caller(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(tiphys::peer::Echo::NewStub(channel)) {}

  void run(Kind kind, const std::string& what) {
    if (what == "basic") return basic(kind);
    if (what == "deadline") return deadline(kind);
    if (what == "cancel") return cancel(kind);
    if (what == "large") return large(kind);
    if (what == "metadata") return metadata(kind);
    for (int code = 1; code <= 16; ++code)
      if (kind == Kind::kUnary || code == grpc::StatusCode::FAILED_PRECONDITION) error(kind, code);
  }

 private:
  // --- basic ---

  EchoReply unary(const EchoRequest& request,
                  std::optional<std::chrono::seconds> timeout = kCaseTime) {
    grpc::ClientContext context;
    if (timeout) context.set_deadline(Clock::now() + *timeout);
    EchoReply reply;
    expect_code("Unary", grpc::StatusCode::OK, stub_->Unary(&context, request, &reply));
    return reply;
  }

  void unary_basic() {
    expect_reply("hello", "hello", 0, unary(with_payload("hello")));
    expect_reply("the empty request", "", 0, unary({}));
    EchoRequest sized;
    sized.set_reply_size(1000);
    expect_reply("reply_size", pattern(1000), 0, unary(sized));
    for (int i = 0; i < 100; ++i) {
      const std::string text = std::to_string(i);
      expect_reply("call " + text, text, 0, unary(with_payload(text)));
    }
  }

  void collect_basic() {
    for (const auto& sent : std::vector<std::vector<std::string>>{
             {}, {"a", "", "b"}, std::vector<std::string>(1000, pattern(100))}) {
      Call call(*stub_, Kind::kCollect);
      for (const auto& payload : sent) call.send(with_payload(payload));
      call.half_close();
      const auto replies = call.rest();
      call.expect_ok();
      expect_reply(std::to_string(sent.size()) + " messages",
                   std::accumulate(sent.begin(), sent.end(), std::string()), sent.size(),
                   replies.at(0));
    }
  }

  void expand_check(const EchoRequest& request, const std::string& payload) {
    Call call(*stub_, Kind::kExpand);
    call.send(request);
    const auto replies = call.rest();
    call.expect_ok();
    expect_replies("count " + std::to_string(request.count()),
                   std::vector<std::string>(request.count(), payload), replies);
  }

  void expand_basic() {
    expand_check({}, "");
    EchoRequest sized;
    sized.set_count(3);
    sized.set_reply_size(1000);
    expand_check(sized, pattern(1000));
    EchoRequest many = with_payload("x");
    many.set_count(1000);
    expand_check(many, "x");
  }

  void chat_basic() {
    Call silent(*stub_, Kind::kChat);
    silent.half_close();
    expect_replies("half-close at once", {}, silent.rest());
    silent.expect_ok();

    Call polite(*stub_, Kind::kChat);
    for (int i = 0; i < 100; ++i) {
      const std::string text = i == 99 ? "" : std::to_string(i);
      polite.send(with_payload(text));
      const std::string what = "message " + std::to_string(i);
      expect_reply(what, text, static_cast<std::size_t>(i), polite.receive_one(what));
    }
    polite.half_close();
    expect_replies("after the half-close", {}, polite.rest());
    polite.expect_ok();

    Call hasty(*stub_, Kind::kChat);
    const std::vector<std::string> wanted(1000, pattern(1000));
    std::thread sender([&] {
      for (const auto& payload : wanted) hasty.send(with_payload(payload));
      hasty.half_close();
    });
    std::vector<EchoReply> replies;
    for (EchoReply reply; hasty.receive(reply);) replies.push_back(std::move(reply));
    sender.join();
    hasty.expect_ok();
    expect_replies("messages without waiting", wanted, replies);
  }

  void basic(Kind kind) {
    switch (kind) {
      case Kind::kUnary:
        return unary_basic();
      case Kind::kCollect:
        return collect_basic();
      case Kind::kExpand:
        return expand_basic();
      case Kind::kChat:
        return chat_basic();
    }
  }

  // --- deadline, cancel ---

  static std::string fresh_name() {
    return "grpcpp-" + std::to_string(getpid()) + "-" + std::to_string(std::random_device()()) +
           "-" + std::to_string(std::random_device()());
  }

  // Asks until a wait has come to a state.
  void poll(const std::string& name, Wait wanted) {
    const auto limit = Clock::now() + kPollTime;
    EchoRequest ask;
    ask.set_ask(name);
    for (Wait seen = unary(ask).wait(); seen != wanted; seen = unary(ask).wait()) {
      if (Clock::now() > limit)
        expect<std::string>("the server's view of the wait", Wait_Name(wanted), Wait_Name(seen));
      std::this_thread::sleep_for(kPollPause);
    }
  }

  static void send_three(Call& call) {
    for (int i = 0; i < 3; ++i) call.send(with_payload(std::to_string(i)));
  }

  // Brings a call to where it waits, with three messages before.
  static void begin_wait(Call& call, Kind kind, const std::string& name) {
    EchoRequest wait;
    wait.set_wait(name);
    wait.set_count(3);
    if (kind == Kind::kCollect || kind == Kind::kChat)
      send_three(call);
    else
      call.send(wait);
    if (kind == Kind::kExpand || kind == Kind::kChat)
      for (int i = 0; i < 3; ++i) call.receive_one("before the wait");
    if (kind == Kind::kCollect || kind == Kind::kChat) call.send(wait);
  }

  // The status of a call that gives no further reply. Finish() itself waits for the status only once all replies are read.
  static const grpc::Status& end_of_wait(Call& call, Kind kind) {
    EchoReply reply;
    if ((kind == Kind::kExpand || kind == Kind::kChat) && call.receive(reply))
      throw Mismatch("expected a call that waits, saw a reply");
    return call.finish();
  }

  void deadline(Kind kind) {
    if (kind == Kind::kUnary) {
      expect<std::size_t>("timeout_ms without a deadline", 0, unary({}, std::nullopt).timeout_ms());
      const auto left = unary({}, std::chrono::seconds(60)).timeout_ms();
      if (left < 1 || left > 61'000)
        throw Mismatch("timeout_ms with a deadline of 60 s: expected 1 to 61000, saw " +
                       std::to_string(left));
    }
    const std::string name = fresh_name();
    Call call(*stub_, kind,
              [](auto& context) { context.set_deadline(Clock::now() + kShortDeadline); });
    begin_wait(call, kind, name);
    expect_code("after the deadline", grpc::StatusCode::DEADLINE_EXCEEDED, end_of_wait(call, kind));
    poll(name, Wait::WAIT_CANCELLED);
  }

  void cancel(Kind kind) {
    const std::string name = fresh_name();
    Call call(*stub_, kind, [](auto& context) { context.set_deadline(Clock::time_point::max()); });
    begin_wait(call, kind, name);
    poll(name, Wait::WAIT_UNDER_WAY);
    call.context.TryCancel();
    expect_code("after the cancellation", grpc::StatusCode::CANCELLED, end_of_wait(call, kind));
    poll(name, Wait::WAIT_CANCELLED);
  }

  // --- large ---

  void large(Kind kind) {
    const std::string big = pattern(kLarge);
    EchoRequest request = with_payload(big);
    request.set_count(2);
    Call call(*stub_, kind);
    call.send(request);
    std::vector<EchoReply> replies;
    if (kind == Kind::kCollect) call.send(with_payload("x"));
    if (kind == Kind::kChat) {
      replies.push_back(call.receive_one("first reply"));
      call.send(request);
    }
    call.half_close();
    for (auto& reply : call.rest()) replies.push_back(std::move(reply));
    call.expect_ok();
    if (kind == Kind::kCollect)
      expect_reply("reply", big + "x", 2, replies.at(0));
    else
      expect_replies("replies", std::vector<std::string>(kind == Kind::kUnary ? 1 : 2, big),
                     replies);
  }

  // --- metadata, error ---

  void metadata(Kind kind) {
    std::string all(256, '\0');
    std::iota(all.begin(), all.end(), '\0');
    Call call(*stub_, kind, [&](auto& context) {
      context.AddMetadata("echo-text", "first");
      context.AddMetadata("echo-text", "second value");
      context.AddMetadata("echo-data-bin", all);
      context.AddMetadata("echo-data-bin", "two");
    });
    if (kind == Kind::kChat) call.wait_for_initial_metadata();
    EchoRequest request = with_payload("x");
    request.set_count(1);
    call.send(request);
    call.half_close();
    expect<std::size_t>("number of replies", 1, call.rest().size());
    call.expect_ok();
    const std::vector<std::string> texts{"first", "second value"};
    const std::vector<std::string> data{all, "two"};
    expect("initial echo-text", texts,
           values_of(call.context.GetServerInitialMetadata(), "echo-text"));
    expect("initial echo-data-bin", data,
           values_of(call.context.GetServerInitialMetadata(), "echo-data-bin"));
    expect("trailing echo-text", texts,
           values_of(call.context.GetServerTrailingMetadata(), "echo-text"));
    expect("trailing echo-data-bin", data,
           values_of(call.context.GetServerTrailingMetadata(), "echo-data-bin"));
  }

  void error(Kind kind, int code) {
    Call call(*stub_, kind, [](auto& context) { context.AddMetadata("echo-text", "why"); });
    EchoRequest fail;
    fail.mutable_fail()->set_code(static_cast<std::uint32_t>(code));
    fail.mutable_fail()->set_text(kErrorText);
    fail.set_count(3);
    if (kind == Kind::kCollect || kind == Kind::kChat) send_three(call);
    call.send(fail);
    const auto replies = call.rest();
    expect<std::size_t>("number of replies", kind == Kind::kExpand || kind == Kind::kChat ? 3 : 0,
                        replies.size());
    expect_code("after the failure", static_cast<grpc::StatusCode>(code), call.finish());
    expect<std::string>("text", kErrorText, call.finish().error_message());
    expect<std::vector<std::string>>(
        "trailing echo-text", {"why"},
        values_of(call.context.GetServerTrailingMetadata(), "echo-text"));
  }

  std::unique_ptr<tiphys::peer::Echo::Stub> stub_;
};

std::shared_ptr<grpc::Channel> connect(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetMaxSendMessageSize(kMaxMessage);
  if (!options.secure())
    return grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments);
  const auto name = options.values.find("--server-name");
  arguments.SetSslTargetNameOverride(name == options.values.end() ? "ank-server" : name->second);
  const grpc::SslCredentialsOptions tls{read_file(options.values.at("--ca")),
                                        read_file(options.values.at("--key")),
                                        read_file(options.values.at("--cert"))};
  return grpc::CreateCustomChannel(options.target, grpc::SslCredentials(tls), arguments);
}

}  // namespace

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [kind, unused] : kKinds)
    for (const auto& what : kWhats) names.push_back(kind + "-" + what);
  return names;
}

int call(const Options& options) {
  const auto known = case_names();
  for (const auto& name : options.rest)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Failed(2, "unknown case '" + name + "': grpcpp-peer cases lists them");
  Caller caller(connect(options));
  int code = 0;
  for (const auto& name : options.rest) {
    const auto dash = name.find('-');
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& entry) {
      return entry.first == name.substr(0, dash);
    });
    try {
      caller.run(kind->second, name.substr(dash + 1));
      std::cout << "ok " << name << std::endl;
    } catch (const Mismatch& mismatch) {
      std::cout << "failed " << name << ": " << mismatch.what() << std::endl;
      code = 1;
    }
  }
  return code;
}

}  // namespace peer
