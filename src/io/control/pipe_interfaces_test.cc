// Control interfaces with real pipes: the test is the workload, and one loop stands for both threads of the agent.

#include "io/control/pipe_interfaces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "io/control/frames.h"
#include "io/control/pipe_files.h"
#include "io/control/pipe_writer.h"
#include "io/host/descriptor.h"
#include "io/host/io_loop.h"
#include "io/wire/wire.h"
#include "tests/bytes_in_use.h"

namespace tiphys::control {
namespace {

namespace fs = std::filesystem;
using agent::InterfaceEvent;

const InstanceName kWeb{WorkloadName{"web"}, WorkloadId{"1"}, AgentName{"agent_A"}};

class OneLoop : public shell::Strand, public shell::Workers, public shell::Log {
 public:
  void post(std::function<void()> task) override { boost::asio::post(context, std::move(task)); }
  void run(std::function<void()> work, std::function<void()> done) override {
    post([work = std::move(work), done = std::move(done)] {
      work();
      done();
    });
  }
  void write(shell::Level, std::string_view text, Fields) override { logged.emplace_back(text); }

  // Runs until the condition holds; false when it does not within a time that no machine needs.
  bool await(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      context.restart();
      context.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  // All that can happen without time passing has happened.
  void settle() {
    context.restart();
    while (context.poll() > 0) context.restart();
  }

  boost::asio::io_context context;
  std::vector<std::string> logged;
};

// The workload's ends of its pipes. Nothing waits, but for wait_for_input().
class Workload {
 public:
  explicit Workload(std::string folder) : folder_(std::move(folder)) {}

