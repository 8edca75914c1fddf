// The echo service on grpc++, as fast as it goes on one thread: the asynchronous interface with one completion queue,
// which the one thread also polls, so that no call changes threads. The callback interface hands every call to a pool,
// which costs more when the machine has two cores and the load needs one of them. Built without TLS (grpc++_unsecure),
// with lite messages, and linked as ours is.
//
// Prints its port, and runs until it is killed.

#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>

#include "echo.grpc.pb.h"

namespace tiphys::bench {
namespace {

constexpr int kAcceptedAhead = 32;  // unary calls that the library may take without asking

// One call; what it waits for comes back with its address.
class Call {
 public:
  virtual ~Call() = default;
  virtual void proceed(bool ok) = 0;
};

class UnaryCall final : public Call {
 public:
  UnaryCall(Echo::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), responder_(&context_) {
    service_.RequestUnary(&context_, &request_, &responder_, &queue_, &queue_, this);
  }

  void proceed(bool ok) override {
    if (!ok || is_answered_) {
      delete this;
      return;
    }
    new UnaryCall(service_, queue_);
    is_answered_ = true;
    reply_.set_payload(request_.payload());
    responder_.Finish(reply_, grpc::Status::OK, this);
  }

 private:
  Echo::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  EchoRequest request_;
  EchoReply reply_;
  grpc::ServerAsyncResponseWriter<EchoReply> responder_;
  bool is_answered_ = false;
};

class ChatCall final : public Call {
 public:
  ChatCall(Echo::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), stream_(&context_) {
    service_.RequestChat(&context_, &stream_, &queue_, &queue_, this);
  }

  void proceed(bool ok) override {
    switch (state_) {
      case State::kAccepting:
        if (!ok) {
          delete this;
          return;
        }
        new ChatCall(service_, queue_);
        read();
        break;
      case State::kReading:
        if (!ok) return finish();
        reply_.set_payload(request_.payload());
        state_ = State::kWriting;
        stream_.Write(reply_, this);
        break;
      case State::kWriting:
        if (!ok) return finish();
        read();
        break;
      case State::kFinishing:
        delete this;
        break;
    }
  }

 private:
  enum class State { kAccepting, kReading, kWriting, kFinishing };

  void read() {
    state_ = State::kReading;
    stream_.Read(&request_, this);
  }
  void finish() {
    state_ = State::kFinishing;
    stream_.Finish(grpc::Status::OK, this);
  }

  Echo::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  EchoRequest request_;
  EchoReply reply_;
  grpc::ServerAsyncReaderWriter<EchoReply, EchoRequest> stream_;
  State state_ = State::kAccepting;
};

int serve() {
  Echo::AsyncService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (!server || port == 0) {
    std::cerr << "grpcpp-echo: cannot listen\n";
    return 1;
  }
  for (int i = 0; i < kAcceptedAhead; ++i) new UnaryCall(service, *queue);
  new ChatCall(service, *queue);
  std::cout << port << "\n" << std::flush;
  void* call = nullptr;
  bool ok = false;
  while (queue->Next(&call, &ok)) static_cast<Call*>(call)->proceed(ok);
  return 0;
}

}  // namespace
}  // namespace tiphys::bench

int main() { return tiphys::bench::serve(); }
