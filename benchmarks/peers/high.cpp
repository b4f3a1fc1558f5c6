// HIGH on two types by hand: a radix heap of finish times with intrusive lists, two stacks of idle units.
// Finish times are float64 of 0 or more, so their bits sort as they do; none lies before the last one taken.
#include <bit>
#include <cstdint>
#include <vector>

namespace {
constexpr int tasks_a_job = 5;

struct RadixHeap {
    std::vector<int32_t> head, tail, next;  // buckets by (highest byte that differs from `last`, that byte)
    std::vector<uint64_t> least, used;
    const double* finish;
    uint64_t last = 0;
    uint32_t levels = 0;

    RadixHeap(int64_t n, const double* finish)
        : head(2048, -1), tail(2048, -1), next(n), least(2048), used(32, 0), finish(finish) {}

    int bucket(uint64_t key) const {
        if (key == last) return int(key & 255);
        int level = (63 - std::countl_zero(key ^ last)) >> 3;
        return level << 8 | int(key >> (8 * level) & 255);
    }
    void push(int32_t task) {
        uint64_t key = std::bit_cast<uint64_t>(finish[task]);
        int b = bucket(key);
        next[task] = -1;
        if (tail[b] < 0) {
            head[b] = task;
            least[b] = key;
            used[b >> 6] |= 1ull << (b & 63);
            levels |= 1u << (b >> 8);
        } else {
            next[tail[b]] = task;
            if (key < least[b]) least[b] = key;
        }
        tail[b] = task;
    }
    void empty(int b) {
        head[b] = tail[b] = -1;
        used[b >> 6] &= ~(1ull << (b & 63));
        int w = b >> 8 << 2;
        if (!(used[w] | used[w + 1] | used[w + 2] | used[w + 3])) levels &= ~(1u << (b >> 8));
    }
    int first() const {
        int w = std::countr_zero(levels) << 2;
        while (!used[w]) ++w;
        return w << 6 | std::countr_zero(used[w]);
    }
    int32_t pop() {
        int b = first();
        if (b >= 256) {
            int32_t task = head[b];
            last = least[b];
            empty(b);
            while (task >= 0) {
                int32_t following = next[task];
                push(task);
                task = following;
            }
            b = first();
        }
        int32_t task = head[b];
        last = std::bit_cast<uint64_t>(finish[task]);
        if (next[task] < 0) empty(b);
        else head[b] = next[task];
        return task;
    }
};
}  // namespace

extern "C" void high(int64_t n_jobs, int64_t n_of_each, const double* arrival, const double* operations, double slow,
                     double fast, int32_t* unit_of, double* start, double* finish) {
    RadixHeap queue(n_jobs * tasks_a_job, finish);
    std::vector<int32_t> cpus, gpus;
    for (int64_t i = 0; i < n_of_each; ++i) cpus.push_back(int32_t(i)), gpus.push_back(int32_t(n_of_each + i));
    int64_t job = 0, task = 0;
    while (queue.levels || job < n_jobs) {
        double next_finish = queue.levels ? std::bit_cast<double>(queue.least[queue.first()]) : 1e300;
        double next_arrival = job < n_jobs ? arrival[job] : 1e300, now;
        if (next_finish <= next_arrival) {
            now = next_finish;
            int32_t unit = unit_of[queue.pop()];
            (unit >= n_of_each ? gpus : cpus).push_back(unit);
        } else {
            now = next_arrival;
            ++job;
        }
        while (task < job * tasks_a_job && !(gpus.empty() && cpus.empty())) {
            bool is_fast = !gpus.empty();
            auto& idle = is_fast ? gpus : cpus;
            unit_of[task] = idle.back();
            idle.pop_back();
            start[task] = now;
            finish[task] = now + operations[task] / (is_fast ? fast : slow);
            queue.push(int32_t(task++));
        }
    }
}