  void open_input() {
    input_ = host::Descriptor(
        ::open(concat(folder_, "/", kInput).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(input_.is_open());
  }
  void open_output() {
    output_ = host::Descriptor(
        ::open(concat(folder_, "/", kOutput).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(output_.is_open()) << "nobody reads";
  }
  void close_input() { input_ = {}; }
  void close_output() { output_ = {}; }

  // What write() says.
  ssize_t write(std::string_view bytes) {
    return ::write(output_.number(), bytes.data(), bytes.size());
  }
  void say(const ToAnkaios& message) {
    const std::string frame = to_frame(wire::encode(message));
    ASSERT_EQ(write(frame), static_cast<ssize_t>(frame.size()));
  }
  void hello() { say(ControlInterfaceHello{"1.0.0"}); }
  void ask(const std::string& id) { say(Request{id, CompleteStateRequest{}}); }

  // Until there is something to read; false when nothing comes within a time that no machine needs.
  bool wait_for_input() const {
    pollfd asked{input_.number(), POLLIN, 0};
    return ::poll(&asked, 1, 120'000) > 0;
  }
  // The bytes that stand in its pipe.
  std::size_t unread() const {
    int bytes = 0;
    EXPECT_EQ(::ioctl(input_.number(), FIONREAD, &bytes), 0);
    return static_cast<std::size_t>(bytes);
  }
  // The next message that it was told, if one is there.
  std::optional<FromAnkaios> read() {
    std::array<char, 65536> chunk;
    while (!has_message_) {
      std::string_view rest = bytes_;
      has_message_ = frames_.push(rest) == FrameReader::Found::kMessage;
      bytes_ = rest;
      if (has_message_) break;
      const auto size = ::read(input_.number(), chunk.data(), chunk.size());
      if (size <= 0) return std::nullopt;
      bytes_.append(chunk.data(), static_cast<std::size_t>(size));
    }
    has_message_ = false;
    auto message = wire::decode_from_ankaios(frames_.take());
    EXPECT_TRUE(message);
    return *std::move(message);
  }

 private:
  const std::string folder_;
  host::Descriptor input_;
  host::Descriptor output_;
  FrameReader frames_;
  std::string bytes_;
  bool has_message_ = false;
};

Response response_to(const std::string& id, std::size_t size = 0) {
  return {id, ErrorResponse{std::string(size, 'x')}};
}

FromAnkaios wait_for_message(Workload& workload) {
  auto message = workload.read();
  while (!message && workload.wait_for_input()) message = workload.read();
  return message.value();
}

class PipeInterfacesTest : public testing::Test {
 public:
  PipeInterfacesTest() {
    std::string name = "/tmp/tiphys-control-XXXXXX";
    run_folder = ::mkdtemp(name.data());
    folder = folder_of(run_folder, kWeb);
    interfaces.emplace(loop.context.get_executor(), loop, loop, loop, run_folder);
  }
  ~PipeInterfacesTest() override {
    interfaces.reset();
    loop.settle();
    fs::remove_all(run_folder);
    ::signal(SIGPIPE, before_);
  }

 protected:
  // Opens the interface of workload web; the answer.
  Result<std::string> open(agent::InterfaceNumber number = 1, const InstanceName& instance = kWeb) {
    std::optional<Result<std::string>> answer;
    interfaces->open(
        number, instance, [&](Result<std::string> opened) { answer = std::move(opened); },
        [this](InterfaceEvent event) { events.push_back(std::move(event)); });
    EXPECT_TRUE(loop.await([&] { return answer.has_value(); }));
    return *answer;
  }
  // The next that the workload says; the next but one may come.
  std::string said() {
    EXPECT_TRUE(loop.await([&] { return !events.empty(); }));
    const InterfaceEvent event = events.front();
    events.erase(events.begin());
    if (!std::holds_alternative<agent::Undelivered>(event)) interfaces->read_on(1);
    return to_string(event);
  }
  FromAnkaios heard(Workload& workload) {
    std::optional<FromAnkaios> message;
    EXPECT_TRUE(loop.await([&] { return (message = workload.read()).has_value(); }));
    return *message;
  }
  static Response response(const std::string& id, std::size_t size = 0) {
    return response_to(id, size);
  }
  static bool is_pipe(const std::string& path) {
    return fs::symlink_status(path).type() == fs::file_type::fifo;
  }

  void (*before_)(int) = ::signal(SIGPIPE, SIG_IGN);
  OneLoop loop;
  std::string run_folder;
  std::string folder;  // of the interface
  std::optional<PipeInterfaces> interfaces;
  std::vector<InterfaceEvent> events;
};

// -- The pipes themselves

// [utest->swdd~agent-control-interface-creates-two-pipes-per-workload~1]
// [utest->swdd~agent-control-interface-pipes-path-naming~1]
TEST_F(PipeInterfacesTest, MakesTwoPipesInTheFolderOfTheWorkload) {
  const mode_t mask = ::umask(022);
  EXPECT_EQ(open().value(), run_folder + "/web.1/control_interface");
  ::umask(mask);
  for (const auto* name : {kInput, kOutput}) {
    EXPECT_TRUE(is_pipe(concat(folder, "/", name)));
    EXPECT_EQ(fs::status(concat(folder, "/", name)).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(static_cast<int>(fs::status(folder).permissions()), 0755);
}

TEST_F(PipeInterfacesTest, CloseTakesPipesAndFolderAway) {
  ASSERT_TRUE(open());
  interfaces->close(1);
  ASSERT_TRUE(loop.await([&] { return !fs::exists(folder); }));
  EXPECT_TRUE(fs::exists(run_folder + "/web.1")) << "files of the workload may be there";
  EXPECT_TRUE(loop.logged.empty());
}

TEST_F(PipeInterfacesTest, CloseTakesAwayWhatTheWorkloadPutThere) {
  ASSERT_TRUE(open());
  fs::remove(concat(folder, "/", kInput));
  fs::create_directories(concat(folder, "/", kInput, "/deep"));
  std::ofstream(folder + "/more") << "text";
  fs::create_symlink("/etc", folder + "/link");
  interfaces->close(1);
  ASSERT_TRUE(open(2)) << "the next one does not wait for that";
  ASSERT_TRUE(loop.await([&] {
    return std::distance(fs::directory_iterator(run_folder + "/web.1"), fs::directory_iterator()) ==
           1;
  }));
  EXPECT_TRUE(is_pipe(concat(folder, "/", kInput)));
  EXPECT_TRUE(fs::exists("/etc"));
}

TEST_F(PipeInterfacesTest, WhatIsNoPipeIsRefusedAndRemoved) {
  fs::create_directories(folder);
  std::ofstream(concat(folder, "/", kOutput)) << "text";
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "\"" + folder + "/output\": it is not a FIFO");
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(run_folder + "/web.1"));
  ASSERT_TRUE(open(2)) << "and then it works";
}

TEST_F(PipeInterfacesTest, LinksAreNotFollowed) {
  const std::string elsewhere = run_folder + "/elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directory_symlink(elsewhere, run_folder + "/web.1");
  EXPECT_EQ(open(1).error().message, "\"" + run_folder + "/web.1\": it is not a folder");
  fs::remove(run_folder + "/web.1");

  fs::create_directories(run_folder + "/web.1");
  fs::create_directory_symlink(elsewhere, folder);
  EXPECT_EQ(open(2).error().message, "\"" + folder + "\": it is not a folder");
  fs::remove(folder);

  ASSERT_EQ(::mkfifo((elsewhere + "/pipe").c_str(), 0700), 0);
  fs::create_directories(folder);
  fs::create_symlink(elsewhere + "/pipe", concat(folder, "/", kInput));
  EXPECT_EQ(open(3).error().message, "\"" + folder + "/input\": it is not a FIFO");
  EXPECT_TRUE(fs::exists(elsewhere + "/pipe"));
}

TEST_F(PipeInterfacesTest, AFolderThatCannotBeMadeIsAnError) {
  fs::remove_all(run_folder);
  EXPECT_EQ(open().error().message,
            "\"" + run_folder + "\": No such file or directory (os error 2)");
  EXPECT_EQ(open(2, {WorkloadName{"web"}, WorkloadId{"../../x"}, AgentName{"A"}}).error().message,
            "\"web.../../x\": the id of the workload cannot be the name of a folder");
}

TEST_F(PipeInterfacesTest, PipesOfAnEarlierAgentAreTaken) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  workload.open_output();
  workload.hello();
  EXPECT_EQ(said(), "said hello 1.0.0");
  interfaces->send(1, ControlInterfaceAccepted{});
  EXPECT_TRUE(std::holds_alternative<ControlInterfaceAccepted>(heard(workload)));

  interfaces.reset();  // the agent ends; its workloads go on
  loop.settle();
  events.clear();
  EXPECT_TRUE(is_pipe(concat(folder, "/", kInput)));
  interfaces.emplace(loop.context.get_executor(), loop, loop, loop, run_folder);
  ASSERT_TRUE(open());
  workload.hello();  // on the pipes that it has open
  EXPECT_EQ(said(), "said hello 1.0.0");
  interfaces->send(1, ControlInterfaceAccepted{});
  EXPECT_TRUE(std::holds_alternative<ControlInterfaceAccepted>(heard(workload)));
}

// -- What a workload writes

// [utest->swdd~agent-listens-for-requests-from-pipe~1]
// [utest->swdd~agent-ensures-control-interface-output-pipe-read~1]
// [utest->swdd~agent-converts-control-interface-message-to-ankaios-object~1]
TEST_F(PipeInterfacesTest, ReadsMessageByMessage) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  workload.write(to_frame(wire::encode(ToAnkaios(ControlInterfaceHello{"1.0.0"}))) +
                 to_frame(wire::encode(ToAnkaios(Request{"a", LogsCancelRequest{}}))) +
                 to_frame(wire::encode(ToAnkaios(Request{"b", EventsCancelRequest{}}))));
  EXPECT_EQ(said(), "said hello 1.0.0");
  EXPECT_EQ(said(), "said LogsCancelRequest a");
  EXPECT_EQ(said(), "said EventsCancelRequest b");
}

TEST_F(PipeInterfacesTest, AfterAMessageTheNextOneWaitsToBeAskedFor) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  workload.hello();
  workload.hello();
  ASSERT_TRUE(loop.await([&] { return !events.empty(); }));
  loop.settle();
  EXPECT_EQ(events.size(), 1U);
  interfaces->read_on(1);
  ASSERT_TRUE(loop.await([&] { return events.size() == 2; }));
}

TEST_F(PipeInterfacesTest, AWorkloadThatFloodsFillsItsOwnPipe) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  const std::string frame =
      to_frame(wire::encode(ToAnkaios(Request{std::string(900, 'i'), LogsCancelRequest{}})));
  std::size_t written = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (workload.write(frame) > 0) ++written;
    loop.settle();
  }
  EXPECT_EQ(events.size(), 1U);
  EXPECT_LT(written * frame.size(), std::size_t{256} << 10U) << "the pipe, and one look into it";
}

TEST_F(PipeInterfacesTest, AMessageMayComeInPieces) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  for (const char byte : to_frame(wire::encode(ToAnkaios(ControlInterfaceHello{"1.0.0"})))) {
    ASSERT_EQ(workload.write({&byte, 1}), 1);
    loop.settle();
  }
  EXPECT_EQ(said(), "said hello 1.0.0");
}

TEST_F(PipeInterfacesTest, AnswersDoNotDisturbAMessageThatIsHalfRead) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  workload.open_output();
  const std::string frame = to_frame(wire::encode(ToAnkaios(Request{"r", LogsCancelRequest{}})));
  workload.write(frame.substr(0, 3));
  loop.settle();
  interfaces->send(1, response("other"));
  EXPECT_EQ(std::get<Response>(heard(workload)), response("other"));
  workload.write(frame.substr(3));
  EXPECT_EQ(said(), "said LogsCancelRequest r");
}

TEST_F(PipeInterfacesTest, LargeMessagesGoBothWays) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  workload.open_output();
  const Request request{std::string(1'000'000, 'r'), LogsCancelRequest{}};
  const std::string frame = to_frame(wire::encode(ToAnkaios(request)));
  std::string_view rest = frame;
  ASSERT_TRUE(loop.await([&] {
    if (const auto size = workload.write(rest); size > 0)
      rest.remove_prefix(static_cast<std::size_t>(size));
    return rest.empty();
  }));
  ASSERT_TRUE(loop.await([&] { return !events.empty(); }));
  EXPECT_EQ(std::get<agent::Said>(events[0]).message, ToAnkaios(request));
  EXPECT_EQ(std::get<agent::Said>(events[0]).bytes, wire::encode(ToAnkaios(request)).size());
  interfaces->send(1, response("r", 6'000'000));
  EXPECT_EQ(std::get<Response>(heard(workload)), response("r", 6'000'000));
}

