// SEQ(T1 a, T2 b, T3 c) with price histories that correlate by more than ABOVE, within WINDOW ticks; T3 is the rarest.
//
//   seq3_correlation FILE WINDOW ABOVE RUNS
//
// Histories are standardised once, so that a correlation is a dot product; that is `prepare`. `chain` is the shape of a
// lazy chain: c, then each b before it, then each a before that. `hoisted` correlates the a's of a c with it once.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "columns.hpp"

constexpr int WIDTH = 20;
constexpr int PADDED = 24;  // three vectors of eight

struct Buffer {
    explicit Buffer(std::size_t n) : row(n), ts(n), unit(n * PADDED) {}
    Aligned<std::int64_t> row, ts;
    Aligned<double> unit;
    std::int64_t size = 0;
};

static inline double dot(const double* x, const double* y) {
    x = static_cast<const double*>(__builtin_assume_aligned(x, 64));
    y = static_cast<const double*>(__builtin_assume_aligned(y, 64));
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < PADDED; ++i) sum += x[i] * y[i];
    return sum;
}

static void standardise(const Columns& e, Aligned<double>& unit) {
    for (std::int64_t i = 0; i < e.n; ++i) {
        const double* h = e.history.get() + i * WIDTH;
        double* u = unit.get() + i * PADDED;
        double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int k = 0; k < WIDTH; ++k) sum += h[k];
        const double mean = sum / WIDTH;
#pragma omp simd reduction(+ : squares)
        for (int k = 0; k < WIDTH; ++k) squares += (h[k] - mean) * (h[k] - mean);
        // A history without variance becomes NaN, which correlates with nothing.
        const double scale = 1.0 / std::sqrt(squares);
        for (int k = 0; k < WIDTH; ++k) u[k] = (h[k] - mean) * scale;
        for (int k = WIDTH; k < PADDED; ++k) u[k] = 0;
    }
}

static void split(const Columns& e, const Aligned<double>& unit, Buffer* buffers) {
    std::int64_t size[TYPES] = {};
    for (std::int64_t i = 0; i < e.n; ++i) {
        Buffer& b = buffers[e.type[i]];
        const std::int64_t at = size[e.type[i]]++;
        b.row[at] = i;
        b.ts[at] = e.ts[i];
        std::memcpy(b.unit.get() + at * PADDED, unit.get() + i * PADDED, PADDED * sizeof(double));
    }
    for (int t = 0; t < TYPES; ++t) buffers[t].size = size[t];
}

static void chain(const Buffer& A, const Buffer& B, const Buffer& C, std::int64_t window, double above, Matches& out) {
    Range a_range, b_range;
    for (std::int64_t k = 0; k < C.size; ++k) {
        const std::int64_t c_ts = C.ts[k];
        const double* c = C.unit.get() + k * PADDED;
        a_range.advance(A.ts, A.size, c_ts - window, c_ts);
        b_range.advance(B.ts, B.size, c_ts - window, c_ts);
        for (std::int64_t j = b_range.lo; j < b_range.hi; ++j) {
            const double* b = B.unit.get() + j * PADDED;
            if (!(dot(b, c) > above)) continue;
            const std::int64_t* first = A.ts.get() + a_range.lo;
            const std::int64_t end = std::lower_bound(first, A.ts.get() + a_range.hi, B.ts[j]) - A.ts.get();
            out.reserve(end - a_range.lo + 1);
            for (std::int64_t i = a_range.lo; i < end; ++i) {
                const double* a = A.unit.get() + i * PADDED;
                if (dot(a, b) > above && dot(a, c) > above) {
                    out.a[out.size] = A.row[i];
                    out.b[out.size] = B.row[j];
                    out.c[out.size++] = C.row[k];
                }
            }
        }
    }
}

static void keep(const Buffer& from, const Range& range, const double* c, double above, std::int64_t* kept,
                 std::int64_t& size) {
    std::int64_t m = 0;
    for (std::int64_t i = range.lo; i < range.hi; ++i) {
        kept[m] = i;
        m += dot(from.unit.get() + i * PADDED, c) > above;
    }
    size = m;
}

static void hoisted(const Buffer& A, const Buffer& B, const Buffer& C, std::int64_t window, double above,
                    Aligned<std::int64_t>& a_kept, Aligned<std::int64_t>& b_kept, Matches& out) {
    Range a_range, b_range;
    for (std::int64_t k = 0; k < C.size; ++k) {
        const std::int64_t c_ts = C.ts[k];
        const double* c = C.unit.get() + k * PADDED;
        a_range.advance(A.ts, A.size, c_ts - window, c_ts);
        b_range.advance(B.ts, B.size, c_ts - window, c_ts);
        std::int64_t a_size = 0, b_size = 0, end = 0;
        keep(B, b_range, c, above, b_kept.get(), b_size);
        if (!b_size) continue;
        keep(A, a_range, c, above, a_kept.get(), a_size);
        for (std::int64_t j = 0; j < b_size; ++j) {
            const double* b = B.unit.get() + b_kept[j] * PADDED;
            while (end < a_size && A.ts[a_kept[end]] < B.ts[b_kept[j]]) ++end;
            out.reserve(end + 1);
            const Cursor to(out);
            const std::int64_t b_row = B.row[b_kept[j]], c_row = C.row[k];
            const std::int64_t* __restrict kept = a_kept.get();
            std::int64_t m = out.size;
            for (std::int64_t i = 0; i < end; ++i) {
                to.a[m] = A.row[kept[i]];
                to.b[m] = b_row;
                to.c[m] = c_row;
                m += dot(A.unit.get() + kept[i] * PADDED, b) > above;
            }
            out.size = m;
        }
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s FILE WINDOW ABOVE RUNS\n", argv[0]);
        return 2;
    }
    const Columns events = read_columns(argv[1]);
    if (events.width != WIDTH) {
        std::fprintf(stderr, "histories must hold %d prices\n", WIDTH);
        return 2;
    }
    const std::int64_t window = std::atoll(argv[2]);
    const double above = std::atof(argv[3]);
    Buffer buffers[TYPES] = {Buffer(events.n), Buffer(events.n), Buffer(events.n)};
    const auto& [A, B, C] = buffers;
    Aligned<double> unit(events.n * PADDED);
    Aligned<std::int64_t> a_kept(events.n + 1), b_kept(events.n + 1);
    for (const char* variant : {"chain", "hoisted"}) {
        Matches out;
        double prepare_time = 1e9, split_time = 1e9, match_time = 1e9;
        for (int run = 0; run < std::atoi(argv[4]); ++run) {
            const double began = now();
            standardise(events, unit);
            const double prepared = now();
            split(events, unit, buffers);
            const double halfway = now();
            out.size = 0;
            if (!std::strcmp(variant, "chain"))
                chain(A, B, C, window, above, out);
            else
                hoisted(A, B, C, window, above, a_kept, b_kept, out);
            const double done = now();
            prepare_time = std::min(prepare_time, prepared - began);
            split_time = std::min(split_time, halfway - prepared);
            match_time = std::min(match_time, done - halfway);
        }
        report(variant, out, prepare_time, split_time, match_time);
    }
}
