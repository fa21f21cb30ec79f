// SEQ(T1 a, T2 b, T3 c) with rising prices, each two less than BELOW apart, within WINDOW ticks; T3 is the rarest.
//
//   seq3_prices FILE WINDOW BELOW RUNS
//
// `chain` is the shape of a lazy chain: c, then each b before it, then each a before that. `hoisted` filters the a's and
// the b's of a c once, and joins what is left. `compressed` is the same with compress-stores.
#include <algorithm>
#include <cstring>

#include "columns.hpp"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

struct Buffer {
    explicit Buffer(std::size_t n) : row(n), ts(n), price(n) {}
    Aligned<std::int64_t> row, ts;
    Aligned<double> price;
    std::int64_t size = 0;
};

static void split(const Columns& e, Buffer* buffers) {
    std::int64_t size[TYPES] = {};
    for (std::int64_t i = 0; i < e.n; ++i) {
        Buffer& b = buffers[e.type[i]];
        const std::int64_t at = size[e.type[i]]++;
        b.row[at] = i;
        b.ts[at] = e.ts[i];
        b.price[at] = e.price[i];
    }
    for (int t = 0; t < TYPES; ++t) buffers[t].size = size[t];
}

static void chain(const Buffer& A, const Buffer& B, const Buffer& C, std::int64_t window, double below, Matches& out) {
    Range a_range, b_range;
    for (std::int64_t k = 0; k < C.size; ++k) {
        const std::int64_t c_ts = C.ts[k], c_row = C.row[k];
        const double c_price = C.price[k];
        a_range.advance(A.ts, A.size, c_ts - window, c_ts);
        b_range.advance(B.ts, B.size, c_ts - window, c_ts);
        for (std::int64_t j = b_range.lo; j < b_range.hi; ++j) {
            const double b_price = B.price[j];
            if (!(b_price < c_price && c_price < b_price + below)) continue;
            const std::int64_t b_row = B.row[j];
            const std::int64_t* first = A.ts.get() + a_range.lo;
            const std::int64_t end = std::lower_bound(first, A.ts.get() + a_range.hi, B.ts[j]) - A.ts.get();
            out.reserve(end - a_range.lo + 1);
            const Cursor to(out);
            const double* __restrict prices = A.price.get();
            const std::int64_t* __restrict rows = A.row.get();
            std::int64_t m = out.size;
            for (std::int64_t i = a_range.lo; i < end; ++i) {
                const double a_price = prices[i];
                to.a[m] = rows[i];
                to.b[m] = b_row;
                to.c[m] = c_row;
                // b.price < a.price + below follows from b.price < c.price.
                m += (a_price < b_price) & (c_price < a_price + below);
            }
            out.size = m;
        }
    }
}

// What is left of a buffer for one c, in order.
struct Kept {
    explicit Kept(std::size_t n) : row(n + 8), ts(n + 8), price(n + 8) {}
    Aligned<std::int64_t> row, ts;
    Aligned<double> price;
    std::int64_t size = 0;
};

static void keep(const Buffer& from, const Range& range, double c_price, double below, Kept& kept) {
    const double* __restrict prices = from.price.get();
    const std::int64_t *__restrict rows = from.row.get(), *__restrict times = from.ts.get();
    double* __restrict to_price = kept.price.get();
    std::int64_t *__restrict to_row = kept.row.get(), *__restrict to_ts = kept.ts.get();
    std::int64_t m = 0;
    for (std::int64_t i = range.lo; i < range.hi; ++i) {
        const double price = prices[i];
        to_row[m] = rows[i];
        to_ts[m] = times[i];
        to_price[m] = price;
        m += (price < c_price) & (c_price < price + below);
    }
    kept.size = m;
}

