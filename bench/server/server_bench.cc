// B6, B7, B8, B10, B11 and B11b: what the server does at 10,000 workloads, and what that costs.
//
//   server-bench [--rounds N] [--json FILE]
//
// The server is a process of its own, reached over loopback, except where its bytes in use are counted. Where the budget
// is an absolute figure, it stands in the floor's column.

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "bench/harness.h"
#include "bench/process.h"
#include "bench/rpc/load.h"
#include "bench/server/crowd.h"
#include "bench/system/cluster.h"
#include "io/store/forgetful_store.h"
#include "io/wire/wire.h"
#include "shell/log.h"
#include "shell/server_shell.h"

namespace tiphys::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Figures = Result<std::vector<double>>;
namespace fs = std::filesystem;

constexpr std::size_t kFew = 10;
constexpr std::size_t kMany = 10'000;
constexpr std::size_t kSpecBytes = 420;
constexpr std::size_t kCalls = 200;  // of one round
constexpr std::size_t kSubscribers = 100;
constexpr std::size_t kEvents = 50;  // of one round
constexpr std::size_t kAgents = 1000;
constexpr std::size_t kWorkloadsEach = kMany / kAgents;

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

double median(std::vector<double> figures) {
  std::ranges::sort(figures);
  return figures[figures.size() / 2];
}

Round constant(const std::vector<double>& figures) {
  return [=]() -> Figures { return figures; };
}

std::string name_of(std::size_t number) { return concat("workload_", std::to_string(number)); }
std::string agent_of(std::size_t number) {
  return concat("agent_", std::to_string(number / kWorkloadsEach));
}

std::string config_of(std::size_t number) {
  std::string config = concat("image: registry.example/", name_of(number), ":1.0 # ");
  config.resize(kSpecBytes, 'x');
  return config;
}

std::string manifest_of(std::size_t workloads) {
  std::string text = "apiVersion: v1\nworkloads:\n";
  for (std::size_t i = 0; i < workloads; ++i)
    text += concat("  ", name_of(i), ":\n    agent: ", agent_of(i),
                   "\n    runtime: podman\n    runtimeConfig: \"", config_of(i), "\"\n");
  return text;
}

// --- a server and one who asks ---

class Subject {
 public:
  static Result<std::unique_ptr<Subject>> start(const fs::path& programs, std::size_t workloads) {
    auto subject = std::make_unique<Subject>();
    subject->port_ = free_port();
    std::vector<std::string> command{programs / "ank-server", "-k", "-a",
                                     concat("127.0.0.1:", std::to_string(subject->port_))};
    if (workloads > 0) {
      command.emplace_back("-m");
      command.push_back(subject->folder_.write("manifest.yaml", manifest_of(workloads)));
    }
    TIPHYS_TRY(MeasuredProcess process, MeasuredProcess::start(command));
    subject->process_.emplace(std::move(process));
    TIPHYS_TRY(const auto commander, Commander::connect(subject->port_));
    return subject;
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const MeasuredProcess& process() const { return *process_; }

 private:
  Folder folder_;
  std::uint16_t port_ = 0;
  std::optional<MeasuredProcess> process_;
};

Status check_accepted(const Response& response) {
  if (const auto* error = std::get_if<ErrorResponse>(&response.content))
    return fail(Code::kUnavailable, "the server refuses: " + error->message);
  return {};
}

class Asker {
 public:
  Asker(std::uint16_t port, std::size_t workloads)
      : workloads_(workloads), crowd_(port), commander_(crowd_.commander()) {}

  // Microseconds until the answer is there.
  Result<double> update() { return ask(next_update()); }
  Result<double> read() {
    return ask(CompleteStateRequest{{concat("desiredState.workloads.", next())}, false});
  }

  // A tag of one workload gets another value.
  UpdateStateRequest next_update() {
    const std::string name = next();
    const Tree::Map tags = Tree::Map().set("owner", std::to_string(++revision_));
    const Tree::Map workload = Tree::Map().set("tags", tags);
    const Tree::Map desired =
        Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map().set(name, workload));
    return {Tree::Map().set("desiredState", desired),
            {concat("desiredState.workloads.", name, ".tags.owner")}};
  }

  Crowd& crowd() { return crowd_; }
  CrowdPeer& commander() { return commander_; }

