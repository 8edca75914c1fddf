#include "io/control/pipe_interfaces.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <utility>

#include "base/strings.h"
#include "io/control/frames.h"
#include "io/control/pipe_files.h"
#include "io/control/pipe_reader.h"
#include "io/control/pipe_writer.h"
#include "io/host/files.h"
#include "io/wire/wire.h"

namespace tiphys::control {

namespace asio = boost::asio;

using shell::InterfaceEvent;
using shell::InterfaceNumber;

// Between the two threads: as many messages as a workload may have waiting are on their way to its pipe, no more.
struct PipeInterfaces::Passage {
  std::function<void(InterfaceEvent)> sink;
  std::atomic<std::size_t> under_way = 0;
};

// Lives on io.
struct PipeInterfaces::Impl : std::enable_shared_from_this<Impl> {
  struct Interface {
    std::string folder;
    std::shared_ptr<PipeReader> reader;
    std::shared_ptr<PipeWriter> writer;
  };

  Impl(asio::any_io_executor io, shell::Strand& runs_machines, shell::Workers& helpers,
       shell::Log& told, std::string folder)
      : executor(std::move(io)),
        strand(runs_machines),
        workers(helpers),
        log(told),
        run_folder(std::move(folder)) {}

  // [impl->swdd~agent-create-control-interface-pipes-per-workload~1]
  Result<std::string> open(InterfaceNumber number, const InstanceName& instance,
                           const std::function<void(InterfaceEvent)>& sink) {
    TIPHYS_REQUIRE(make_pipes(run_folder, instance));
    std::string folder = folder_of(run_folder, instance);
    const auto tell = [this, sink](InterfaceEvent event) {
      strand.post([sink, event = std::move(event)] { sink(event); });
    };
    Interface opened{
        .folder = folder,
        .reader = std::make_shared<PipeReader>(executor, concat(folder, "/", kOutput), tell),
        .writer = std::make_shared<PipeWriter>(executor, concat(folder, "/", kInput), tell)};
    if (const auto started = opened.reader->start(); !started) {
      remove(number, folder);
      return fail(started.error());
    }
    interfaces.emplace(number, std::move(opened));
    return folder;
  }

  // [impl->swdd~agent-forward-responses-to-control-interface-pipe~1]
  void send(InterfaceNumber number, const FromAnkaios& message) {
    const auto entry = interfaces.find(number);
    if (entry != interfaces.end())
      entry->second.writer->send(agent::undelivered(message), to_frame(wire::encode(message)));
  }

  void read_on(InterfaceNumber number) {
    const auto entry = interfaces.find(number);
    if (entry != interfaces.end()) entry->second.reader->read_on();
  }

  void stop_reading(InterfaceNumber number) {
    const auto entry = interfaces.find(number);
    if (entry == interfaces.end()) return;
    const Interface& interface = entry->second;
    interface.reader->stop();
    // The workload learns that it is not heard any more after it was told why.
    interface.writer->finish([reader = interface.reader, writer = std::weak_ptr(interface.writer)] {
      reader->close();
      if (const auto alive = writer.lock()) alive->close();
    });
  }

  void close(InterfaceNumber number) {
    const auto node = interfaces.extract(number);
    if (node.empty()) return;
    node.mapped().reader->close();
    node.mapped().writer->close();
    remove(number, node.mapped().folder);
  }

  void remove(InterfaceNumber number, const std::string& folder) {
    const auto aside = remove_pipes(folder, number);
    if (!aside) {
      log.error("A control interface could not be removed", {{"reason", aside.error().message}});
    } else if (!aside->empty()) {
      workers.run([folder = *aside] { (void)host::remove_tree(folder); }, [] {});
    }
  }

  // Runs the task on io, if there is still one who does.
  template <class Task>
  void on_io(Task task) {
    asio::post(executor, [weak = weak_from_this(), task = std::move(task)]() mutable {
      if (const auto self = weak.lock()) task(*self);
    });
  }

  const asio::any_io_executor executor;
  shell::Strand& strand;
  shell::Workers& workers;
  shell::Log& log;
  const std::string run_folder;
  std::map<InterfaceNumber, Interface> interfaces;
};

PipeInterfaces::PipeInterfaces(asio::any_io_executor io, shell::Strand& strand,
                               shell::Workers& workers, shell::Log& log, std::string run_folder)
    : impl_(std::make_shared<Impl>(std::move(io), strand, workers, log, std::move(run_folder))) {}

PipeInterfaces::~PipeInterfaces() = default;

void PipeInterfaces::open(InterfaceNumber number, const InstanceName& instance,
                          std::function<void(Result<std::string>)> opened,
                          std::function<void(InterfaceEvent)> sink) {
  const auto passage = std::make_shared<Passage>();
  passage->sink = std::move(sink);
  passages_.emplace(number, passage);
  impl_->on_io([number, instance, opened = std::move(opened), passage](Impl& impl) {
    auto folder = impl.open(number, instance, passage->sink);
    impl.strand.post([opened, folder = std::move(folder)] { opened(folder); });
  });
}

void PipeInterfaces::send(InterfaceNumber number, FromAnkaios message) {
  const auto entry = passages_.find(number);
  if (entry == passages_.end()) return;
  const auto passage = entry->second;
  if (passage->under_way >= kMaxWaitingMessages) {
    impl_->strand.post([passage, lost = agent::undelivered(message)] { passage->sink(lost); });
    return;
  }
  ++passage->under_way;
  impl_->on_io([number, message = std::move(message), passage](Impl& impl) {
    --passage->under_way;
    impl.send(number, message);
  });
}

void PipeInterfaces::read_on(InterfaceNumber number) {
  impl_->on_io([number](Impl& impl) { impl.read_on(number); });
}

void PipeInterfaces::stop_reading(InterfaceNumber number) {
  impl_->on_io([number](Impl& impl) { impl.stop_reading(number); });
}

void PipeInterfaces::close(InterfaceNumber number) {
  passages_.erase(number);
  impl_->on_io([number](Impl& impl) { impl.close(number); });
}

}  // namespace tiphys::control
