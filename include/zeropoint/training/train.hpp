// train: batches through a network and back, and a step of the optimizer after each.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/model/executor.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/block_tree.hpp>
#include <zeropoint/training/checkpoint.hpp>
#include <zeropoint/training/fake_quantized.hpp>
#include <zeropoint/training/float_training.hpp>
#include <zeropoint/training/gradient_exchange.hpp>
#include <zeropoint/training/gradient_norm.hpp>
#include <zeropoint/training/random_numbers.hpp>
#include <zeropoint/training/training_data.hpp>
#include <zeropoint/training/training_error.hpp>
#include <zeropoint/training/training_options.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

/// What a worker has: a block's memory, sums of its blocks, and what it saw. Workers share nothing that is written.
template <class Arch> struct training_worker {
    block_runner<Arch> runner;
    block_tree<Arch> tree;
    std::vector<float> leaf;  // gradients of parameters, then of scale and zero point of each range
    std::vector<observed_range> seen;
    std::vector<std::int32_t> labels;
    std::vector<float> values;  // of targets or a teacher, for a block
    std::vector<const void*> inputs;

    training_worker(const tape& of, std::size_t leaf_floats)
        : runner(of),
          tree(leaf_floats),
          leaf(leaf_floats),
          seen(static_cast<std::size_t>(of.qparams_count)),
          inputs(of.inputs.size()) {}
};

/// The sums of 2^level blocks each, by as many parts as there are workers, and then of all. What comes out depends on the blocks alone.
struct block_parts {
    std::size_t blocks, level;

    std::size_t size() const { return std::size_t{1} << level; }
    std::size_t count() const { return (blocks + size() - 1) / size(); }
    static block_parts of(std::size_t blocks, std::size_t workers) {
        block_parts parts{blocks, 0};
        const std::size_t least = workers == 1 ? 1 : std::min(4 * workers, blocks);
        while (block_parts{blocks, parts.level + 1}.count() >= least && parts.count() > 1) ++parts.level;
        return parts;
    }
};

