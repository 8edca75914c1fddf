// The load by grpc++'s own client, for a second opinion: one thread, one completion queue, one connection.
//
//   grpcpp-call PORT CONCURRENT MILLISECONDS      prints calls per second

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "echo.grpc.pb.h"

namespace tiphys::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Makes one call after the other.
class Caller {
 public:
  Caller(Echo::Stub& stub, grpc::CompletionQueue& queue) : stub_(stub), queue_(queue) {
    request_.set_payload("sixteen bytes !!");
  }

  void begin() {
    context_.emplace();
    answer_ = stub_.AsyncUnary(&*context_, request_, &queue_);
    answer_->Finish(&reply_, &status_, this);
  }
  [[nodiscard]] const grpc::Status& status() const { return status_; }

 private:
  Echo::Stub& stub_;
  grpc::CompletionQueue& queue_;
  EchoRequest request_;
  EchoReply reply_;
  grpc::Status status_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<EchoReply>> answer_;
};

int call(const std::string& port, std::size_t concurrent, std::chrono::milliseconds time) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials());
  const auto stub = Echo::NewStub(channel);
  grpc::CompletionQueue queue;
  std::deque<Caller> callers;
  const auto began = Clock::now();
  for (std::size_t i = 0; i < concurrent; ++i) callers.emplace_back(*stub, queue).begin();
  std::size_t calls = 0;
  void* finished = nullptr;
  bool ok = false;
  for (std::size_t left = concurrent; left > 0 && queue.Next(&finished, &ok);) {
    auto& caller = *static_cast<Caller*>(finished);
    if (!caller.status().ok()) {
      std::cerr << "grpcpp-call: " << caller.status().error_message() << "\n";
      return 1;
    }
    ++calls;
    if (Clock::now() < began + time) {
      caller.begin();
    } else {
      --left;
    }
  }
  const std::chrono::duration<double> passed = Clock::now() - began;
  std::cout << static_cast<double>(calls) / passed.count() << "\n" << std::flush;
  return 0;
}

}  // namespace
}  // namespace tiphys::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "grpcpp-call: expected PORT CONCURRENT MILLISECONDS\n";
    return 2;
  }
  const int code = tiphys::bench::call(argv[1], std::strtoul(argv[2], nullptr, 10),
                                       std::chrono::milliseconds(std::atoi(argv[3])));
  std::_Exit(code);  // the library's threads need not be waited for
}
