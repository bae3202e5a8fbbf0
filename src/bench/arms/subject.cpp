#include "bench/arms/subject.h"

#include <chrono>
#include <cstring>
#include <functional>

#include <nlohmann/json.hpp>

#include "verify/module_run.h"
#include "verify/standard_inputs.h"
#include "verify/team.h"
#if LANEFOLD_JIT
#include "driver/cpu/row_kernel.h"
#include "runtime/cpu/executor.h"
#endif
#if LANEFOLD_CUDA
#include "bench/arms/cuda_sets.h"
#include "bench/arms/cuda_subject.h"
#endif

namespace lanefold::bench {

using Clock = std::chrono::steady_clock;

namespace {

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

struct Subject::State {
  SubjectRequest request;
  std::optional<verify::Instance> instance;
  std::shared_ptr<SubjectMemory> memory;
  std::optional<verify::ModuleMeaning> meaning;
  std::vector<std::pair<std::size_t, std::vector<std::byte>>> inouts;  ///< first contents
  std::vector<PhaseRecord> phases;
  std::optional<plan::Plan> realised;
  std::vector<verify::StagePlan> stages;
  const lane::Module* ran = nullptr;
  unsigned threads = 1;
  std::function<Status()> launch;
#if LANEFOLD_JIT
  std::shared_ptr<runtime::Executor> executor;
  std::unique_ptr<verify::Device> staged;
  std::unique_ptr<driver::RowKernel> row_kernel;
  std::vector<View> inputs, outputs;
  std::optional<verify::CpuModule> module;
  std::optional<verify::CpuLaunches> launches;
#endif
#if LANEFOLD_CUDA
  std::unique_ptr<CudaSubject> cuda;
  bool refilled = true;  ///< the host's memory has what the device's has yet to get
  bool behind = false;   ///< the host's memory has yet to get the outputs
#endif

