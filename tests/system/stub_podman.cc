// Stands in for podman where a test wants many containers, or wants to stop podman halfway. Speaks the few commands that the
// agent gives, with podman's words, codes and side effects: every container is a process below a "conmon" which leaves the
// exit code in a file. What there is stands in the folder that STUB_PODMAN names:
//
//   containers/<id>/entry    what a listing says of it and what never changes; the folder appears in one go
//   containers/<id>/pid      of its first process; conmon writes it
//   names/<name>             a link to the id
//   exits/<id>               the exit code; conmon writes it
//   pause                    tests write the name of a step into it: whoever comes there writes its process id into
//                            `reached` and goes on when `pause` is gone
//   fail                     tests write "<command> <message>" into it: that command fails so
//   fail-times               how often, where tests say it
//   calls                    where a test made it, every command that changes something or shows logs adds a line to it
//   logs                     what `logs` prints, of any container; with -f it then stays until a signal comes
//
// A command of a container is `exit <code>`; anything else waits for a signal. SIGUSR1 ends a container with code 0.

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Words = std::vector<std::string>;

constexpr int kFailed = 125;      // as podman's own failures
constexpr int kNotStopped = 2;    // rm of a container that runs
constexpr int kSignalBase = 128;  // of the exit codes of processes that a signal ended
constexpr useconds_t kPause = 1000;
constexpr int kPatience = 500;  // pauses

std::string state_folder;

std::string in_state(std::string_view name) { return state_folder + "/" + std::string(name); }
std::string container_folder(const std::string& id) { return in_state("containers/" + id); }
std::string pid_file(const std::string& id) { return container_folder(id) + "/pid"; }
std::string exit_file(const std::string& id) { return in_state("exits/" + id); }

[[noreturn]] void fail(std::string_view message, int code = kFailed) {
  std::fprintf(stderr, "Error: %.*s\n", static_cast<int>(message.size()), message.data());
  std::exit(code);
}

[[noreturn]] void fail_by_system(const std::string& what) {
  fail(what + ": " + std::strerror(errno));
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::optional<std::string> content_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string content;
  std::array<char, 4096> part{};
  ssize_t size = 0;
  while ((size = ::read(file, part.data(), part.size())) > 0)
    content.append(part.data(), static_cast<std::size_t>(size));
  ::close(file);
  return content;
}

// Appears in one go.
bool write_file(const std::string& path, std::string_view content) {
  const auto fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const auto written = ::write(file, content.data(), content.size());
  const int reason = errno;
  ::close(file);
  errno = reason;
  return written == static_cast<ssize_t>(content.size()) &&
         ::rename(fresh.c_str(), path.c_str()) == 0;
}

// Waits here when a test wants it.
void step(const std::string& name) {
  const auto pause = in_state("pause");
  if (content_of(pause) != name) return;
  write_file(in_state("reached"), std::to_string(::getpid()));
  while (content_of(pause) == name) ::usleep(kPause);
}

void note(const std::string& call) {
  const int file = ::open(in_state("calls").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  const auto line = call + '\n';
  if (::write(file, line.data(), line.size()) < 0) fail_by_system("calls");
  ::close(file);
}

std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    if (static_cast<unsigned char>(letter) < ' ') {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", letter);
      quoted += escaped.data();
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

std::optional<int> number_in(const std::string& path) {
  const auto content = content_of(path);
  if (!content || content->empty()) return std::nullopt;
  return std::atoi(content->c_str());
}

void fail_if_wanted(const std::string& command) {
  const auto wanted = content_of(in_state("fail"));
  if (!wanted || !wanted->starts_with(command + " ")) return;
  if (const auto left = number_in(in_state("fail-times"))) {
    if (*left == 0) return;
    write_file(in_state("fail-times"), std::to_string(*left - 1));
  }
  fail(wanted->substr(command.size() + 1));
}

// --- containers

// One that podman has to ask twice for is not there.
std::optional<std::string> find(const std::string& id_or_name) {
  if (id_or_name.find('/') != std::string::npos) return std::nullopt;
  if (exists(container_folder(id_or_name))) return id_or_name;
  std::array<char, 100> target{};
  const auto link = in_state("names/" + id_or_name);
  const auto size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return std::nullopt;
  std::string id(target.data(), static_cast<std::size_t>(size));
  return exists(container_folder(id)) ? std::optional(id) : std::nullopt;
}

std::string name_of(const std::string& id_or_name) {
  const auto id = find(id_or_name);
  return id ? content_of(container_folder(*id) + "/name").value_or("") : id_or_name;
}

std::optional<pid_t> process_of(const std::string& id) {
  if (exists(exit_file(id))) return std::nullopt;
  const auto process = number_in(pid_file(id));
  return process && ::kill(*process, 0) == 0 ? process : std::nullopt;
}

struct Wanted {
  std::string name;
  std::string labels;
  std::string image;
  Words command;
};

Wanted parse_run(const Words& words) {
  Wanted wanted;
  std::size_t at = 1;
  for (; at < words.size() && words[at].starts_with("-"); ++at) {
    const auto& word = words[at];
    if (word == "--name" && at + 1 < words.size()) {
      wanted.name = words[++at];
    } else if (word.starts_with("--name=")) {
      wanted.name = word.substr(std::strlen("--name="));
    } else if (word.starts_with("--label=")) {
      const auto label = word.substr(std::strlen("--label="));
      const auto end = label.find('=');
      wanted.labels += (wanted.labels.empty() ? "" : ",") + json(label.substr(0, end)) + ":" +
                       json(end == std::string::npos ? "" : label.substr(end + 1));
    }
  }
  if (at >= words.size()) fail("an image name must be specified");
  wanted.image = words[at];
  wanted.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  const auto is_allowed = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '.' || letter == '-';
  };
  if (wanted.name.empty() || !std::all_of(wanted.name.begin(), wanted.name.end(), is_allowed))
    fail("names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument");
  return wanted;
}

std::string random_id() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) < 0) fail_by_system("getrandom");
  std::string id;
  for (const auto byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    id += kDigits[byte >> 4U];
    id += kDigits[byte & 15U];
  }
  return id;
}

