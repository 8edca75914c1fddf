#include "io/http/server.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "io/host/test_certificates.h"
#include "io/http/test_sockets.h"

namespace tiphys::http {
namespace {

using namespace std::chrono_literals;

const std::string kGet = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

// A server on a loop of its own, with a few routes that most tests use.
class HttpServer : public ::testing::Test {
 public:
  ~HttpServer() override {
    loop.run([this] {
      held.clear();
      streams.clear();
      sockets.clear();
      server.reset();
    });
  }

 protected:
  void start(Limits limits = {}) {
    limits.linger_time = std::min<Duration>(limits.linger_time, 500ms);
    loop.run([&] {
      server = std::make_unique<Server>(
          loop.executor(),
          ServerOptions{.limits = limits,
                        .reasons_not_ready = [this] { return reasons; },
                        .on_offence =
                            [this](const std::string& peer, const std::string& what) {
                              EXPECT_TRUE(peer.starts_with("127.0.0.1:")) << peer;
                              tell(what);
                            }});
      add_routes();
      const auto listening = server->listen({"127.0.0.1", 0});
      ASSERT_TRUE(listening) << listening.error().message;
      listener = listening->id;
      port = listening->address.port;
    });
  }

  void add_routes() {
    server->route("GET", "/hello", [](const Request& /*request*/, Responder responder) {
      responder.answer(text_response("hello"));
    });
    server->route("POST", "/echo", [](Request request, Responder responder) {
      responder.answer(text_response(std::move(request.body)));
    });
    server->route("POST", "/small",
                  [](Request request, Responder responder) {
                    responder.answer(text_response(std::move(request.body)));
                  },
                  {.body_bytes = 10});
    server->route("GET", "/later/{name}", [this](const Request& request, Responder responder) {
      tell("asked for " + request.captures.at("name"));
      held.push_back(std::move(responder));
    });
    server->route("GET", "/dropped",
                  [](const Request& /*request*/, const Responder& /*responder*/) {});
    server->route("GET", "/thrown", [](const Request& /*request*/, const Responder& /*responder*/) {
      throw std::runtime_error("a bug");
    });
    server->route("GET", "/events", [this](const Request& /*request*/, Responder responder) {
      EventStreamOptions options = event_options;
      options.on_end = [this](StreamEnd end) { tell("stream ended " + name_of(end)); };
      streams.push_back(responder.stream_events(options));
      tell("stream began");
    });
    server->route("GET", "/socket", [this](const Request& /*request*/, Responder responder) {
      WebSocketOptions options = socket_options;
      const auto place = sockets.size();
      options.on_message = [this, place](const std::string& message, bool is_text) {
        if (is_text)
          sockets.at(place)->send_text("you said " + message);
        else
          sockets.at(place)->send_binary(message);
      };
      options.on_end = [this](StreamEnd end, std::uint16_t code) {
        tell("socket ended " + name_of(end) + " " + std::to_string(code));
      };
      auto socket = responder.upgrade(std::move(options));
      if (!socket) return tell(socket.error().message);
      sockets.push_back(std::make_unique<WebSocket>(std::move(*socket)));
      tell("socket began");
    });
  }

  static std::string name_of(StreamEnd end) {
    switch (end) {
      case StreamEnd::kClosed:
        return "closed";
      case StreamEnd::kClientGone:
        return "client gone";
      case StreamEnd::kOverflow:
        return "overflow";
      case StreamEnd::kServerClosed:
        return "server closed";
    }
    return "";
  }

  // What happened on the loop, in order; the test waits for it.
  void tell(const std::string& what) {
    const std::lock_guard lock(mutex_);
    told_.push_back(what);
    something_told_.notify_all();
  }
  // A client's end of a WebSocket that the server has taken.
  RawConnection open_web_socket();

  std::string next_told() {
    std::unique_lock lock(mutex_);
    if (!something_told_.wait_for(lock, 30s, [this] { return !told_.empty(); }))
      return "nothing was told";
    std::string what = told_.front();
    told_.pop_front();
    return what;
  }

  // A request on a connection of its own, which it asks to be closed.
  std::string ask(const std::string& request) {
    RawConnection connection(port);
    connection.send(request);
    return connection.read_response();
  }

  // Waits until the server has so many connections.
  void await_connections(std::size_t count) {
    std::promise<void> reached;
    std::function<void()> look = [&] {
      if (server->connections() == count) return reached.set_value();
      boost::asio::post(loop.executor(), look);
    };
    loop.run(look);
    EXPECT_EQ(reached.get_future().wait_for(30s), std::future_status::ready);
  }

  Loop loop;
  std::unique_ptr<Server> server;
  Server::ListenerId listener = 0;
  std::uint16_t port = 0;
  std::vector<std::string> reasons;
  EventStreamOptions event_options;
  WebSocketOptions socket_options;
  // On the loop only:
  std::vector<Responder> held;
  std::vector<EventStream> streams;
  std::vector<std::unique_ptr<WebSocket>> sockets;

