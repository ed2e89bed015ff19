// SPDX-License-Identifier: BSD-3-Clause
// What a microphone and a feature extractor would give, made by integers alone, so that every machine makes the same: spectrograms
// of 49 frames x 10 coefficients. A word is a curve through six points of each coefficient; who says it is a little early or
// late, louder or softer, and there is noise.
#pragma once

#include <cstdint>

inline constexpr int frames = 49, coefficients = 10, features = frames * coefficients;
inline constexpr int words = 12;  // silence, an unknown word, ten keywords
inline constexpr int silence = 0, unknown_word = 1;

/// Knuth's linear congruential generator; the lower half of its state is not random enough.
class random_numbers {
public:
    explicit constexpr random_numbers(std::uint32_t seed) : state_(seed) {}
    /// In [0, limit), limit up to 2^16.
    constexpr std::int32_t below(std::int32_t limit) {
        state_ = state_ * 1664525u + 1013904223u;
        return static_cast<std::int32_t>((state_ >> 16) * static_cast<std::uint32_t>(limit) >> 16);
    }

private:
    std::uint32_t state_;
};

/// Spectrogram `number`, of the word number % words. scripts/train_keywords.py makes the same.
inline void say(std::uint32_t number, float (&spectrogram)[features]) {
    constexpr int points = 6;
    random_numbers speaker(number * 2654435769u + 1);
    const int word = static_cast<int>(number % words);
    const std::int32_t delay = speaker.below(9) - 4, loudness = 160 + speaker.below(192);
    std::int32_t curve[points][coefficients] = {};
    if (word != silence) {
        random_numbers spelling(word == unknown_word ? number * 40503u + 7u : static_cast<std::uint32_t>(word) * 977u);
        for (auto& point : curve)
            for (std::int32_t& value : point) value = spelling.below(256) - 128;
    }
    for (int frame = 0; frame != frames; ++frame) {
        std::int32_t at = (frame + delay) * ((points - 1) * 256 / frames);  // in 1/256 of the way between two points
        at = at < 0 ? 0 : at > (points - 1) * 256 - 1 ? (points - 1) * 256 - 1 : at;
        const std::int32_t* from = curve[at >> 8];
        const std::int32_t* to = curve[(at >> 8) + 1];
        for (int c = 0; c != coefficients; ++c) {
            const std::int32_t value = from[c] + ((to[c] - from[c]) * (at & 255) >> 8);
            const std::int32_t noise = speaker.below(161) - 80;
            spectrogram[frame * coefficients + c] = static_cast<float>((value * loudness >> 8) + noise) / 32;
        }
    }
}