std::string create(const Wanted& wanted) {
  const auto id = random_id();
  const auto fresh = container_folder(".new-" + id);
  if (::mkdir(fresh.c_str(), 0700) != 0) fail_by_system("mkdir");
  std::string command;
  for (const auto& word : wanted.command) command += (command.empty() ? "" : ",") + json(word);
  std::string arguments;
  for (const auto& word : wanted.command) arguments += word + '\0';
  if (!write_file(fresh + "/entry", "\"Id\":" + json(id) + ",\"Names\":[" + json(wanted.name) +
                                        "],\"Image\":" + json(wanted.image) + ",\"Command\":[" +
                                        command + "],\"Labels\":{" + wanted.labels + "}") ||
      !write_file(fresh + "/command", arguments) || !write_file(fresh + "/name", wanted.name))
    fail_by_system("writing the container");

  // As in podman's database, name and container appear together: a link to what is not there counts for nothing.
  const int lock = ::open(in_state("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0) fail_by_system("lock");
  if (const auto other = find(wanted.name))
    fail("creating container storage: the container name \"" + wanted.name +
         "\" is already in use by " + *other +
         ". You have to remove that container to be able to reuse that name: that name is already "
         "in use");
  const auto link = in_state("names/" + wanted.name);
  ::unlink(link.c_str());
  if (::symlink(id.c_str(), link.c_str()) != 0) fail_by_system("symlink");
  if (::rename(fresh.c_str(), container_folder(id).c_str()) != 0) fail_by_system("rename");
  ::close(lock);
  return id;
}

// Returns once the container's process is there.
void start(const std::string& id) {
  ::unlink(exit_file(id).c_str());
  ::unlink(pid_file(id).c_str());
  std::array<int, 2> ready{};
  if (::pipe(ready.data()) != 0) fail_by_system("pipe");
  const pid_t child = ::fork();
  if (child < 0) fail_by_system("fork");
  if (child == 0) {
    ::setsid();
    if (::fork() > 0) ::_exit(0);  // conmon belongs to nobody
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; ++descriptor) ::dup2(nothing, descriptor);
    ::dup2(ready[1], 3);
    ::close_range(4, ~0U, 0);
    const auto exits = in_state("exits");
    const auto folder = container_folder(id);
    const auto pid = pid_file(id);
    ::execl("/proc/self/exe", "conmon", "-c", id.c_str(), "--exit-dir", exits.c_str(), "-b",
            folder.c_str(), "-p", pid.c_str(), nullptr);
    ::_exit(1);
  }
  ::close(ready[1]);
  ::waitpid(child, nullptr, 0);
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) fail("conmon did not start the container");
  ::close(ready[0]);
}

// --- the other two programs

[[noreturn]] void be_the_container(const Words& command) {
  ::prctl(PR_SET_NAME, "stub-container");
  ::close(3);
  if (command.size() == 2 && command[0] == "exit") ::_exit(std::atoi(command[1].c_str()));
  for (;;) ::pause();
}

int be_conmon(const Words& words) {
  const auto& id = words[2];
  const auto& exits = words[4];
  state_folder = exits.substr(0, exits.rfind('/'));
  Words command;
  const auto arguments = content_of(container_folder(id) + "/command").value_or("");
  for (std::size_t at = 0; at < arguments.size(); at += command.back().size() + 1)
    command.emplace_back(arguments.c_str() + at);
  // Before there is a container, so that no signal comes too early.
  std::signal(SIGUSR1, [](int) { ::_exit(0); });
  const pid_t container = ::fork();
  if (container == 0) be_the_container(command);
  if (container < 0 || !write_file(pid_file(id), std::to_string(container))) return 1;
  if (::write(3, "1", 1) != 1) {
    // podman is gone; the container is not
  }
  ::close(3);
  int status = 0;
  while (::waitpid(container, &status, 0) < 0 && errno == EINTR) continue;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  return write_file(exit_file(id), std::to_string(code)) ? 0 : 1;
}

// --- commands