template <class Network, class Inputs, class Exchange> class trainer {
    using arch = typename Network::architecture;

public:
    trainer(Network& network, const input_samples<Network, Inputs>& samples, training_targets targets,
            const training_options& options, Exchange& ranks)
        : network_(network),
          samples_(samples),
          targets_(std::move(targets)),
          options_(options),
          ranks_(ranks),
          output_(Network::output_shape_of_training()),
          start_(std::chrono::steady_clock::now()) {
        require_valid(options, samples_.count());
        check_targets();
        batches_ =
            (samples_.count() + static_cast<std::size_t>(options.batch) - 1) / static_cast<std::size_t>(options.batch);
    }

    template <class Executor, class Progress> training_report run(const Executor& with, Progress&& progress) {
        prepare(with.workers());
        if (options_.resume) resume();
        agree();
        const std::uint64_t first_step = step_;
        for (; epoch_ != options_.epochs && !report_.was_stopped; ++epoch_, batch_ = 0, epoch_loss_ = 0) {
            const std::vector<std::uint32_t> order = order_of_epoch();
            for (; batch_ != batches_ && !report_.was_stopped;) {
                const std::size_t first = batch_ * static_cast<std::size_t>(options_.batch);
                const std::size_t count = std::min(static_cast<std::size_t>(options_.batch), order.size() - first);
                training_progress done = take_step({order.data() + first, count}, with);
                ++batch_;
                ++step_;
                tell(done, first_step);
                report_.was_stopped = ranks_.any(!go_on(progress, done));
                const bool is_last = batch_ == batches_;
                if (is_last) {
                    report_.losses.push_back(done.mean_loss);
                    require_same_values();
                }
                const bool asked =
                    options_.checkpoint_every > 0 && step_ % static_cast<std::uint64_t>(options_.checkpoint_every) == 0;
                if (!options_.checkpoint.empty() && (is_last || asked || report_.was_stopped) && ranks_.rank() == 0)
                    save();
            }
            if (report_.was_stopped) break;
        }
        if (!average_.empty()) std::copy(average_.begin(), average_.end(), network_.values().begin());
        network_.finish();
        report_.steps = step_;
        report_.seconds = seconds();
        return report_;
    }

private:
    // ---- what does not change ----

    void check_targets() const {
        const bool needs_labels = std::holds_alternative<cross_entropy>(options_.loss);
        const bool needs_values = std::holds_alternative<mean_squared_error>(options_.loss) ||
                                  std::holds_alternative<kl_divergence>(options_.loss);
        if (needs_labels && targets_.labels.empty())
            raise<value_error>(
                "train: cross_entropy needs a class for each input: train with zp::labelled(inputs, labels)");
        if (needs_values && targets_.values.empty())
            raise<value_error>("train: this loss needs target values: train with zp::paired(inputs, targets)");
        const int classes = output_.channels;
        const std::int32_t ignored =
            needs_labels ? std::get<cross_entropy>(options_.loss).ignored : cross_entropy{}.ignored;
        for (std::size_t i = 0; i != targets_.labels.size(); ++i) {
            const std::int32_t label = targets_.labels[i];
            if (label != ignored && (label < 0 || label >= classes))
                raise<value_error>("train: label " + std::to_string(i) + " is " + std::to_string(label) +
                                   ", but the network has the classes 0 to " + std::to_string(classes - 1));
        }
    }
    void prepare(int workers) {
        tape_ = network_.make_tape(std::min(options_.block != 0 ? options_.block : suitable_block(), options_.batch));
        leaf_floats_ = tape_.gradient_floats + 2 * static_cast<std::size_t>(tape_.qparams_count);
        const auto most = static_cast<std::size_t>(std::max(workers, 1));
        for (std::size_t w = 0; w != most; ++w) workers_.emplace_back(tape_, leaf_floats_);
        if (network_.has_ranges()) begin();
    }
    /// Ranks that were given other data or options than rank 0 would wait for one another; parameters are rank 0's.
    void agree() {
        if (ranks_.size() == 1) return;
        const std::uint64_t facts[] = {samples_.count(),
                                       batches_,
                                       static_cast<std::uint64_t>(tape_.block),
                                       leaf_floats_,
                                       static_cast<std::uint64_t>(options_.epochs),
                                       options_.seed,
                                       step_,
                                       workers_.size()};
        const std::uint64_t labels =
            digest_of(std::as_bytes(std::span(targets_.labels)), digest_of(std::as_bytes(std::span(facts))));
        ranks_.require_same(digest_of(std::as_bytes(targets_.values), labels),
                            "number of samples, labels, batch, block, epochs, seed, step or workers");
        share_parameters(ranks_, network_.values());
    }
    /// Ranks with another optimizer or schedule have parted by now.
    void require_same_values() {
        if (ranks_.size() > 1)
            ranks_.require_same(digest_of(std::as_bytes(network_.values())), "values of parameters after an epoch");
    }
    /// As many samples as make products with weights efficient, where their values are few enough to stay near.
    int suitable_block() const {
        const std::size_t each = network_.make_tape(2).bytes - network_.make_tape(1).bytes;
        int block = 8;
        while (block != 32 && 2 * static_cast<std::size_t>(block) * each <= std::size_t{1} << 22) block *= 2;
        return block;
    }
    /// When all that is trained is known.
    void begin() {
        const int states = optimizer_states(options_.optimizer);
        const std::size_t size = network_.values().size();
        gradient_.assign(size, 0.0f);
        first_.assign(states > 0 ? size : 0, 0.0f);
        second_.assign(states > 1 ? size : 0, 0.0f);
    }
    std::vector<std::uint32_t> order_of_epoch() const {
        if (options_.shuffle) return shuffled(samples_.count(), options_.seed, static_cast<std::uint32_t>(epoch_));
        std::vector<std::uint32_t> order(samples_.count());
        for (std::size_t i = 0; i != order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
        return order;
    }

    // ---- a step ----

    template <class Executor> training_progress take_step(std::span<const std::uint32_t> batch, const Executor& with) {
        if (!network_.has_ranges()) observe_first(batch);
        const bool quantizes = epoch_ >= options_.quantize_after;
        const bool follows = options_.freeze_observers_after < 0 || epoch_ < options_.freeze_observers_after;
        const tape_parameters parameters = quantizes ? network_.pack() : network_.floats();
        const double loss = run_blocks(batch, parameters, quantizes, with) / static_cast<double>(rows_of(batch));
        require_finite_loss(loss);
        take_gradient();
        training_progress done;
        done.gradient_norm = clip();
        update(done);
        if (follows) follow();
        epoch_loss_ += loss * static_cast<double>(batch.size());
        seen_in_epoch_ = batch_ == 0 ? batch.size() : seen_in_epoch_ + batch.size();
        done.loss = loss;
        return done;
    }
    /// Of which a loss is the mean: samples, or labels that count.
    std::size_t rows_of(std::span<const std::uint32_t> batch) const {
        if (const auto* classes = std::get_if<cross_entropy>(&options_.loss)) {
            std::size_t rows = 0;
            for (const std::uint32_t i : batch) rows += classes->counted(labels_of(i));
            return std::max<std::size_t>(rows, 1);
        }
        if (std::holds_alternative<own_loss>(options_.loss)) return batch.size();
        return batch.size() * static_cast<std::size_t>(output_.pixels());
    }
    std::span<const std::int32_t> labels_of(std::size_t sample) const {
        return std::span(targets_.labels).subspan(sample * targets_.each, targets_.each);
    }
    void observe_first(std::span<const std::uint32_t> batch) {
        training_worker<arch>& worker = workers_.front();
        for (const std::uint32_t i : batch) {
            put_input(worker, i, 0);
            network_.observe(worker.inputs.data());
        }
        network_.begin();
        begin();
    }
    void put_input(training_worker<arch>& worker, std::size_t sample, int place) const {
        samples_.copy(sample, [&](int port) { return worker.runner.input(port, place); });
        for (std::size_t port = 0; port != worker.inputs.size(); ++port)
            worker.inputs[port] = worker.runner.input(static_cast<int>(port), place);
    }

    /// All blocks of a batch: the sum of gradients is in sum_ afterwards, the sum of losses comes back. Of the parts, a rank has its own.
    template <class Executor>
    double run_blocks(std::span<const std::uint32_t> batch, const tape_parameters& parameters, bool quantizes,
                      const Executor& with) {
        const auto block = static_cast<std::size_t>(tape_.block);
        const block_parts parts = block_parts::of((batch.size() + block - 1) / block,
                                                  workers_.size() * static_cast<std::size_t>(ranks_.size()));
        const part_range own = part_range::of(parts.count(), ranks_.rank(), ranks_.size());
        sums_.resize(own.size());
        losses_.assign(parts.blocks, 0.0);
        failed_.assign(parts.blocks, -1);
        for (training_worker<arch>& worker : workers_)
            std::fill(worker.seen.begin(), worker.seen.end(), observed_range{});
        const double factor = 1 / static_cast<double>(rows_of(batch));
        const auto workers = std::min(workers_.size(), own.size());
        const auto run_part = [&](int number) noexcept {
            training_worker<arch>& worker = workers_[static_cast<std::size_t>(number)];
            const part_range some = part_range::of(own.size(), number, static_cast<int>(workers));
            for (std::size_t part = own.first + some.first; part != own.first + some.last; ++part) {
                const std::size_t end = std::min((part + 1) * parts.size(), parts.blocks);
                for (std::size_t b = part * parts.size(); b != end; ++b) {
                    const std::size_t from = b * block, count = std::min(block, batch.size() - from);
                    run_block(worker, batch.subspan(from, count), parameters, quantizes, factor, b);
                    worker.tree.push(worker.leaf);
                }
                std::vector<float>& sum = sums_[part - own.first];
                sum.resize(leaf_floats_);
                worker.tree.finish(sum);
            }
        };
        if (workers == 1) run_part(0);
        else if (workers > 1) with.run(static_cast<int>(workers), run_part);
        sum_.resize(leaf_floats_);
        if (ranks_.size() > 1) {
            ranks_.sum_parts(sums_, parts.count(), sum_);
            tell_ranks(parts);
        } else if (sums_.size() == 1) {
            std::swap(sum_, sums_.front());
        } else {
            block_tree<arch> whole(leaf_floats_);
            for (std::vector<float>& sum : sums_) whole.push(sum);
            whole.finish(sum_);
        }
        double loss = 0;
        for (const double part : losses_) loss += part;
        return loss;
    }
    /// Losses of all blocks, and which rows failed, on every rank.
    void tell_ranks(const block_parts& parts) {
        std::vector<double> facts(2 * parts.count() * parts.size());
        for (std::size_t b = 0; b != parts.blocks; ++b) {
            facts[2 * b] = losses_[b];
            facts[2 * b + 1] = failed_[b];
        }
        ranks_.gather(facts, parts.count());
        for (std::size_t b = 0; b != parts.blocks; ++b) {
            losses_[b] = facts[2 * b];
            failed_[b] = static_cast<int>(facts[2 * b + 1]);
        }
    }
    void run_block(training_worker<arch>& worker, std::span<const std::uint32_t> samples,
                   const tape_parameters& parameters, bool quantizes, double factor, std::size_t number) noexcept {
        const int count = static_cast<int>(samples.size());
        for (int i = 0; i != count; ++i) put_input(worker, samples[static_cast<std::size_t>(i)], i);
        worker.runner.forward(count, parameters, quantizes);
        losses_[number] = loss_of(worker, samples, factor);
        if (!is_finite(losses_[number]) || !worker.runner.observe(worker.seen))
            failed_[number] = worker.runner.first_row_not_finite();
        worker.runner.backward(worker.leaf.data(), range_gradients(worker.leaf));
    }
    std::span<range_gradient> range_gradients(std::vector<float>& leaf) const {
        return {reinterpret_cast<range_gradient*>(leaf.data() + tape_.gradient_floats),
                static_cast<std::size_t>(tape_.qparams_count)};
    }

    // ---- losses ----

    double loss_of(training_worker<arch>& worker, std::span<const std::uint32_t> samples, double factor) {
        const std::size_t size = worker.runner.output_size(0);
        const std::span<const float> outputs(worker.runner.output(0, 0), samples.size() * size);
        const std::span<float> gradient(worker.runner.output_gradient(0, 0), outputs.size());
        gather(worker, samples, size);
        const auto width = static_cast<std::size_t>(output_.channels);
        return std::visit(
            [&](const auto& loss) -> double {
                using type = std::remove_cvref_t<decltype(loss)>;
                if constexpr (std::is_same_v<type, cross_entropy>)
                    return loss.template backward<arch>(outputs, width, worker.labels, factor, gradient);
                else if constexpr (std::is_same_v<type, distilled>)
                    return loss.by.template backward<arch>(outputs, width, worker.values, worker.labels, factor,
                                                           gradient);
                else if constexpr (std::is_same_v<type, own_loss>)
                    return loss({outputs, samples.size(), worker.labels, worker.values, factor, gradient});
                else return loss.template backward<arch>(outputs, width, worker.values, factor, gradient);
            },
            options_.loss);
    }
    /// Labels, targets or a teacher's outputs of a block.
    void gather(training_worker<arch>& worker, std::span<const std::uint32_t> samples, std::size_t size) const {
        worker.labels.clear();
        worker.values.clear();
        for (const std::uint32_t i : samples) {
            if (!targets_.labels.empty()) {
                const auto own = labels_of(i);
                worker.labels.insert(worker.labels.end(), own.begin(), own.end());
            } else if (!targets_.values.empty()) {
                const auto own = targets_.values.subspan(i * targets_.each, targets_.each);
                worker.values.insert(worker.values.end(), own.begin(), own.end());
            }
        }
        const auto* from = std::get_if<distilled>(&options_.loss);
        if (from == nullptr) return;
        worker.values.resize(samples.size() * size);
        for (std::size_t i = 0; i != samples.size(); ++i) {
            for (std::size_t port = 0; port != worker.inputs.size(); ++port)
                worker.inputs[port] = worker.runner.input(static_cast<int>(port), static_cast<int>(i));
            from->teacher(worker.inputs.data(), worker.values.data() + i * size);
        }
    }

    // ---- after the blocks ----

    void take_gradient() {
        std::copy_n(sum_.begin(), tape_.gradient_floats, gradient_.begin());
        network_.finish_gradient(gradient_, range_gradients(sum_));
        for (const trained_part& part : network_.parts())
            require_finite({gradient_.data() + part.offset, part.count}, part, "gradient");
    }
    double clip() {
        if (options_.clip_norm == 0) return 0;
        std::vector<std::span<float>> arrays;
        for (const trained_part& part : network_.parts())
            arrays.emplace_back(gradient_.data() + part.offset, part.count);
        return clip_by_norm<arch>(arrays, options_.clip_norm);
    }
    void update(training_progress& done) {
        const training_clock now{static_cast<std::uint64_t>(epoch_), static_cast<std::uint64_t>(options_.epochs),
                                 batch_, batches_};
        const double factor = rate_factor(options_.schedule, options_.start, now);
        const std::span<float> values = network_.values();
        before_.assign(values.begin(), values.end());
        for (const trained_part& part : network_.parts()) {
            trained_array array{values.subspan(part.offset, part.count), {gradient_.data() + part.offset, part.count}};
            if (!first_.empty()) array.first = {first_.data() + part.offset, part.count};
            if (!second_.empty()) array.second = {second_.data() + part.offset, part.count};
            array.group = part.group;
            array.floor = part.floor;
            report_.raised_scales += zp::update<arch>(options_.optimizer, factor, step_, array);
        }
        for (const trained_part& part : network_.parts())
            if (kernel::first_not_finite<arch>(values.data() + part.offset, part.count) != part.count) {
                std::copy(before_.begin(), before_.end(), values.begin());
                require_finite({}, part, "weight");
            }
        done.rate = factor * std::visit([](const auto& optimizer) { return optimizer.lr; }, options_.optimizer);
        if (!options_.average) return;
        if (step_ == 0 || average_.size() != values.size()) average_.assign(values.size(), 0.0f);
        zp::update<arch>(*options_.average, step_, values, average_);
    }
    void follow() {
        std::vector<observed_range> seen = workers_.front().seen;
        for (std::size_t w = 1; w != workers_.size(); ++w)
            for (std::size_t id = 0; id != seen.size(); ++id) seen[id] = seen[id].with(workers_[w].seen[id]);
        ranks_.widen(seen);
        network_.follow(seen);
    }

    // ---- what must be finite ----

    std::string moment() const {
        return "train: epoch " + std::to_string(epoch_) + ", batch " + std::to_string(batch_) + ": ";
    }
    static constexpr const char* advice =
        "; the step was not taken: train with a smaller rate, clip the gradient (.clip_norm), or look at the data";
    void require_finite_loss(double loss) const {
        for (const int row : failed_)
            if (row >= 0)
                raise<training_error>(moment() + "expected finite values, but " +
                                      network_.row_name(tape_.rows[static_cast<std::size_t>(row)].source) +
                                      " gave NaN or infinity" + advice);
        if (!is_finite(loss))
            raise<training_error>(moment() + "expected a finite loss, found " + number_text(loss) + advice);
    }
    void require_finite(std::span<const float> values, const trained_part& part, const char* what) const {
        if (!values.empty() && kernel::first_not_finite<arch>(values.data(), values.size()) == values.size()) return;
        raise<training_error>(moment() + "expected finite numbers, but the " + what + " of " + part.name +
                              " has NaN or infinity" + advice);
    }

    // ---- files and talk ----

    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    void tell(training_progress& done, std::uint64_t first_step) const {
        done.epoch = epoch_;
        done.epochs = options_.epochs;
        done.batch = batch_ - 1;
        done.batches = batches_;
        done.mean_loss = epoch_loss_ / static_cast<double>(seen_in_epoch_);
        done.seconds = seconds();
        const auto left = static_cast<double>(static_cast<std::uint64_t>(options_.epochs) * batches_ - step_);
        done.seconds_left = done.seconds / static_cast<double>(step_ - first_step) * left;
    }
    template <class Progress> static bool go_on(Progress& progress, const training_progress& done) {
        if constexpr (std::is_convertible_v<std::invoke_result_t<Progress&, const training_progress&>, bool>)
            return std::invoke(progress, done);
        else return std::invoke(progress, done), true;
    }
    training_state state() {
        return {static_cast<std::uint64_t>(epoch_),
                batch_,
                step_,
                batches_,
                options_.seed,
                epoch_loss_,
                report_.losses,
                static_cast<std::uint64_t>(report_.raised_scales),
                first_,
                second_,
                average_};
    }
    void save() { write_checkpoint(options_.checkpoint, network_, state()); }
    void resume() {
        training_state found;
        if (!read_checkpoint(options_.checkpoint, network_, found)) return;
        begin();
        const auto require = [&](bool is_right, const char* what) {
            if (!is_right)
                raise<value_error>("train: " + options_.checkpoint + " was written with another " + what +
                                   ": go on with the same, or begin anew without .resume");
        };
        require(found.seed == options_.seed, "seed");
        require(found.batches == batches_, "number of batches an epoch");
        require(found.first.size() == first_.size() && found.second.size() == second_.size(), "kind of optimizer");
        require(found.average.empty() || found.average.size() == network_.values().size(), "average");
        epoch_ = static_cast<int>(std::min(found.epoch, static_cast<std::uint64_t>(options_.epochs)));
        batch_ = found.batch;
        step_ = found.step;
        epoch_loss_ = found.epoch_loss;
        report_.losses = found.losses;
        report_.raised_scales = found.raised_scales;
        first_ = found.first;
        second_ = found.second;
        average_ = found.average;
        seen_in_epoch_ = std::min(batch_ * static_cast<std::size_t>(options_.batch), samples_.count());
        if (batch_ == batches_ && epoch_ != options_.epochs) ++epoch_, batch_ = 0, epoch_loss_ = 0;
    }

    Network& network_;
    const input_samples<Network, Inputs>& samples_;
    training_targets targets_;
    const training_options& options_;
    Exchange& ranks_;
    shape output_;
    std::chrono::steady_clock::time_point start_;

    tape tape_;
    std::vector<training_worker<arch>> workers_;
    std::size_t leaf_floats_ = 0, batches_ = 0;
    std::vector<std::vector<float>> sums_;
    std::vector<double> losses_;
    std::vector<int> failed_;  // by block, the first row that is not finite
    std::vector<float> sum_, gradient_, first_, second_, average_, before_;

    int epoch_ = 0;
    std::size_t batch_ = 0, seen_in_epoch_ = 0;
    std::uint64_t step_ = 0;
    double epoch_loss_ = 0;
    training_report report_;
};

template <class Network> Network& trainee_of(Network& network) { return network; }
template <class Stage> float_training<Stage> trainee_of(network<Stage>& floats) {
    return float_training<Stage>(floats);
}

}  // namespace detail

