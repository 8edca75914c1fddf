#include "io/rpc/server.h"

#include <boost/asio/post.hpp>
#include <set>
#include <utility>

#include "io/rpc/timeout.h"

namespace tiphys::rpc {

void Handlers::add(std::string method, Handler handler) {
  auto shared = std::make_shared<const std::string>(method);
  methods_.insert_or_assign(std::move(method), Method{std::move(shared), std::move(handler)});
}

void Handlers::add_fallback(Handler handler) {
  fallback_ = std::make_unique<Method>(Method{nullptr, std::move(handler)});
}

const Method* Handlers::find(std::string_view method) const {
  const auto found = methods_.find(method);
  return found != methods_.end() ? &found->second : fallback_.get();
}

namespace {

void answer_plainly(HttpStream& stream, std::string_view status) {
  Fields head;
  head.add(":status", status);
  stream.send_fields(head, true);
}

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  const std::string_view rest = content_type.substr(kType.size());
  return rest.empty() || rest == "+proto" || rest.starts_with(';');
}

}  // namespace

// One listener with its connections. Connections and late posts keep it alive.
class Server::Listening : public std::enable_shared_from_this<Listening> {
 public:
  Listening(boost::asio::any_io_executor executor, shell::Log& log,
            std::shared_ptr<Deadlines> deadlines, std::unique_ptr<HttpListener> listener,
            ListenOptions options)
      : log_(log),
        listener_(std::move(listener)),
        handlers_(std::move(options.handlers)),
        connection_limit_(options.connections),
        context_(std::make_shared<ServerCall::Context>(
            ServerCall::Context{std::move(executor), std::move(deadlines),
                                std::move(options.limits), nullptr, nullptr})) {}

  void start() {
    context_->on_offence = [weak = weak_from_this()](HttpConnection& by, const Error& what) {
      if (const auto self = weak.lock()) self->complain(by, what);
    };
    context_->on_large = [weak = weak_from_this()](HttpConnection& to, const std::string& method,
                                                   std::size_t bytes) {
      if (const auto self = weak.lock())
        self->log_.warn(
            "a large message is sent; some clients refuse it",
            {{"peer", to.peer()->address}, {"method", method}, {"bytes", std::to_string(bytes)}});
    };
    listener_->start([weak = weak_from_this()](std::shared_ptr<HttpConnection> connection) {
      const auto self = weak.lock();
      return self ? self->add(std::move(connection)) : nullptr;
    });
  }