static void keep_compressed(const Buffer& from, const Range& range, double c_price, double below, Kept& kept) {
#ifdef __AVX512F__
    const __m512d c = _mm512_set1_pd(c_price), width = _mm512_set1_pd(below);
    std::int64_t m = 0;
    for (std::int64_t i = range.lo; i < range.hi; i += 8) {
        const __mmask8 there = range.hi - i >= 8 ? 0xff : __mmask8((1u << (range.hi - i)) - 1);
        const __m512d price = _mm512_maskz_loadu_pd(there, from.price.get() + i);
        const __mmask8 fits = _mm512_mask_cmp_pd_mask(
            _mm512_mask_cmp_pd_mask(there, price, c, _CMP_LT_OQ), c, _mm512_add_pd(price, width), _CMP_LT_OQ);
        if (!fits) continue;
        // A compress to memory is slow on some processors; one to a register, stored whole, on none.
        _mm512_storeu_pd(kept.price.get() + m, _mm512_maskz_compress_pd(fits, price));
        _mm512_storeu_si512(kept.row.get() + m,
                            _mm512_maskz_compress_epi64(fits, _mm512_maskz_loadu_epi64(fits, from.row.get() + i)));
        _mm512_storeu_si512(kept.ts.get() + m,
                            _mm512_maskz_compress_epi64(fits, _mm512_maskz_loadu_epi64(fits, from.ts.get() + i)));
        m += __builtin_popcount(fits);
    }
    kept.size = m;
#else
    keep(from, range, c_price, below, kept);
#endif
}

using Keep = void (*)(const Buffer&, const Range&, double, double, Kept&);

template <Keep keep_for>
static void hoisted(const Buffer& A, const Buffer& B, const Buffer& C, std::int64_t window, double below, Kept& a_kept,
                    Kept& b_kept, Matches& out) {
    Range a_range, b_range;
    for (std::int64_t k = 0; k < C.size; ++k) {
        const std::int64_t c_ts = C.ts[k], c_row = C.row[k];
        const double c_price = C.price[k];
        a_range.advance(A.ts, A.size, c_ts - window, c_ts);
        b_range.advance(B.ts, B.size, c_ts - window, c_ts);
        keep_for(B, b_range, c_price, below, b_kept);
        if (!b_kept.size) continue;
        keep_for(A, a_range, c_price, below, a_kept);
        std::int64_t end = 0;
        for (std::int64_t j = 0; j < b_kept.size; ++j) {
            while (end < a_kept.size && a_kept.ts[end] < b_kept.ts[j]) ++end;
            out.reserve(end + 1);
            const double b_price = b_kept.price[j];
            const std::int64_t b_row = b_kept.row[j];
            const Cursor to(out);
            const double* __restrict prices = a_kept.price.get();
            const std::int64_t* __restrict rows = a_kept.row.get();
            std::int64_t m = out.size;
            for (std::int64_t i = 0; i < end; ++i) {
                to.a[m] = rows[i];
                to.b[m] = b_row;
                to.c[m] = c_row;
                m += prices[i] < b_price;
            }
            out.size = m;
        }
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s FILE WINDOW BELOW RUNS\n", argv[0]);
        return 2;
    }
    const Columns events = read_columns(argv[1]);
    const std::int64_t window = std::atoll(argv[2]);
    const double below = std::atof(argv[3]);
    Buffer buffers[TYPES] = {Buffer(events.n), Buffer(events.n), Buffer(events.n)};
    const auto& [A, B, C] = buffers;
    Kept a_kept(events.n), b_kept(events.n);
    for (const char* variant : {"chain", "hoisted", "compressed"}) {
        Matches out;
        double split_time = 1e9, match_time = 1e9;
        for (int run = 0; run < std::atoi(argv[4]); ++run) {
            const double began = now();
            split(events, buffers);
            const double halfway = now();
            out.size = 0;
            if (!std::strcmp(variant, "chain"))
                chain(A, B, C, window, below, out);
            else if (!std::strcmp(variant, "hoisted"))
                hoisted<keep>(A, B, C, window, below, a_kept, b_kept, out);
            else
                hoisted<keep_compressed>(A, B, C, window, below, a_kept, b_kept, out);
            const double done = now();
            split_time = std::min(split_time, halfway - began);
            match_time = std::min(match_time, done - halfway);
        }
        report(variant, out, 0.0, split_time, match_time);
    }
}