/// Trains a network: what zp::prepare_qat gives, or a float network, fused. `data` is zp::labelled(inputs, labels), zp::paired(inputs,
/// targets) or zp::unlabelled(inputs). `with` runs blocks of a batch at once; what comes out does not depend on it, bit for bit.
/// `progress(training_progress)` is called after each step, and may return false to end. Raises training_error where a loss, gradient or
/// weight is not finite, and value_error or shape_error for options and data that do not fit.
///
/// `ranks` are processes that train together, each of which makes the same call (gradient_exchange.hpp; zp::ranks over MPI): each
/// computes some of a batch's blocks, and all end with the same parameters. They begin with rank 0's parameters; rank 0 alone writes
/// checkpoints, all read them; progress is called on every rank, and any may end training. rank_error where they do not agree.
template <class Network, class Data, executor Executor, class Progress, class Exchange>
    requires gradient_exchange<std::remove_reference_t<Exchange>> training_report
    train(Network& network, const Data& data, const training_options& options, const Executor& with,
          Progress&& progress, Exchange&& ranks) {
        using inputs = std::remove_cvref_t<decltype(data.inputs)>;
        auto&& trainee = detail::trainee_of(network);
        using type = std::remove_reference_t<decltype(trainee)>;
        const detail::input_samples<type, inputs> samples(data.inputs);
        detail::trainer<type, inputs, std::remove_reference_t<Exchange>> run(
            trainee, samples, detail::targets_of(data, samples.count(), type::output_shape_of_training()), options,
            ranks);
        return run.run(with, std::forward<Progress>(progress));
    }
template <class Network, class Data, executor Executor, class Progress>
training_report train(Network& network, const Data& data, const training_options& options, const Executor& with,
                      Progress&& progress) {
    return train(network, data, options, with, std::forward<Progress>(progress), one_rank{});
}
template <class Network, class Data>
training_report train(Network& network, const Data& data, const training_options& options = {}) {
    return train(network, data, options, executors::serial{}, [](const training_progress&) {});
}
template <class Network, class Data, executor Executor>
training_report train(Network& network, const Data& data, const training_options& options, const Executor& with) {
    return train(network, data, options, with, [](const training_progress&) {});
}
template <class Network, class Data, class Exchange>
    requires gradient_exchange<std::remove_reference_t<Exchange>> training_report train(Network& network,
                                                                                        const Data& data,
                                                                                        const training_options& options,
                                                                                        Exchange&& ranks) {
        return train(
            network, data, options, executors::serial{}, [](const training_progress&) {}, ranks);
    }

}  // namespace v0
}  // namespace zp