 private:
  // The answer is read when its time is taken: an echo's is not read either.
  Result<double> ask(decltype(Request::content) content) {
    std::string answer;
    commander_.on_message = [&](std::string_view bytes) { answer = bytes; };
    const auto began = Clock::now();
    commander_.send(Request{"bench", std::move(content)});
    TIPHYS_REQUIRE(crowd_.run_until([&] { return !answer.empty(); }));
    const double took = us_since(began);
    TIPHYS_TRY(const FromServer message, wire::decode_from_server(answer));
    TIPHYS_REQUIRE(check_accepted(std::get<Response>(message)));
    return took;
  }
  // Ten workloads, spread over the whole state, in turns.
  std::string next() { return name_of((turn_++ % 10) * (workloads_ / 10)); }

  const std::size_t workloads_;
  Crowd crowd_;
  CrowdPeer& commander_;
  std::size_t turn_ = 0;
  std::uint64_t revision_ = 0;
};

Round latency_of(const std::shared_ptr<Asker>& asker, Result<double> (Asker::*call)()) {
  return [=]() -> Figures {
    std::vector<double> times;
    for (std::size_t i = 0; i < kCalls; ++i) {
      TIPHYS_TRY(const double time, (*asker.*call)());
      times.push_back(time);
    }
    return std::vector{median(std::move(times))};
  };
}

Round latency_of_echo(const fs::path& programs) {
  return [=]() -> Figures {
    TIPHYS_TRY(const ServerProcess echo, ServerProcess::start(programs / "our-echo"));
    Load load(echo.port(), 1);
    TIPHYS_REQUIRE(load.touch());
    TIPHYS_TRY(const CallFigures figures, load.call(1, std::chrono::milliseconds(100)));
    return std::vector{figures.p50_seconds * 1e6};
  };
}

// --- sockets without anything above them ---

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    TIPHYS_CHECK(descriptor >= 0, "a benchmark needs a socket");
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

class BareListener {
 public:
  BareListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    TIPHYS_CHECK(::bind(socket_.get(), address(), size) == 0 &&
                     ::listen(socket_.get(), SOMAXCONN) == 0 &&
                     ::getsockname(socket_.get(), address(), &size) == 0,
                 "a benchmark needs a listener");
  }
  Socket accept() {
    return without_delay(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  Socket connect() {
    Socket socket = without_delay(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    TIPHYS_CHECK(::connect(socket.get(), address(), sizeof address_) == 0,
                 "a benchmark reaches itself");
    return socket;
  }

 private:
  static Socket without_delay(int descriptor) {
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return Socket(descriptor);
  }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }

  Socket socket_;
  sockaddr_in address_{};
};

// Until the other end, another thread, has read it: half of there and back.
Round small_write() {
  return []() -> Figures {
    constexpr std::size_t kSize = 200;
    BareListener listener;
    const Socket near = listener.connect();
    const Socket far = listener.accept();
    std::thread other([&far] {
      std::array<char, kSize> bytes{};
      while (::recv(far.get(), bytes.data(), kSize, MSG_WAITALL) == kSize &&
             ::send(far.get(), bytes.data(), kSize, MSG_NOSIGNAL) == kSize) {
      }
    });
    std::array<char, kSize> bytes{};
    std::vector<double> times;
    bool is_well = true;
    for (std::size_t i = 0; i < 10 * kCalls && is_well; ++i) {
      const auto began = Clock::now();
      is_well = ::send(near.get(), bytes.data(), kSize, MSG_NOSIGNAL) == kSize &&
                ::recv(near.get(), bytes.data(), kSize, MSG_WAITALL) == kSize;
      times.push_back(us_since(began) / 2);
    }
    ::shutdown(near.get(), SHUT_RDWR);
    other.join();
    if (!is_well) return fail(Code::kUnavailable, "a small write failed");
    return std::vector{median(std::move(times))};
  };
}

// So many connections at once, each of which gets so many bytes from a thread that does nothing but write.
Figures bare_storm(std::size_t connections, std::size_t bytes_each) {
  BareListener listener;
  const std::string bytes(std::size_t{1} << 18, 'x');
  const auto began = Clock::now();
  std::thread writer([&] {
    std::vector<Socket> sockets;
    for (std::size_t i = 0; i < connections; ++i) {
      sockets.push_back(listener.accept());
      for (std::size_t left = bytes_each; left > 0;) {
        const ssize_t sent =
            ::send(sockets.back().get(), bytes.data(), std::min(left, bytes.size()), MSG_NOSIGNAL);
        if (sent <= 0) return;
        left -= static_cast<std::size_t>(sent);
      }
    }
  });
  const Socket poll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Socket> sockets;
  std::vector<std::size_t> left(connections, bytes_each);
  for (std::size_t i = 0; i < connections; ++i) {
    sockets.push_back(listener.connect());
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, sockets[i].get(), &event);
  }
  std::string buffer(std::size_t{1} << 18, 'x');
  std::array<epoll_event, 64> events{};
  std::size_t unfinished = connections;
  while (unfinished > 0) {
    const int count = ::epoll_wait(poll.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const std::size_t at = events[static_cast<std::size_t>(i)].data.u64;
      const ssize_t got = ::recv(sockets[at].get(), buffer.data(), buffer.size(), 0);
      TIPHYS_CHECK(got > 0, "the writer writes everything");
      left[at] -= static_cast<std::size_t>(got);
      if (left[at] > 0) continue;
      ::epoll_ctl(poll.get(), EPOLL_CTL_DEL, sockets[at].get(), nullptr);
      --unfinished;
    }
  }
  const double took = us_since(began) / 1000;
  writer.join();
  return std::vector{took};
}

