#include "io/runtimes/commands/log_follower.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "base/line_splitter.h"
#include "base/strings.h"

namespace tiphys::commands {

namespace asio = boost::asio;

std::vector<std::string> logs_arguments(const shell::LogOptions& options,
                                        const std::string& container) {
  std::vector<std::string> arguments{"logs"};
  const auto add = [&arguments](const char* option, const std::optional<std::string>& value) {
    if (value) arguments.insert(arguments.end(), {option, *value});
  };
  if (options.follow) arguments.emplace_back("-f");
  add("--since", options.since);
  add("--until", options.until);
  if (options.tail) add("--tail", std::to_string(*options.tail));
  arguments.push_back(container);
  return arguments;
}

// Whom to tell. Lives on the strand.
class LogFollower::Sinks {
 public:
  void add(shell::LogStream stream, std::function<void(shell::LogEvent)> sink) {
    sinks_.emplace(stream, std::move(sink));
  }
  void remove(shell::LogStream stream) { sinks_.erase(stream); }
  [[nodiscard]] std::size_t count() const { return sinks_.size(); }

  void tell(shell::LogStream stream, shell::LogEvent event) {
    const auto entry = sinks_.find(stream);
    if (entry == sinks_.end()) return;
    const auto sink = entry->second;  // it may end the stream while it is told
    if (std::holds_alternative<shell::LogEnd>(event)) sinks_.erase(entry);
    sink(std::move(event));
  }

 private:
  std::map<shell::LogStream, std::function<void(shell::LogEvent)>> sinks_;
};

// Runs the programs and gathers what they say. Lives on the executor.
class LogFollower::Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(asio::any_io_executor executor, shell::Strand& strand, std::weak_ptr<Sinks> sinks,
         Settings settings)
      : executor_(std::move(executor)),
        strand_(strand),
        sinks_(std::move(sinks)),
        settings_(std::move(settings)),
        processes_(executor_) {}

  void follow(shell::LogStream stream, std::vector<std::string> arguments) {
    const auto followed = std::make_shared<Followed>(executor_);
    followed_.emplace(stream, followed);
    const host::ProcessSpec spec{.program = settings_.program,
                                 .arguments = std::move(arguments),
                                 .environment = settings_.environment,
                                 .limits = settings_.limits};
    followed->process = processes_.follow(
        spec, {[this, stream, followed](host::OutputPipe pipe, std::string_view bytes) {
                 return read(stream, *followed, pipe, bytes);
               },
               [this, stream, followed](const Result<host::ProcessEnd>& end) {
                 ended(stream, *followed, end);
               }});
  }

  void continue_with(shell::LogStream stream) {
    const auto entry = followed_.find(stream);
    if (entry == followed_.end()) return;
    const auto followed = entry->second;
    followed->is_told = false;
    if (followed->end || followed->is_overdue || is_full(*followed)) flush(stream, *followed);
    if (followed->end) return end_if_told(stream, *followed);
    if (followed->is_paused && !is_full(*followed)) {
      followed->is_paused = false;
      processes_.read_on(followed->process);
    }
  }

  void cancel(shell::LogStream stream) {
    const auto entry = followed_.find(stream);
    if (entry == followed_.end()) return;
    entry->second->timer.cancel();
    processes_.cancel(entry->second->process);
    followed_.erase(entry);
  }

 private:
  struct Followed {
    explicit Followed(const asio::any_io_executor& executor) : timer(executor) {}

    host::ProcessNumber process = 0;
    LineSplitter out;
    LineSplitter err;
    std::vector<std::string> batch;  // not told yet
    std::size_t bytes = 0;           // of it
    asio::steady_timer timer;        // since the first line of the batch
    bool is_timing = false;
    bool is_overdue = false;   // the timer has fired, but the last batch is still being dealt with
    bool is_told = false;      // a batch that nobody has asked past
    bool is_paused = false;    // nothing is read
    bool is_too_long = false;  // a line was
    std::optional<Status> end;
  };

  static bool is_full(const Followed& followed) { return followed.bytes >= kBatchBytes; }

  bool read(shell::LogStream stream, Followed& followed, host::OutputPipe pipe,
            std::string_view bytes) {
    auto& splitter = pipe == host::OutputPipe::kOut ? followed.out : followed.err;
    auto& batch = followed.batch;
    const auto before = batch.size();
    followed.is_too_long = !splitter.add(bytes, batch);
    for (auto line = before; line < batch.size(); ++line)
      followed.bytes += batch[line].size() + kLineOverhead;
    if (followed.is_too_long) {
      processes_.cancel(followed.process);  // its end follows
      return false;
    }
    if (is_full(followed))
      flush(stream, followed);
    else if (!batch.empty())
      arm(stream, followed);
    followed.is_paused = is_full(followed);
    return !followed.is_paused;
  }

