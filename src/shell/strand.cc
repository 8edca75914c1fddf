#include "shell/strand.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <utility>

namespace tiphys::shell {

namespace asio = boost::asio;

struct CoreThread::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread{[this] { context.run(); }};
};

CoreThread::CoreThread() : impl_(std::make_unique<Impl>()) {}

CoreThread::~CoreThread() { stop(); }

void CoreThread::stop() {
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

Instant CoreThread::now() const { return {std::chrono::steady_clock::now().time_since_epoch()}; }

void CoreThread::post(std::function<void()> task) { asio::post(impl_->context, std::move(task)); }

void CoreThread::after(Duration duration, std::function<void()> task) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->context, duration);
  timer->async_wait([timer, task = std::move(task)](const boost::system::error_code& error) {
    if (!error) task();
  });
}

}  // namespace tiphys::shell
