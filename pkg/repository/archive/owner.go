package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
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
				strings.Join(objects, " and "), l.archive.store.URL())
		}
		last := 0 // a person may have deleted one in between
		for _, o := range objects {
			if n, err := strconv.Atoi(path.Base(o)); err == nil {
				last = max(last, n)
			}
		}
		key := l.ownerPrefix() + strconv.Itoa(last+1)
		err = l.archive.store.Put(ctx, key, []byte(strings.Join(missing, "\n")+"\n"), store.Options{})
		// Somebody else was faster: then what that one said counts.
		if err != nil && !errors.Is(err, store.ErrExists) {
			return fmt.Errorf("claim the log of %s: %w", l.scope.Cluster, err)
		}
	}
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
			return nil, nil, fmt.Errorf("read %s: %w", o.Key, err)
		}
		objects = append(objects, o.Key)
	}
	return known, objects, nil
}