  void ended(shell::LogStream stream, Followed& followed, const Result<host::ProcessEnd>& end) {
    if (!followed_.contains(stream)) return;
    followed.out.finish(followed.batch);
    followed.err.finish(followed.batch);
    followed.end = status_of(end, followed.is_too_long);
    flush(stream, followed);
    end_if_told(stream, followed);
  }

  static Status status_of(const Result<host::ProcessEnd>& end, bool is_too_long) {
    if (is_too_long) return {};  // its last line says so
    if (!end) return fail(end.error());
    if (end->exit_code != 0 || end->signal != 0) return fail(Code::kUnknown, how_it_ended(*end));
    return {};
  }

  void arm(shell::LogStream stream, Followed& followed) {
    if (std::exchange(followed.is_timing, true)) return;
    followed.timer.expires_after(kLongestBatchWait);
    followed.timer.async_wait(
        [weak = weak_from_this(), stream](const boost::system::error_code& error) {
          if (const auto self = weak.lock(); self && !error) self->waited(stream);
        });
  }

  void waited(shell::LogStream stream) {
    const auto followed = followed_.find(stream);
    // A timer that had fired when it was cancelled speaks of a batch that was told.
    if (followed == followed_.end() || !followed->second->is_timing) return;
    followed->second->is_timing = false;
    followed->second->is_overdue = true;
    flush(stream, *followed->second);
  }

  // Unless the last batch is still being dealt with.
  void flush(shell::LogStream stream, Followed& followed) {
    if (followed.is_told || followed.batch.empty()) return;
    tell(stream, shell::LogLines{std::exchange(followed.batch, {})});
    followed.is_told = true;
    followed.bytes = 0;
    followed.is_overdue = false;
    followed.is_timing = false;
    followed.timer.cancel();
  }

  void end_if_told(shell::LogStream stream, Followed& followed) {
    if (!followed.batch.empty()) return;
    tell(stream, shell::LogEnd{*std::move(followed.end)});
    followed_.erase(stream);
  }

  void tell(shell::LogStream stream, shell::LogEvent event) {
    strand_.post([weak = sinks_, stream, event = std::move(event)]() mutable {
      if (const auto sinks = weak.lock()) sinks->tell(stream, std::move(event));
    });
  }

  const asio::any_io_executor executor_;
  shell::Strand& strand_;
  const std::weak_ptr<Sinks> sinks_;
  const Settings settings_;
  std::map<shell::LogStream, std::shared_ptr<Followed>> followed_;
  host::Processes processes_;  // goes first: nobody is told any more
};

LogFollower::LogFollower(asio::any_io_executor executor, shell::Strand& strand, Settings settings)
    : executor_(std::move(executor)),
      strand_(strand),
      max_followers_(settings.max_followers),
      sinks_(std::make_shared<Sinks>()),
      reader_(std::make_shared<Reader>(executor_, strand, sinks_, std::move(settings))) {}

LogFollower::~LogFollower() = default;

shell::LogStream LogFollower::follow(std::vector<std::string> arguments,
                                     std::function<void(shell::LogEvent)> sink) {
  const bool is_one_too_many = sinks_->count() >= max_followers_;
  const auto stream = ++last_;
  sinks_->add(stream, std::move(sink));
  if (is_one_too_many) {
    strand_.post([weak = std::weak_ptr(sinks_), stream, most = max_followers_] {
      if (const auto sinks = weak.lock())
        sinks->tell(stream, shell::LogEnd{fail(
                                Code::kResourceExhausted,
                                concat("the logs of ", std::to_string(most),
                                       " containers are being read already; try again later"))});
    });
    return stream;
  }
  asio::post(executor_,
             [weak = std::weak_ptr(reader_), stream, arguments = std::move(arguments)]() mutable {
               if (const auto reader = weak.lock()) reader->follow(stream, std::move(arguments));
             });
  return stream;
}

void LogFollower::continue_with(shell::LogStream stream) {
  asio::post(executor_, [weak = std::weak_ptr(reader_), stream] {
    if (const auto reader = weak.lock()) reader->continue_with(stream);
  });
}

void LogFollower::end(shell::LogStream stream) {
  sinks_->remove(stream);
  asio::post(executor_, [weak = std::weak_ptr(reader_), stream] {
    if (const auto reader = weak.lock()) reader->cancel(stream);
  });
}

}  // namespace tiphys::commands