// --- B7: one change for many ---

class Audience {
 public:
  explicit Audience(std::uint16_t port) : asker_(port, kMany) {}

  // Everybody has their first answer.
  Status subscribe() {
    for (std::size_t i = 0; i < kSubscribers; ++i) {
      CrowdPeer& peer = asker_.crowd().commander();
      const CompleteStateRequest request{{"desiredState.workloads.*.tags"}, true};
      TIPHYS_TRY(const Response answer, asker_.crowd().ask(peer, {"events", request}));
      TIPHYS_REQUIRE(check_accepted(answer));
      peers_.push_back(&peer);
    }
    return {};
  }

  // One that wants everything, and reads nothing of it.
  Status add_stalled() {
    CrowdPeer& peer = asker_.crowd().commander();
    TIPHYS_REQUIRE(asker_.crowd().connected());
    peer.stop_reading();
    peer.send(Request{"events", CompleteStateRequest{{}, true}});
    return {};
  }

  // From the request until the last has its event.
  Result<double> change() {
    std::size_t left = peers_.size();
    for (CrowdPeer* peer : peers_) peer->on_message = [&](std::string_view) { --left; };
    const auto began = Clock::now();
    asker_.commander().send(Request{"bench", asker_.next_update()});
    TIPHYS_REQUIRE(asker_.crowd().run_until([&] { return left == 0; }));
    return us_since(began);
  }

 private:
  Asker asker_;
  std::vector<CrowdPeer*> peers_;
};

Round events(std::uint16_t port, bool has_stalled) {
  return [=]() -> Figures {
    Audience audience(port);
    TIPHYS_REQUIRE(audience.subscribe());
    if (has_stalled) TIPHYS_REQUIRE(audience.add_stalled());
    std::vector<double> times;
    for (std::size_t i = 0; i < kEvents; ++i) {
      TIPHYS_TRY(const double time, audience.change());
      times.push_back(time);
    }
    return std::vector{median(std::move(times))};
  };
}

// --- B10: everybody comes back ---

// Until each has been told the states of the others, and what to run. Answers with the bytes of all, too.
Result<std::pair<double, std::size_t>> storm_of(std::uint16_t port) {
  Crowd crowd(port);
  std::size_t left = kAgents;
  std::vector<CrowdPeer*> agents;
  const auto began = Clock::now();
  for (std::size_t i = 0; i < kAgents; ++i) {
    CrowdPeer& agent = crowd.agent(agent_of(i * kWorkloadsEach));
    agent.on_message = [&left](std::string_view bytes) {
      // The hello is the last of what a new agent gets; field 4 of FromServer, of type message.
      if (bytes.starts_with("\x22")) --left;
    };
    agents.push_back(&agent);
  }
  TIPHYS_REQUIRE(crowd.run_until([&] { return left == 0; }));
  const double took = us_since(began) / 1000;
  std::size_t bytes = 0;
  for (const CrowdPeer* agent : agents) bytes += agent->bytes();
  return std::pair{took, bytes};
}

