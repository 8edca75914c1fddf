#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "peer.grpc.pb.h"
#include "peer.h"

namespace peer {
namespace {

using tiphys::peer::EchoReply;
using tiphys::peer::EchoRequest;
using tiphys::peer::Wait;

constexpr auto kDrainTime = std::chrono::seconds(10);

// Sends request metadata back, as initial and as trailing metadata.
void echo_metadata(grpc::ServerContext& context) {
  for (const auto& [key, value] : context.client_metadata()) {
    if (!key.starts_with("echo-")) continue;
    const std::string name(key.data(), key.size());
    const std::string text(value.data(), value.size());
    context.AddInitialMetadata(name, text);
    context.AddTrailingMetadata(name, text);
  }
}

std::string payload_for(const EchoRequest& request) {
  return request.reply_size() ? pattern(request.reply_size()) : request.payload();
}

class Echo final : public tiphys::peer::Echo::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const EchoRequest* request,
                     EchoReply* reply) override {
    echo_metadata(*context);
    if (ends(*request)) return end(*context, *request);
    reply->set_payload(payload_for(*request));
    reply->set_wait(state_of(request->ask()));
    if (context->deadline() != std::chrono::system_clock::time_point::max()) {
      const auto left = context->deadline() - std::chrono::system_clock::now();
      reply->set_timeout_ms(
          static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    }
    return grpc::Status::OK;
  }

  grpc::Status Collect(grpc::ServerContext* context, grpc::ServerReader<EchoRequest>* reader,
                       EchoReply* reply) override {
    echo_metadata(*context);
    EchoRequest request;
    while (reader->Read(&request)) {
      if (ends(request)) return end(*context, request);
      reply->mutable_payload()->append(payload_for(request));
      reply->set_index(reply->index() + 1);
    }
    return grpc::Status::OK;
  }

  grpc::Status Expand(grpc::ServerContext* context, const EchoRequest* request,
                      grpc::ServerWriter<EchoReply>* writer) override {
    echo_metadata(*context);
    writer->SendInitialMetadata();
    EchoReply reply;
    reply.set_payload(payload_for(*request));
    for (std::uint32_t index = 0; index < request->count(); ++index) {
      reply.set_index(index);
      if (!writer->Write(reply)) break;
    }
    return end(*context, *request);
  }

  grpc::Status Chat(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<EchoReply, EchoRequest>* stream) override {
    echo_metadata(*context);
    stream->SendInitialMetadata();
    EchoRequest request;
    for (std::uint32_t index = 0; stream->Read(&request); ++index) {
      if (ends(request)) return end(*context, request);
      EchoReply reply;
      reply.set_payload(payload_for(request));
      reply.set_index(index);
      if (!stream->Write(reply)) break;
    }
    return grpc::Status::OK;
  }

 private:
  static bool ends(const EchoRequest& request) {
    return request.has_fail() || !request.wait().empty();
  }

  // How a call ends after this message; may take until it is cancelled.
  grpc::Status end(grpc::ServerContext& context, const EchoRequest& request) {
    if (request.has_fail())
      return {static_cast<grpc::StatusCode>(request.fail().code()), request.fail().text()};
    if (request.wait().empty()) return grpc::Status::OK;
    note(request.wait(), Wait::WAIT_UNDER_WAY);
    // The synchronous interface tells nobody about a cancellation; it has to be asked.
    while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    note(request.wait(), Wait::WAIT_CANCELLED);
    return {grpc::StatusCode::CANCELLED, "the wait is over"};
  }

  void note(const std::string& name, Wait state) {
    const std::lock_guard lock(mutex_);
    waits_[name] = state;
  }

  Wait state_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = waits_.find(name);
    return found == waits_.end() ? Wait::WAIT_UNKNOWN : found->second;
  }

  std::mutex mutex_;
  std::map<std::string, Wait> waits_;
};

std::shared_ptr<grpc::ServerCredentials> credentials(const Options& options) {
  if (!options.secure()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = read_file(options.values.at("--ca"));
  tls.pem_key_cert_pairs.push_back(
      {read_file(options.values.at("--key")), read_file(options.values.at("--cert"))});
  return grpc::SslServerCredentials(tls);
}

}  // namespace

int serve(const Options& options) {
  // Before any thread is made, so that all of them leave the signal to the one that waits for it.
  sigset_t termination;
  sigemptyset(&termination);
  sigaddset(&termination, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &termination, nullptr);

  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.target, credentials(options), &port);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.SetMaxSendMessageSize(kMaxMessage);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) throw Failed(1, options.target + ": cannot listen there");

  if (options.transport == "tcp")
    std::cout << "listening tcp:" << options.target.substr(0, options.target.rfind(':')) << ':'
              << port << std::endl;
  else
    std::cout << "listening " << options.target << std::endl;

  std::thread([] {
    char buffer[4096];
    while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0) {
    }
    std::_Exit(0);
  }).detach();
  int received = 0;
  sigwait(&termination, &received);
  server->Shutdown(std::chrono::system_clock::now() + kDrainTime);
  std::_Exit(0);  // the thread that watches stdin is still there
}

}  // namespace peer
