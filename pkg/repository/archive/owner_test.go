package archive

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestClaim: a log belongs to the Kubernetes cluster that asked first, also while certificates are renewed.
func TestClaim(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		l := Open(s, Keys{}).Log(scope, "1")
		for i, step := range []struct {
			by    []string
			other bool
		}{
			{by: nil},
			{by: []string{"a"}},
			{by: []string{"a"}},
			{by: []string{"x"}, other: true},
			{by: []string{"b", "a"}},
			{by: []string{"b"}},
			{by: []string{"x", "y"}, other: true},
			{by: []string{"c", "b", "d"}},
			{by: []string{"d"}},
			{by: nil},
		} {
			err := l.Claim(t.Context(), step.by)
			if step.other != errors.Is(err, ErrOwner) || !step.other && err != nil {
				t.Errorf("step %d, %v: %v", i, step.by, err)
			}
			if step.other && !strings.Contains(err.Error(), "owners/"+scope.Namespace+"/"+scope.Cluster+"/1/1") {
				t.Errorf("the object is not named: %v", err)
			}
		}
		if err := Open(s, Keys{}).Log(scope, "2").Claim(t.Context(), []string{"x"}); err != nil {
			t.Errorf("another incarnation: %v", err)
		}
		if got := storetest.Keys(t, s, kindOwner+"/"); len(got) != 4 {
			t.Errorf("it keeps %v", got)
		}
	})
}

// TestClaimDeleted: a person deletes one of several objects that say whose the log is. Those that are left count.
func TestClaimDeleted(t *testing.T) {
	s := directory(t)
	l := Open(s, Keys{}).Log(scope, "1")
	for _, by := range [][]string{{"a"}, {"a", "b"}} {
		if err := l.Claim(t.Context(), by); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), l.ownerPrefix()+"1"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := l.Claim(ctx, []string{"b", "c"}); err != nil {
		t.Error(err)
	}
	if err := l.Claim(ctx, []string{"a"}); !errors.Is(err, ErrOwner) {
		t.Errorf("what was deleted counts: %v", err)
	}
}

// TestClaimAtOnce has many ask at the same time: one has it.
func TestClaimAtOnce(t *testing.T) {
	s := directory(t)
	errs := make([]error, 20)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = Open(s, Keys{}).Log(scope, "1").Claim(t.Context(), []string{strconv.Itoa(i % 10)}) })
	}
	group.Wait()
	won := map[int]bool{}
	for i, err := range errs {
		switch {
		case err == nil:
			won[i%10] = true
		case !errors.Is(err, ErrOwner):
			t.Error(err)
		}
	}
	if len(won) != 1 {
		t.Errorf("it belongs to %v", won)
	}
}

// strange is a store with one object whose key and content somebody else chose, and what was put since.
type strange struct {
	store.Store

	objects map[string]string
	calls   int
}

func (*strange) URL() string { return "strange" }

func (s *strange) List(context.Context, string, string) (store.Page, error) {
	var p store.Page
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		p.Objects = append(p.Objects, store.Object{Key: key, Size: int64(len(s.objects[key]))})
	}
	return p, nil
}

func (s *strange) Get(_ context.Context, key string, _, _ int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.objects[key])), nil
}

func (s *strange) Put(_ context.Context, key string, body []byte, _ store.Options) error {
	if s.calls++; s.calls > 10 {
		return errors.New("it has no end")
	}
	if _, ok := s.objects[key]; ok {
		return store.ErrExists
	}
	s.objects[key] = string(body)
	return nil
}

func FuzzClaim(f *testing.F) {
	f.Add("1", "a\n")
	f.Add("9223372036854775807", "me\n")
	f.Add("-1/../2", "me")
	f.Add("\x1b[2J", "a\nb\n")
	f.Add("2", strings.Repeat("x", maxOwner+1))
	f.Fuzz(func(t *testing.T, number, content string) {
		s := &strange{objects: map[string]string{}}
		l := Open(s, Keys{}).Log(scope, "1")
		s.objects[l.ownerPrefix()+number] = content
		err := l.Claim(t.Context(), []string{"me", "myself"})
		of := map[string]bool{}
		for line := range strings.Lines(content[:min(len(content), maxOwner)]) {
			of[strings.TrimRight(line, "\r\n")] = true
		}
		mine := len(of) == 0 || of["me"] || of["myself"]
		switch {
		case err == nil && !mine:
			t.Fatalf("%q of %q is taken over", number, content)
		case err != nil && !printable(err.Error()):
			t.Fatalf("%q of %q shows %q", number, content, err)
		case errors.Is(err, ErrOwner) && mine, err != nil && strings.Contains(err.Error(), "no end"):
			t.Fatalf("%q of %q: %v", number, content, err)
		case err == nil && l.Claim(t.Context(), []string{"me", "myself"}) != nil:
			t.Fatalf("%q of %q: a repeat differs", number, content)
		case err == nil && l.Claim(t.Context(), []string{"me", "renewed"}) != nil:
			t.Fatalf("%q of %q: a certificate can't be renewed", number, content)
		}
	})
}
