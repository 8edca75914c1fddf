#include "shell/workers.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
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
  std::vector<std::thread> threads{};
};

WorkerThreads::WorkerThreads(Strand& strand, std::size_t threads)
    : impl_(new Impl{.strand = strand}) {
  TIPHYS_CHECK(threads > 0, "somebody has to do the work");
  for (std::size_t i = 0; i < threads; ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->context.run(); });
}

WorkerThreads::~WorkerThreads() {
  *impl_->open = false;
  impl_->context.stop();
  for (auto& thread : impl_->threads) thread.join();
}

void WorkerThreads::run(std::function<void()> work, std::function<void()> done) {
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
