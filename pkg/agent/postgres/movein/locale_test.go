//go:build linux

package movein

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// TestLacks: a locale that the system lacks is named, and no other.
func TestLacks(t *testing.T) {
	t.Parallel()
	s := Server{Server: start(t, local.User)}
	got, err := s.lacks(t.Context(), []source.Database{{Name: "a", Collate: "C", Ctype: "C.UTF-8"},
		{Name: "b", Collate: "xx_YY.UTF-8", Ctype: "xx_YY.UTF-8"}, {Name: "c", Collate: "C.UTF-8", Ctype: "C.UTF-8"}})
	want := []string{`the locales ["xx_YY.UTF-8"] of its database "b" are not in the image of this cluster`}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
