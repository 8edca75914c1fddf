#include "shell/workers.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tiphys::shell {

namespace asio = boost::asio;

struct WorkerThreads::Impl {
  Strand& strand;
  // Read and changed on the strand, or after it stopped; shared with the answers that wait there.
  std::shared_ptr<bool> open = std::make_shared<bool>(true);
  asio::io_context context{};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  const std::size_t wanted_threads;
  std::once_flag started{};
  std::vector<std::thread> threads{};
};

WorkerThreads::WorkerThreads(Strand& strand, std::size_t threads)
    : impl_(new Impl{.strand = strand, .wanted_threads = threads}) {
  TIPHYS_CHECK(threads > 0, "somebody has to do the work");
}

WorkerThreads::~WorkerThreads() {
  *impl_->open = false;
  impl_->context.stop();
  for (auto& thread : impl_->threads) thread.join();
}

void WorkerThreads::run(std::function<void()> work, std::function<void()> done) {
  std::call_once(impl_->started, [this] {
    for (std::size_t i = 0; i < impl_->wanted_threads; ++i)
      impl_->threads.emplace_back([impl = impl_.get()] { impl->context.run(); });
  });
  auto tell = [open = impl_->open, done = std::move(done)] {
    if (*open) done();
  };
  asio::post(impl_->context,
             [&strand = impl_->strand, work = std::move(work), tell = std::move(tell)]() mutable {
               work();
               strand.post(std::move(tell));
             });
}

}  // namespace tiphys::shell
