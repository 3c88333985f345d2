package helper

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// streaming is a session that streams words, and says what members keep.
type streaming struct {
	engine.Session

	kept map[string]string
}

func (streaming) Snapshot(_ context.Context, from string, w io.Writer, _ func(int64)) error {
	_, err := io.WriteString(w, "all of "+from)
	return err
}

func (streaming) Increment(_ context.Context, from, since string, w io.Writer, _ func(int64)) error {
	_, err := io.WriteString(w, "what changed on "+from+" since "+since)
	return err
}

func (s streaming) KeepBase(_ context.Context, members []string, of engine.BaseOf, content []byte) ([]string, error) {
	for _, m := range members {
		s.kept[m] = of.Backup + " in " + of.Repository + ": " + string(content)
	}
	return members, errors.New("another member is down")
}

// basing is an engine that takes the first word of a snapshot for its base.
type basing struct{ engine.Engine }

func (basing) Name() string { return "basing" }

type firstWord struct{ bytes.Buffer }

func (f *firstWord) Content() []byte { return bytes.Fields(f.Bytes())[0] }

func (basing) NewBase() engine.Base { return &firstWord{} }

func (basing) IncrementalSource(engine.View, *v1alpha1.DatabaseCluster, string) (engine.BaseOf, error) {
	return engine.BaseOf{}, nil
}

func (basing) CheckIncremental(*v1alpha1.DatabaseCluster, string) error { return nil }

// TestStream: a full backup leaves a base with the members, and what changed leaves none.
func TestStream(t *testing.T) {
	t.Parallel()
	s := streaming{kept: map[string]string{}}
	var out bytes.Buffer
	left, err := Stream(t.Context(), basing{}, s, "db-1", "", &out, nil)
	if err != nil || out.String() != "all of db-1" {
		t.Errorf("%q, %v", out.String(), err)
	}
	left.Keep(t.Context(), []string{"db-1", "db-2"}, "full-1", "offsite")
	if got := []string{s.kept["db-1"], s.kept["db-2"]}; !slices.Equal(got, []string{"full-1 in offsite: all",
		"full-1 in offsite: all"}) {
		t.Errorf("kept %q", got)
	}
	out.Reset()
	left, err = Stream(t.Context(), basing{}, s, "db-2", "full-1", &out, nil)
	if err != nil || out.String() != "what changed on db-2 since full-1" {
		t.Errorf("%q, %v", out.String(), err)
	}
	clear(s.kept)
	if left.Keep(t.Context(), []string{"db-1"}, "changes-1", "offsite"); len(s.kept) > 0 {
		t.Errorf("changes are a base: %q", s.kept)
	}
	if _, err := Stream(t.Context(), basing{}, struct{ engine.Session }{}, "db-2", "full-1", &out, nil); err == nil {
		t.Error("a session streams changes that can't")
	}
}

// resting is a session that rests before each of its words.
type resting struct {
	engine.Session

	rests []time.Duration
}

func (s resting) Snapshot(ctx context.Context, _ string, w io.Writer, _ func(int64)) error {
	for _, rest := range s.rests {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := io.WriteString(w, "word "); err != nil {
			return err
		}
	}
	return nil
}

// TestStreamStandstill: a backup may take a day, and a member that sends nothing for long is given up.
func TestStreamStandstill(t *testing.T) {
	t.Parallel()
	day := slices.Repeat([]time.Duration{15 * time.Minute}, 24*4)
	for name, row := range map[string]struct {
		rests []time.Duration
		took  time.Duration
		gives bool
	}{
		"a day":     {rests: day, took: 24 * time.Hour},
		"it hangs":  {rests: []time.Duration{time.Second, 3 * time.Hour}, took: time.Second + 20*time.Minute, gives: true},
		"no answer": {rests: []time.Duration{3 * time.Hour}, took: 20 * time.Minute, gives: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := Stream(t.Context(), basing{}, resting{rests: row.rests}, "db-1", "", io.Discard, nil)
				if errors.Is(err, repository.ErrStandstill) != row.gives || (err != nil) != row.gives {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(began); took != row.took {
					t.Errorf("it took %s, want %s", took, row.took)
				}
			})
		})
	}
}