TEST_F(PipeInterfacesTest, GarbageIsToldAsSuch) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  workload.write("\3\xff\xff\xff");
  EXPECT_EQ(said(), "garbled: its 3 bytes are no message of the control interface");
  workload.write(std::string_view("\0", 1));
  EXPECT_EQ(said(), "unusable request 'none': ");
  workload.write(to_frame("\x1a\x03\x0a\x01r"));  // a request with an id and nothing else
  EXPECT_EQ(said(), "unusable request 'r': ");
  workload.write(std::string(19, '\xff'));
  EXPECT_EQ(said(), "garbled: the length of a message does not end");
  workload.hello();
  EXPECT_EQ(said(), "said hello 1.0.0");
  workload.write(std::string(9, '\xff') + '\1');
  EXPECT_EQ(said(), "lost: a message is longer than 64 MiB");
}

TEST_F(PipeInterfacesTest, AWriterMayGoAndAnotherCome) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  for (int i = 0; i < 3; ++i) {
    workload.open_output();
    workload.hello();
    workload.close_output();
    EXPECT_EQ(said(), "said hello 1.0.0");
    loop.settle();
  }
}

TEST_F(PipeInterfacesTest, AMessageThatIsCutOffByACloseIsForgotten) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  workload.hello();
  EXPECT_EQ(said(), "said hello 1.0.0");
  workload.write("\x09\x1a\x07\x0a");
  loop.settle();
  workload.close_output();
  loop.settle();
  workload.open_output();
  workload.ask("r");
  EXPECT_EQ(said(), "said CompleteStateRequest r ");
}

