// ScopeLabel and ScopeProfile of programs with RUY_PROFILER: a tree of times
// for each thread, of labels and of ruy_like's spans.
#include "ruy/profiler/profiler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ruy_like/diagnostics/trace.h"

namespace ruy::profiler::detail {
namespace {

using Clock = std::chrono::steady_clock;

struct Node {
  Node(std::string name, Node* above) : label(std::move(name)), parent(above) {}

  Node* Child(const std::string& name) {
    for (const auto& child : children) {
      if (child->label == name) return child.get();
    }
    children.push_back(std::make_unique<Node>(name, this));
    return children.back().get();
  }

  const std::string label;
  Node* const parent;
  std::vector<std::unique_ptr<Node>> children;
  std::int64_t calls = 0;
  Clock::duration time{};
  Clock::time_point start;
};

// The mutex is its thread's but at the end of a profile. A label that outlives
// its profile ends at the root of the next one's tree: scopes nest.
struct ThreadTree {
  std::mutex mutex;
  int profile = 0;
  std::unique_ptr<Node> root;
  Node* current = nullptr;
  int lost = 0;  // labels that there was no memory for, within `current`
};

std::mutex mutex;  // of the list; locked before trees' own
std::vector<std::shared_ptr<ThreadTree>>& Trees() {
  // Never destroyed: threads may outlive static objects.
  static auto* const trees = new std::vector<std::shared_ptr<ThreadTree>>;
  return *trees;
}
std::atomic<int> profiles{0};  // so far

ThreadTree* ThisThread() {
  thread_local const std::shared_ptr<ThreadTree> tree = [] {
    auto made = std::make_shared<ThreadTree>();
    const std::lock_guard<std::mutex> lock(mutex);
    Trees().push_back(made);
    return made;
  }();
  return tree.get();
}

void Begin(const char* label) {
  try {
    ThreadTree* const tree = ThisThread();
    const std::lock_guard<std::mutex> lock(tree->mutex);
    if (tree->profile != profiles) {
      tree->root = std::make_unique<Node>("", nullptr);
      tree->current = tree->root.get();
      tree->profile = profiles;
      tree->lost = 0;
    }
    try {
      Node* const node = tree->current->Child(label);
      node->start = Clock::now();
      tree->current = node;
    } catch (const std::bad_alloc&) {
      ++tree->lost;
    }
  } catch (const std::bad_alloc&) {
  }
}

void End() {
  const Clock::time_point now = Clock::now();
  try {
    ThreadTree* const tree = ThisThread();
    const std::lock_guard<std::mutex> lock(tree->mutex);
    Node* const node = tree->current;
    if (tree->lost > 0) {
      --tree->lost;
    } else if (node != nullptr && node->parent != nullptr) {
      ++node->calls;
      node->time += now - node->start;
      tree->current = node->parent;
    }
  } catch (const std::bad_alloc&) {
  }
}

constexpr ruy_like::SpanListener kListener = {&Begin, &End};

double Ms(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Clock::duration TimeOfChildren(const Node& node) {
  Clock::duration time{};
  for (const auto& child : node.children) time += child->time;
  return time;
}

void PrintLine(double share, Clock::duration time, int depth,
               const char* label) {
  std::printf("%6.2f%% %12.3f ms  %*s%s", 100 * share, Ms(time), 2 * depth, "",
              label);
}

void PrintChildren(const Node& node, Clock::duration whole, int depth) {
  const auto share = [whole](Clock::duration time) {
    return whole.count() == 0 ? 0 : Ms(time) / Ms(whole);
  };
  for (const auto& child : node.children) {
    PrintLine(share(child->time), child->time, depth, child->label.c_str());
    std::printf(" (%lld)\n", static_cast<long long>(child->calls));
    PrintChildren(*child, whole, depth + 1);
  }
  const Clock::duration rest = node.time - TimeOfChildren(node);
  if (depth > 0 && !node.children.empty() && rest.count() > 0) {
    PrintLine(share(rest), rest, depth, "[other]\n");
  }
}

}  // namespace

std::atomic<bool> is_profiling{false};

void BeginLabel(const char* format, ...) {
  char label[200];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(label, sizeof(label), format, arguments);
  va_end(arguments);
  Begin(label);
}

void EndLabel() { End(); }

void BeginProfile() {
  ++profiles;
  ruy_like::SetSpanListener(&kListener);
  is_profiling = true;
}

void EndProfile() {
  is_profiling = false;
  ruy_like::SetSpanListener(nullptr);
  const std::lock_guard<std::mutex> lock(mutex);
  int number = 0;
  for (const auto& tree : Trees()) {
    const std::lock_guard<std::mutex> tree_lock(tree->mutex);
    if (tree->profile != profiles) continue;
    const Clock::duration whole = TimeOfChildren(*tree->root);
    std::printf("Profile of thread %d (%.3f ms)\n", ++number, Ms(whole));
    PrintChildren(*tree->root, whole, 0);
  }
  // Nobody else holds the tree of a thread that has ended.
  const auto has_ended = [](const auto& tree) { return tree.use_count() == 1; };
  Trees().erase(std::remove_if(Trees().begin(), Trees().end(), has_ended),
                Trees().end());
}

}  // namespace ruy::profiler::detail