  void close(Duration grace, std::function<void()> done) {
    done_.push_back(std::move(done));
    listener_->stop();
    if (!std::exchange(is_closing_, true)) {
      for (const auto& connection : std::set(connections_)) connection->drain();
      grace_ = context_->deadlines->add(grace, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->grace_.reset();
        self->close_all();
      });
    }
    end_if_closed();
  }

  void close_all() {
    for (const auto& connection : std::set(connections_))
      connection->close("the server shuts down");
  }

  // Ends everything without waiting; connections that still have to say so live on their own until then.
  void abandon() {
    listener_->stop();
    close_all();
    connections_.clear();
    if (grace_) context_->deadlines->remove(*std::exchange(grace_, std::nullopt));
  }

  [[nodiscard]] std::size_t connection_count() const { return connections_.size(); }
  [[nodiscard]] bool is_closed() const { return is_closing_ && connections_.empty(); }

 private:
  class Owner final : public HttpConnection::Owner {
   public:
    Owner(std::shared_ptr<Listening> listening, std::weak_ptr<HttpConnection> connection)
        : listening_(std::move(listening)), connection_(std::move(connection)) {}

    void on_stream(HttpStream& stream, const Fields& head, bool end) override {
      listening_->accept(stream, head, end);
    }
    void on_going_away() override {}
    void on_closed(const std::string& why) override {
      const auto connection = connection_.lock();
      if (!connection) return;
      if (!why.empty())
        listening_->log_.warn("connection closed",
                              {{"peer", connection->peer()->address}, {"reason", why}});
      listening_->remove(connection);
    }

   private:
    std::shared_ptr<Listening> listening_;
    std::weak_ptr<HttpConnection> connection_;
  };

  std::shared_ptr<HttpConnection::Owner> add(std::shared_ptr<HttpConnection> connection) {
    if (connections_.size() >= connection_limit_) {
      log_.warn("connection refused", {{"peer", connection->peer()->address},
                                       {"reason", "there are too many connections"}});
      return nullptr;
    }
    auto owner = std::make_shared<Owner>(shared_from_this(), connection);
    connections_.insert(std::move(connection));
    return owner;
  }

  // One line for a connection: whoever offends goes on offending.
  void complain(HttpConnection& by, const Error& what) {
    if (!offenders_.insert(&by).second) return;
    log_.warn("call refused", {{"peer", by.peer()->address}, {"reason", what.message}});
  }

  void remove(const std::shared_ptr<HttpConnection>& connection) {
    offenders_.erase(connection.get());
    connections_.erase(connection);
    end_if_closed();
  }

  void end_if_closed() {
    if (!is_closing_ || !connections_.empty()) return;
    if (grace_) context_->deadlines->remove(*std::exchange(grace_, std::nullopt));
    for (auto& done : std::exchange(done_, {}))
      boost::asio::post(context_->executor, std::move(done));
  }

  void accept(HttpStream& stream, const Fields& head, bool end) {
    if (head.is_too_large()) {
      const Error error{Code::kResourceExhausted, "the header fields are too large"};
      complain(stream.connection(), error);
      return refuse(stream, failed(error));
    }
    if (head.find(":method") != "POST") return answer_plainly(stream, "405");
    if (!is_grpc(head.find("content-type").value_or(""))) return answer_plainly(stream, "415");
    const std::string_view path = head.find(":path").value_or("");
    const Method* method = handlers_.find(path);
    if (!method)
      return refuse(stream, failed(Code::kUnimplemented, "unknown method " + std::string(path)));

    ServerCall::Request request{.method = path, .metadata = metadata_of(head)};
    if (const auto text = head.find("grpc-timeout")) {
      const auto timeout = parse_timeout(*text);
      if (!timeout)
        return refuse(
            stream, failed(Code::kInternal, "malformed grpc-timeout '" + std::string(*text) + "'"));
      request.deadline = Deadlines::after(*timeout);
    }
    const std::string_view encoding = head.find("grpc-encoding").value_or("identity");
    if (encoding == "gzip") {
      request.encoding = Encoding::kGzip;
    } else if (encoding != "identity") {
      Fields accepted;
      accepted.add("grpc-accept-encoding", kAcceptedEncodings);
      const std::string text = "unknown grpc-encoding '" + std::string(encoding) + "'";
      return refuse(stream, failed(Code::kUnimplemented, text), accepted);
    }
    if (!request.metadata.empty()) {
      request.held = head.list_size();
      if (!context_->limits.budget->take(request.held))
        return refuse(stream,
                      failed(Code::kResourceExhausted,
                             "the memory for what is being received is used up; try again later"));
    }
    const auto call = std::make_shared<ServerCall>(context_, stream, std::move(request), *method);
    stream.listen(call);
    call->accept(end);
  }

  shell::Log& log_;
  std::unique_ptr<HttpListener> listener_;
  Handlers handlers_;
  std::size_t connection_limit_;
  std::shared_ptr<ServerCall::Context> context_;
  std::set<const HttpConnection*> offenders_;  // of whom the log knows
  std::set<std::shared_ptr<HttpConnection>> connections_;
  std::vector<std::function<void()>> done_;
  std::optional<Deadlines::Id> grace_;
  bool is_closing_ = false;
};

Server::Server(boost::asio::any_io_executor executor, shell::Log& log)
    : executor_(std::move(executor)),
      log_(log),
      deadlines_(std::make_shared<Deadlines>(executor_)) {}

Server::~Server() {
  for (const auto& [number, listening] : listening_) listening->abandon();
}

Server::ListenerNumber Server::listen(std::unique_ptr<HttpListener> listener,
                                      ListenOptions options) {
  std::erase_if(listening_, [](const auto& entry) { return entry.second->is_closed(); });
  const auto listening = std::make_shared<Listening>(executor_, log_, deadlines_,
                                                     std::move(listener), std::move(options));
  listening_.emplace(++last_number_, listening);
  listening->start();
  return last_number_;
}

void Server::close(ListenerNumber number, Duration grace, std::function<void()> done) {
  const auto found = listening_.find(number);
  if (found == listening_.end()) {
    boost::asio::post(executor_, std::move(done));
    return;
  }
  found->second->close(grace, std::move(done));
}

void Server::close(Duration grace, std::function<void()> done) {
  // The last share of this calls done, whichever listener has it.
  const std::shared_ptr<void> last(nullptr, [executor = executor_, done = std::move(done)](void*) {
    boost::asio::post(executor, done);
  });
  for (const auto& [number, listening] : listening_) listening->close(grace, [last] {});
}

std::size_t Server::connection_count() const {
  std::size_t count = 0;
  for (const auto& [number, listening] : listening_) count += listening->connection_count();
  return count;
}

}  // namespace tiphys::rpc
