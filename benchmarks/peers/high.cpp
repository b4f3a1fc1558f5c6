// HIGH on two types by hand, as fast as we know how: a queue node a unit, so that the queue stays in cache however many
// tasks there are; units that finish at one instant are chained, and a chain is drained in one go; a unit that finishes
// while tasks wait takes the oldest at once, as no other unit is idle then.
// Two queues: a radix heap (finish times are float64 of 0 or more, so their bits sort as they do, and none lies before
// the last one taken) and a 4-ary heap. Two rules for ties among idle units: the last one used, or the lowest number.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {
using std::size_t;
constexpr int tasks_a_job = 5;

struct Node {       // of a unit
    double finish;  // of its task
    int32_t next;   // in the same bucket of the radix heap
    int32_t chain;  // next unit that finishes at the same instant
};

struct RadixHeap {
    std::vector<int32_t> head, tail;  // buckets by (highest byte that differs from `last`, that byte)
    std::vector<uint64_t> least, used;
    Node* node;
    uint64_t last = 0;
    uint32_t levels = 0;

    RadixHeap(int64_t, Node* node) : head(2048, -1), tail(2048, -1), least(2048), used(32, 0), node(node) {}

    bool is_empty() const { return !levels; }
    int bucket(uint64_t key) const {
        if (key == last) return int(key & 255);
        int level = (63 - std::countl_zero(key ^ last)) >> 3;
        return level << 8 | int(key >> (8 * level) & 255);
    }
    void push(int32_t unit) {
        uint64_t key = std::bit_cast<uint64_t>(node[unit].finish);
        int b = bucket(key);
        node[unit].next = -1;
        if (tail[b] < 0) {
            head[b] = unit;
            least[b] = key;
            used[b >> 6] |= 1ull << (b & 63);
            levels |= 1u << (b >> 8);
        } else {
            node[tail[b]].next = unit;
            if (key < least[b]) least[b] = key;
        }
        tail[b] = unit;
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
    double next_finish() const { return std::bit_cast<double>(least[first()]); }
    bool is_taken(double finish) const { return std::bit_cast<uint64_t>(finish) == last; }
    int32_t pop() {
        int b = first();
        if (b >= 256 && head[b] != tail[b]) {
            int32_t unit = head[b];
            last = least[b];
            empty(b);
            while (unit >= 0) {
                int32_t following = node[unit].next;
                if (following >= 0) __builtin_prefetch(&node[following]);
                push(unit);
                unit = following;
            }
            b = first();
        }
        int32_t unit = head[b];
        last = std::bit_cast<uint64_t>(node[unit].finish);
        if (node[unit].next < 0) {
            empty(b);
        } else {
            head[b] = node[unit].next;
            __builtin_prefetch(&node[head[b]]);
        }
        return unit;
    }
};

struct FourAryHeap {
    struct Item {
        double finish;
        uint32_t sequence;
        int32_t unit;
        bool operator<(const Item& other) const {
            return finish < other.finish || (finish == other.finish && sequence < other.sequence);
        }
    };
    std::vector<Item> items;
    Node* node;
    uint32_t sequence = 0;

    FourAryHeap(int64_t n_units, Node* node) : node(node) { items.reserve(n_units); }

