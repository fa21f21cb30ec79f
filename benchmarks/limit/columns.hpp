// What the programs share: a file of columns, per-type buffers, the clock, and the report.
#pragma once
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <vector>

constexpr int TYPES = 3;

// Lines of the cache, and of vector registers, begin at multiples of 64 bytes.
template <class T>
struct Aligned {
    explicit Aligned(std::size_t n = 0)
        : data(static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64)), std::free) {
        if (!data) throw std::bad_alloc();
    }
    T& operator[](std::size_t i) { return data.get()[i]; }
    const T& operator[](std::size_t i) const { return data.get()[i]; }
    T* get() { return data.get(); }
    const T* get() const { return data.get(); }
    std::unique_ptr<T, decltype(&std::free)> data;
};

// The stream as it is handed over: columns in the order of arrival.
struct Columns {
    std::int64_t n = 0, width = 0;
    Aligned<std::int64_t> ts;
    Aligned<std::int32_t> type;
    Aligned<double> price;
    Aligned<double> history;  // n rows of `width` prices; width may be 0
};

template <class T>
void read_into(Aligned<T>& into, std::size_t n, std::FILE* file) {
    into = Aligned<T>(n);
    if (std::fread(into.get(), sizeof(T), n, file) != n) {
        std::fprintf(stderr, "the file ends too early\n");
        std::exit(2);
    }
}

inline Columns read_columns(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (!file) {
        std::perror(path);
        std::exit(2);
    }
    Columns c;
    Aligned<std::int64_t> head;
    read_into(head, 2, file);
    c.n = head[0];
    c.width = head[1];
    read_into(c.ts, c.n, file);
    read_into(c.type, c.n, file);
    read_into(c.price, c.n, file);
    read_into(c.history, c.n * c.width, file);
    std::fclose(file);
    return c;
}

// The rows bound by each match; grown between events of the rarest type only, so that inner loops need not look.
struct Matches {
    Aligned<std::int64_t> a, b, c;
    std::int64_t size = 0, room = 0;

    void reserve(std::int64_t more) {
        if (size + more <= room) return;
        const std::int64_t wanted = (size + more) * 2;
        for (auto* column : {&a, &b, &c}) {
            Aligned<std::int64_t> larger(wanted);
            for (std::int64_t i = 0; i < size; ++i) larger[i] = (*column)[i];
            *column = std::move(larger);
        }
        room = wanted;
    }
    std::int64_t checksum() const {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < size; ++i) sum += a[i] + b[i] + c[i];
        return sum;
    }
};

// Where the next matches go; nothing else points there, which the compiler could not know of the vectors themselves.
struct Cursor {
    explicit Cursor(Matches& m) : a(m.a.get()), b(m.b.get()), c(m.c.get()) {}
    std::int64_t *__restrict a, *__restrict b, *__restrict c;
};

// CPU seconds of this thread.
inline double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

inline void report(const char* variant, const Matches& m, double prepare, double split, double match) {
    std::printf("{\"variant\": \"%s\", \"matches\": %" PRId64 ", \"rows\": %" PRId64
                ", \"prepare\": %.9f, \"split\": %.9f, \"match\": %.9f}\n",
                variant, m.size, m.checksum(), prepare, split, match);
}

// The first and the last candidate of the events before an event of the rarest type move forward only.
struct Range {
    std::int64_t lo = 0, hi = 0;

    void advance(const Aligned<std::int64_t>& ts, std::int64_t n, std::int64_t first, std::int64_t end) {
        while (lo < n && ts[lo] < first) ++lo;
        while (hi < n && ts[hi] < end) ++hi;
    }
};