 private:
  std::mutex mutex_;
  std::condition_variable something_told_;
  std::deque<std::string> told_;
};

// --- requests and answers ---

TEST_F(HttpServer, GivesHandlersWhatTheClientSent) {
  start();
  Request seen;
  loop.run([&] {
    server->route("PUT", "/v1/tasks/{id}/{rest...}", [&](Request request, Responder responder) {
      seen = std::move(request);
      responder.answer({.status = 201, .headers = {{"X-Answer", "yes"}}, .body = "made"});
    });
  });
  const std::string response =
      ask("PUT /v1/tasks/a%20b/c/d?x=1&y=two+words HTTP/1.1\r\nHost: a\r\nX-Header: value\r\n"
          "Content-Length: 4\r\n\r\nbody");
  EXPECT_TRUE(response.starts_with("HTTP/1.1 201 Created\r\nDate: ")) << response;
  EXPECT_NE(response.find("\r\nX-Answer: yes\r\n"), std::string::npos) << response;
  EXPECT_EQ(body_of(response), "made");
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.path, "/v1/tasks/a%20b/c/d");
  EXPECT_EQ(seen.captures, (std::map<std::string, std::string>{{"id", "a b"}, {"rest", "c/d"}}));
  EXPECT_EQ(*seen.parameter("y"), "two words");
  EXPECT_EQ(seen.parameter("z"), nullptr);
  EXPECT_EQ(*seen.headers.find("x-header"), "value");
  EXPECT_EQ(seen.body, "body");
  EXPECT_TRUE(seen.peer.address.starts_with("127.0.0.1:"));
  EXPECT_FALSE(seen.peer.is_secure);
}

TEST_F(HttpServer, AnswersOneAfterTheOtherOnOneConnection) {
  start();
  RawConnection connection(port);
  connection.send(
      "GET /later/one HTTP/1.1\r\nHost: a\r\n\r\nGET /later/two HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "asked for one");
  loop.run([&] {
    EXPECT_EQ(held.size(), 1U) << "the second request has to wait";
    held[0].answer(text_response("first"));
  });
  EXPECT_EQ(body_of(connection.read_response()), "first");
  EXPECT_EQ(next_told(), "asked for two");
  loop.run([&] { held[1].answer(text_response("second")); });
  EXPECT_EQ(body_of(connection.read_response()), "second");
}

TEST_F(HttpServer, KeepsOrClosesTheConnectionAsTheClientWants) {
  start();
  struct Row {
    std::string version;
    std::string header;
    bool stays;
  };
  for (const auto& row : std::vector<Row>{{"1.1", "", true},
                                          {"1.1", "Connection: close\r\n", false},
                                          {"1.1", "Connection: x, Close\r\n", false},
                                          {"1.0", "", false},
                                          {"1.0", "Connection: Keep-Alive\r\n", true}}) {
    SCOPED_TRACE(row.version + " " + row.header);
    RawConnection connection(port);
    const std::string request =
        concat("GET /hello HTTP/", row.version, "\r\nHost: a\r\n", row.header, "\r\n");
    connection.send(request);
    const std::string response = connection.read_response();
    EXPECT_EQ(body_of(response), "hello");
    EXPECT_EQ(response.find("Connection: close") == std::string::npos, row.stays) << response;
    if (row.stays) {
      connection.send(request);
      EXPECT_EQ(body_of(connection.read_response()), "hello");
    } else {
      EXPECT_EQ(connection.read_all(), "");
    }
  }
}

TEST_F(HttpServer, AnswersHeadLikeGetWithoutTheBody) {
  start();
  RawConnection connection(port);
  connection.send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + kGet);
  const std::string head = connection.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(head), 200);
  EXPECT_NE(head.find("Content-Length: 5\r\n"), std::string::npos) << head;
  EXPECT_EQ(body_of(connection.read_response()), "hello") << "the next answer follows at once";
}

TEST_F(HttpServer, ReadsChunkedBodies) {
  start();
  EXPECT_EQ(body_of(ask("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")),
            "hello world");
}

