package harness

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	// tryTimeout is when a client gives up one try; the write may still happen.
	tryTimeout = time.Second
	// retryPause keeps a client from hammering a cluster that has no leader.
	retryPause = 20 * time.Millisecond
	// giveUpAfter is when a client stops repeating one write.
	giveUpAfter = 30 * time.Second
	// writers bounds how many writes are under way at once.
	writers = 16
)

// Writer writes at a steady rate, as an application does: each write is
// repeated until it is acknowledged, and every try is counted.
type Writer struct {
	client *Etcd
	prefix string
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	acks   []time.Time
	keys   map[string]string
	counts Counts
}

// Counts are the tries of a writer by outcome.
type Counts struct {
	// Writes began, Acked got their acknowledgement, Lost never did.
	Writes, Acked, Lost int
	// Unknown tries ended without an answer that tells what happened.
	Unknown int
	// LastError of a try.
	LastError string
}

// StartWriter starts writing new keys below prefix until Stop.
func StartWriter(ctx context.Context, client *Etcd, prefix string, perSecond int) *Writer {
	ctx, cancel := context.WithCancel(ctx)
	w := &Writer{client: client, prefix: prefix, cancel: cancel, keys: map[string]string{}}
	next := make(chan int)
	w.done.Go(func() {
		defer close(next)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			select {
			case next <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	for range writers {
		w.done.Go(func() {
			for n := range next {
				w.write(ctx, n)
			}
		})
	}
	return w
}

// write repeats one write until it is acknowledged. The last ones may still
// come to their end after Stop was called.
func (w *Writer) write(ctx context.Context, n int) {
	key, value := fmt.Sprintf("%s%08d", w.prefix, n), fmt.Sprintf("value-%d", n)
	began := time.Now()
	w.count(func(c *Counts) { c.Writes++ })
	for {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(w.client.Limit, tryTimeout))
		_, err := w.client.KV.Put(try, key, value)
		cancel()
		if err == nil {
			w.acknowledged(key, value)
			return
		}
		w.count(func(c *Counts) { c.Unknown++; c.LastError = err.Error() })
		if time.Since(began) > giveUpAfter {
			w.count(func(c *Counts) { c.Lost++ })
			return
		}
		time.Sleep(retryPause) // a client's own pause, not a wait for a condition
	}
}

func (w *Writer) count(f func(*Counts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.counts)
}

func (w *Writer) acknowledged(key, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks = append(w.acks, time.Now())
	w.keys[key] = value
	w.counts.Acked++
}

// Stop ends the writer and returns when its last write has come to an end.
func (w *Writer) Stop() Counts {
	w.cancel()
	w.done.Wait()
	return w.Counts()
}

// Counts are the counts so far.
func (w *Writer) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// LongestGap is the longest time without any acknowledgement in a span.
func (w *Writer) LongestGap(from, to time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest time.Duration
	last := from
	for _, at := range w.acks {
		if at.Before(from) {
			continue
		}
		if at.After(to) {
			break
		}
		longest, last = max(longest, at.Sub(last)), at
	}
	return max(longest, to.Sub(last))
}

// AckedBefore returns the keys and values acknowledged by now.
func (w *Writer) AckedBefore() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]string, len(w.keys))
	maps.Copy(out, w.keys)
	return out
}

// MissingAcks compares what was acknowledged with what the cluster serves,
// and describes each loss.
func MissingAcks(ctx context.Context, client *Etcd, prefix string, acked map[string]string) ([]string, error) {
	served, err := ReadAll(ctx, client, prefix)
	if err != nil {
		return nil, err
	}
	var missing []string
	for key, want := range acked {
		if got, ok := served[key]; !ok || got != want {
			missing = append(missing, fmt.Sprintf("%s: acknowledged %q, served %q", key, want, got))
		}
	}
	return missing, nil
}
