#include "io/http/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/host/test_certificates.h"
#include "io/http/server.h"
#include "io/http/test_sockets.h"
#include "shell/strand.h"
#include "shell/workers.h"

namespace tiphys::http {
namespace {

using namespace std::chrono_literals;

// A client on a loop of its own, and servers for it beside it.
class HttpClient : public ::testing::Test {
 public:
  ~HttpClient() override {
    loop.run([this] {
      held.clear();
      client.reset();
      server.reset();
    });
    core.stop();
  }

 protected:
  void start(ClientOptions options = {}) {
    loop.run(
        [&] { client = std::make_unique<Client>(loop.executor(), resolver, std::move(options)); });
  }

  // A server of ours, with a few routes.
  void serve(std::optional<host::TlsContext> tls = std::nullopt) {
    loop.run([&] {
      server = std::make_unique<Server>(loop.executor(),
                                        ServerOptions{.limits = {.linger_time = 100ms}});
      for (const std::string method : {"GET", "POST"})
        server->route(method, "/echo", [](const Request& request, Responder responder) {
          std::string text = concat(request.method, " ", request.target, "\n");
          for (const auto& [name, value] : request.headers) text += concat(name, ": ", value, "\n");
          responder.answer(text_response(text + "\n" + request.body));
        });
      for (const std::string method : {"GET", "POST"})
        server->route(method, "/go/{status}", [](const Request& request, Responder responder) {
          const std::string* to = request.parameter("to");
          responder.answer({.status = std::atoi(request.captures.at("status").c_str()),
                            .headers = {{"Location", to == nullptr ? "/echo" : *to}},
                            .body = "gone elsewhere"});
        });
      server->route("GET", "/long", [](const Request& request, Responder responder) {
        const auto size = static_cast<std::size_t>(std::atol(request.parameter("size")->c_str()));
        responder.answer(text_response(std::string(size, 'x')));
      });
      server->route("GET", "/never", [this](const Request& /*request*/, Responder responder) {
        held.push_back(std::move(responder));
      });
      const auto listening = server->listen({"127.0.0.1", 0}, std::move(tls));
      ASSERT_TRUE(listening) << listening.error().message;
      port = listening->address.port;
    });
  }

  [[nodiscard]] std::string url(const std::string& target, const std::string& scheme = "http",
                                const std::string& name = "127.0.0.1") const {
    return concat(scheme, "://", name, ":", std::to_string(port), target);
  }

  Result<Response> ask(ClientRequest request) {
    std::promise<Result<Response>> answer;
    loop.run([&] {
      client->request(std::move(request),
                      [&](Result<Response> response) { answer.set_value(std::move(response)); });
    });
    return answer.get_future().get();
  }

  std::string error_of(ClientRequest request) {
    const auto response = ask(std::move(request));
    return response ? concat("answered ", std::to_string(response->status))
                    : response.error().message;
  }

  // What a server says that sends this and ends the connection.
  Result<Response> ask_raw(const std::string& answer, ClientRequest request = {}) {
    const RawListener listener;
    std::thread peer([&] {
      RawConnection connection = listener.accept();
      connection.read_until("\r\n\r\n");
      connection.send(answer);
      connection.finish_sending();
      connection.read_all();
    });
    request.url = concat("http://127.0.0.1:", std::to_string(listener.port()), "/");
    auto response = ask(std::move(request));
    peer.join();
    return response;
  }

