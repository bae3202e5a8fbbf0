// How lane statements read in CUDA C++.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/common/body_writer.h"
#include "emit/common/dialect.h"
#include "emit/cuda/cuda_argmax.h"
#include "emit/cuda/cuda_helpers.h"
#include "emit/cuda/cuda_known.h"
#include "emit/cuda/cuda_source.h"

namespace lanefold::emit {

class CudaDialect : public Dialect {
 public:
  explicit CudaDialect(const CudaOptions& options) : options_(options) {}

  std::string_view type(ElementType type) const override;
  Expression constant(ElementType type, std::uint64_t bits) const override;
  std::string leaf(lane::Op op) override;
  Expression operation(const lane::Statement& s, std::span<const Expression> operands, ElementType result,
                       bool may_wrap) override;
  std::string argument(const Expression& value) const override;
  std::optional<Expression> call(BodyWriter& writer, const lane::Statement& s, const lane::Function& function,
                                 std::span<const Expression> arguments) override;
  void begin_body(BodyWriter& writer, const lane::Module& module, const std::vector<lane::Statement>& body) override;
  bool own_statement(BodyWriter& writer, const lane::Statement& s) override;
  std::size_t most_together(const lane::Function& function) override;
  bool calls_together(BodyWriter& writer, const lane::Function& function,
                      std::span<const lane::Statement* const> calls) override;
  /// To be called where a kernel begins: what its body declares is its own. The lines that stand before the body, after its arrays.
  std::string begin_kernel(BodyWriter& writer, const lane::Kernel& kernel);
  std::optional<Expression> device_function(const lane::Function& function,
                                            std::span<const Expression> arguments) override;
  Expression by_bit(std::uint32_t bit, const Expression& clear, const Expression& set) override;
  Expression trade(std::uint32_t bit, const Expression& clear, const Expression& set) override;
  Expression swap(std::uint32_t distance, const Expression& value) override;
  std::string loop_hint(const lane::Statement& loop, std::optional<std::int64_t> trips) override;
  void load(BodyWriter& writer, const lane::Statement& s) override;
  bool has_guarded(const BodyWriter& writer, const lane::Statement& load) override;
  void declare_guarded(BodyWriter& writer, const lane::Statement& load) override;
  void load_guarded(BodyWriter& writer, const lane::Statement& load) override;
  void get_guarded(BodyWriter& writer, const lane::Statement& get, const lane::Statement& load) override;
  void store(BodyWriter& writer, const lane::Statement& s) override;
  void shared_load(BodyWriter& writer, const lane::Statement& s) override;
  void shared_store(BodyWriter& writer, const lane::Statement& s) override;
  void shuffle(BodyWriter& writer, const lane::Statement& s) override;
  void barrier(BodyWriter& writer, const lane::Statement& s) override;
  void exchange(BodyWriter& writer, const lane::Statement& s) override;

  /// The type of an element in memory.
  std::string storage_type(ElementType type);
  const CudaHelpers& helpers() const { return helpers_; }
  /// Tables of permutations, to stand before the kernels.
  const std::string& tables() const { return tables_; }