int run(const Words& words, bool starts) {
  const auto wanted = parse_run(words);
  std::string call = words.front() + ' ' + wanted.name + ' ' + wanted.image;
  for (const auto& word : wanted.command) call += ' ' + word;
  note(call);
  step("run:begin");
  fail_if_wanted("run");
  const auto id = create(wanted);
  step("run:created");
  if (starts) start(id);
  step("run:started");
  std::printf("%s\n", id.c_str());
  std::fflush(stdout);
  step("run:printed");
  return 0;
}

int start_again(const Words& words) {
  note("start " + name_of(words.back()));
  step("start:begin");
  fail_if_wanted("start");
  const auto id = find(words.back());
  if (!id) fail("no container with name or ID \"" + words.back() + "\" found: no such container");
  if (!process_of(*id)) start(*id);
  step("start:started");
  std::printf("%s\n", words.back().c_str());
  return 0;
}

int stop(const Words& words, int signal, bool waits) {
  const auto& command = words.front();
  note(command + ' ' + name_of(words.back()));
  step(command + ":begin");
  fail_if_wanted(command);
  const auto id = find(words.back());
  if (!id && waits) return 0;  // --ignore
  if (!id) fail("no container with name or ID \"" + words.back() + "\" found: no such container");
  if (const auto process = process_of(*id)) {
    ::kill(*process, signal);
    step(command + ":signalled");
    // The file comes a moment after the end; never, when somebody killed conmon.
    for (int left = kPatience; waits && left > 0 && !exists(exit_file(*id)); ::usleep(kPause))
      if (::kill(*process, 0) != 0) --left;
  }
  std::printf("%s\n", words.back().c_str());
  std::fflush(stdout);
  step(command + ":done");
  return 0;
}

int remove(const Words& words) {
  note("rm " + name_of(words.back()));
  step("rm:begin");
  fail_if_wanted("rm");
  const auto id = find(words.back());
  if (!id) return 0;  // --ignore
  if (process_of(*id))
    fail("cannot remove container " + *id +
             " as it is running - running or paused containers cannot be removed without force: "
             "container state improper",
         kNotStopped);
  const auto name = content_of(container_folder(*id) + "/name").value_or("");
  const auto old = container_folder(".old-" + *id);
  if (::rename(container_folder(*id).c_str(), old.c_str()) != 0) fail_by_system("rename");
  for (const auto* file : {"/entry", "/command", "/name", "/pid"}) ::unlink((old + file).c_str());
  ::rmdir(old.c_str());
  ::unlink(exit_file(*id).c_str());
  // The name may be another's already.
  if (!find(name)) ::unlink(in_state("names/" + name).c_str());
  std::printf("%s\n", words.back().c_str());
  std::fflush(stdout);
  step("rm:done");
  return 0;
}

int show_logs(const Words& words) {
  std::string call = "logs " + name_of(words.back());
  for (std::size_t at = 1; at + 1 < words.size(); ++at) call += ' ' + words[at];
  note(call);
  fail_if_wanted("logs");
  const auto lines = content_of(in_state("logs")).value_or("");
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
  while (std::find(words.begin(), words.end(), "-f") != words.end()) ::pause();
  return 0;
}

int list() {
  step("ps:begin");
  fail_if_wanted("ps");
  std::string output = "[";
  DIR* folder = ::opendir(in_state("containers").c_str());
  if (folder == nullptr) fail_by_system("containers");
  while (const auto* each = ::readdir(folder)) {
    const std::string id = each->d_name;
    if (id.starts_with(".")) continue;
    const auto entry = content_of(container_folder(id) + "/entry");
    if (!entry) continue;  // removed meanwhile
    const auto process = number_in(pid_file(id));
    const auto code = number_in(exit_file(id));
    const auto* state = code ? "exited" : process ? "running" : "created";
    output += (output.size() > 1 ? "," : "") + std::string("{") + *entry +
              ",\"State\":" + json(state) + ",\"ExitCode\":" + std::to_string(code.value_or(0)) +
              ",\"Pid\":" + std::to_string(code ? 0 : process.value_or(0)) + "}\n";
  }
  ::closedir(folder);
  output += "]\n";
  std::fwrite(output.data(), 1, output.size(), stdout);
  std::fflush(stdout);
  step("ps:printed");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Words all(argv, argv + argc);
  if (all[0] == "conmon") return be_conmon(all);
  const auto* folder = std::getenv("STUB_PODMAN");
  if (folder == nullptr) fail("STUB_PODMAN names no folder");
  state_folder = folder;
  for (const auto* below : {"containers", "names", "exits"})
    if (::mkdir(in_state(below).c_str(), 0700) != 0 && errno != EEXIST) fail_by_system(below);
  const Words words(all.begin() + 1, all.end());
  const auto command = words.empty() ? std::string() : words[0];
  if (command == "run") return run(words, true);
  if (command == "create") return run(words, false);
  if (command == "start") return start_again(words);
  if (command == "stop") return stop(words, SIGKILL, true);
  if (command == "kill" && words.size() == 4)
    return stop(words, std::atoi(words[2].c_str()), false);
  if (command == "rm") return remove(words);
  if (command == "logs") return show_logs(words);
  if (command == "ps") return list();
  fail("unrecognized command `podman " + command + "`");
}