  Loop loop;
  shell::CoreThread core;
  shell::WorkerThreads workers{core, 1};
  host::Resolver resolver{workers};
  std::unique_ptr<Client> client;
  std::unique_ptr<Server> server;
  std::uint16_t port = 0;
  std::vector<Responder> held;  // on the loop only
};

TEST_F(HttpClient, SendsRequestsAndReadsAnswers) {
  start();
  serve();
  const auto response = ask({.method = "POST",
                             .url = url("/echo?x=1"),
                             .headers = {{"X-Header", "value"}},
                             .body = "the body"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(*response->headers.find("content-type"), "text/plain; charset=utf-8");
  const std::string host = concat("Host: 127.0.0.1:", std::to_string(port), "\n");
  EXPECT_EQ(response->body, concat("POST /echo?x=1\n", host,
                                   "Connection: close\nX-Header: value\nUser-Agent: tiphys\n"
                                   "Content-Length: 8\n\nthe body"));
  EXPECT_EQ(ask({.url = url("/nowhere")})->status, 404) << "any status is an answer";
  EXPECT_EQ(ask({.method = "HEAD", .url = url("/echo")})->body, "");
}

TEST_F(HttpClient, FindsHostsByName) {
  start();
  serve();
  // Whichever addresses the name has: the server is at one of them.
  EXPECT_EQ(ask({.url = url("/healthz", "http", "localhost")})->body, "ok\n");
  const std::string nobody(64, 'x');
  EXPECT_TRUE(error_of({.url = url("/", "http", nobody)}).starts_with("cannot resolve '" + nobody));
}

TEST_F(HttpClient, WaitsInCoroutinesToo) {
  start();
  serve();
  const auto response =
      boost::asio::co_spawn(loop.executor(), client->request({.url = url("/healthz")}),
                            boost::asio::use_future)
          .get();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "ok\n");
}

TEST_F(HttpClient, AsksOverAUnixSocket) {
  start();
  serve();
  std::string folder = ::testing::TempDir() + "http-client-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/socket";
  loop.run([&] { EXPECT_TRUE(server->listen_unix(path)); });
  const auto response = ask({.url = "http://any.name/echo", .unix_path = path});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_NE(response->body.find("Host: any.name\n"), std::string::npos);
  EXPECT_EQ(error_of({.url = "http://any.name/", .unix_path = folder + "/nobody"}),
            "http://any.name/: No such file or directory");
  EXPECT_EQ(error_of({.url = "http://any.name/", .unix_path = std::string(108, 'x')}),
            "the path of the socket is longer than 107 bytes");
  std::filesystem::remove_all(folder);
}

TEST_F(HttpClient, RefusesToSendWhatIsNotHttp) {
  start();
  EXPECT_EQ(error_of({.method = "GET / HTTP/1.1\r\nX:", .url = "http://a/"}),
            "'GET / HTTP/1.1\r\nX:' is not a method");
  EXPECT_EQ(error_of({.url = "http://a/", .headers = {{"X", "a\r\nY: b"}}}),
            "the header field 'X' holds what cannot be sent");
  EXPECT_NE(error_of({.url = "http://a/\r\nX: y"}).find("holds a blank"), std::string::npos);
}

TEST_F(HttpClient, SaysWhyThereIsNoAnswer) {
  start();
  std::uint16_t free_port = 0;
  {
    const RawListener listener;
    free_port = listener.port();
  }
  EXPECT_EQ(error_of({.url = concat("http://127.0.0.1:", std::to_string(free_port), "/")}),
            concat("http://127.0.0.1:", std::to_string(free_port), "/: Connection refused"));
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const auto& [answer, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "the connection ended in the middle of a message"},
           {head, "the connection ended in the middle of a message"},
           {head + "Content-Length: 10\r\n\r\nshort", "in the middle of a message"},
           {head + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "in the middle of a message"},
           {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "neither 1.0 nor 1.1"},
           {"HTTP/1.1 abc\r\n\r\n", "malformed"},
           {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "changes the protocol unasked"},
           {head + "X: " + std::string(70'000, 'x'), "the header is longer than 65536 bytes"}}) {
    SCOPED_TRACE(answer.substr(0, 60));
    const auto response = ask_raw(answer);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kUnavailable);
    EXPECT_NE(response.error().message.find(part), std::string::npos) << response.error().message;
  }
}

TEST_F(HttpClient, SkipsWhatComesBeforeTheAnswer) {
  start();
  const auto response = ask_raw(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(response->headers.find("Link"), nullptr);
}

TEST_F(HttpClient, ReadsAnswersThatEndWithTheConnection) {
  start();
  EXPECT_EQ(ask_raw("HTTP/1.0 200 OK\r\n\r\nuntil the end")->body, "until the end");
}

// --- limits ---

TEST_F(HttpClient, TakesNoMoreThanItsLimit) {
  start();
  serve();
  EXPECT_EQ(ask({.url = url("/long?size=1000"), .max_bytes = 1000})->body.size(), 1000U);
  const auto response = ask({.url = url("/long?size=1001"), .max_bytes = 1000});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error(),
            (Error{Code::kResourceExhausted,
                   url("/long?size=1001") + ": the answer is longer than 1000 bytes"}));
}

TEST_F(HttpClient, EndsAtItsDeadline) {
  start();
  serve();
  const auto silent = ask({.url = url("/never"), .deadline = 50ms});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error(),
            (Error{Code::kDeadlineExceeded, url("/never") + ": the deadline has passed"}));

  // A server that takes connections and says nothing:
  const RawListener mute;
  const std::string to_mute = concat("://127.0.0.1:", std::to_string(mute.port()), "/");
  for (const std::string scheme : {"http", "https"})
    EXPECT_EQ(error_of({.url = scheme + to_mute, .deadline = 50ms}),
              scheme + to_mute + ": the deadline has passed");

  // One that never comes to an end:
  const RawListener dripping;
  const std::string to_dripping = concat("http://127.0.0.1:", std::to_string(dripping.port()), "/");
  std::thread peer([&] {
    const RawConnection connection = dripping.accept();
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.send("x")) std::this_thread::yield();
  });
  EXPECT_EQ(error_of({.url = to_dripping, .deadline = 500ms, .max_bytes = 1U << 30U}),
            to_dripping + ": the deadline has passed");
  peer.join();
}

TEST_F(HttpClient, GivesTheBodyToASinkAsFastAsItIsTaken) {
  start();
  serve();
  constexpr std::size_t kSize = 20'000'000;
  std::size_t taken = 0;
  std::size_t pieces_at_once = 0;
  boost::asio::steady_timer timer(loop.executor());
  const auto sink = [&](const std::string& piece, const std::function<void(Status)>& next) {
    EXPECT_EQ(++pieces_at_once, 1U) << "one piece at a time";
    taken += piece.size();
    // Later, as a disk would.
    timer.expires_after(1us);
    timer.async_wait([&pieces_at_once, next](const auto& /*error*/) {
      --pieces_at_once;
      next({});
    });
  };
  const auto response = ask(
      {.url = url(concat("/long?size=", std::to_string(kSize))), .max_bytes = kSize, .sink = sink});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(taken, kSize);
  EXPECT_EQ(response->body, "");

  taken = 0;
  EXPECT_EQ(ask({.url = url("/nowhere"), .sink = sink})->status, 404);
  EXPECT_EQ(taken, 0U) << "an error is not what the sink waits for";
}

TEST_F(HttpClient, StopsWhenTheSinkIsFull) {
  start();
  serve();
  const auto response =
      ask({.url = url("/long?size=1000000"),
           .sink = [](const std::string& /*piece*/, const std::function<void(Status)>& next) {
             next(fail(Code::kResourceExhausted, "the disk is full"));
           }});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message, "the disk is full");
  EXPECT_EQ(error_of({.url = url("/long?size=10"),
                      .deadline = 50ms,
                      .sink = [](const std::string&, const std::function<void(Status)>&) {}}),
            url("/long?size=10") + ": the deadline has passed");
}