 private:
  Expression helper(std::string_view name, std::initializer_list<std::string> arguments, ElementType type);
  Expression real(const lane::Statement& s, std::span<const Expression> operands);
  std::optional<Expression> clamp(std::span<const Expression> operands);
  Expression exact_real(const lane::Statement& s, std::span<const Expression> operands);
  Expression integer(const lane::Statement& s, std::span<const Expression> operands, ElementType type, bool may_wrap);
  Expression convert(const Expression& value, ElementType to);
  Expression widened(std::string element, ElementType storage);
  std::string narrowed(const Expression& value, ElementType storage);
  Expression element_of_word(const std::string& word, std::uint32_t index, ElementType storage);
  std::string packed_word(std::span<const Expression> values, ElementType storage);
  /// Gives the statement's result of this index: element `i` of `words`, a variable of the built-in type of `count` elements.
  void give_element(BodyWriter& writer, const lane::Statement& s, std::uint32_t index, const std::string& words,
                    std::uint32_t count, std::uint32_t i, ElementType storage);
  /// The vector at a pointer, as a load reads it.
  std::string load_text(const lane::Statement& s, const std::string& from, const std::string& type);
  /// The last sweep that unpacks one of `count` results of the load from `first` on, if any stays packed.
  std::optional<std::uint32_t> last_packed(const lane::Statement& s, std::uint32_t first, std::uint32_t count) const;
  bool choose_half(BodyWriter& writer, const lane::Statement& s);
  /// Finds what stays packed between sweeps.
  void find_packed(BodyWriter& writer, const std::vector<lane::Statement>& body);
  /// Where a sweep has ended: what is packed is unpacked again by those that follow.
  void begin_sweep(BodyWriter& writer);
  void load_piece(BodyWriter& writer, const lane::Statement& s, const Expression& address, std::uint32_t first,
                  std::uint32_t count);
  void store_piece(BodyWriter& writer, const lane::Statement& s, const Expression& address, std::uint32_t first,
                   std::span<const Expression> values);
  /// Finds the calls of quantize by a 127th of a maximum in which the numerator's size is.
  void find_bounded(const lane::Module& module, const std::vector<lane::Statement>& body);
  /// Writes as many calls of quantize in each block, which has one divisor.
  void quantize_blocks(BodyWriter& writer, std::span<const std::span<const lane::Statement* const>> blocks);
  bool pair_operation(BodyWriter& writer, const lane::Statement& s);
  /// Of two chains of steps: the word whose halves are an element of each, the flag of the lanes that take it, and what its columns are.
  struct ChainWord {
    std::string text;
    std::optional<lane::ValueId> flag = {};
    lane::ValueId base = 0;
    std::uint32_t offsets = 0;  ///< from the base on, of the low half and of the high half
  };
  std::optional<ChainWord> chain_word(const BodyWriter& writer, const std::array<const StepChain*, 2>& chains,
                                      std::size_t i) const;
  /// Writes two chains of steps as one where the first of them begins, as far as their elements are halves of words.
  bool leading_pairs(BodyWriter& writer, const lane::Statement& s);
  void write_chains(BodyWriter& writer, const std::array<const StepChain*, 2>& chains,
                    const std::vector<ChainWord>& words);
  /// Writes a merge of all lanes as reductions of the device.
  bool leading_lane(BodyWriter& writer, const lane::Statement& s);
  bool exponentials(BodyWriter& writer, std::span<const lane::Statement* const> calls);
  /// Whether all arguments of the calls are at least -86: a flag that is declared once for a subtrahend; nothing where they are not all
  /// differences of halves of words and one number, or of words that the flag does not know.
  std::optional<std::string> nearness(BodyWriter& writer, std::span<const lane::Statement* const> calls);
  /// The word that the value is a half of, or null.
  const std::string* word_of(lane::ValueId value) const;
  Expression permuted(BodyWriter& writer, const lane::Statement& s);

  CudaOptions options_;
  CudaHelpers helpers_;
  /// An exchange of a cluster and what stands for it: the barrier in shared memory, and the variable that tells its turns apart
  /// where it stands in a loop.
  struct Exchange {
    std::string arrived, turn;
  };
  std::vector<Exchange> exchanges_;  ///< of the kernel, as they stand in its text
  std::size_t next_exchange_ = 0;
  bool is_spread_ = false;         ///< whether threadgroups share a row: such rows fill the registers of their workers
  bool cluster_is_ready_ = false;  ///< whether all blocks of the cluster are known to have begun
  std::map<lane::ValueId, std::string> divisors_;  ///< of quantize, with what is made of each once
  std::set<lane::ValueId>
      bounded_;  ///< results of quantize that are within 127 without a limit, unless the divisor is far from 1
  std::map<const lane::Function*, std::size_t> most_together_;
  /// A value that is one half of a word of two bf16.
  struct Half {
    std::string word;
    std::uint32_t index = 0;
  };
  std::map<lane::ValueId, Half> halves_;
  std::vector<Known> known_;  ///< what the module's functions are
  StepChains chains_;
  std::set<const lane::Statement*> written_;  ///< statements of chains that have been written with an earlier one
  /// Values that are halves of words, with the last sweep that unpacks them: they are never held unpacked between sweeps.
  std::map<lane::ValueId, std::uint32_t> packed_;
  /// Sums, differences and products of them and one number for all: every sweep computes them again.
  std::set<lane::ValueId> derived_;
  /// A variable that holds packed words, with its type and the last sweep that uses it.
  struct PackedWords {
    std::string name, type;
    std::uint32_t last = 0;
  };
  std::vector<PackedWords> packed_words_;
  std::map<lane::ValueId, std::vector<std::string>> guarded_words_;  ///< of a load, by its first result
  /// What exp_nonpositive is called on in the body's outermost block, where it is a difference: minuend and subtrahend, by the call's result.
  std::map<lane::ValueId, std::array<lane::ValueId, 2>> minuends_;
  /// Whether every minuend of a subtrahend, of those whose words are listed, is near it.
  struct Nearness {
    std::string flag;
    std::set<std::string> words;
  };
  std::map<lane::ValueId, Nearness> nearness_;
  std::map<std::string, std::string>
      pairs_;  ///< operations on two words, by their texts, with the names of their results
  std::string tables_;
  std::uint32_t table_count_ = 0;
};

}  // namespace lanefold::emit