TEST_F(PipeInterfacesTest, WaitsWithoutWorkWhileNobodyWrites) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  workload.close_output();
  loop.settle();
  std::size_t handlers = 0;
  for (int i = 0; i < 100; ++i) {
    loop.context.restart();
    handlers += loop.context.poll();
  }
  EXPECT_EQ(handlers, 0U);
}

TEST_F(PipeInterfacesTest, ARemovedPipeIsLookedForNowAndThen) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  const std::string path = concat(folder, "/", kOutput);
  workload.open_output();
  fs::remove(path);
  workload.hello();
  workload.close_output();
  EXPECT_EQ(said(), "said hello 1.0.0");
  loop.settle();
  std::size_t handlers = 0;
  for (int i = 0; i < 100; ++i) {
    loop.context.restart();
    handlers += loop.context.poll();
  }
  EXPECT_LT(handlers, 5U) << "it does not spin";
  fs::create_symlink("/dev/zero", path);
  loop.context.restart();
  loop.context.run_for(kRetryPause * 3);  // whatever is looked at now is no pipe
  EXPECT_TRUE(events.empty());
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0700), 0);
  ASSERT_TRUE(loop.await([&] {
    const host::Descriptor reader_is_there(::open(path.c_str(), O_WRONLY | O_NONBLOCK));
    return reader_is_there.is_open();
  }));
  workload.open_output();
  workload.hello();
  EXPECT_EQ(said(), "said hello 1.0.0");
}