TEST_F(HttpClient, TellsNobodyAfterItsDestruction) {
  start();
  serve();
  loop.run([&] {
    client->request({.url = url("/never")},
                    [](const Result<Response>& /*response*/) { ADD_FAILURE() << "told"; });
  });
  auto waiting = boost::asio::co_spawn(loop.executor(), client->request({.url = url("/never")}),
                                       boost::asio::use_future);
  ask({.url = url("/healthz")});
  loop.run([&] { client.reset(); });
  EXPECT_EQ(waiting.get().error().code, Code::kCancelled);
}

// --- redirections ---

TEST_F(HttpClient, FollowsRedirections) {
  start();
  serve();
  struct Row {
    std::string method;
    int status;
    std::string answer;  // its first line
  };
  for (const auto& row : std::vector<Row>{{"GET", 301, "GET /echo"},
                                          {"GET", 302, "GET /echo"},
                                          {"GET", 303, "GET /echo"},
                                          {"GET", 307, "GET /echo"},
                                          {"GET", 308, "GET /echo"},
                                          {"POST", 301, "gone elsewhere"},
                                          {"POST", 302, "gone elsewhere"},
                                          {"POST", 303, "gone elsewhere"},
                                          {"POST", 307, "POST /echo"},
                                          {"POST", 308, "POST /echo"},
                                          {"GET", 300, "gone elsewhere"},
                                          {"GET", 304, ""}}) {
    SCOPED_TRACE(row.method + " " + std::to_string(row.status));
    const auto response = ask({.method = row.method,
                               .url = url(concat("/go/", std::to_string(row.status))),
                               .body = row.method == "POST" ? "a body" : ""});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body.substr(0, response->body.find('\n')), row.answer);
    if (row.answer.starts_with("POST")) {
      EXPECT_TRUE(response->body.ends_with("\n\na body")) << "the body goes along";
    }
  }
}

