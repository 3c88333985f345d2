package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// maxOwner bounds what is read of an object that says whose the log is, in bytes.
const maxOwner = 64 << 10

// Claim makes the log that of a Kubernetes cluster, of which by are the fingerprints, unless it is already. The first
// one that asks has it. One fingerprint that is known is enough, and the others are noted then: so certificates can be
// renewed. ErrOwner if the log belongs to another one: a copy of objects and volumes has the incarnation of the
// original, and would go on in its log. Without a fingerprint it says nothing. A repeat changes nothing, and a crash
// leaves nothing that a repeat does not find.
func (l *Log) Claim(ctx context.Context, by []string) error {
	if len(by) == 0 {
		return nil
	}
	for {
		known, objects, err := l.owners(ctx)
		if err != nil {
			return fmt.Errorf("claim the log of %s: %w", l.scope.Cluster, err)
		}
		missing := slices.DeleteFunc(slices.Clone(by), func(f string) bool { return slices.Contains(known, f) })
		switch {
		case len(missing) == 0:
			return nil
		case len(known) > 0 && len(missing) == len(by):
			return fmt.Errorf("archive the log of %s: %w, as %s in %s says, so this cluster is a copy. A restore in place "+
				"gives it a log of its own. If the other one is gone for good, delete that", l.scope.Cluster, ErrOwner,
				named(objects), l.archive.store.URL())
		}
		err = l.archive.store.Put(ctx, l.freeOwner(objects), []byte(strings.Join(missing, "\n")+"\n"), store.Options{})
		// Somebody else was faster: then what that one said counts.
		if err != nil && !errors.Is(err, store.ErrExists) {
			return fmt.Errorf("claim the log of %s: %w", l.scope.Cluster, err)
		}
	}
}

// freeOwner is a key that none of the objects has. Who sees the same ones chooses the same key, so that one of them has
// it. The numbers have gaps where a person deleted one, and those that somebody else chose may be of any size.
func (l *Log) freeOwner(objects []string) string {
	for n := len(objects) + 1; ; n++ {
		if key := l.ownerPrefix() + strconv.Itoa(n); !slices.Contains(objects, key) {
			return key
		}
	}
}

// named joins keys for people. What somebody else chose is quoted where a terminal would not show it as it is.
func named(keys []string) string {
	out := slices.Clone(keys)
	for i, key := range out {
		if !printable(key) {
			out[i] = strconv.Quote(key)
		}
	}
	return strings.Join(out, " and ")
}

func (l *Log) ownerPrefix() string { return l.scope.prefix(kindOwner) + segment(l.incarnation) + "/" }

// owners reads the fingerprints of the Kubernetes cluster whose log it is, and the objects that tell them.
func (l *Log) owners(ctx context.Context) (known, objects []string, err error) {
	for o, err := range store.All(ctx, l.archive.store, l.ownerPrefix()) {
		if err != nil {
			return nil, nil, err
		}
		in, err := l.archive.store.Get(ctx, o.Key, 0, maxOwner)
		if err != nil {
			return nil, nil, err
		}
		lines := bufio.NewScanner(io.LimitReader(in, maxOwner))
		for lines.Scan() {
			known = append(known, lines.Text())
		}
		if err := errors.Join(lines.Err(), in.Close()); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", named([]string{o.Key}), err)
		}
		objects = append(objects, o.Key)
	}
	return known, objects, nil
}