    bool is_empty() const { return items.empty(); }
    double next_finish() const { return items[0].finish; }
    bool is_taken(double) const { return false; }
    void push(int32_t unit) {
        Item item{node[unit].finish, sequence++, unit};
        size_t i = items.size();
        items.push_back(item);
        while (i && item < items[(i - 1) >> 2]) {
            items[i] = items[(i - 1) >> 2];
            i = (i - 1) >> 2;
        }
        items[i] = item;
    }
    int32_t pop() {
        int32_t unit = items[0].unit;
        Item item = items.back();
        items.pop_back();
        size_t n = items.size(), i = 0;
        if (!n) return unit;
        while (4 * i + 1 < n) {
            size_t child = 4 * i + 1, end = child + 4 < n ? child + 4 : n;
            for (size_t c = child + 1; c < end; ++c)
                if (items[c] < items[child]) child = c;
            if (!(items[child] < item)) break;
            items[i] = items[child];
            i = child;
        }
        items[i] = item;
        return unit;
    }
};

struct LastUsed {
    std::vector<int32_t> stack;
    LastUsed(int32_t first, int32_t n) {
        for (int32_t i = n; i-- > 0;) stack.push_back(first + i);
    }
    bool is_empty() const { return stack.empty(); }
    void add(int32_t unit) { stack.push_back(unit); }
    int32_t take() {
        int32_t unit = stack.back();
        stack.pop_back();
        return unit;
    }
};

struct Lowest {  // a bit a unit, in three levels of 64-bit words
    std::vector<uint64_t> words, words_1, words_2;
    int32_t first;
    Lowest(int32_t first, int32_t n) : words(n / 64 + 1), words_1(n / 4096 + 1), words_2(n / 262144 + 1), first(first) {
        for (int32_t i = 0; i < n; ++i) add(first + i);
    }
    bool is_empty() const {
        for (uint64_t word : words_2)
            if (word) return false;
        return true;
    }
    void add(int32_t unit) {
        int32_t i = unit - first;
        words[i >> 6] |= 1ull << (i & 63);
        words_1[i >> 12] |= 1ull << (i >> 6 & 63);
        words_2[i >> 18] |= 1ull << (i >> 12 & 63);
    }
    int32_t take() {
        size_t k = 0;
        while (!words_2[k]) ++k;
        size_t j = k << 6 | std::countr_zero(words_2[k]);
        size_t w = j << 6 | std::countr_zero(words_1[j]);
        int32_t i = int32_t(w << 6 | std::countr_zero(words[w]));
        if (!(words[w] &= words[w] - 1) && !(words_1[j] &= words_1[j] - 1)) words_2[k] &= words_2[k] - 1;
        return first + i;
    }
};

template <class Queue, class Idle>
void run(int64_t n_jobs, int64_t n_of_each, const double* arrival, const double* operations, double slow, double fast,
         int32_t* unit_of, double* start, double* finish) {
    std::vector<Node> node(2 * n_of_each, Node{0.0, -1, -1});
    Queue queue(2 * n_of_each, node.data());
    const auto n = int32_t(n_of_each);
    Idle cpus(0, n), gpus(n, n);
    int64_t job = 0, task = 0;
    int32_t newest = -1;
    auto begin = [&](int32_t unit, double now) {
        double end = now + operations[task] / (unit >= n_of_each ? fast : slow);
        unit_of[task] = unit;
        start[task] = now;
        finish[task] = end;
        ++task;
        node[unit].finish = end;
        node[unit].chain = -1;
        if (newest >= 0 && node[newest].finish == end && newest != unit && !queue.is_taken(end)) {
            node[newest].chain = unit;
        } else {
            queue.push(unit);
        }
        newest = unit;
    };
    while (!queue.is_empty() || job < n_jobs) {
        double next_finish = queue.is_empty() ? 1e300 : queue.next_finish();
        double next_arrival = job < n_jobs ? arrival[job] : 1e300;
        if (next_finish <= next_arrival) {
            int32_t unit = queue.pop();
            newest = -1;  // what was queued last may be the one that is taken
            while (unit >= 0) {
                int32_t following = node[unit].chain;
                if (following >= 0) __builtin_prefetch(&node[following]);
                if (task < job * tasks_a_job) begin(unit, next_finish);
                else if (unit >= n_of_each) gpus.add(unit);
                else cpus.add(unit);
                unit = following;
            }
        } else {
            ++job;
            while (task < job * tasks_a_job && !(gpus.is_empty() && cpus.is_empty()))
                begin(gpus.is_empty() ? cpus.take() : gpus.take(), next_arrival);
        }
    }
}
}  // namespace

extern "C" void high(int is_radix, int is_lowest, int64_t n_jobs, int64_t n_of_each, const double* arrival,
                     const double* operations, double slow, double fast, int32_t* unit_of, double* start,
                     double* finish) {
    auto* chosen = is_radix ? (is_lowest ? run<RadixHeap, Lowest> : run<RadixHeap, LastUsed>)
                            : (is_lowest ? run<FourAryHeap, Lowest> : run<FourAryHeap, LastUsed>);
    chosen(n_jobs, n_of_each, arrival, operations, slow, fast, unit_of, start, finish);
}