TEST_F(HttpServer, SaysWhatIsWrongWithARequest) {
  start();
  struct Row {
    std::string request;
    int status;
    std::string part;  // of the answer
  };
  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  for (const auto& row : std::vector<Row>{
           {"GET /nowhere" + host + "\r\n", 404, "there is nothing at '/nowhere'"},
           {"DELETE /hello" + host + "\r\n", 405, "\r\nAllow: GET, HEAD\r\n"},
           {"BREW /hello" + host + "\r\n", 501, "the method 'BREW' is not known"},
           {"GET hello" + host + "\r\n", 400, "does not begin with '/'"},
           {"GET /hello?a=%" + host + "\r\n", 400, "query: 'a=%'"},
           {"GET /a/../hello" + host + "\r\n", 400, "'..'"},
           {"POST /echo" + host + "Content-Length: 1048577\r\n\r\n", 413, "1048576 bytes"},
           {"POST /small" + host + "Content-Length: 11\r\n\r\n", 413, "10 bytes"},
           {"POST /small" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\nhello", 413, "longer"},
           {"POST /echo" + host + "Content-Length: -1\r\n\r\n", 400, "malformed"},
           {"POST /echo" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
            "malformed"},
           {"POST /echo" + host + "Transfer-Encoding: gzip\r\n\r\n", 501, "only 'chunked'"},
           {"POST /echo" + host + "Expect: a miracle\r\nContent-Length: 1\r\n\r\n", 417,
            "'a miracle'"},
           {"GET /hello HTTP/1.1\r\n\r\n", 400, "Host"},
           {"GET /hello HTTP/3.0\r\n\r\n", 505, "neither 1.0 nor 1.1"},
           {"complete nonsense\r\n\r\n", 400, "malformed"},
           {std::string("\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 11), 400, "malformed"},
           {"GET /" + std::string(17'000, 'x'), 414, "the request line is longer"},
           {"GET /hello" + host + "X: " + std::string(17'000, 'x'), 431,
            "the header is longer than 16384 bytes"}}) {
    SCOPED_TRACE(row.request.substr(0, 100));
    RawConnection connection(port);
    connection.send(row.request);
    const std::string response = connection.read_response();
    EXPECT_EQ(status_of(response), row.status) << response;
    EXPECT_NE(response.find(row.part), std::string::npos) << response;
    EXPECT_TRUE(body_of(response).starts_with("{\"error\":{\"code\":" + std::to_string(row.status)))
        << response;
    if (response.find("Connection: close") != std::string::npos) {
      EXPECT_EQ(connection.read_all(), "");
    } else {
      connection.send(kGet);
      EXPECT_EQ(body_of(connection.read_response()), "hello") << "the connection goes on";
    }
  }
}

TEST_F(HttpServer, TellsAClientThatWaitsToGoOn) {
  start();
  RawConnection connection(port);
  const std::string head =
      "POST /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ";
  connection.send(head + "4\r\n\r\n");
  EXPECT_EQ(connection.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  connection.send("body");
  EXPECT_EQ(body_of(connection.read_response()), "body");
  // A body that would be refused is not even asked for.
  connection.send(head + "11\r\n\r\n");
  EXPECT_EQ(status_of(connection.read_response()), 413);
}

TEST_F(HttpServer, TakesMoreThanWasAnnouncedForTheNextRequest) {
  start();
  RawConnection connection(port);
  connection.send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody and more\r\n\r\n");
  EXPECT_EQ(body_of(connection.read_response()), "body");
  EXPECT_EQ(status_of(connection.read_response()), 400);
  EXPECT_EQ(connection.read_all(), "");
}

TEST_F(HttpServer, AnswersForHandlersThatDoNot) {
  start({.answer_time = 50ms});
  EXPECT_EQ(status_of(ask("GET /dropped HTTP/1.1\r\nHost: a\r\n\r\n")), 500);
  EXPECT_EQ(status_of(ask("GET /thrown HTTP/1.1\r\nHost: a\r\n\r\n")), 500);
  EXPECT_EQ(next_told(), "a handler failed: a bug");
  EXPECT_EQ(status_of(ask("GET /later/never HTTP/1.1\r\nHost: a\r\n\r\n")), 504);
  EXPECT_EQ(next_told(), "asked for never");
  EXPECT_EQ(next_told(), "a handler gave no answer in time");
  loop.run([&] { held.at(0).answer(text_response("too late, and harmless")); });
  EXPECT_EQ(body_of(ask(kGet)), "hello");
}

TEST_F(HttpServer, RefusesToSendWhatIsNotHttp) {
  start();
  loop.run([&] {
    server->route("GET", "/split", [](const Request& /*request*/, Responder responder) {
      responder.answer({.headers = {{"X", "a\r\nSet-Cookie: b"}}});
    });
    server->route("GET", "/number", [](const Request& /*request*/, Responder responder) {
      responder.answer({.status = 42});
    });
  });
  for (const std::string path : {"/split", "/number"}) {
    const std::string response = ask("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_of(response), 500);
    EXPECT_EQ(response.find("Set-Cookie"), std::string::npos);
  }
}

boost::asio::awaitable<Response> wait_and_answer(Request request) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 1ms);
  auto waiting = timer.async_wait(boost::asio::use_awaitable);
  co_await std::move(waiting);
  if (request.body == "throw") throw std::runtime_error("a bug");
  co_return text_response("from a coroutine: " + request.body);
}

TEST_F(HttpServer, AwaitsCoroutines) {
  start();
  loop.run([&] { server->route("POST", "/coroutine", CoroutineHandler(wait_and_answer)); });
  const std::string head = "POST /coroutine HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(body_of(ask(head + "hello")), "from a coroutine: hello");
  EXPECT_EQ(status_of(ask(head + "throw")), 500);
}

TEST_F(HttpServer, SendsLongAnswersWhole) {
  start();
  const std::string long_text(5'000'000, 'x');
  loop.run([&] {
    server->route("GET", "/long", [&](const Request& /*request*/, Responder responder) {
      responder.answer(text_response(long_text));
    });
  });
  EXPECT_TRUE(body_of(ask("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")) == long_text);
}

TEST_F(HttpServer, SaysWhetherItIsHealthyAndReady) {
  start();
  const std::string health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string ready = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(body_of(ask(health)), "ok\n");
  EXPECT_EQ(status_of(ask(ready)), 200);
  loop.run([&] { reasons = {"the store is not there", "no agent yet"}; });
  const std::string response = ask(ready);
  EXPECT_EQ(status_of(response), 503);
  EXPECT_NE(response.find("the store is not there; no agent yet"), std::string::npos) << response;
  EXPECT_EQ(status_of(ask(health)), 200);
}

// --- clients that are slow, silent or gone ---

TEST_F(HttpServer, DoesNotWaitLongForSlowClients) {
  start({.header_time = 500ms, .body_time = 500ms, .idle_time = 500ms});
  {
    RawConnection silent(port);
    EXPECT_EQ(silent.read_all(), "");
  }
  {
    RawConnection slow(port);
    slow.send("GET /hello HTT");
    EXPECT_EQ(status_of(slow.read_response()), 408);
    EXPECT_EQ(slow.read_all(), "");
    EXPECT_EQ(next_told(), "the header of the request took too long");
  }
  {
    RawConnection slow(port);
    slow.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo");
    EXPECT_EQ(status_of(slow.read_response()), 408);
    EXPECT_EQ(slow.read_all(), "");
    EXPECT_EQ(next_told(), "the body of the request took too long");
  }
  {
    RawConnection idle(port);
    idle.send(kGet);
    EXPECT_EQ(body_of(idle.read_response()), "hello");
    EXPECT_EQ(idle.read_all(), "");
  }
  await_connections(0);
}

// One byte now and then must not buy more time.
TEST_F(HttpServer, CountsTheTimeOfTheWholeHeader) {
  start({.header_time = 200ms});
  RawConnection slow(port);
  std::thread drip([&] {
    while (slow.send("X")) std::this_thread::yield();
  });
  std::string response = slow.read_all();
  drip.join();
  EXPECT_TRUE(status_of(response) == 408 || status_of(response) == 414) << response;
}

TEST_F(HttpServer, DoesNotWaitLongForAHandshake) {
  start({.header_time = 500ms});
  const host::TlsMaterial material = host::issue(host::make_ca(), {.names = {"localhost"}});
  std::uint16_t secure_port = 0;
  loop.run([&] {
    secure_port =
        server->listen({"127.0.0.1", 0}, *host::TlsContext::server(material, {"http/1.1"}))
            ->address.port;
  });
  RawConnection silent(secure_port);
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(next_told(), "the TLS handshake took too long");
  RawConnection plain(secure_port);
  plain.send(kGet);
  plain.read_all();
  EXPECT_EQ(next_told(), "the TLS handshake failed: http request (SSL routines)");
  await_connections(0);
}

TEST_F(HttpServer, ForgetsClientsThatGo) {
  start();
  for (const std::string sent :
       {"", "GET /he", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb"}) {
    RawConnection(port).send(sent);
    RawConnection reset(port);
    reset.send(sent);
    reset.reset();
  }
  await_connections(0);
  // One that goes while its handler thinks is noticed when the answer is sent.
  {
    RawConnection gone(port);
    gone.send("GET /later/gone HTTP/1.1\r\nHost: a\r\n\r\n");
    while (next_told() != "asked for gone") {
    }
    gone.reset();
  }
  loop.run([&] { held.at(0).answer(text_response("nobody reads this")); });
  await_connections(0);
}

TEST_F(HttpServer, CutsOffAClientThatDoesNotReadItsAnswer) {
  start({.write_time = 100ms});
  loop.run([&] {
    server->route("GET", "/long", [](const Request& /*request*/, Responder responder) {
      std::string text;
      text.resize(50'000'000, 'x');  // more than all buffers of the system hold
      responder.answer(text_response(std::move(text)));
    });
  });
  RawConnection connection(port);
  connection.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "the client does not read its answer");
  await_connections(0);
}

TEST_F(HttpServer, AnswersHonestClientsBesideAThousandHalfOpenOnes) {
  raise_descriptor_limit();
  start();
  EXPECT_EQ(body_of(ask(kGet)), "hello");
  const std::size_t before = ::mallinfo2().uordblks;
  std::vector<RawConnection> half_open;
  for (int i = 0; i < 1000; ++i) {
    half_open.emplace_back(port);
    half_open.back().send(i % 3 == 0   ? ""
                          : i % 3 == 1 ? "GET /hello HTTP/1.1\r\nHost: "
                                       : "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: "
                                         "1000000\r\n\r\nonly the beginning");
    if (i % 100 == 0) {
      EXPECT_EQ(body_of(ask(kGet)), "hello") << i;
    }
  }
  await_connections(1000);
  EXPECT_EQ(body_of(ask(kGet)), "hello");
  const std::size_t after = ::mallinfo2().uordblks;
  constexpr std::size_t kMost = 64'000'000;
  EXPECT_LT(after - std::min(before, after), kMost);
}

TEST_F(HttpServer, RefusesMoreConnectionsThanItsLimit) {
  start({.connections = 3});
  std::vector<RawConnection> connections;
  for (int i = 0; i < 3; ++i) {
    connections.emplace_back(port);
    connections.back().send(kGet);
    EXPECT_EQ(body_of(connections.back().read_response()), "hello");
  }
  RawConnection too_many(port);
  too_many.send(kGet);
  EXPECT_EQ(status_of(too_many.read_response()), 503);
  EXPECT_EQ(too_many.read_all(), "");
  EXPECT_EQ(next_told(), "there are already 3 connections");
  too_many.close();
  connections.pop_back();
  await_connections(2);
  EXPECT_EQ(body_of(ask(kGet)), "hello");
}

TEST_F(HttpServer, HoldsNoMoreBytesOfBodiesThanItsLimit) {
  start({.body_bytes = 1'000'000, .all_bodies_bytes = 1'500'000});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
  const std::string most(999'999, 'x');
  RawConnection first(port);
  first.send(head + most);
  RawConnection second(port);
  second.send(head + most);
  // Whichever is read last is too much.
  EXPECT_EQ(next_told(), "all requests together hold too many bytes");
  await_connections(1);
  first.send("x");
  second.send("x");
  const int status_of_first = status_of(first.read_response());
  const int status_of_second = status_of(second.read_response());
  EXPECT_TRUE((status_of_first == 200 && status_of_second == 503) ||
              (status_of_first == 503 && status_of_second == 200))
      << status_of_first << " " << status_of_second;
  EXPECT_EQ(status_of(ask(head + most + "x")), 200) << "the bytes were given back";
}

// --- listeners ---

TEST_F(HttpServer, ListensOnAUnixSocket) {
  start();
  std::string folder = ::testing::TempDir() + "http-server-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/socket";
  std::optional<std::uint32_t> user;
  Result<Server::Listening> listening;
  const auto listen = [&] { loop.run([&] { listening = server->listen_unix(path, 0660); }); };
  loop.run([&] {
    server->route("GET", "/who", [&](const Request& request, Responder responder) {
      user = request.peer.user_id;
      responder.answer(text_response(request.peer.address));
    });
  });
  listen();
  ASSERT_TRUE(listening) << listening.error().message;
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(about.st_mode & 0777U, 0660U & ~mask);
  {
    RawConnection connection(path);
    connection.send("GET /who HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(body_of(connection.read_response()), "unix:" + path);
    EXPECT_EQ(user, ::getuid());
  }
  const auto first = listening->id;
  listen();
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().message,
            "cannot listen on unix:" + path + ": another process listens there");
  loop.run([&] { server->stop_listening(first); });
  EXPECT_FALSE(std::filesystem::exists(path));

  // What a dead process left behind:
  {
    const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(dead);
  }
  listen();
  EXPECT_TRUE(listening) << listening.error().message;
  loop.run([&] { server->stop_listening(listening->id); });

  std::ofstream(path) << "a file";
  listen();
  ASSERT_FALSE(listening);
  EXPECT_NE(listening.error().message.find("not a socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove_all(folder);
}

TEST_F(HttpServer, SaysWhyItCannotListen) {
  start();
  loop.run([&] {
    const auto message = [](const Result<Server::Listening>& listening) {
      return listening ? std::string("it listens") : listening.error().message;
    };
    EXPECT_EQ(
        message(server->listen({"127.0.0.1", port})),
        concat("cannot listen on 127.0.0.1:", std::to_string(port), ": Address already in use"));
    EXPECT_EQ(message(server->listen({"localhost", 1})),
              "cannot listen on localhost:1: it is not an IP address");
    EXPECT_EQ(message(server->listen_unix("")),
              "cannot listen on unix:: the path is empty, or longer than 107 bytes");
    EXPECT_NE(message(server->listen_unix("/" + std::string(107, 'x'))).find("107 bytes"),
              std::string::npos);
    EXPECT_NE(message(server->listen_unix("/nowhere/at/all")).find("No such file"),
              std::string::npos);
  });
}

TEST_F(HttpServer, ListenersComeAndGo) {
  start();
  RawConnection old(port);
  old.send(kGet);
  EXPECT_EQ(body_of(old.read_response()), "hello");
  std::uint16_t second = 0;
  loop.run([&] {
    server->stop_listening(listener);
    second = server->listen({"127.0.0.1", 0})->address.port;
    EXPECT_TRUE(server->listen({"127.0.0.1", port})) << "the first port is free";
  });
  old.send(kGet);
  EXPECT_EQ(body_of(old.read_response()), "hello") << "connections outlive their listener";
  RawConnection young(second);
  young.send(kGet);
  EXPECT_EQ(body_of(young.read_response()), "hello");
}

// --- the end ---

TEST_F(HttpServer, DrainsAndAnswersOnce) {
  start();
  RawConnection idle(port);
  idle.send(kGet);
  EXPECT_EQ(body_of(idle.read_response()), "hello");
  RawConnection busy(port);
  busy.send("GET /later/busy HTTP/1.1\r\nHost: a\r\n\r\n" + kGet);
  EXPECT_EQ(next_told(), "asked for busy");
  RawConnection stream(port);
  stream.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "stream began");

  loop.run([&] {
    streams.at(0).send("", "last words");
    server->close(1h, [this] { tell("closed"); });
    EXPECT_FALSE(server->listen({"127.0.0.1", 0}));
  });
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(stream.read_all().ends_with("data: last words\n\n\r\n0\r\n\r\n"));
  stream.close();
  EXPECT_EQ(next_told(), "stream ended server closed");
  loop.run([&] { held.at(0).answer(text_response("done")); });
  const std::string response = busy.read_response();
  EXPECT_EQ(body_of(response), "done");
  EXPECT_NE(response.find("Connection: close"), std::string::npos);
  EXPECT_EQ(busy.read_all(), "") << "what came after is not begun";
  busy.close();
  EXPECT_EQ(next_told(), "closed");
  loop.run([&] { EXPECT_EQ(server->connections(), 0U); });
}

TEST_F(HttpServer, CutsOffWhatIsLeftAfterTheGrace) {
  start();
  RawConnection busy(port);
  busy.send("GET /later/busy HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "asked for busy");
  RawConnection half(port);
  half.send("GET /");
  await_connections(2);
  loop.run([&] { server->close(10ms, [this] { tell("closed"); }); });
  EXPECT_EQ(busy.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
  std::string told = next_told();
  if (told.find("middle of a header") != std::string::npos) told = next_told();
  EXPECT_EQ(told, "closed");
  loop.run([&] { held.at(0).answer(text_response("too late, and harmless")); });
}

TEST_F(HttpServer, ClosesAtOnceWhenThereIsNothingToWaitFor) {
  start();
  loop.run([&] { server->close(1h, [this] { tell("closed"); }); });
  EXPECT_EQ(next_told(), "closed");
}

TEST_F(HttpServer, TellsNobodyAfterItsDestruction) {
  start();
  RawConnection busy(port);
  busy.send("GET /later/busy HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "asked for busy");
  RawConnection stream(port);
  stream.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "stream began");
  loop.run([&] {
    server->close(1h, [this] { tell("closed"); });
    server.reset();
  });
  EXPECT_EQ(busy.read_all(), "");
  stream.read_all();
  loop.run([&] {
    held.clear();
    streams.at(0).send("", "nobody");
    streams.clear();
  });
  loop.run([&] { tell("the last word is ours"); });
  EXPECT_EQ(next_told(), "the last word is ours");
}

// --- events ---

TEST(EventText, KeepsEachFieldInItsLines) {
  EXPECT_EQ(event_text("", "one", ""), "data: one\n\n");
  EXPECT_EQ(event_text("kind", "one\ntwo\r\nthree\rfour", "7"),
            "id: 7\nevent: kind\ndata: one\ndata: two\ndata: three\ndata: four\n\n");
  EXPECT_EQ(event_text("a\nb", "", "c\r\nd"), "id: cd\nevent: ab\ndata: \n\n");
}

TEST_F(HttpServer, StreamsEvents) {
  start();
  RawConnection connection(port);
  connection.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(next_told(), "stream began");
  const std::string head = connection.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(head), 200);
  EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos) << head;
  loop.run([&] { streams.at(0).send("state", "{}", "1"); });
  EXPECT_EQ(connection.read_until("\n\n\r\n"), "1d\r\nid: 1\nevent: state\ndata: {}\n\n\r\n");
  loop.run([&] {
    streams.at(0).send("", "two\nlines");
    streams.at(0).close();
    streams.at(0).send("", "dropped");
  });
  EXPECT_EQ(connection.read_all(), "17\r\ndata: two\ndata: lines\n\n\r\n0\r\n\r\n");
  connection.close();
  EXPECT_EQ(next_told(), "stream ended closed");
}

TEST_F(HttpServer, StreamsEventsToOldClientsWithoutChunks) {
  start();
  RawConnection connection(port);
  connection.send("GET /events HTTP/1.0\r\n\r\n");
  EXPECT_EQ(next_told(), "stream began");
  loop.run([&] {
    streams.at(0).send("", "one");
    streams.clear();
  });
  EXPECT_EQ(body_of(connection.read_all()), "data: one\n\n");
}

TEST_F(HttpServer, SendsAHeartbeatWhenNothingHappens) {
  event_options.heartbeat = 10ms;
  start();
  RawConnection connection(port);
  connection.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(connection.read_until("3\r\n:\n\n\r\n").ends_with("3\r\n:\n\n\r\n"));
  EXPECT_EQ(connection.read_until("3\r\n:\n\n\r\n"), "3\r\n:\n\n\r\n");
}

TEST_F(HttpServer, TellsTheOwnerOfAStreamThatTheClientIsGone) {
  start();
  for (const bool politely : {true, false}) {
    RawConnection connection(port);
    connection.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(next_told(), "stream began");
    if (politely)
      connection.close();
    else
      connection.reset();
    EXPECT_EQ(next_told(), "stream ended client gone");
  }
  await_connections(0);
}

TEST_F(HttpServer, GivesUpAClientThatDoesNotReadItsEvents) {
  for (const bool by_bytes : {true, false}) {
    SCOPED_TRACE(by_bytes);
    event_options = {};
    (by_bytes ? event_options.max_events : event_options.max_bytes) = 1U << 30U;
    if (!server) start();
    loop.run([&] { streams.clear(); });
    RawConnection connection(port);
    connection.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(next_told(), "stream began");
    // More than the queue and all buffers of the system between the two can hold.
    loop.run([&] {
      for (int i = 0; i < 2000; ++i) streams.at(0).send("", std::string(50'000, 'x'));
    });
    EXPECT_EQ(next_told(), "the client does not read its events");
    EXPECT_EQ(next_told(), "stream ended overflow");
    await_connections(0);
    loop.run([&] { streams.at(0).send("", "dropped"); });
  }
}

TEST_F(HttpServer, TellsAtOnceWhenAStreamBeginsTooLate) {
  start({.answer_time = 10ms});
  EXPECT_EQ(status_of(ask("GET /later/stream HTTP/1.1\r\nHost: a\r\n\r\n")), 504);
  EXPECT_EQ(next_told(), "asked for stream");
  EXPECT_EQ(next_told(), "a handler gave no answer in time");
  loop.run([&] {
    streams.push_back(held.at(0).stream_events(
        {.on_end = [this](StreamEnd end) { tell("stream ended " + name_of(end)); }}));
  });
  EXPECT_EQ(next_told(), "stream ended client gone");
}

// --- WebSockets ---

const std::string kUpgrade =
    "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

RawConnection HttpServer::open_web_socket() {
  RawConnection connection(port);
  connection.send(kUpgrade + "\r\n");
  connection.read_until("\r\n\r\n");
  EXPECT_EQ(next_told(), "socket began");
  return connection;
}

// A frame as clients send it: masked, here with zeros.
std::string frame(int opcode, const std::string& payload) {
  std::string bytes;
  bytes += static_cast<char>(0x80 | opcode);
  if (payload.size() < 126) {
    bytes += static_cast<char>(0x80 | payload.size());
  } else {
    bytes += static_cast<char>(0x80 | 126);
    bytes += static_cast<char>(payload.size() >> 8U);
    bytes += static_cast<char>(payload.size() & 0xffU);
  }
  return bytes + std::string(4, '\0') + payload;
}

// A short frame as servers send it.
std::string plain_frame(int opcode, const std::string& payload) {
  return std::string{static_cast<char>(0x80 | opcode), static_cast<char>(payload.size())} + payload;
}

std::string close_frame(int code) {
  return plain_frame(8, {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)});
}

constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8;
constexpr int kPing = 9;
constexpr int kPong = 10;

TEST_F(HttpServer, TalksOverAWebSocket) {
  start();
  RawConnection connection(port);
  // The first message comes before the server has answered.
  connection.send(kUpgrade + "\r\n" + frame(kText, "early"));
  const std::string head = connection.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(head), 101) << head;
  EXPECT_NE(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos)
      << "the example of RFC 6455";
  EXPECT_EQ(next_told(), "socket began");
  const auto expect = [&](const std::string& bytes) {
    EXPECT_EQ(connection.read_bytes(bytes.size()), bytes);
  };
  expect(plain_frame(kText, "you said early"));
  connection.send(frame(kText, "hello"));
  expect(plain_frame(kText, "you said hello"));
  const std::string binary("\0\xff\r\n", 4);
  connection.send(frame(kBinary, binary));
  expect(plain_frame(kBinary, binary));
  connection.send(frame(kPing, "are you there"));
  expect(plain_frame(kPong, "are you there"));
  connection.send(frame(kClose, std::string("\x0f\xa0", 2)));  // 4000
  expect(close_frame(4000));
  EXPECT_EQ(connection.read_all(), "");
  EXPECT_EQ(next_told(), "socket ended client gone 4000");
}

TEST_F(HttpServer, ClosesAWebSocket) {
  start();
  RawConnection connection = open_web_socket();
  loop.run([&] {
    sockets.at(0)->send_text("good");
    sockets.at(0)->close(4001, "bye");
    sockets.at(0)->send_text("dropped");
  });
  EXPECT_EQ(connection.read_bytes(6), plain_frame(kText, "good"));
  EXPECT_EQ(connection.read_bytes(7), plain_frame(kClose,
                                                  "\x0f\xa1"
                                                  "bye"));
  connection.send(frame(kClose, std::string("\x0f\xa1", 2)));
  EXPECT_EQ(connection.read_all(), "");
  EXPECT_EQ(next_told(), "socket ended closed 4001");
}

TEST_F(HttpServer, EndsAWebSocketWhoseClientBreaksTheRules) {
  socket_options.max_message_bytes = 1000;
  start();
  struct Row {
    std::string sent;
    std::string answer;
  };
  for (const auto& row :
       std::vector<Row>{{frame(kText, std::string(1001, 'x')), close_frame(1009)},
                        {frame(kText, "\xff"), close_frame(1007)},
                        {frame(3, "unknown"), close_frame(1002)},
                        {plain_frame(kText, "not masked"), close_frame(1002)},
                        {frame(kPing, std::string(126, 'x')), close_frame(1002)}}) {
    RawConnection connection(port);
    connection.send(kUpgrade + "\r\n" + row.sent);
    EXPECT_EQ(status_of(connection.read_until("\r\n\r\n")), 101);
    EXPECT_EQ(next_told(), "socket began");
    EXPECT_EQ(connection.read_bytes(4), row.answer);
    connection.close();
    EXPECT_EQ(next_told(), "socket ended client gone 1006");
  }
  await_connections(0);
}

TEST_F(HttpServer, RefusesWhatIsNoWebSocket) {
  start();
  const auto without = [](const std::string& line) {
    std::string request = kUpgrade;
    request.erase(request.find(line),
                  request.find("\r\n", request.find(line)) + 2 - request.find(line));
    return request;
  };
  struct Row {
    std::string request;
    int status;
  };
  for (const auto& row : std::vector<Row>{{"GET /socket HTTP/1.1\r\nHost: a\r\n", 426},
                                          {without("Upgrade: websocket"), 426},
                                          {without("Connection:"), 426},
                                          {without("Sec-WebSocket-Version"), 426},
                                          {without("Sec-WebSocket-Key"), 400},
                                          {kUpgrade + "Origin: https://evil.example\r\n", 403}}) {
    SCOPED_TRACE(row.request);
    EXPECT_EQ(status_of(ask(row.request + "\r\n")), row.status);
    EXPECT_EQ(next_told(), "refused the upgrade with " + std::to_string(row.status));
  }
}

TEST_F(HttpServer, LetsPagesOfKnownOriginsConnect) {
  socket_options.origins = {"https://friend.example"};
  socket_options.protocol = "chat";
  start();
  for (const std::string origin : {"http://a", "https://A", "https://friend.example"}) {
    RawConnection connection(port);
    connection.send(
        concat(kUpgrade, "Origin: ", origin, "\r\nSec-WebSocket-Protocol: x, chat\r\n\r\n"));
    const std::string head = connection.read_until("\r\n\r\n");
    EXPECT_EQ(status_of(head), 101) << origin;
    EXPECT_NE(head.find("Sec-WebSocket-Protocol: chat\r\n"), std::string::npos) << head;
    EXPECT_EQ(next_told(), "socket began");
    connection.close();
    EXPECT_EQ(next_told(), "socket ended client gone 1006");
  }
}

TEST_F(HttpServer, GivesUpAWebSocketThatIsNotRead) {
  start();
  RawConnection connection = open_web_socket();
  loop.run([&] {
    for (int i = 0; i < 2000; ++i) sockets.at(0)->send_binary(std::string(50'000, 'x'));
  });
  EXPECT_EQ(next_told(), "socket ended overflow 1006");
  await_connections(0);
}

TEST_F(HttpServer, PingsAWebSocketAndGivesItUpWhenNobodyAnswers) {
  socket_options.idle_time = 100ms;
  start();
  RawConnection connection = open_web_socket();
  EXPECT_EQ(connection.read_bytes(2), plain_frame(kPing, ""));
  connection.read_all();
  EXPECT_EQ(next_told(), "socket ended client gone 1006");
}

TEST_F(HttpServer, ClosesWebSocketsWhenItDrains) {
  start();
  RawConnection connection = open_web_socket();
  loop.run([&] { server->close(1h, [this] { tell("closed"); }); });
  EXPECT_EQ(connection.read_bytes(4).substr(2), "\x03\xe9") << "1001: going away";
  connection.send(frame(kClose, std::string("\x03\xe9", 2)));
  EXPECT_EQ(next_told(), "socket ended server closed 1001");
  EXPECT_EQ(next_told(), "closed");
}

}  // namespace
}  // namespace tiphys::http