TEST_F(HttpClient, DoesNotFollowForEver) {
  start();
  serve();
  EXPECT_EQ(ask({.url = url("/go/302?to=/go/301")})->status, 200) << "two steps are fine";
  loop.run([&] {
    server->route("GET", "/loop", [](const Request& /*request*/, Responder responder) {
      responder.answer({.status = 302, .headers = {{"Location", "/loop"}}});
    });
  });
  EXPECT_EQ(error_of({.url = url("/loop")}), url("/loop") + ": more than 5 redirections");
  EXPECT_EQ(
      error_of({.url = url("/go/302?to=gopher:x")}),
      url("/go/302?to=gopher:x") + ": the URL 'gopher:x' begins with neither http:// nor https://");
}

TEST_F(HttpClient, KeepsSecretsFromOtherHosts) {
  start();
  serve();
  const Headers secrets{{"Authorization", "Bearer x"}, {"Cookie", "y"}, {"X-Open", "z"}};
  const auto same = ask({.url = url("/go/302"), .headers = secrets});
  EXPECT_NE(same->body.find("Authorization: Bearer x\n"), std::string::npos);
  const auto other =
      ask({.url = url("/go/302?to=" + url("/echo", "http", "localhost")), .headers = secrets});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->body.find("Authorization"), std::string::npos) << other->body;
  EXPECT_EQ(other->body.find("Cookie"), std::string::npos) << other->body;
  EXPECT_NE(other->body.find("X-Open: z\n"), std::string::npos) << other->body;
}

// --- TLS ---

TEST_F(HttpClient, ChecksWhoAnswersBehindTls) {
  const host::Authority ca = host::make_ca();
  const host::TlsMaterial material =
      host::issue(ca, {.names = {"localhost"}, .kind = host::KeyKind::kEcdsa});
  start({.tls = *host::TlsContext::client({.ca = ca.certificate}, {"http/1.1"})});
  host::TlsMaterial open = material;
  open.ca.clear();  // any client may come
  serve(*host::TlsContext::server(open, {"http/1.1"}));

  const auto good = ask({.url = url("/long?size=3000000", "https", "localhost")});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->body.size(), 3'000'000U);

  const std::string by_address = error_of({.url = url("/healthz", "https")});
  EXPECT_NE(by_address.find("IP address mismatch"), std::string::npos) << by_address;

  start({});  // trusts the system's authorities only
  const std::string unknown = error_of({.url = url("/healthz", "https", "localhost")});
  EXPECT_NE(unknown.find("certificate verify failed"), std::string::npos) << unknown;

  EXPECT_TRUE(error_of({.url = url("/healthz")}).find("middle of a message") != std::string::npos)
      << "plain text where TLS is spoken";
}

TEST_F(HttpClient, ShowsItsCertificate) {
  const host::Authority ca = host::make_ca();
  serve(*host::TlsContext::server(host::issue(ca, {.names = {"localhost"}}), {"http/1.1"}));
  std::optional<host::PeerCertificate> seen;
  loop.run([&] {
    server->route("GET", "/who", [&](const Request& request, Responder responder) {
      EXPECT_TRUE(request.peer.is_secure);
      seen = request.peer.certificate;
      responder.answer({});
    });
  });
  start({.tls = *host::TlsContext::client(host::issue(ca, {.names = {"agent_A"}}), {"http/1.1"})});
  EXPECT_EQ(ask({.url = url("/who", "https", "localhost")})->status, 200);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->dns_names, (std::vector<std::string>{"agent_A"}));

  start({.tls = *host::TlsContext::client({.ca = ca.certificate}, {"http/1.1"})});
  EXPECT_FALSE(ask({.url = url("/who", "https", "localhost")})) << "without one it is refused";
}

TEST_F(HttpClient, DoesNotLeaveTlsForPlainText) {
  const host::Authority ca = host::make_ca();
  host::TlsMaterial material = host::issue(ca, {.names = {"localhost"}});
  material.ca.clear();
  serve(*host::TlsContext::server(material, {"http/1.1"}));
  start({.tls = *host::TlsContext::client({.ca = ca.certificate}, {"http/1.1"})});
  const std::string from = url("/go/302?to=http://localhost/", "https", "localhost");
  EXPECT_EQ(error_of({.url = from}),
            from + ": redirects to http://localhost/, which is not secure");
}

}  // namespace
}  // namespace tiphys::http