// -- What a workload reads

// [utest->swdd~agent-forward-responses-to-control-interface-pipe~1]
TEST_F(PipeInterfacesTest, DeliversInOrder) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  for (int i = 0; i < 500; ++i) interfaces->send(1, response(std::to_string(i)));
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(std::get<Response>(heard(workload)).id, std::to_string(i));
  EXPECT_TRUE(events.empty());
}

TEST_F(PipeInterfacesTest, AMessageWaitsUntilTheOneBeforeIsRead) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  for (const char* id : {"a", "b", "c"}) interfaces->send(1, response(id));
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(loop.await([&] { return workload.unread() > 0; }));
    loop.settle();
    EXPECT_EQ(workload.unread(), to_frame(wire::encode(FromAnkaios(response(id)))).size());
    EXPECT_EQ(std::get<Response>(heard(workload)).id, id);
  }
}

TEST_F(PipeInterfacesTest, AMessageWaitsHoweverLongThatTakes) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  for (const char* id : {"a", "b"}) interfaces->send(1, response(id));
  loop.context.restart();
  loop.context.run_for(kFullPipePatience + kLongestLook);
  EXPECT_EQ(workload.unread(), to_frame(wire::encode(FromAnkaios(response("a")))).size());
  for (const char* id : {"a", "b"}) EXPECT_EQ(std::get<Response>(heard(workload)).id, id);
  EXPECT_TRUE(events.empty());
}

TEST_F(PipeInterfacesTest, AReaderThatGoesLeavesNothingForTheNext) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  interfaces->send(1, response("unread"));
  interfaces->send(1, response("waiting"));
  loop.settle();
  workload.close_input();
  EXPECT_EQ(said(), "undelivered 'waiting'");
  workload.open_input();
  interfaces->send(1, response("fresh"));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "fresh");
}

TEST_F(PipeInterfacesTest, ManyMessagesDoNotWaitForEachOther) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  const std::size_t size = to_frame(wire::encode(FromAnkaios(response("r")))).size();
  for (std::size_t i = 0; i < kMaxWaitingMessages; ++i) interfaces->send(1, response("r"));
  loop.settle();
  EXPECT_EQ(workload.unread(), kMaxWaitingMessages / 2 * size);
  EXPECT_TRUE(events.empty());
}

