// SPDX-License-Identifier: BSD-3-Clause
// The loop of training: batches through a network and back, and a step of the optimizer after each.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/training/batch_losses.hpp>
#include <zeropoint/training/checkpoint.hpp>
#include <zeropoint/training/gradient_exchange.hpp>
#include <zeropoint/training/gradient_norm.hpp>
#include <zeropoint/training/live_norms.hpp>
#include <zeropoint/training/random_numbers.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/training/training_data.hpp>
#include <zeropoint/training/training_error.hpp>
#include <zeropoint/training/training_options.hpp>
#include <zeropoint/training/training_worker.hpp>

namespace zp::inline v0::detail {

template <class Network, class Inputs, class Exchange> class trainer {
    using arch = typename Network::architecture;

public:
    trainer(Network& network, const input_samples<Network, Inputs>& samples, std::vector<training_targets> targets,
            const training_options& options, Exchange& ranks)
        : network_(network),
          samples_(samples),
          options_(options),
          ranks_(ranks),
          start_(std::chrono::steady_clock::now()) {
        require_valid(options, samples_.count());
        losses_ = batch_losses(options, std::move(targets), Network::outputs());
        batches_ =
            (samples_.count() + static_cast<std::size_t>(options.batch) - 1) / static_cast<std::size_t>(options.batch);
    }

    template <class Executor, class Progress> training_report run(const Executor& with, Progress&& progress) {
        if (network_.has_ranges()) begin();
        if (options_.resume) resume();
        prepare(with.workers());
        agree();
        const std::uint64_t first_step = step_;
        for (; epoch_ != options_.epochs && !report_.was_stopped; ++epoch_, batch_ = 0, epoch_loss_ = 0) {
            const std::vector<std::uint32_t> order = order_of_epoch();
            if (network_.batch_norms_are_live() != norms_live_in(epoch_)) prepare(with.workers());
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
        if (!average_.empty())
            for (const trained_part& part : network_.parts())
                std::copy_n(average_.begin() + static_cast<std::ptrdiff_t>(part.offset), part.count,
                            network_.values().begin() + static_cast<std::ptrdiff_t>(part.offset));
        network_.finish();
        report_.steps = step_;
        report_.seconds = seconds();
        return report_;
    }

private:
    // ---- what does not change ----

    bool norms_live_in(int epoch) const {
        return network_.has_batch_norms() &&
               (options_.freeze_batch_norms_after < 0 || epoch < options_.freeze_batch_norms_after);
    }
    /// The tape and workers of what batch norms do in this epoch.
    void prepare(int workers) {
        network_.set_batch_norms_live(norms_live_in(epoch_));
        const bool is_live = network_.batch_norms_are_live();
        const int chosen = options_.block != 0 ? options_.block : is_live ? options_.batch : suitable_block();
        workers_.clear();
        tape_ = network_.make_tape(std::min(chosen, options_.batch));
        norms_ = live_norms(tape_);
        const std::size_t rest = samples_.count() % static_cast<std::size_t>(options_.batch);
        for (const std::size_t batch : {static_cast<std::size_t>(options_.batch), rest})
            if (const auto block = static_cast<std::size_t>(tape_.block); batch != 0)
                norms_.require_rows(batch % block == 0 ? block : batch % block);
        leaf_floats_ = tape_.gradient_floats + 2 * static_cast<std::size_t>(tape_.qparams_count);
        const auto most = static_cast<std::size_t>(std::max(workers, 1));
        for (std::size_t w = 0; w != most; ++w) workers_.emplace_back(tape_, leaf_floats_);
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
        const std::uint64_t all =
            losses_.digest(digest_of(std::as_bytes(std::span(facts))),
                           [](std::span<const std::byte> bytes, std::uint64_t seed) { return digest_of(bytes, seed); });
        ranks_.require_same(all, "number of samples, labels, batch, block, epochs, seed, step or workers");
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
        while (block != 64 && 2 * static_cast<std::size_t>(block) * each <= std::size_t{1} << 22) block *= 2;
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
        losses_.begin(batch);
        const double loss = losses_.mean(run_blocks(batch, parameters, quantizes, with));
        require_finite_loss(loss);
        take_gradient();
        training_progress done;
        done.gradient_norm = clip();
        update(done);
        if (follows) follow();
        if (!norms_.empty()) follow_norms(batch.size());
        epoch_loss_ += loss * static_cast<double>(batch.size());
        seen_in_epoch_ = batch_ == 0 ? batch.size() : seen_in_epoch_ + batch.size();
        done.loss = loss;
        return done;
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
        facts_of_block_ = 2 + norms_.doubles();
        facts_.assign(parts.count() * parts.size() * facts_of_block_, 0.0);
        for (training_worker<arch>& worker : workers_)
            std::fill(worker.seen.begin(), worker.seen.end(), observed_range{});
        const auto workers = std::min(workers_.size(), own.size());
        const auto run_part = [&](int number) noexcept {
            training_worker<arch>& worker = workers_[static_cast<std::size_t>(number)];
            const part_range some = part_range::of(own.size(), number, static_cast<int>(workers));
            for (std::size_t part = own.first + some.first; part != own.first + some.last; ++part) {
                const std::size_t end = std::min((part + 1) * parts.size(), parts.blocks);
                for (std::size_t b = part * parts.size(); b != end; ++b) {
                    const std::size_t from = b * block, count = std::min(block, batch.size() - from);
                    run_block(worker, batch.subspan(from, count), parameters, quantizes, facts_of(b));
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
            ranks_.gather(facts_, parts.count());
        } else if (sums_.size() == 1) {
            std::swap(sum_, sums_.front());
        } else {
            block_tree<arch> whole(leaf_floats_);
            for (std::vector<float>& sum : sums_) whole.push(sum);
            whole.finish(sum_);
        }
        double loss = 0;
        for (std::size_t b = 0; b != parts.blocks; ++b) loss += facts_of(b)[0];
        return loss;
    }
    /// What all ranks know of a block: its loss, 1 + the first row that is not finite, and the sums of live batch norms.
    double* facts_of(std::size_t block) { return facts_.data() + block * facts_of_block_; }
    void run_block(training_worker<arch>& worker, std::span<const std::uint32_t> samples,
                   const tape_parameters& parameters, bool quantizes, double* facts) noexcept {
        const int count = static_cast<int>(samples.size());
        for (int i = 0; i != count; ++i) put_input(worker, samples[static_cast<std::size_t>(i)], i);
        worker.runner.forward(count, parameters, quantizes);
        for (std::size_t output = 0; output != tape_.outputs.size(); ++output)
            if (!losses_.has(output)) worker.runner.clear_output_gradient(output);
        facts[0] = losses_.backward<arch>(worker.runner, samples, worker.targets);
        if (!is_finite(facts[0]) || !worker.runner.observe(worker.seen))
            facts[1] = 1 + worker.runner.first_row_not_finite();
        norms_.take_sums(worker.runner, facts + 2);
        worker.runner.backward(worker.leaf.data(), range_gradients(worker.leaf), true);
    }
    std::span<range_gradient> range_gradients(std::vector<float>& leaf) const {
        return {reinterpret_cast<range_gradient*>(leaf.data() + tape_.gradient_floats),
                static_cast<std::size_t>(tape_.qparams_count)};
    }

    // ---- after the blocks ----

    void take_gradient() {
        const std::span<const range_gradient> all = range_gradients(sum_);
        const std::vector<range_gradient> of_ranges(all.begin(), all.end());
        std::swap(gradient_, sum_);  // both are large, and what is in sum_ nobody needs
        gradient_.resize(network_.values().size());
        std::fill(gradient_.begin() + static_cast<std::ptrdiff_t>(tape_.gradient_floats), gradient_.end(), 0.0f);
        network_.finish_gradient(gradient_, of_ranges);
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
        before_.resize(values.size());
        // A piece is copied, updated and looked at while it is near: each of the three would take all of it from memory.
        constexpr std::size_t piece = 2048;
        for (const trained_part& part : network_.parts())
            for (std::size_t first = 0; first < part.count; first += piece) {
                const std::size_t at = part.offset + first, count = std::min(piece, part.count - first);
                const std::span<float> some = values.subspan(at, count);
                const std::span<const float> gradient{gradient_.data() + at, count};
                std::copy_n(some.data(), count, before_.data() + at);
                trained_array array{some, gradient};
                if (!first_.empty()) array.first = {first_.data() + at, count};
                if (!second_.empty()) array.second = {second_.data() + at, count};
                array.group = part.group;
                array.floor = part.floor;
                report_.raised_scales += zp::update<arch>(options_.optimizer, factor, step_, array);
                if (all_finite(gradient) && all_finite(some)) continue;
                take_back(part, first + count);
                for (const trained_part& any : network_.parts())
                    if (!all_finite({gradient_.data() + any.offset, any.count})) raise_not_finite(any, "gradient");
                raise_not_finite(part, "weight");
            }
        done.rate = factor * std::visit([](const auto& optimizer) { return optimizer.lr; }, options_.optimizer);
        if (!options_.average) return;
        if (step_ == 0 || average_.size() != values.size()) average_.assign(values.size(), 0.0f);
        zp::update<arch>(*options_.average, step_, values, average_);
    }
    /// The values before this step, up to the first `count` of the part that it has come to.
    void take_back(const trained_part& last, std::size_t count) {
        for (const trained_part& part : network_.parts()) {
            std::copy_n(before_.data() + part.offset, &part == &last ? count : part.count,
                        network_.values().data() + part.offset);
            if (&part == &last) return;
        }
    }
    void follow() {
        std::vector<observed_range> seen = workers_.front().seen;
        for (std::size_t w = 1; w != workers_.size(); ++w)
            for (std::size_t id = 0; id != seen.size(); ++id) seen[id] = seen[id].with(workers_[w].seen[id]);
        ranks_.widen(seen);
        network_.follow(seen);
    }

    void follow_norms(std::size_t batch) {
        std::vector<batch_norm_statistics> seen = norms_.statistics();
        const auto block = static_cast<std::size_t>(tape_.block);
        for (std::size_t from = 0, b = 0; from < batch; from += block, ++b)
            norms_.add(seen, std::min(block, batch - from), facts_of(b) + 2);
        norms_.follow<arch>(seen, static_cast<float>(options_.batch_norm_momentum), network_.values());
    }

    // ---- what must be finite ----

    std::string moment() const {
        return "train: epoch " + std::to_string(epoch_) + ", batch " + std::to_string(batch_) + ": ";
    }
    static constexpr const char* advice =
        "; the step was not taken: train with a smaller rate, clip the gradient (.clip_norm), or look at the data";
    void require_finite_loss(double loss) const {
        for (std::size_t at = 1; at < facts_.size(); at += facts_of_block_)
            if (const auto row = static_cast<std::size_t>(facts_[at]); row != 0)
                raise<training_error>(moment() + "expected finite values, but " +
                                      network_.row_name(tape_.rows[row - 1].source) + " gave NaN or infinity" + advice);
        if (!is_finite(loss))
            raise<training_error>(moment() + "expected a finite loss, found " + number_text(loss) + advice);
    }
    static bool all_finite(std::span<const float> values) {
        return kernel::first_not_finite<arch>(values.data(), values.size()) == values.size();
    }
    [[noreturn]] void raise_not_finite(const trained_part& part, const char* what) const {
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
        if (!file_stream(options_.checkpoint, file_access::read).is_open()) return;  // the first run
        const safetensors_file file = safetensors_file::read(options_.checkpoint);
        const checkpoint read = read_checkpoint(file, network_);
        const training_state& found = read.state;
        const std::size_t values = read.values.size();
        const int states = optimizer_states(options_.optimizer);
        const auto require = [&](bool is_right, const char* what) {
            if (!is_right)
                raise<value_error>("train: " + options_.checkpoint + " was written with another " + what +
                                   ": go on with the same, or begin anew without .resume");
        };
        require(found.seed == options_.seed, "seed");
        require(found.batches == batches_, "number of batches an epoch");
        require(found.first.size() == (states > 0 ? values : 0) && found.second.size() == (states > 1 ? values : 0),
                "kind of optimizer");
        require(found.average.empty() || found.average.size() == values, "average");
        restore(network_, read, file);
        begin();
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
    batch_losses losses_;
    const training_options& options_;
    Exchange& ranks_;
    std::chrono::steady_clock::time_point start_;

    tape tape_;
    live_norms norms_;
    std::vector<training_worker<arch>> workers_;
    std::size_t leaf_floats_ = 0, batches_ = 0;
    std::vector<std::vector<float>> sums_;
    std::vector<double> facts_;  // of blocks
    std::size_t facts_of_block_ = 2;
    std::vector<float> sum_, gradient_, first_, second_, average_, before_;

    int epoch_ = 0;
    std::size_t batch_ = 0, seen_in_epoch_ = 0;
    std::uint64_t step_ = 0;
    double epoch_loss_ = 0;
    training_report report_;
};

}  // namespace zp::inline v0::detail