  void phase(const char* name, Clock::time_point begin) { phases.push_back({name, microseconds_since(begin)}); }
  void fill_standard();
  double upload_again();
  void begin_afresh();
  Status open();
  Status call_once();
  /// Lets the host's memory hold what the last call has stored.
  void fetch();
#if LANEFOLD_CUDA
  Status open_cuda();
  Status send();
#endif
#if LANEFOLD_JIT
  Status open_row_kernel();
  Status open_stages();
  runtime::Call bind_program();
  Status open_module();
#endif
};

/// Copies the inputs out, and back in: the time of the way in, µs. A device of its own memory would get them like this.
double Subject::State::upload_again() {
  std::vector<std::pair<std::size_t, std::vector<std::byte>>> contents;
  for (std::size_t b = 0; b < memory->buffers().size(); ++b)
    if (memory->buffers()[b].role != lane::Role::output) contents.emplace_back(b, memory->bytes(b));
  const auto begin = Clock::now();
  for (const auto& [buffer, bytes] : contents) std::memcpy(memory->view(buffer).data, bytes.data(), bytes.size());
  return microseconds_since(begin);
}

/// After the inputs were filled: keeps what calls will change, poisons outputs, and takes the meaning.
void Subject::State::begin_afresh() {
  inouts.clear();
  for (std::size_t b = 0; b < memory->buffers().size(); ++b)
    if (memory->buffers()[b].role == lane::Role::inout) inouts.emplace_back(b, memory->bytes(b));
  memory->poison_outputs();
  meaning.emplace(*instance, *memory);
#if LANEFOLD_CUDA
  refilled = true;
  behind = false;
#endif
}

/// Row programs get the dyadic numbers of the protocol, whose sums are exact; modules numbers of about 1.
void Subject::State::fill_standard() {
  if (!instance->program) {
    verify::fill_inputs(*memory, *instance, verify::Pattern::plain, 1);
    return;
  }
  const ir::Program& program = *instance->program;
  std::vector<View> views;
  for (const ir::Input& input : program.inputs)
    views.push_back(verify::program_matrix(*instance, *memory, input.name, input.kind));
  verify::fill_standard(program, views, instance->cols);
}

#if LANEFOLD_JIT
Status Subject::State::open_row_kernel() {
  const verify::DeviceOptions& options = request.instance.options;
  driver::CompileOptions compile;
  compile.target = options.target;
  compile.order = instance->order;
  compile.cost_basis = options.cost_basis;
  compile.layout = options.layout;
  compile.stripe = options.stripe;
  // A plan that the kernel's name brings was read with the instance, which then carries it.
  if (options.plan || !request.kernel.plan_path.empty()) compile.plan = instance->plan;
  compile.cache = driver::KernelCache(request.code_folder);
  if (!options.tuned) compile.tuned = driver::TunedPlans(std::nullopt);
  LANEFOLD_TRY(row_kernel, driver::RowKernel::create(*instance->program, std::move(compile)));
  const runtime::Call call = bind_program();
  LANEFOLD_TRY(const driver::ClassKernel* kernel, row_kernel->prepare(call));
  for (const driver::PhaseTime& time : kernel->times) phases.push_back({time.phase, time.microseconds});
  realised = kernel->plan;
  ran = &kernel->module;
  launch = [this, call] { return row_kernel->run(call, *executor); };
  return success();
}

/// A call on the memory, which stays with the state.
runtime::Call Subject::State::bind_program() {
  for (const ir::Input& input : instance->program->inputs)
    inputs.push_back(verify::program_matrix(*instance, *memory, input.name, input.kind));
  for (const ir::Store& store : instance->program->stores)
    outputs.push_back(verify::program_matrix(*instance, *memory, store.name, store.kind));
  return {inputs, outputs, instance->parameters, instance->rows, instance->cols};
}

Status Subject::State::open_stages() {
  const auto begin = Clock::now();
  verify::DeviceOptions options = request.instance.options;
  options.order = instance->order;
  options.disk_cache = false;
  LANEFOLD_TRY(staged, verify::open(*instance->program, options, executor));
  const runtime::Call call = bind_program();
  LANEFOLD_CHECK(staged->plan(call));
  phase("compile", begin);
  plan::Request asked;
  asked.rows = instance->rows;
  asked.cols = instance->cols;
  asked.order = instance->order;
  asked.cost_basis = options.cost_basis;
  LANEFOLD_TRY(stages, verify::plan_stages(*instance->program, options.target, asked, true));
  ran = &instance->module;
  launch = [this, call] { return staged->run(call); };
  return success();
}

Status Subject::State::open_module() {
  const auto begin = Clock::now();
  LANEFOLD_TRY(module, verify::CpuModule::compile(*instance, request.instance.options.target));
  phase("compile", begin);
  LANEFOLD_TRY(launches, module->bind(*memory));
  realised = instance->plan;
  ran = &instance->module;
  launch = [this] {
    launches->run(*executor);
    return success();
  };
  return success();
}
#endif

#if LANEFOLD_CUDA
Status Subject::State::open_cuda() {
  const bool through_row_kernel = instance->program && !request.as_module && !verify::names_lane_module(request.kernel);
  LANEFOLD_TRY(cuda, CudaSubject::open(request, *instance, *memory, through_row_kernel));
  phases.insert(phases.end(), cuda->phases.begin(), cuda->phases.end());
  realised = cuda->plan;
  ran = cuda->row_kernel ? &cuda->row_kernel->module : &instance->module;
  threads = 0;
  launch = [this] { return cuda->timer->once(); };
  return success();
}

Status Subject::State::send() {
  if (refilled) LANEFOLD_CHECK(memory->cuda->upload(*memory));
  refilled = false;
  behind = true;
  return success();
}
#endif

Status Subject::State::call_once() {
#if LANEFOLD_CUDA
  if (cuda) LANEFOLD_CHECK(send());
#endif
  return launch();
}

void Subject::State::fetch() {
#if LANEFOLD_CUDA
  if (!cuda || !behind) return;
  behind = false;
  if (const Status fetched = memory->cuda->fetch(*memory); !fetched)
    internal_error("bench: outputs of a call that has ended cannot be copied: " + fetched.error().text());
#endif
}

Status Subject::State::open() {
  LANEFOLD_CHECK(check_timed_device(request.instance.options.device));
#if LANEFOLD_CUDA
  if (request.instance.options.device == "cuda") return open_cuda();
#endif
  if (!verify::runs_here(request.instance.options.target))
    return Diagnostic{Code::target_not_here,
                      "this machine's processor does not run " + request.instance.options.target.name + "; it runs " +
                          target::host().name,
                      "measure where that target is at home", request.kernel.text};
#if LANEFOLD_JIT
  const auto begin = Clock::now();
  executor = std::make_shared<runtime::Executor>(request.instance.options.threads);
  threads = executor->threads();
  phase("setup", begin);
  if (instance->module.kernels.empty()) return open_stages();
  const bool through_row_kernel = instance->program && !request.as_module && !verify::names_lane_module(request.kernel);
  return through_row_kernel ? open_row_kernel() : open_module();
#else
  internal_error("bench: the device " + request.instance.options.device + " is listed but cannot be opened");
#endif
}

Result<std::unique_ptr<Subject>> Subject::make(const SubjectRequest& request, std::shared_ptr<SubjectMemory> memory) {
  auto state = std::make_unique<State>();
  state->request = request;
  auto begin = Clock::now();
  LANEFOLD_TRY(state->instance, verify::make_instance(request.kernel, request.instance));
  if (!state->instance->program || request.as_module || verify::names_lane_module(request.kernel))
    state->phase("lower", begin);
  begin = Clock::now();
  state->memory = memory ? std::move(memory) : std::make_shared<SubjectMemory>(state->instance->buffers);
  const double allocated = microseconds_since(begin);
  state->fill_standard();
  const bool has_memory_of_its_own = request.instance.options.device != "cpu";
  const double uploaded = has_memory_of_its_own ? 0 : state->upload_again();
  LANEFOLD_CHECK(state->open());
  for (PhaseRecord& phase : state->phases)
    if (phase.phase == "setup") phase.us += allocated;
  if (!has_memory_of_its_own) state->phases.push_back({"upload", uploaded});
  state->begin_afresh();
#if LANEFOLD_CUDA
  if (state->cuda) LANEFOLD_CHECK(state->send());
#endif
  begin = Clock::now();
  LANEFOLD_CHECK(state->launch());
  state->phase("first_call", begin);
  auto subject = std::unique_ptr<Subject>(new Subject(std::move(state)));
  begin = Clock::now();
  (void)subject->outputs();
  subject->state_->phase("download", begin);
  return subject;
}

Subject::Subject(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subject::~Subject() = default;

const verify::Instance& Subject::instance() const { return *state_->instance; }
const std::shared_ptr<SubjectMemory>& Subject::memory() const { return state_->memory; }
const lane::Module& Subject::module() const { return *state_->ran; }
unsigned Subject::threads() const { return state_->threads; }
const std::vector<PhaseRecord>& Subject::phases() const { return state_->phases; }
const std::optional<plan::Plan>& Subject::realised() const { return state_->realised; }

const std::vector<verify::StagePlan>& Subject::stages() const { return state_->stages; }

void Subject::refill(verify::Pattern pattern, std::uint64_t seed) {
  verify::fill_inputs(*state_->memory, *state_->instance, pattern, seed);
  state_->begin_afresh();
}

void Subject::refill_standard() {
  state_->fill_standard();
  state_->begin_afresh();
}

Status Subject::run_once() { return state_->call_once(); }

const std::string& Subject::source() const {
  static const std::string none;
#if LANEFOLD_CUDA
  if (state_->cuda) return state_->cuda->source;
#endif
  return none;
}

const std::vector<ResourceRecord>& Subject::resources() const {
  static const std::vector<ResourceRecord> none;
#if LANEFOLD_CUDA
  if (state_->cuda) return state_->cuda->resources;
#endif
  return none;
}

Result<std::vector<double>> Subject::enqueue_us([[maybe_unused]] int samples) const {
#if LANEFOLD_CUDA
  if (state_->cuda) return state_->cuda->timer->enqueue_us(samples);
#endif
  return std::vector<double>();
}

verify::CheckReport Subject::compare() const { return compare(state_->instance->tolerance); }
verify::CheckReport Subject::compare(const verify::Tolerance& tolerance) const {
  state_->fetch();
  return state_->meaning->compare(tolerance);
}

std::vector<std::vector<std::byte>> Subject::outputs() const {
  state_->fetch();
  std::vector<std::vector<std::byte>> all;
  for (std::size_t b = 0; b < state_->memory->buffers().size(); ++b)
    if (state_->memory->buffers()[b].role != lane::Role::input) all.push_back(state_->memory->bytes(b));
  return all;
}

void Subject::put_outputs(const std::vector<std::vector<std::byte>>& contents) {
  state_->fetch();
  std::size_t next = 0;
  for (std::size_t b = 0; b < state_->memory->buffers().size(); ++b) {
    if (state_->memory->buffers()[b].role == lane::Role::input) continue;
    const std::vector<std::byte>& bytes = contents.at(next++);
    std::memcpy(state_->memory->view(b).data, bytes.data(), bytes.size());
  }
}

namespace {

std::int64_t bytes_of(const verify::ModuleMemory& memory, lane::Role none) {
  std::int64_t bytes = 0;
  for (const verify::ModuleBuffer& buffer : memory.buffers())
    if (buffer.role != none) bytes += buffer.elements() * static_cast<std::int64_t>(element_bytes(buffer.type));
  return bytes;
}

}  // namespace

std::int64_t Subject::bytes_read() const {
  return state_->request.launches * bytes_of(*state_->memory, lane::Role::output);
}
std::int64_t Subject::bytes_written() const {
  return state_->request.launches * bytes_of(*state_->memory, lane::Role::input);
}

Result<Timing> Subject::run(std::uint64_t calls) {
  const std::function<Status()>& launch = state_->launch;
  const std::uint64_t launches = calls * static_cast<std::uint64_t>(state_->request.launches);
#if LANEFOLD_CUDA
  if (state_->cuda) {
    LANEFOLD_CHECK(state_->send());
    return state_->cuda->timer->run(launches);
  }
#endif
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < launches; ++i) LANEFOLD_CHECK(launch());
  Timing timing;
  timing.wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  return timing;
}

Status Subject::restore() {
  for (const auto& [buffer, bytes] : state_->inouts)
    std::memcpy(state_->memory->view(buffer).data, bytes.data(), bytes.size());
#if LANEFOLD_CUDA
  // Kernels without inouts store the same in every call.
  if (state_->cuda && !state_->inouts.empty()) state_->refilled = true;
#endif
  return success();
}

Status check_timed_device(std::string_view device) {
  LANEFOLD_CHECK(verify::check_device(device));
  if (device != "lane-machine") return success();
  return Diagnostic{Code::device_not_timed,
                    "the lane machine interprets a kernel statement by statement, so its time says nothing about it",
                    "use --device cpu; `lanefold count` compares kernels without a clock", "--device"};
}

std::string plan_identity(const plan::Plan& plan) {
  plan::Plan bare = plan;
  bare.candidates.clear();
  return plan::to_json(bare);
}

}  // namespace lanefold::bench