TEST_F(PipeInterfacesTest, ALargeMessageComesWhole) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  const Response large = response("large", kLargestPipe / 2);
  interfaces->send(1, large);
  ASSERT_TRUE(loop.await([&] { return workload.unread() > 0; }));
  EXPECT_EQ(workload.unread(), to_frame(wire::encode(FromAnkaios(large))).size());
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "large");
}

TEST_F(PipeInterfacesTest, AReaderMayComeALittleLater) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  interfaces->send(1, ControlInterfaceAccepted{});
  loop.settle();
  loop.context.restart();
  loop.context.run_for(kRetryPause * 2);
  workload.open_input();
  EXPECT_TRUE(std::holds_alternative<ControlInterfaceAccepted>(heard(workload)));
  EXPECT_TRUE(events.empty());
}

TEST_F(PipeInterfacesTest, WithoutAReaderEveryMessageIsGivenUp) {
  ASSERT_TRUE(open());
  interfaces->send(1, ControlInterfaceAccepted{});
  interfaces->send(1, response("r"));
  EXPECT_EQ(said(), "undelivered ''");
  EXPECT_EQ(said(), "undelivered 'r'");
}

TEST_F(PipeInterfacesTest, AReaderThatGoesAndComesBackIsServed) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  interfaces->send(1, response("a"));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "a");
  workload.close_input();
  interfaces->send(1, response("b"));
  EXPECT_EQ(said(), "undelivered 'b'");
  workload.open_input();
  interfaces->send(1, response("c"));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "c");
}

TEST_F(PipeInterfacesTest, AFullPipeIsNotWaitedForAndLosesNoHalfMessage) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  interfaces->send(1, response("large", 2 * kLargestPipe));
  interfaces->send(1, response("next"));
  EXPECT_EQ(said(), "undelivered 'large'");
  EXPECT_EQ(said(), "undelivered 'next'");
  // What has begun comes to its end, so that the reader stays in step.
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "large");
  interfaces->send(1, response("last"));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "last");
}

TEST_F(PipeInterfacesTest, ASlowReaderGetsALargeMessage) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  interfaces->send(1, response("large", 1'000'000));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "large");
  EXPECT_TRUE(events.empty());
}

TEST_F(PipeInterfacesTest, OnlySoManyBytesWait) {
  ASSERT_TRUE(open());
  const std::size_t size = kMaxWaitingBytes / 2;
  interfaces->send(1, response("1", 2 * kMaxWaitingBytes));  // a single one may
  interfaces->send(1, response("2", size));
  loop.settle();
  EXPECT_EQ(said(), "undelivered '2'") << "at once";
}

// [utest->swdd~agent-handles-control-interface-input-pipe-not-read~1]
TEST_F(PipeInterfacesTest, AWorkloadThatNeverReadsCostsLittle) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  constexpr std::size_t kResponses = 100'000;
  constexpr std::size_t kMostBytes = 20'000'000;
  const std::size_t before = bytes_in_use();
  std::size_t undelivered = 0;
  for (std::size_t i = 0; i < kResponses; ++i) {
    interfaces->send(1, response(std::to_string(i), 2000));
    if (i % 500 == 0) loop.settle();
    undelivered += events.size();
    events.clear();
    if (i % 1000 == 0) {
      ASSERT_LT(bytes_in_use(), before + kMostBytes) << i;
    }
  }
  loop.settle();
  undelivered += events.size();
  events.clear();
  EXPECT_LT(bytes_in_use(), before + kMostBytes);
  EXPECT_GT(undelivered, kResponses - 2 * kMaxWaitingMessages);
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "0") << "what fits is there";
}

// -- The end