Round memory_per_agent(const fs::path& programs) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto subject, Subject::start(programs, 0));
    TIPHYS_TRY(const auto before, subject->process().memory());
    Crowd crowd(subject->port());
    std::size_t left = kAgents;
    for (std::size_t i = 0; i < kAgents; ++i)
      crowd.agent(agent_of(i * kWorkloadsEach)).on_message = [&](std::string_view) { --left; };
    TIPHYS_REQUIRE(crowd.run_until([&] { return left == 0; }));
    TIPHYS_TRY(const auto after, subject->process().memory());
    return std::vector{(after.all_bytes - before.all_bytes) / 1024 / kAgents};
  };
}

// --- B11: bytes in use ---

// The server's machine with its store, without links.
class Inside final : shell::Strand,
                     shell::Clock,
                     shell::Timers,
                     shell::Trace,
                     shell::Log,
                     shell::ServerLink {
 public:
  explicit Inside(std::size_t workloads) {
    std::vector<std::pair<std::string, Tree>> entries;
    for (std::size_t i = 0; i < workloads; ++i) {
      auto workload = std::make_shared<Workload>();
      workload->agent = agent_of(i);
      workload->runtime = "podman";
      workload->runtime_config = config_of(i);
      entries.emplace_back(name_of(i), WorkloadPtr(std::move(workload)));
    }
    std::ranges::sort(entries, {}, &std::pair<std::string, Tree>::first);
    State state;
    state.workloads = Tree::Map::of_sorted(std::move(entries));
    shell_.start(std::move(state));
    run();
  }
  [[nodiscard]] std::size_t workloads() const { return shell_.state().effective_workloads.size(); }

 private:
  void run() {
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  [[nodiscard]] Instant now() const override { return {}; }
  void after(Duration, std::function<void()>) override {}
  [[nodiscard]] bool enabled() const override { return false; }
  void event(std::string_view, const std::string&) override {}
  void effect(std::string_view, const std::string&) override {}
  void write(shell::Level, std::string_view, Fields) override {}
  void send(server::ConnectionNumber, const FromServer&) override {}
  void send_all(server::SendAll) override {}
  void publish(server::Publish) override {}
  void close(server::ConnectionNumber) override {}
  void answer(server::ConnectionNumber, const DryRunResponse&) override {}
  void answer(server::ConnectionNumber, const StateAgesResponse&) override {}

  std::deque<std::function<void()>> tasks_;
  store::ForgetfulStore store_{*this};
  shell::ServerShell shell_{*this, *this,  *this, *this,
                            *this, store_, *this, [](const std::string&) {}};
};

std::size_t bytes_in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

Round bytes_beside_the_spec() {
  return []() -> Figures {
    const std::size_t before = bytes_in_use();
    const Inside inside(kMany);
    const std::size_t after = bytes_in_use();
    if (inside.workloads() != kMany) return fail(Code::kInternal, "the server did not take them");
    return std::vector{static_cast<double>(after - before) / kMany - kSpecBytes};
  };
}

// --- B11b: one large manifest ---

std::vector<std::string> ank(const fs::path& programs, std::uint16_t port,
                             std::vector<std::string> words) {
  std::vector<std::string> command{programs / "ank", "-k", "-s",
                                   concat("http://127.0.0.1:", std::to_string(port))};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

// The request of the list, from the connection to the last byte of the answer.
Round bare_list(std::uint16_t port) {
  return [=]() -> Figures {
    const auto began = Clock::now();
    Crowd crowd(port);
    CrowdPeer& commander = crowd.commander();
    TIPHYS_REQUIRE(crowd.connected());
    commander.send(Request{"bench", CompleteStateRequest{}});
    TIPHYS_REQUIRE(crowd.run_until([&] { return commander.messages() > 0; }));
    return std::vector{us_since(began) / 1000};
  };
}

Round list(const fs::path& programs, std::uint16_t port) {
  return [=]() -> Figures {
    TIPHYS_TRY(const double seconds, seconds_of(ank(programs, port, {"get", "workloads"})));
    return std::vector{seconds * 1000};
  };
}

Round apply(const fs::path& programs, const std::string& manifest) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto subject, Subject::start(programs, 0));
    TIPHYS_TRY(const double seconds,
               seconds_of(ank(programs, subject->port(), {"--no-wait", "apply", manifest})));
    TIPHYS_TRY(const std::string table,
               output_of(ank(programs, subject->port(), {"get", "workloads"})));
    const auto lines = std::ranges::count(table, '\n');
    if (lines != kMany + 1)
      return fail(Code::kInternal, concat("the list has ", std::to_string(lines), " lines"));
    return std::vector{seconds * 1000};
  };
}

