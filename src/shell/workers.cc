#include "shell/workers.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace tiphys::shell {

namespace asio = boost::asio;

struct WorkerThreads::Impl {
  Strand& strand;
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::vector<std::thread> threads{};
};

WorkerThreads::WorkerThreads(Strand& strand, std::size_t threads)
    : impl_(new Impl{.strand = strand, .context = {}}) {
  for (std::size_t i = 0; i < threads; ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->context.run(); });
}

WorkerThreads::~WorkerThreads() {
  impl_->context.stop();
  for (auto& thread : impl_->threads) thread.join();
}

void WorkerThreads::run(std::function<void()> work, std::function<void()> done) {
  asio::post(impl_->context, [this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    impl_->strand.post(std::move(done));
  });
}

}  // namespace tiphys::shell
