// Stands for a library in the same process that contains ruy itself and exports
// its names: calls that are bound to it by mistake tell so and end the program.
#include <cstdio>
#include <cstdlib>

namespace ruy {

namespace {
void WrongRuy(const char* name) {
  std::fprintf(stderr, "%s: bound to the other library\n", name);
  std::abort();
}
}  // namespace

class Ctx;
class Context {
 public:
  Context();
  ~Context();
  int max_num_threads() const;
};
Context::Context() { WrongRuy("Context"); }
Context::~Context() { WrongRuy("~Context"); }
int Context::max_num_threads() const {
  WrongRuy("max_num_threads");
  return 0;
}

class Layout {
 public:
  void set_rows(int value);
  void set_cols(int value);
};
void Layout::set_rows(int) { WrongRuy("Layout::set_rows"); }
void Layout::set_cols(int) { WrongRuy("Layout::set_cols"); }

template <typename T>
class Matrix {
 public:
  void set_data(const T*) { WrongRuy("Matrix::set_data"); }
  Layout* mutable_layout() {
    WrongRuy("Matrix::mutable_layout");
    return nullptr;
  }
};
template class Matrix<float>;
template class Matrix<signed char>;

struct Task {
  virtual ~Task();
  virtual void Run() = 0;
};
Task::~Task() { WrongRuy("~Task"); }

Ctx* get_ctx(Context* context);
Ctx* get_ctx(Context*) {
  WrongRuy("get_ctx");
  return nullptr;
}

}  // namespace ruy