Round start_with(const fs::path& programs, std::size_t workloads) {
  return [=]() -> Figures {
    const auto began = Clock::now();
    TIPHYS_TRY(const auto subject, Subject::start(programs, workloads));
    return std::vector{us_since(began) / 1000};
  };
}

// --- all of them ---

Status measure_calls(Report& report, const Options& options, const fs::path& programs) {
  TIPHYS_TRY(const auto few, Subject::start(programs, kFew));
  TIPHYS_TRY(const auto many, Subject::start(programs, kMany));
  const auto at_few = std::make_shared<Asker>(few->port(), kFew);
  const auto at_many = std::make_shared<Asker>(many->port(), kMany);
  const Round echo = latency_of_echo(programs);
  const int rounds = 3 * options.rounds;
  report.compare(
      {{.name = "B6 update at 10,000; floor: at 10", .unit = "us", .budget = at_most(1.5)}}, rounds,
      latency_of(at_few, &Asker::update), latency_of(at_many, &Asker::update));
  report.compare(
      {{.name = "B6 update at 10,000; floor: unary echo", .unit = "us", .budget = at_most(4)}},
      rounds, echo, latency_of(at_many, &Asker::update));
  report.compare(
      {{.name = "B8 read one of 10,000; floor: unary echo", .unit = "us", .budget = at_most(2)}},
      rounds, echo, latency_of(at_many, &Asker::read));
  report.compare(
      {{.name = "B7 100 subscribers; floor: a small write", .unit = "us", .budget = at_most(100)}},
      options.rounds, small_write(), events(many->port(), false));
  report.compare({{.name = "B7 and one reads nothing; floor: without it", .unit = "us"}},
                 options.rounds, events(many->port(), false), events(many->port(), true));
  report.compare(
      {{.name = "B11b ank get workloads; floor: its request", .unit = "ms", .budget = at_most(3)}},
      options.rounds, bare_list(many->port()), list(programs, many->port()));
  return {};
}

// Each round has a server of its own, which has just started and whose agents all come.
Status measure_storm(Report& report, const Options& options, const fs::path& programs) {
  std::size_t bytes = 0;  // for each agent
  const Round subject = [&]() -> Figures {
    TIPHYS_TRY(const auto server, Subject::start(programs, kMany));
    TIPHYS_TRY(const auto storm, storm_of(server->port()));
    bytes = storm.second / kAgents;
    return std::vector{storm.first};
  };
  if (const auto first = subject(); !first) return fail(first.error());
  report.compare(
      {{.name =
            concat("B10 1,000 agents, ", std::to_string(bytes / 1024), " KiB each; floor: bare"),
        .unit = "ms",
        .budget = at_most(2)}},
      std::min(options.rounds, 3), [&]() -> Figures { return bare_storm(kAgents, bytes); },
      subject);
  return {};
}

// A thousand connections need more descriptors than many systems give at first.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Options& options) {
  raise_descriptor_limit();
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  Report report("B6, B7, B8, B10, B11, B11b", "as each line says, or the budget", "ank-server");
  report.compare(
      {{.name = "B11 bytes a workload, beside its spec", .unit = "B", .budget = at_most(1)}}, 1,
      constant({1024}), bytes_beside_the_spec());
  const auto finished = [&](const char* what, const Status& status) {
    if (!status)
      report.compare(
          {{.name = what, .unit = ""}}, 1, [&]() -> Figures { return fail(status.error()); },
          constant({0}));
  };
  finished("B6, B7, B8, B11b", measure_calls(report, options, programs));
  finished("B10", measure_storm(report, options, programs));
  report.compare({{.name = "B10 memory of an idle agent", .unit = "KiB", .budget = at_most(1)}}, 1,
                 constant({30}), memory_per_agent(programs));
  const Folder folder;
  const std::string manifest = folder.write("manifest.yaml", manifest_of(kMany));
  report.compare({{.name = "B11b ank apply of 10,000; floor: server's start", .unit = "ms"}}, 1,
                 start_with(programs, kMany), apply(programs, manifest));
  if (!options.json.empty()) {
    if (const Status written = report.write_json(options.json); !written) {
      std::fprintf(stderr, "server-bench: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  return report.is_complete() ? 0 : 1;
}

}  // namespace
}  // namespace tiphys::bench

int main(int argc, char** argv) {
  const auto options = tiphys::bench::parse_options({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr, "server-bench: %s\n", options.error().message.c_str());
    return 2;
  }
  return tiphys::bench::run(*options);
}
