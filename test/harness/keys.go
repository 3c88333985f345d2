package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// batch stays below etcd's limit of 128 operations in a transaction.
const batch = 100

// FillKeys writes n keys below prefix, whose values tell their key.
func FillKeys(ctx context.Context, client *Etcd, prefix string, n, valueBytes int) error {
	for from := 0; from < n; from += batch {
		var puts []clientv3.Op
		for i := from; i < min(from+batch, n); i++ {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("%s%06d", prefix, i), value(i, valueBytes)))
		}
		err := repeated(ctx, fmt.Sprintf("keys %d to %d to be written", from, from+len(puts)),
			func(ctx context.Context) error {
				_, err := client.KV.Txn(ctx).Then(puts...).Commit()
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// value is different for every key and does not compress to nothing.
func value(i, bytes int) string {
	out := []byte(fmt.Sprintf("value %d ", i))
	for x := uint32(i)*2654435761 + 1; len(out) < bytes; x = x*1664525 + 1013904223 { // #nosec G115 -- wraps on purpose
		out = append(out, 'a'+byte(x>>24)%26)
	}
	return string(out)
}

// shown is how many differences a comparison describes.
const shown = 5

// CompareKeys compares everything below prefix in two clusters, key by key,
// and returns how many keys are equal.
func CompareKeys(ctx context.Context, a, b *Etcd, prefix string) (int, error) {
	left, err := ReadAll(ctx, a, prefix)
	if err != nil {
		return 0, err
	}
	right, err := ReadAll(ctx, b, prefix)
	if err != nil {
		return 0, err
	}
	return compare(left, right)
}

func compare(left, right map[string]string) (int, error) {
	all := maps.Clone(left)
	maps.Copy(all, right)
	var differ []string
	equal := 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		l, inLeft := left[key]
		r, inRight := right[key]
		switch {
		case !inLeft:
			differ = append(differ, key+" is only in the second")
		case !inRight:
			differ = append(differ, key+" is only in the first")
		case l != r:
			differ = append(differ, key+" differs")
		default:
			equal++
		}
	}
	if len(differ) > 0 {
		return equal, fmt.Errorf("%d keys differ: %v", len(differ), differ[:min(shown, len(differ))])
	}
	return equal, nil
}