TEST_F(PipeInterfacesTest, AfterTheLastWordNobodyReads) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  workload.open_output();
  workload.hello();
  ASSERT_TRUE(loop.await([&] { return !events.empty(); }));
  events.clear();
  interfaces->send(1, ConnectionClosed{"because"});
  interfaces->stop_reading(1);
  EXPECT_EQ(std::get<ConnectionClosed>(heard(workload)).reason, "because");
  ASSERT_TRUE(loop.await([&] { return workload.write("x") < 0 && errno == EPIPE; }));
  EXPECT_TRUE(is_pipe(concat(folder, "/", kOutput))) << "the pipes stay";
  EXPECT_TRUE(events.empty());
  interfaces->read_on(1);
  interfaces->send(1, response("late"));
  loop.settle();
  interfaces->close(1);
  ASSERT_TRUE(loop.await([&] { return !fs::exists(folder); }));
}

TEST_F(PipeInterfacesTest, TheLastWordWaitsForNobody) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_input();
  workload.open_output();
  interfaces->send(1, response("unread"));
  interfaces->send(1, ConnectionClosed{"because"});
  loop.settle();
  interfaces->stop_reading(1);
  ASSERT_TRUE(loop.await([&] { return workload.write("x") < 0 && errno == EPIPE; }));
  EXPECT_EQ(std::get<Response>(heard(workload)).id, "unread");
  EXPECT_EQ(std::get<ConnectionClosed>(heard(workload)).reason, "because");
}

TEST_F(PipeInterfacesTest, AfterALastWordThatNobodyTakesNobodyReadsEither) {
  ASSERT_TRUE(open());
  Workload workload(folder);
  workload.open_output();
  interfaces->send(1, ConnectionClosed{"because"});
  interfaces->stop_reading(1);
  EXPECT_EQ(said(), "undelivered ''");
  ASSERT_TRUE(loop.await([&] { return workload.write("x") < 0 && errno == EPIPE; }));
}

TEST_F(PipeInterfacesTest, CallsForAnInterfaceThatIsGoneDoNothing) {
  ASSERT_TRUE(open());
  interfaces->close(1);
  interfaces->send(1, response("r"));
  interfaces->read_on(1);
  interfaces->stop_reading(1);
  interfaces->close(1);
  loop.settle();
  EXPECT_TRUE(events.empty());
}

// -- As in an agent: io and the machine have a thread each

TEST(PipeInterfacesThreads, SpeakAndHearAcrossThem) {
  auto* const before = ::signal(SIGPIPE, SIG_IGN);
  std::string run_folder = "/tmp/tiphys-control-XXXXXX";
  ASSERT_NE(::mkdtemp(run_folder.data()), nullptr);
  OneLoop log;
  host::IoLoop io;
  shell::CoreThread core;
  shell::WorkerThreads workers(core, 1);
  std::promise<std::string> opened;
  std::promise<void> closed;
  constexpr int kRequests = 200;
  int asked = 0;
  {
    PipeInterfaces interfaces(io.executor(), core, workers, log, run_folder);
    std::thread io_thread([&] { io.run(); });
    core.post([&] {
      interfaces.open(
          1, kWeb, [&](Result<std::string> folder) { opened.set_value(folder.value()); },
          [&](const InterfaceEvent& event) {
            if (const auto* said = std::get_if<agent::Said>(&event)) {
              interfaces.send(1, response_to(std::get<Request>(said->message).id));
              interfaces.read_on(1);
              if (++asked == kRequests) {
                interfaces.send(1, ConnectionClosed{"enough"});
                interfaces.stop_reading(1);
              }
            }
          });
    });
    Workload workload(opened.get_future().get());
    workload.open_input();
    workload.open_output();
    for (int i = 0; i < kRequests; ++i) {
      workload.ask(std::to_string(i));
      EXPECT_EQ(std::get<Response>(wait_for_message(workload)).id, std::to_string(i));
    }
    EXPECT_EQ(std::get<ConnectionClosed>(wait_for_message(workload)).reason, "enough");
    core.post([&] {
      interfaces.close(1);
      closed.set_value();
    });
    closed.get_future().get();
    io.post([&] { io.stop(); });
    io_thread.join();
    core.stop();
  }
  EXPECT_FALSE(fs::exists(folder_of(run_folder, kWeb)));
  fs::remove_all(run_folder);
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace tiphys::control
